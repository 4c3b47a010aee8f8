"""`nmtlab reproduce`, on a table of two small trained systems."""

import dataclasses
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from support.learned import LEARNED
from support.little_table import little_table

from nmtlab.cli.grid_bar import GridBar
from nmtlab.cli.reproduce import reproduce
from nmtlab.cli.table_run import EstimateAnswer, TableAnswer
from nmtlab.grids.results.schemas import CELLS
from nmtlab.grids.results.sheets import reasons
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.events import CellEnded, CellEvent, GridPlanned, NoText, Opening
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.tables.listing import TABLES
from nmtlab.thesis.tables.many_languages import ARTIFICIAL_ROWS, MANY_LANGUAGES
from nmtlab.training.events import Prepared, Preparing, Progress, Validated

# The tables of the command are tested with the declarations; this one takes seconds.


@pytest.fixture
def table(tmp_path, tiny_recipe, monkeypatch):
    """The only table there is."""
    measures = {"metrics": ("dev-bleu", "train-perplexity")}
    table = little_table(tmp_path, tiny_recipe.with_changes({**LEARNED, "training.max_evaluations": 2}), **measures)
    declared_claims()  # they are about the real tables
    monkeypatch.setattr("nmtlab.thesis.tables.listing.TABLES", (table,))
    return table


def rows(said) -> list[list[str]]:
    """Return the cells of the tables that were printed."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.out.splitlines() if line.startswith("│")]


def test_a_plan_counts_cells_minutes_and_disk_and_makes_nothing(nmtlab, data, table):
    before = sorted(data.rglob("*"))
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--estimate")
    assert said.code == 0
    assert [row[:4] for row in rows(said)] == [["ha-en", "tied", "2", "0"], ["ha-en", "fixnorm", "2", "0"]]
    assert re.search(r"^4 cells, 0 made; about \d+ minutes more .* about \d+ MiB more on disk$", said.out, re.MULTILINE)
    assert "not run: hu-en: no such text" in said.out
    assert sorted(data.rglob("*")) == before


def test_cells_that_are_left_out_are_named_by_system():
    both = [row.name for row in ARTIFICIAL_ROWS[:2]]
    said = reasons(MANY_LANGUAGES.only(both), "small", {})
    assert "not run: adapters, many-to-one in qaa-en, qac-en: with all directions only" in said


def test_a_plan_without_its_text_says_what_is_missing(nmtlab, data, table, monkeypatch):
    monkeypatch.delenv("NMTLAB_CORPORA")
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--estimate")
    assert said.code == 0
    assert "not run: ha-en: corpus 'tiny': not found" in said.out
    assert [row[4:] for row in rows(said)] == [["-", "-"]] * 2
    assert "; 4 cells without their text are not counted" in said.out
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert said.err.startswith("nmtlab: corpus 'tiny': not found")


@pytest.mark.full
def test_a_table_is_run_printed_beside_what_was_published_and_saved(nmtlab, data, table):
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--save")
    assert said.code == 0, said.err
    assert "table-3.4 tiny: 4 cells, 0 of them already made" in said.out
    assert re.search(r"^tiny\.little\.s1: finished after .*, best dev BLEU [\d.]+; 3 cells, .* left$", said.out, re.M)
    lines = rows(said)
    assert [row[:3] for row in lines] == [
        ["de-en, tiny", system, metric] for metric in ("dev BLEU", "train perplexity") for system in ("tied", "fixnorm")
    ]
    assert [row[-2] for row in lines] == ["17.4", "20.5", "", ""]
    assert all(re.fullmatch(r"\d+\.\d\d ± \d+\.\d\d", row[3]) for row in lines)
    assert [bool(row[4]) for row in lines] == [False, True, False, True]
    assert {row[7] for row in lines[1::2]} <= {"better", "worse", "underpowered", "inconclusive"}
    assert "Table 3.4" in said.out
    assert "not run: hu-en: no such text" in said.out

    saved = pd.read_csv(data / "results/table-3.4.tiny.csv")
    assert len(saved) == 8
    assert set(saved["status"]) == {"finished"}
    mean = saved[(saved["column"] == "tied") & (saved["metric"] == "dev-bleu")]["value"].mean()
    assert lines[0][3].startswith(f"{mean:.2f} ±")
    text = (data / "results/table-3.4.tiny.txt").read_text(encoding="utf-8")
    assert text.startswith("nmtlab reproduce table-3.4 --scale tiny\n")
    (spread,) = pd.read_csv(data / "results/table-3.4.tiny.sentences.csv").to_dict("records")
    assert (spread["row"], spread["metric"], spread["system"], spread["than"]) == (
        "ha-en",
        "dev-bleu",
        "fixnorm",
        "tied",
    )
    assert "intervals of differences: seeds alone, seeds and sentences" in said.out
    assert all(line in said.out for line in text.splitlines()[2:])

    again = nmtlab("reproduce", "table-3.4", "--scale", "tiny")
    assert "4 cells, 4 of them already made" in again.out
    assert rows(again) == lines
    assert "finished after" not in again.out


@pytest.mark.full
def test_every_system_is_trained_with_as_many_seeds_as_are_asked_for(nmtlab, data, table):
    plan = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--seeds", 7, "--estimate")
    assert [row[:4] for row in rows(plan)] == [["ha-en", "tied", "7", "0"], ["ha-en", "fixnorm", "7", "0"]]
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--seeds", 1, "--save")
    assert "table-3.4 tiny: 2 cells, 0 of them already made" in said.out
    assert "mean over seeds 1, ± 95 %" in said.out


@pytest.mark.full
def test_a_table_is_added_to_the_evidence_with_its_runs_and_nothing_is_rewritten(nmtlab, data, table):
    said = nmtlab("evidence", "add-table", "table-3.4", "--scale", "tiny")
    assert said.err.startswith(f"nmtlab: {data}/results/table-3.4.tiny.csv: not found; run 'nmtlab reproduce table-3.4")
    assert nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--seeds", 1, "--save").code == 0
    said = nmtlab("evidence", "add-table", "table-3.4", "--scale", "tiny")
    assert re.match(r"added 2 runs \(\d+ kB\); 0 were there already\n", said.out)
    before = contents(data / "evidence")
    assert {path.split("/")[0] for path in before} == {"results", "runs", "vocabularies"}
    assert [path for path in before if path.startswith("results/")] == [
        f"results/table-3.4.tiny.{ending}" for ending in ("csv.xz", "sentences.csv.xz", "signatures.csv", "txt")
    ]
    assert nmtlab("runs", "remove", "tiny.little.s1", "--yes").code == 0
    assert "gradient norms and norms of words, it can neither" in nmtlab("runs", "show", "tiny.little.s1").out
    refused = nmtlab("runs", "remove", "tiny.little.s1", "--yes")
    assert refused.err.startswith("nmtlab: run 'tiny.little.s1': a packed run, which this command leaves alone")
    assert nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--seeds", 2, "--save").code == 0
    assert contents(data / "evidence") == before
    said = nmtlab("evidence", "add-table", "table-3.4", "--scale", "tiny")
    assert re.match(r"added 2 runs \(\d+ kB\); 2 were there already\n", said.out)
    after = contents(data / "evidence")
    assert {path: after[path] for path in before if not path.startswith("results/")} == {
        path: content for path, content in before.items() if not path.startswith("results/")
    }
    saved = data / "results/table-3.4.tiny.csv"
    saved.write_text("".join(saved.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    refused = nmtlab("evidence", "add-table", "table-3.4", "--scale", "tiny")
    assert refused.err.startswith(f"nmtlab: {saved}: lacks cells of the evidence (1), such as ha-en, fixnorm, ")
    assert contents(data / "evidence") == after


@pytest.mark.full
def test_saving_some_rows_starts_from_the_cells_that_come_with_nmtlab(nmtlab, data, table, monkeypatch, tmp_path):
    assert nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--seeds", 1, "--save").code == 0
    shipped = (data / "results").rename(tmp_path / "shipped")
    (cells,) = shipped.glob("*.tiny.csv")
    others = cells.read_text(encoding="utf-8").replace("ha-en", "hu-en")
    cells.write_text(others, encoding="utf-8")
    monkeypatch.setattr("nmtlab.grids.results.results.RESULTS", shipped)
    assert nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--seeds", 1, "--save").code == 0
    assert set(pd.read_csv(data / "results/table-3.4.tiny.csv")["row"]) == {"ha-en", "hu-en"}
    assert cells.read_text(encoding="utf-8") == others


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


def test_a_table_and_its_estimate_are_answered_in_json(nmtlab, data, tmp_path, tiny_recipe, monkeypatch):
    table = little_table(tmp_path, tiny_recipe, {"tied": {"training.max_evaluations": 1}}, seeds=(1,))
    declared_claims()  # they are about the real tables
    monkeypatch.setattr("nmtlab.thesis.tables.listing.TABLES", (table,))
    monkeypatch.delenv("NMTLAB_CORPORA")
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--estimate", "--json")
    (cell,) = EstimateAnswer.model_validate_json(said.out).cells
    assert (cell.minutes, cell.seed) == (None, 1)
    assert "not found" in cell.missing["minutes"]
    monkeypatch.setenv("NMTLAB_CORPORA", str(tmp_path))
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--json")
    assert (said.code, said.out) == (2, "")
    line = {"row": "ha-en", "column": "tied", "metric": "dev-bleu", "seed": 1, "value": 7.0, "status": "finished"}
    printed = {"published": "17.4", "published_difference": "", "published_mark": "", "run": "a", "machine": "b"}
    cells = CELLS.frame([line | printed])
    (data / "results").mkdir()
    (data / "results/table-3.4.tiny.csv").write_text(CELLS.written(cells), encoding="utf-8")
    answer = TableAnswer.model_validate_json(
        nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--stored", "--json").out
    )
    (line,) = answer.lines
    assert (line.mean, line.published, line.missing["verdict"]) == (7.0, "17.4", "it is the baseline")
    assert (answer.scale, answer.files, answer.complete) == ("tiny", [], True)


def test_a_failed_cell_is_told_of_at_the_end_and_the_table_is_printed_without_it(
    nmtlab, data, tmp_path, tiny_recipe, monkeypatch
):
    systems = {
        "tied": {"training.max_evaluations": 1},
        "fixnorm": {"text.segmentation": "bpe", "text.vocabulary_size": 5000},
    }
    table = little_table(tmp_path, tiny_recipe, systems, seeds=(1,))
    declared_claims()  # they are about the real tables
    monkeypatch.setattr("nmtlab.thesis.tables.listing.TABLES", (table,))
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny")
    assert said.code == 1
    assert rows(said)[1][2] == "-, 1 not finished"
    assert said.out.splitlines()[-1].startswith("failed: text.vocabulary_size = 5000: more subwords than")


def test_a_cell_that_diverged_is_in_the_table(nmtlab, data, tmp_path, tiny_recipe, monkeypatch):
    diverging = {"training.lr_scale": 1e30, "model.norm": "layer", "model.fixnorm": False}
    table = little_table(
        tmp_path, tiny_recipe, {"tied": {"training.max_evaluations": 1}, "fixnorm": diverging}, seeds=(1,)
    )
    declared_claims()  # they are about the real tables
    monkeypatch.setattr("nmtlab.thesis.tables.listing.TABLES", (table,))
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny")
    assert said.code == 0
    assert rows(said)[1][2] == "0.00, 1 diverged"
    assert rows(said)[1][6] == "inconclusive"


def test_an_unknown_table_is_answered_with_those_there_are(nmtlab):
    said = nmtlab("reproduce", "table-1.1")
    assert said.code == 2
    assert said.err == f"nmtlab: table 'table-1.1': unknown; choose one of {', '.join(t.name for t in TABLES)}\n"


@pytest.mark.full
def test_of_a_table_of_our_own_nothing_is_said_of_what_was_published_nor_of_what_no_run_has(
    nmtlab, data, tmp_path, tiny_recipe, monkeypatch
):
    measures = {"metrics": ("left-shift", "alignment-error", "lexicon-precision"), "published": False, "name": "why"}
    recipe = tiny_recipe.with_changes({**LEARNED, "training.max_evaluations": 2})
    table = dataclasses.replace(little_table(tmp_path, recipe, seeds=(1,)), **measures)
    declared_claims()  # they are about the real tables
    monkeypatch.setattr("nmtlab.thesis.tables.listing.TABLES", (table,))
    said = nmtlab("reproduce", "why", "--scale", "tiny")
    assert said.code == 0
    assert [row[:3] for row in rows(said)] == [
        ["de-en, tiny", system, measure]
        for measure in ("left shift", "alignment error")
        for system in ("tied", "fixnorm")
    ]
    assert "published" not in said.out


def test_the_help_names_the_tables_that_there_are(nmtlab):
    told = reproduce.__annotations__["table"].__metadata__[0].help
    names = [name for topic in re.split(r"\.\s+", told.strip(". ")) for name in topic.split(": ")[1].split(", ")]
    assert names == [table.name for table in TABLES]


# Progress


def test_the_bar_tells_of_each_cell_and_how_long_the_grid_still_takes(table, capsys):
    one, two, three, four = cells_of(table, "tiny")
    bar = GridBar("little", workers=2)
    bar(Opening("ha-en", "tiny"))
    bar(NoText("ta-en", "corpus 'large': not found; import it"))
    bar(GridPlanned((two, three, four), ((one, 60.0),)))
    bar(CellEvent(two, Preparing("checking the corpus")))
    bar(CellEvent(two, Prepared(10, 10, {}, 100)))
    bar(CellEvent(two, Validated(50, 12.5, 3.0, 12.5, 30.0, 30.0)))
    bar(CellEvent(two, Progress(50, 100, 1.0, 2.0, 100.0, 1.0, 0.1, 30.0, 30.0)))
    assert bar._time_left() == "01:00"  # 30 s of this one, (60 + 30) / 2 each of two more, two at once
    bar(CellEnded(two, "finished"))
    bar(CellEnded(three, "failed", "the disk is full; make room"))
    bar(CellEnded(four, "diverged"))
    bar.close()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "ha-en: opening corpus tiny ...",
        "ta-en: left out, corpus 'large': not found; import it",
        "little: 4 cells, 1 of them already made",
    ]
    assert bar.left_out == {"ta-en": "corpus 'large': not found; import it"}
    lines = lines[1:]
    assert re.fullmatch(rf"{two.run}: finished after 00:0\d, best dev BLEU 12\.50; 2 cells, 00:\d\d left", lines[2])
    assert lines[3].startswith(f"{three.run}: the disk is full; make room; 1 cell, ")
    assert re.fullmatch(rf"{four.run}: diverged after 00:0\d, no evaluation yet", lines[4])
    assert len(lines) == 5


def test_nothing_is_promised_where_nothing_is_known(table, capsys):
    one, two, *_ = cells_of(table, "tiny")
    bar = GridBar("little")
    bar(GridPlanned((one, two), ()))
    assert bar._time_left() == "?"
    bar(CellEvent(one, dataclasses.replace(Progress(1, 100, *[math.nan] * 7), seconds=1.0, seconds_left=99.0)))
    assert re.fullmatch(r"03:1\d", bar._time_left())
    bar.close()
    capsys.readouterr()


def test_the_cells_of_one_pair_can_be_made_by_themselves(nmtlab, data, table):
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--estimate", "--pair", "ha-en")
    assert "4 cells, 0 made" in said.out
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--estimate", "--pair", "hu-en")
    assert "0 cells, 0 made" in said.out
    said = nmtlab("reproduce", "table-3.4", "--scale", "tiny", "--pair", "xx-en")
    assert (said.code, said.out) == (2, "")
    assert said.err == "nmtlab: table-3.4: no pair 'xx-en'; choose from ha-en, hu-en\n"
