"""The tables of the thesis on their page: numbers, what they stand for, and what is not here."""

import shutil
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
from support.packed import copy_packed, link_packed, packed_folder
from support.unfolded import unfolded

from nmtlab.analysis.access.translations import stored_translations
from nmtlab.dashboards.pages.tables import TablesPage
from nmtlab.figures.marks import Token
from nmtlab.grids.declared.example import EXAMPLE
from nmtlab.grids.results.judgement import GRID_RULE, NOT_KEPT, RULE
from nmtlab.grids.results.kept import Kept
from nmtlab.grids.results.schemas import CELLS, SENTENCES
from nmtlab.grids.results.summary import summary
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.tables.lexical_choice import SMALL_HU, SMALL_QAA
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import RESULTS, Workspace

TEXT = Path(__file__).parents[2].parent / "shared/data"
BOTH = ("small-qaa-en.tied.s1", "small-qaa-en.fixnorm.s1")


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Workspace:
    workspace = Workspace(tmp_path_factory.mktemp("here"))
    for name in BOTH:
        copy_packed(name, workspace, leave_out="checkpoints")
    return workspace


@pytest.fixture
def page(here, monkeypatch) -> TablesPage:
    """The page, as if all runs were kept."""
    monkeypatch.setattr(Kept, "has", lambda *_: True)
    return unfolded(TablesPage(here))


@pytest.mark.full
def test_lines_whose_runs_are_not_here_have_numbers_and_no_verdict(here):
    page = unfolded(TablesPage(here))
    page.table.value = "table-3.10.small"
    lost = dict(zip(keys(page), shown(page), strict=True))["qaa-en", "fixnorm"]
    assert (lost["verdict"], lost["why undecided"]) == (NOT_KEPT, "")
    assert lost["95 % interval"] != ""


def shown(page: TablesPage) -> list[dict]:
    return page.lines.frame.to_dict("records")


def keys(page: TablesPage) -> list[tuple[str, str]]:
    """Return row and column of each line that is shown, as they are in the results."""
    return [tuple(key.split(" · ")) for key in page.lines.frame.index]


@pytest.mark.full
def test_a_line_has_its_mean_its_verdict_and_what_was_published(page):
    cells = CELLS.read(RESULTS / "table-3.6.small.csv")
    spreads = SENTENCES.read(RESULTS / "table-3.6.small.sentences.csv")
    lines = summary(cells, find_table("table-3.6"), spreads).set_index(["row", "column"])
    for key, line in zip(keys(page), shown(page), strict=True):
        own = lines.loc[key]
        assert line["measured"] == pytest.approx(own["mean"], abs=0.005, nan_ok=True)
        assert line["system − tied"] == pytest.approx(own["difference"], abs=0.005, nan_ok=True)
        assert (line["verdict"], line["published, on another text"]) == (own["verdict"], own["published"])
    absent = cells.groupby("row", sort=False)["status"].agg(lambda of_row: (of_row == "not run").all())
    assert {row for row, _ in keys(page)} == {*absent[~absent].index}
    said = page.hint.value.partition("Not run yet: ")[2].partition(". ")[0]
    assert [one.partition(",")[0] for one in said.split(" · ") if one] == absent[absent].index.tolist()
    assert "Differences are system − tied; better is above 0" in page.hint.value


@pytest.mark.full
def test_numbers_by_a_definition_that_is_no_more_are_named_and_not_shown(tmp_path):
    now, before = "searched-exactly", "% searched exactly"
    cells = pd.read_csv(RESULTS / "ambiguity.small.csv.xz")
    (tmp_path / "results").mkdir()
    cells.replace({"metric": {now: before}}).to_csv(tmp_path / "results/ambiguity.small.csv", index=False)
    page = unfolded(TablesPage(Workspace(tmp_path)))
    page.table.value = "ambiguity.small"
    assert {key for _, key in page.measure.options} == set(cells["metric"]) - {now}
    assert f"Measured earlier by other definitions, and not shown: {before}." in page.hint.value
    page.table.value = "table-3.6.small"
    assert "by other definitions" not in page.hint.value


@pytest.mark.full
def test_a_picked_line_has_its_trainings_and_the_one_that_is_here_its_sentences(page):
    page.lines.choose(["qaa-en · fixnorm"])
    assert page.trainings.table.value == BOTH[1]
    assert page.trainings.table.frame["here"].to_dict() == {
        "small-qaa-en.fixnorm.s1": True, "small-qaa-en.fixnorm.s2": False, "small-qaa-en.fixnorm.s3": False,
    }  # fmt: skip
    assert page.trainings.lines.title == "Examples from dev (test sentences are not stored): select one"
    sentences = page.trainings.lines.frame
    assert list(sentences.columns[:4]) == ["line", "source", "reference", "tied"]  # the baseline of the same seed
    assert "fixnorm" in sentences.columns
    assert f"dynamics.ipynb?runs={'%2C'.join(BOTH)}" in page.trainings._look.value
    assert "attention.ipynb" not in page.trainings._look.value  # without weights it has nothing to show


@pytest.mark.full
def test_a_sentence_of_a_training_shows_its_tokens_and_one_of_them_leads_to_other_pages(page):
    page.lines.choose(["qaa-en · fixnorm"])
    assert page.trainings.selection.lines == []
    page.trainings.lines.choose([3])
    row = page.trainings.lines.frame.loc[3]
    shown = {line["name"]: line["tokens"] for line in page.trainings.selection.lines}
    assert list(shown) == ["source", "reference", "tied", "fixnorm"]
    assert " ".join(shown["source"]) == row["source"]
    word = shown["reference"][0]
    page.trainings.selection.select(Token("target", 1, word))
    assert page.trainings.lines.marked == word
    links = {link["page"]: link["href"] for link in page.trainings.selection.links}
    assert f"line=3&open=sentences&selected=target%3A1%3A{word}" in links["Compare"]
    assert "sentence=3" in page._browser.query
    page.lines.choose(["qaa-en · untied"])
    assert page.trainings.selection.lines == []


@pytest.mark.full
def test_a_training_that_is_kept_nowhere_says_so_and_has_no_sentences(page, monkeypatch, tmp_path):
    monkeypatch.setattr("nmtlab.runs.packed.EVIDENCE", tmp_path)
    page.lines.choose(["qaa-en · fixnorm"])
    page.trainings.table.choose(["small-qaa-en.fixnorm.s2"])
    assert "Run small-qaa-en.fixnorm.s2 is not in this workspace" in page.trainings._hint.value
    assert page.trainings.lines.layout.display == "none"


@pytest.mark.full
def test_translations_whose_text_is_not_here_are_shown_alone(tmp_path):
    workspace, names = Workspace(tmp_path), ["small-hu-en.tied.s1", "small-hu-en.fixnorm.s1"]
    for name in names:
        link_packed(name, workspace)
    page = unfolded(TablesPage(workspace))
    page.lines.choose(["hu-en · fixnorm"])
    hint = unescape(page.trainings._hint.value)
    assert "shown without source and reference: corpus 'small-hu-en': its part 'tatoeba-hu-en' was not found" in hint
    assert "NMTLAB_CORPORA" in hint
    assert list(page.trainings.lines.frame.columns) == ["line", "tied", "fixnorm"]
    assert len(page.trainings.lines.frame) == 500
    page.trainings.lines.choose([3])
    assert page.trainings.selection.lines == []
    shutil.rmtree(open_run(names[1], workspace).folder / "translations")
    page.trainings.look()
    assert f"No stored translations for {names[1]}." in page.trainings._hint.value


@pytest.mark.full
def test_sentences_of_a_training_that_is_not_here_are_read_from_the_evidence(tmp_path):
    workspace, names = Workspace(tmp_path), ["small-qaa-en.tied.s2", "small-qaa-en.fixnorm.s2"]
    text = SMALL_QAA.open(workspace)
    page = unfolded(TablesPage(workspace))
    page.lines.choose(["qaa-en · fixnorm"])
    page.trainings.table.choose(names[1:])
    assert page.trainings.lines.title == "Sentences scored by test BLEU (small-qaa-en test): select one"
    sentences = page.trainings.lines.frame
    assert list(sentences.columns) == [
        "line", "source", "reference", names[0], f"{names[0]} chrF", names[1], f"{names[1]} chrF", "gain",
    ]  # fmt: skip
    for name in names:
        lines = stored_translations(Run(packed_folder(name)), text, "test")
        assert sentences.set_index("line", drop=False).loc[range(1, 501), name].tolist() == lines
    page.trainings.lines.choose([3])
    assert page.trainings.selection.lines == []  # its tokens are not known


@pytest.mark.full
def test_a_text_that_can_be_made_is_shown_with_the_translations_and_the_workspace_stays_as_it_is(tmp_path):
    page = unfolded(TablesPage(Workspace(tmp_path / "empty")))
    page.lines.choose(["qaa-en · fixnorm"])
    page.trainings.table.choose(["small-qaa-en.fixnorm.s2"])
    assert page.trainings._hint.value == ""
    assert page.trainings.lines.title == "Sentences scored by test BLEU (small-qaa-en test): select one"
    text = SMALL_QAA.open(Workspace(tmp_path / "made"))
    sentences = page.trainings.lines.frame
    assert sentences["source"].tolist() == list(text.lines("test", "qaa"))
    assert sentences["reference"].tolist() == list(text.lines("test", "en"))
    for name in ("small-qaa-en.tied.s2", "small-qaa-en.fixnorm.s2"):
        assert sentences[name].tolist() == stored_translations(Run(packed_folder(name)), text, "test")
    assert not (tmp_path / "empty" / "corpora").exists()


@pytest.mark.full
@pytest.mark.skipif(not (TEXT / "tatoeba-hu-en").is_dir(), reason="needs tatoeba-hu-en")
def test_a_joined_text_is_shown_where_its_parts_are_in_other_folders_of_corpora(tmp_path):
    page = unfolded(TablesPage(Workspace(tmp_path, (TEXT,))))
    page.lines.choose(["hu-en · fixnorm"])
    assert page.trainings._hint.value == ""
    text = SMALL_HU.open(Workspace(tmp_path / "made", (TEXT,)))
    sentences = page.trainings.lines.frame
    assert sentences["source"].tolist() == list(text.lines("test", "hu"))
    name = page.trainings.table.value
    assert sentences[name].tolist() == stored_translations(Run(packed_folder(name)), text, "test")


def test_another_table_brings_its_own_measures_claims_and_lines(page):
    page.table.value = "table-3.8.small"
    assert page.measure.options == (("train perplexity", "train-perplexity"), ("dev BLEU", "dev-bleu"))
    assert "system" not in page.chart.figure.layout.annotations[-1].text  # it has no baseline to differ from
    claims = [claim.text for claim in declared_claims() if claim.evidence == "table-3.8.small.csv"]
    assert page.claims.frame["claim"].tolist() == claims
    page.measure.value = "dev-bleu"
    cells = CELLS.read(RESULTS / "table-3.8.small.csv").query("metric == 'dev-bleu'")
    wanted = cells.groupby(["row", "column"], sort=False)["value"].mean()
    measured = dict(zip(keys(page), page.lines.frame["measured"], strict=True))
    assert measured == pytest.approx({key: wanted[key] for key in measured}, abs=0.005, nan_ok=True)


@pytest.mark.full
def test_where_nothing_was_published_no_column_is_left_for_it(page):
    page.table.value = "length-planning.small"
    assert not [name for name in page.lines.frame.columns if name.startswith("published")]
    assert "system − ordinary" in page.lines.frame.columns
    page.table.value = "table-3.6.small"
    assert list(page.lines.frame.columns)[-2:] == ["published, on another text", "published difference"]


@pytest.mark.full
def test_a_table_without_a_baseline_leaves_the_next_one_as_a_person_wants_it_drawn(page):
    page.table.value = "table-3.8.small"
    page.table.value = "table-3.6.small"
    assert page.draw.value == "difference"
    assert page.chart.figure.layout.annotations[-1].text == "test BLEU: system − tied"
    page.draw.value = "value"
    page.table.value = "table-3.8.small"
    page.table.value = "table-3.6.small"
    assert page.chart.figure.layout.annotations[-1].text == "test BLEU"


@pytest.mark.full
def test_rounding_hides_no_difference(page):
    page.table.value = "lexical-choice.small"
    page.measure.value = "rare-recall"
    cells = CELLS.read(RESULTS / "lexical-choice.small.csv").query("metric == 'rare-recall'")
    spreads = SENTENCES.read(RESULTS / "lexical-choice.small.sentences.csv")
    lines = summary(cells, find_table("lexical-choice"), spreads).set_index(["row", "column"])
    for key, line in zip(keys(page), shown(page), strict=True):
        own = lines.loc[key]
        for name, whole in (("measured", own["mean"]), ("system − tied", own["difference"])):
            assert line[name] == pytest.approx(whole, rel=0.005, nan_ok=True)
        for name, low, high in (("measured, 95 %", "mean_low", "mean_high"), ("95 % interval", "low", "high")):
            ends = [float(end.replace("−", "-")) for end in line[name].split(" to ") if end]
            largest = max(abs(own[low]), abs(own[high]))
            assert ends == pytest.approx([own[low], own[high]] if ends else [], abs=0.005 * largest)
            assert bool(ends) == (own[low] == own[low])
    page.measure.value = "left-shift"
    assert "Differences are |system| − |tied|; better is below 0" in page.hint.value
    assert "|system| − |tied|" in page.lines.frame.columns


@pytest.mark.full
def test_a_line_says_what_its_interval_covers_what_it_could_have_shown_and_why_nothing_is_decided(page):
    assert RULE in page.hint.value
    page.table.value = "related-parents.small"
    names = ["system − BPE", "95 % interval", "interval covers", "verdict", "why undecided", "q", "detectable effect"]
    assert [name for name in page.lines.frame.columns if name in names] == names
    lines = page.lines.frame[page.lines.frame["system"] != "BPE"]
    assert set(lines["interval covers"]) == {"seeds and sentences"}
    page.table.value = "table-3.6.small"
    lines = page.lines.frame
    undecided = lines["verdict"].isin(["inconclusive", "underpowered"])
    assert undecided.any()
    assert (lines["why undecided"] != "").tolist() == undecided.tolist()


@pytest.mark.full
def test_the_lines_of_all_measures_are_judged_together(page):
    page.table.value = "lexical-choice.small"
    stored = CELLS.read(RESULTS / "lexical-choice.small.csv")
    spreads = SENTENCES.read(RESULTS / "lexical-choice.small.sentences.csv")
    lines = summary(stored, find_table("lexical-choice"), spreads).query("metric == 'rare-recall'")
    page.measure.value = "rare-recall"
    assert [line["q"] for line in shown(page)] == pytest.approx(lines["q"].tolist(), rel=0.01, nan_ok=True)


def test_the_thesis_claims_of_a_table_say_what_is_expected_of_which_difference(page):
    assert "tied − phrase-based (Thot), expected below 0" in page.claims.frame["direction"].tolist()


@pytest.mark.full
def test_a_point_of_the_figure_leads_to_its_line(page):
    page._clicked({"meta": "tr-en, Tatoeba", "customdata": ["phrase-based (Thot)", 3, 0, 1.0]})
    assert page.lines.value == "tu-en · Moses"
    page._clicked({"meta": "tr-en, Tatoeba", "customdata": ["fixnorm+lex", 3, 0, 1.0]})
    assert page.lines.value == "tu-en · fixnorm+lex"
    assert page.trainings.table.frame["recipe"].tolist() == ["fixnorm-lex"] * 3


@pytest.mark.full
def test_an_address_opens_a_training_of_a_table(here):
    first = unfolded(TablesPage(here))
    chosen = "table=table-3.6.small&measure=test-bleu&draw=value&line=qaa-en+%C2%B7+tied"
    query = f"{chosen}&training=small-qaa-en.tied.s1&open=behind%2Cclaims%2Csources"
    first._opened(f"?{query}")
    assert first._message.value == ""
    assert first._browser.query == query


@pytest.mark.full
def test_a_table_of_ones_own_takes_the_place_of_the_checkouts(tmp_path):
    workspace = Workspace(tmp_path)
    own = CELLS.read(RESULTS / "table-3.6.small.csv").query("row == 'tu-en'")
    (workspace.data / "results").mkdir(parents=True)
    own.to_csv(workspace.data / "results/table-3.6.small.csv", index=False)
    assert {line["text"] for line in shown(unfolded(TablesPage(workspace)))} == {"tr-en, Tatoeba"}


def test_a_damaged_table_is_told_in_the_page(tmp_path):
    workspace = Workspace(tmp_path)
    (workspace.data / "results").mkdir(parents=True)
    (workspace.data / "results/table-3.6.small.csv").write_text("row,column\n")
    page = unfolded(TablesPage(workspace))
    assert "table-3.6.small.csv: not a table of results" in page._message.value


def test_a_grid_of_ones_own_comes_first_with_its_verdicts(tmp_path, monkeypatch):
    monkeypatch.setattr(Kept, "has", lambda *_: True)
    about = {"table": "mine", "scale": "grid", "metric": "test-bleu", "status": "finished", "machine": "here"}
    scores = {("qaa 1000", "tied"): 10.0, ("qaa 1000", "fixnorm"): 20.0, ("qaa 4000", "tied"): 30.0}
    lines = [
        {
            **about,
            "row": row,
            "column": column,
            "seed": seed,
            "value": value + seed / 10,
            "run": f"{row}.{column}.{seed}",
        }
        for (row, column), value in {**scores, ("qaa 4000", "fixnorm"): 30.05}.items()
        for seed in (1, 2, 3)
    ]
    (tmp_path / "results").mkdir()
    (tmp_path / "results/mine.grid.csv").write_text(CELLS.written(CELLS.frame(lines)), encoding="utf-8")
    (tmp_path / "results/mine.grid.toml").write_text(EXAMPLE, encoding="utf-8")
    page = unfolded(TablesPage(Workspace(tmp_path)))
    assert page.table.value == "mine.grid"
    assert page.table.options[0][0].startswith("mine: What do word vectors")
    assert [(row, column, line["verdict"]) for (row, column), line in zip(keys(page), shown(page), strict=True)] == [
        ("qaa 1000", "tied", ""), ("qaa 1000", "fixnorm", "better"),
        ("qaa 4000", "tied", ""), ("qaa 4000", "fixnorm", "equivalent"),
    ]  # fmt: skip
    assert page.lines.frame["text"].unique().tolist() == ["qaa-en (1,000), artificial", "qaa-en (4,000), artificial"]
    hint = unescape(page.hint.value)
    assert "Produced by 'nmtlab grid mine.toml'; cells in mine.grid.csv." in hint
    assert "qaa-en (1,000), artificial, test BLEU: fixnorm is better than tied (+10.00" in hint
    assert "fixnorm and tied are equivalent (+0.05" in hint
    assert GRID_RULE in hint
    assert "thesis" not in GRID_RULE
    assert "published" not in hint
    assert "Better than tied: fixnorm on 1 of 2 texts" in page.answer.value
