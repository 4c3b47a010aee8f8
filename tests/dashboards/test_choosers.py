"""Choosing runs and sentences."""

import json
import os
import re
import shutil
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import ipywidgets as widgets
import pandas as pd
import pytest
from support.packed import packed_folder

from nmtlab.analysis.access.needs import DECODING, Need
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.sentences import MAX_LETTERS, SentenceChooser
from nmtlab.dashboards.frame.systems import left_out, of_one_pair
from nmtlab.runs.index import RunIndex
from nmtlab.runs.listing import list_runs, open_run
from nmtlab.runs.run import Run
from nmtlab.thesis.measured import measured_cells
from nmtlab.workspace import Workspace

BROKEN = "<b>broken"


def wanted(met: Callable[[Run], bool]) -> Need:
    return Need("unwanted", "it is unwanted", "choose another", met)


@pytest.fixture
def runs(trained, workspace) -> Workspace:
    """Three runs, `b` the newest and `c` the oldest, and a folder that is none."""
    for age, name in enumerate(("b", "a", "c")):
        folder = shutil.copytree(trained[0].folder, workspace.runs / name)
        os.utime(folder, (1_700_000_000 - age, 1_700_000_000 - age))
    (workspace.runs / BROKEN).mkdir()
    return workspace


def add_run(workspace: Workspace, name: str) -> Path:
    return Path(shutil.copytree(workspace.runs / "a", workspace.runs / name))


def go_on(folder: Path) -> None:
    """Log one more evaluation of a run."""
    line = {"kind": "validation", "step": 999, "seconds": 9.0, "bleu": 99.0, "perplexity": 1.0}
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def note(chooser: RunChooser) -> str:
    return chooser._omitted.value


def rows(chooser: RunChooser) -> list[dict]:
    """Return the rows that are in the browser once the panel has been opened."""
    chooser._chips.opened = True
    return json.loads(chooser.table.content)["rows"]


def test_runs_are_listed_newest_first_with_their_facts(runs, trained):
    chooser = RunChooser(runs)
    frame = chooser.table.frame
    assert frame["run"].tolist() == ["b", "a", "c"]
    assert {row["group"] for row in rows(chooser)} == {"de-en: tiny"}
    assert frame["state"].tolist() == ["finished"] * 3
    best = trained[0].log.metrics("validation")["bleu"].max()
    assert frame["dev BLEU"].tolist() == [round(best, 1)] * 3
    assert [run.name for run in chooser.chosen] == ["b"]


def test_what_cannot_be_opened_is_named_as_text(runs):
    assert "&lt;b&gt;broken; see &#x27;nmtlab runs show NAME&#x27;" in note(RunChooser(runs))


def test_a_run_of_which_only_what_a_page_asks_for_is_damaged_is_named_and_the_others_are_listed(runs):
    (runs.runs / "a/checkpoints/best.safetensors").write_bytes(b"damaged")
    (runs.runs / "c/probes/g.jsonl").write_text("{}\n", encoding="utf-8")
    chooser = RunChooser(runs, needs=[wanted(lambda run: bool(len(run.log.g_values()) + 1))])
    assert chooser.table.frame["run"].tolist() == ["b"]
    assert "3 runs not shown: incomplete or damaged (3)<" in note(chooser)
    assert "&lt;b&gt;broken, a, c; " in note(chooser)


def test_a_chosen_run_that_has_learned_from_dev_or_test_says_so(runs):
    path = runs.runs / "b/environment.json"
    facts = json.loads(path.read_text(encoding="utf-8")) | {"overlap": {"test": 3}}
    path.write_text(json.dumps(facts), encoding="utf-8")
    said = RunChooser(runs)._warning.value
    assert said == "b: 3 pairs of test also occur in its training text: its scores on them are too high."


def test_rows_are_sent_when_the_panel_is_first_opened_and_runs_can_be_chosen_before(runs):
    chooser = RunChooser(runs)
    chooser.table.choose(["a", "c"])
    assert [run.name for run in chooser.chosen] == ["a", "c"]
    assert json.loads(chooser.table.content)["rows"] == []
    assert [row["key"] for row in rows(chooser)] == ["b", "a", "c"]
    assert chooser.table.value == ("a", "c")
    add_run(runs, "new")
    chooser.refresh()
    assert len(json.loads(chooser.table.content)["rows"]) == 4


def test_a_chip_names_its_run_and_text_and_is_removed_by_its_cross(runs):
    chooser = RunChooser(runs, first=["a", "b"])
    assert [(chip["key"], chip["group"]) for chip in chooser._chips.chips] == [
        ("a", "de-en: tiny"),
        ("b", "de-en: tiny"),
    ]
    assert re.match(r"a; dev BLEU \d+\.\d$", chooser._chips.chips[0]["title"])
    chooser._chips._handle_custom_msg({"remove": "a"}, [])
    assert [run.name for run in chooser.chosen] == ["b"]
    assert [chip["key"] for chip in chooser._chips.chips] == ["b"]


@pytest.mark.full
def test_of_a_thousand_runs_only_new_ones_are_opened_when_a_page_is(runs, monkeypatch):
    for number in range(997):
        shutil.copytree(runs.runs / "a", runs.runs / f"run-{number:03}", copy_function=os.link)
    opened: list[str] = []
    opener = RunIndex._opened
    monkeypatch.setattr(RunIndex, "_opened", lambda index, name: opened.append(name) or opener(index, name))
    assert len(RunChooser(runs).table.frame) == 1000
    assert sorted(opened) == sorted(path.name for path in runs.runs.iterdir())
    add_run(runs, "new")
    opened.clear()
    chooser = RunChooser(runs)
    assert sorted(opened) == [BROKEN, "new"]
    assert len(rows(chooser)) == 1001


@pytest.mark.full
def test_what_packed_runs_cannot_do_is_said_in_short_and_folded():
    chooser = RunChooser(Workspace(Path(__file__).parents[2] / "data"), first=["small-tr-en.tied.s1"])
    short = "half-precision weights: translates, cannot be trained further; log p ± 0.01"
    assert chooser._chips.chips[0]["title"].endswith(f"test BLEU 10.0; {short}")
    assert chooser._facts.value == (
        f"<details><summary>ⓘ About this run</summary><div>small-tr-en.tied.s1: {short}</div></details>"
    )
    assert chooser._warning.value == ""


def test_runs_that_do_not_fit_are_counted(runs):
    shutil.rmtree(runs.runs / BROKEN)
    said = note(RunChooser(runs, needs=[wanted(lambda run: run.name == "a")]))
    assert "2 runs not shown: unwanted (2)<" in said
    assert "unwanted:</b> b, c<" in said


@pytest.mark.full
def test_runs_that_a_page_cannot_show_are_counted_by_what_they_lack():
    gallery = Workspace(Path(__file__).parents[2] / "data")
    chooser = RunChooser(gallery, needs=DECODING)
    counts = re.search(r"runs not shown: no weights \((\d+)\), phrase-based \((\d+)\)<", note(chooser))
    assert sum(map(int, counts.groups())) + len(chooser.table.frame) == len(list_runs(gallery)[0])


@pytest.mark.full
def test_runs_are_grouped_by_their_text_that_of_the_first_runs_before_the_others():
    chooser = RunChooser(Workspace(Path(__file__).parents[2] / "data"), first=["small-tr-en.tied.s1"])
    groups = [row["group"] for row in rows(chooser)]
    assert groups[0] == "tr-en: small-tr-en"
    assert len(list(groupby(groups))) == len(set(groups)) > 10
    tied = chooser.table.frame.loc["small-tr-en.tied.s1"]
    assert (tied["system"], tied["layers"], tied["seed"]) == ("tied", "1", 1)
    (cell,) = measured_cells("table-3.6", "small", "test-bleu").query("run == 'small-tr-en.tied.s1'")["value"]
    assert tied["test BLEU"] == round(cell, 1)


@pytest.mark.full
def test_chosen_runs_have_short_names_as_labels(runs):
    gallery = Workspace(Path(__file__).parents[2] / "data")
    chooser = RunChooser(gallery, first=["small-tr-en.tied.s1", "small-tr-en.fixnorm.s1"])
    assert [run.label for run in chooser.chosen] == ["tied", "fixnorm"]
    assert chooser.table.labels == {"small-tr-en.tied.s1": "tied", "small-tr-en.fixnorm.s1": "fixnorm"}
    assert chooser._names.names == {"tied": "small-tr-en.tied.s1", "fixnorm": "small-tr-en.fixnorm.s1"}
    chooser.table.choose(["small-tr-en.tied.s1"])
    assert [run.label for run in chooser.chosen] == ["small-tr-en.tied.s1"]
    assert chooser._names.names == {}


def test_a_cleared_choice_stays_empty_while_runs_go_on(runs):
    chooser = RunChooser(runs)
    chooser.table.unpick()
    go_on(runs.runs / "a")
    assert chooser.refresh() == ()
    assert chooser.chosen == []
    assert chooser._warning.value == "No run is chosen: choose one above."


def test_runs_that_are_asked_for_are_chosen_first_where_they_are_there(runs):
    assert [run.name for run in RunChooser(runs, first=["c", "nobody", "a"]).chosen] == ["c", "a"]
    assert [run.name for run in RunChooser(runs, first=["nobody"]).chosen] == ["b"]
    assert [run.name for run in RunChooser(runs, first=["c", "a"], many=False).chosen] == ["c"]


def test_no_runs_are_no_choice(workspace):
    chooser = RunChooser(workspace, none="none here")
    assert chooser.chosen == []
    assert chooser.refresh() == ()
    assert chooser._warning.value == "none here"


def test_a_new_run_is_found_and_the_choice_stays(runs):
    chooser = RunChooser(runs, first=["a"])
    assert chooser.refresh() == ()
    add_run(runs, "new")
    assert chooser.refresh() == ()  # nothing new behind those that are chosen
    assert set(chooser.table.frame["run"]) == {"new", "b", "a", "c"}
    assert [run.name for run in chooser.chosen] == ["a"]


def test_a_chosen_run_that_has_gone_on_is_said(runs):
    chooser = RunChooser(runs, first=["a"])
    go_on(runs.runs / "c")
    assert chooser.refresh() == ()
    go_on(runs.runs / "a")
    assert chooser.refresh() == ("runs",)
    assert chooser.table.frame.loc["a", "dev BLEU"] == 99.0
    assert chooser.refresh() == ()


def test_an_answer_that_is_stored_with_a_chosen_run_is_nothing_new(runs):
    chooser = RunChooser(runs, first=["a"])
    (runs.runs / "a/measures").mkdir(exist_ok=True)
    (runs.runs / "a/measures/some.parquet").touch()
    os.utime(runs.runs / "a")
    assert chooser.refresh() == ()


def test_a_chosen_run_whose_weights_have_come_is_said(runs):
    chooser = RunChooser(runs, first=["a"])
    os.utime(runs.runs / "a/checkpoints/best.safetensors")
    assert chooser.refresh() == ("runs",)


def test_a_chosen_run_that_is_removed_is_chosen_no_more(runs):
    chooser = RunChooser(runs, first=["a", "c"])
    shutil.rmtree(runs.runs / "a")
    chooser.refresh()
    assert [run.name for run in chooser.chosen] == ["c"]
    shutil.rmtree(runs.runs / "c")
    chooser.refresh()
    assert [run.name for run in chooser.chosen] == ["b"]


def test_a_folder_that_becomes_a_run_is_listed(runs):
    chooser = RunChooser(runs)
    shutil.rmtree(runs.runs / BROKEN)
    chooser.refresh()
    assert note(chooser) == ""


def test_the_first_run_of_a_page_that_had_none_is_chosen(runs):
    chooser = RunChooser(runs, needs=[wanted(lambda run: run.name == "new")])
    assert chooser.chosen == []
    add_run(runs, "new")
    chooser.refresh()
    assert [run.name for run in chooser.chosen] == ["new"]


# Sentences


@pytest.fixture
def here(trained, tiny_corpus, tmp_path) -> Workspace:
    """A workspace that has the corpus of the trained run, and the run."""
    workspace = Workspace(tmp_path / "here", (tiny_corpus.folder.parent,))
    shutil.copytree(trained[0].folder, workspace.runs / "whole")
    return workspace


class Chooser(SentenceChooser):
    """A chooser on a page, and the runs that it is for."""

    def __init__(self, workspace: Workspace, runs: list[Run]) -> None:
        self.given, self._named = runs, widgets.Text("at first")
        super().__init__(workspace, lambda: self.given)
        state = {"runs": self._named, **self.state}
        self.page = Page(About(place=0, group="Why", title="", question="", name=""), state, self.sections, [self])

    def follow(self, runs: list[Run]) -> None:
        """Choose a sentence for other runs."""
        self.given, self._named.value = runs, ",".join(run.name for run in runs)


@pytest.fixture
def chooser(here) -> Chooser:
    return Chooser(here, [Run(here.runs / "whole")])


def test_the_first_sentence_of_the_first_text_is_picked(chooser, tiny_corpus):
    source, reference = next(tiny_corpus.pairs("test"))
    assert chooser.text.options == ("tiny test", "tiny dev")
    assert (chooser.source, chooser.reference, chooser.line) == (source, reference, 1)
    assert (chooser.chosen_text.split, chooser.chosen_text.packed) == ("test", False)
    assert chooser.shown_source == f"Line 1 of tiny test: {source}"


def test_another_row_is_another_sentence(chooser, tiny_corpus):
    pairs = list(tiny_corpus.pairs("test"))
    chooser.table.chosen = ["3"]
    assert (chooser.source, chooser.reference, chooser.line) == (*pairs[2], 3)


def test_another_text_has_other_sentences(chooser, tiny_corpus):
    chooser.text.value = "tiny dev"
    assert (chooser.source, chooser.reference) == next(tiny_corpus.pairs("dev"))


def test_a_typed_sentence_takes_the_place_of_the_picked_one_until_the_box_is_emptied(chooser):
    chooser.table.choose([4])
    chooser.typed.value = "  hund singt "
    assert (chooser.source, chooser.reference, chooser.line) == ("hund singt", None, None)
    assert chooser.shown_source == "Typed sentence: hund singt"
    assert chooser.table.chosen == []
    assert chooser.empty.layout.display == ""
    chooser.empty.click()
    assert chooser.line == 4
    assert chooser.empty.layout.display == "none"


def test_a_picked_line_takes_the_place_of_the_typed_sentence(chooser, tiny_corpus):
    chooser.typed.value = "hund singt"
    chooser.table.chosen = ["1"]  # the line that was picked before
    assert chooser.typed.value == ""
    assert (chooser.source, chooser.reference) == next(tiny_corpus.pairs("test"))


def test_a_typed_sentence_stays_when_runs_or_text_change(chooser, here):
    chooser.typed.value = "hund singt"
    chooser.text.value = "tiny dev"
    chooser.follow([Run(shutil.copytree(here.runs / "whole", here.runs / "typed for"))])
    assert chooser.source == chooser.typed.value == "hund singt"


def test_a_picked_sentence_can_be_edited(chooser):
    before = chooser.source
    chooser._edit()
    assert (chooser.typed.value, chooser.shown_source) == (before, f"Typed sentence: {before}")


def test_a_typed_sentence_is_not_endless(chooser):
    chooser.typed.value = "x" * MAX_LETTERS
    assert chooser.shown_source.startswith("Typed sentence: xxx")
    chooser.typed.value = "x" * 100_000
    assert len(chooser.source) == MAX_LETTERS
    assert chooser._current.value.startswith("Typed sentence (cut after 2,000 letters): xxx")


def test_sentences_are_stepped_through(chooser, tiny_corpus):
    pairs = list(tiny_corpus.pairs("test"))
    assert (chooser._back.disabled, chooser._on.disabled) == (True, False)
    chooser._on.click()
    assert (chooser.source, chooser.line) == (pairs[1][0], 2)
    assert chooser._current.value == f"Line 2 of tiny test: {pairs[1][0]}"
    chooser._back.click()
    assert chooser.line == 1
    chooser.table.choose([len(pairs)])
    assert (chooser._back.disabled, chooser._on.disabled) == (False, True)
    chooser.typed.value = "hund singt"
    assert (chooser._back.disabled, chooser._on.disabled) == (True, True)


def test_the_same_text_stays_chosen_when_runs_change(chooser, here):
    chooser.text.value = "tiny dev"
    chooser.table.choose([4])
    chooser.follow([Run(shutil.copytree(here.runs / "whole", here.runs / "other"))])
    assert chooser.text.value == "tiny dev"
    assert chooser.line == 4


def test_without_runs_there_is_no_sentence(chooser):
    chooser.follow([])
    assert (chooser.source, chooser.reference, chooser.line, chooser.chosen_text) == ("", None, None, None)
    assert chooser.table.frame.equals(pd.DataFrame())


def test_a_run_without_its_corpus_has_an_example_that_is_neither_picked_nor_typed(trained):
    chooser = Chooser(trained[1], [trained[0]])
    assert chooser.source.startswith("Ein Bäcker")
    assert chooser.shown_source.startswith("Example sentence")
    assert (chooser.typed.value, chooser.line, chooser.reference) == ("", None, None)
    chooser.typed.value = "hund"
    assert chooser.source == "hund"


def test_texts_are_those_of_the_first_runs_languages_and_an_example_never_crosses_to_others():
    gallery = Workspace(Path(__file__).parents[2] / "data")
    german, turkish, artificial = (
        open_run(name, gallery) for name in ("multi30k-de-en.small", "small-tr-en.tied.s1", "small-qaa-en.tied.s1")
    )
    chooser = Chooser(gallery, [german])
    assert chooser.source.startswith("Ein Bäcker")
    chooser.follow([turkish, artificial])
    assert chooser.text.options == ("small-tr-en.tied.s1 (packed dev)",)
    assert (chooser.source, chooser.line) == ("2013 asla unutmayacağım bir yıl.", 1)
    chooser.follow([german, turkish])
    assert chooser.source.startswith("Ein Bäcker")
    assert chooser.line is None


def test_runs_of_other_languages_are_named():
    names = ["small-tr-en.tied.s1", "multi30k-de-en.small", "small-tr-en.fixnorm.s1", "small-qaa-en.tied.s1"]
    runs = [Run(packed_folder(name)) for name in names]
    shown = of_one_pair(runs)
    assert [run.name for run in shown] == names[::2]
    assert left_out(runs, shown) == (
        "2 of 4 shown: multi30k-de-en.small translates de-en; small-qaa-en.tied.s1 translates qaa-en."
    )
    assert left_out(shown, shown) == ""
