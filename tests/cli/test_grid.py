"""`nmtlab grid`, from a file of TOML to verdicts, a page and an answer for programs."""

import pandas as pd
import pytest

from nmtlab.cli.table_run import EstimateAnswer, TableAnswer
from nmtlab.grids.declared.declaration import GRID
from nmtlab.grids.declared.example import EXAMPLE
from nmtlab.grids.results.stored_grids import stored_grids
from nmtlab.workspace import Workspace

MINE = """
seeds = [{seeds}]
changes = {{ training.max_evaluations = {most} }}
[[system]]
name = "plain"
recipe = "tiny.toml"
[[system]]
name = "layered"
recipe = "tiny.toml"
changes = {{ model.norm = "layer" }}
[[text]]
corpus = "tiny"
sizes = ["all"]
"""


def write(data, seeds: str = "1", most: int = 1) -> None:
    (data.parent / "mine.toml").write_text(MINE.format(seeds=seeds, most=most), encoding="utf-8")


@pytest.mark.full
def test_the_example_can_be_written_to_a_file_and_estimated(nmtlab, data):
    said = nmtlab("grid", "--example")
    assert said.out == EXAMPLE
    (data.parent / "mine.toml").write_text(said.out, encoding="utf-8")
    assert "12 cells, 0 made" in nmtlab("grid", "mine.toml", "--estimate").out


@pytest.mark.full
def test_the_example_runs_to_its_verdicts_with_less_text_and_time(nmtlab, data):
    small = EXAMPLE.replace("[1000, 4000]", "[60, 120]\ndev = 20\ntest = 20")
    for long, short in (("every = 100", "every = 5"), ("evaluations = 4", "evaluations = 1")):
        small = small.replace(long, short)
    (data.parent / "mine.toml").write_text(small, encoding="utf-8")
    said = nmtlab("grid", "mine.toml", "--json")
    assert said.code == 0, said.err
    answer = TableAnswer.model_validate_json(said.out)
    assert answer.complete
    assert (len(answer.lines), len(answer.decisions)) == (8, 4)
    assert {line.seeds for line in answer.lines} == {3}


def test_an_estimate_in_json_has_each_cell_and_makes_nothing(nmtlab, data, monkeypatch):
    write(data, "1, 2")
    before = sorted(data.rglob("*"))
    answer = EstimateAnswer.model_validate_json(nmtlab("grid", "mine.toml", "--estimate", "--json").out)
    assert len(answer.cells) == 4
    assert answer.minutes == pytest.approx(sum(cell.minutes for cell in answer.cells))
    assert sorted(data.rglob("*")) == before


def test_without_a_file_and_with_a_mistake_the_remedy_is_named(nmtlab, data):
    said = nmtlab("grid")
    assert (said.code, said.err.count("--example")) == (2, 1)
    (data.parent / "mine.toml").write_text('[[system]]\nname = "a"\nrecipe = "tied"\n', encoding="utf-8")
    said = nmtlab("grid", "mine.toml")
    assert (said.code, said.out) == (2, "")
    assert said.err == "nmtlab: mine.toml, line 1: text: missing; add a table [[text]]\n"


@pytest.mark.full  # near the limit of the quick tier on a slow machine
def test_a_grid_is_trained_once_saved_and_answered_in_json(nmtlab, data):
    write(data)
    said = nmtlab("grid", "mine.toml", "--json")
    assert said.code == 0, said.err
    assert "2 cells, 0 of them already made" in said.err
    answer = TableAnswer.model_validate_json(said.out)
    assert (answer.name, answer.scale, answer.baseline, answer.complete) == ("mine", GRID, "plain", True)
    assert [(line.text, line.system, line.metric, line.seeds) for line in answer.lines] == [
        ("tiny", "plain", "test-bleu", 1), ("tiny", "layered", "test-bleu", 1),
    ]  # fmt: skip
    assert answer.lines[0].missing["verdict"] == "it is the baseline"
    assert answer.lines[1].verdict == "inconclusive"
    assert answer.lines[1].missing["q"] == "fewer than 3 seeds"
    assert answer.decisions[0].startswith("de-en, tiny, test BLEU: undecided between layered and plain (")
    assert "fewer than 3 seeds" in answer.decisions[0]
    names = {path.removeprefix(f"{data}/results/") for path in answer.files}
    assert names == {f"mine.grid.{ending}" for ending in ("csv", "sentences.csv", "signatures.csv", "txt", "toml")}

    again = nmtlab("grid", "mine.toml")
    assert "2 cells, 2 of them already made" in again.out
    assert "finished after" not in again.out
    assert answer.decisions[0] in again.out
    assert f"written to {data / 'results/mine.grid.toml'}" in again.out


@pytest.mark.full
def test_what_was_saved_of_another_question_is_not_mixed_with_it(nmtlab, data):
    write(data)
    assert nmtlab("grid", "mine.toml").code == 0
    write(data, most=2)
    nmtlab("runs", "remove", "tiny.tiny.max_evaluations-1.s1", "--yes")
    assert "2 cells, 0 of them already made" in nmtlab("grid", "mine.toml").out
    assert set(pd.read_csv(data / "results/mine.grid.csv")["recipe"]) == {
        "tiny.max_evaluations-2", "tiny.max_evaluations-2.norm-layer",
    }  # fmt: skip


@pytest.mark.full
def test_a_grid_ends_in_verdicts_and_in_a_page_that_can_be_sent(nmtlab, data):
    pytest.importorskip("ipywidgets", reason="the page needs it")
    write(data, "1, 2, 3", 3)
    said = nmtlab("grid", "mine.toml", "--html", "page.html")
    assert said.code == 0, said.err
    (found,) = stored_grids(Workspace.find())
    decided = found.summary()["verdict"].iloc[1]
    assert decided
    assert found.decisions[0] in said.out
    page = (data.parent / "page.html").read_text(encoding="utf-8")
    assert "<figure>" in page
    assert "layered" in page


def test_a_damaged_declaration_hides_no_other_grid(workspace):
    workspace.results.mkdir(parents=True)
    (workspace.results / "bad.grid.toml").write_text("seeds = [", encoding="utf-8")
    (workspace.results / "good.grid.toml").write_text(EXAMPLE, encoding="utf-8")
    assert stored_grids(workspace) == []  # its cells are missing
    (workspace.results / "good.grid.csv").write_text("", encoding="utf-8")
    assert [one.name for one in stored_grids(workspace)] == ["good.grid"]


COMET = '\n[[scores]]\nname = "COMET"\nfiles = { "tiny" = "comet.tsv" }\n'


def scored(data, columns: dict[str, list[object]]) -> None:
    """Add scores from elsewhere to the grid, with a column for each name."""
    lines = ["\t".join(columns), *("\t".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (data.parent / "comet.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    grid = data.parent / "mine.toml"
    grid.write_text(grid.read_text(encoding="utf-8").removesuffix(COMET) + COMET, encoding="utf-8")


@pytest.mark.full
def test_translations_are_written_for_scores_from_elsewhere_and_wrong_scores_are_refused(nmtlab, data, tiny_corpus):
    write(data)
    assert nmtlab("grid", "mine.toml", "--translations", "out").code == 0
    folder = data.parent / "out/tiny"
    runs = sorted(path.name for path in folder.glob("*.txt"))
    assert len(runs) == 2
    assert (folder / "reference.en").read_text(encoding="utf-8") == (tiny_corpus.folder / "test.en").read_text("utf-8")
    assert (folder / "source.de").read_text(encoding="utf-8") == (tiny_corpus.folder / "test.de").read_text("utf-8")
    sentences = tiny_corpus.count("test")
    made, *_ = data.glob(f"runs/{runs[0].removesuffix('.txt')}/translations/test-*.txt")
    assert (folder / runs[0]).read_text(encoding="utf-8") == made.read_text(encoding="utf-8")
    one, other = ([0.5] * sentences for _ in runs)
    for columns, problem in (
        ({runs[0]: one}, f"no column for {runs[1]!r}"),
        ({runs[0]: one[1:], runs[1]: other[1:]}, f"{sentences - 1} scores, but the text has {sentences} sentences"),
        ({runs[0]: one, runs[1]: ["good", *other[1:]]}, f"line 2: the score of {runs[1]} is 'good', no number"),
    ):
        scored(data, columns)
        said = nmtlab("grid", "mine.toml")
        assert (said.code, problem in said.err) == (2, True), said.err
    (data.parent / "comet.tsv").unlink()
    assert "mine.toml, line 17: scores.files: no file 'comet.tsv'" in nmtlab("grid", "mine.toml").err


@pytest.mark.full
def test_scores_from_elsewhere_are_judged_over_seeds_and_sentences_and_shown_on_the_page(nmtlab, data, tiny_corpus):
    pytest.importorskip("ipywidgets", reason="the page needs it")
    from nmtlab.dashboards.pages.tables import TablesPage

    write(data, "1, 2, 3")
    assert nmtlab("grid", "mine.toml", "--translations", "out").code == 0
    runs = sorted((data.parent / "out/tiny").glob("*.txt"))
    by_sentence = [0.1 * (line % 7) for line in range(tiny_corpus.count("test"))]
    scored(data, {
        path.name: [one + 0.01 * place + 0.5 * ("layer" in path.name) for one in by_sentence]
        for place, path in enumerate(runs)
    })  # fmt: skip
    answer = TableAnswer.model_validate_json(nmtlab("grid", "mine.toml", "--json").out)
    _, line = (line for line in answer.lines if line.metric == "COMET")
    assert (line.system, line.verdict, line.seeds) == ("layered", "better", 3)
    assert line.difference == pytest.approx(0.5 - 0.03 * (1 if runs[0].name.find("layer") > 0 else -1))
    assert any("test COMET" in one or ", COMET: layered is better than plain (+" in one for one in answer.decisions)
    page = TablesPage(Workspace.find())
    page.measure.value = "COMET"
    assert "Better than plain: layered" in page.answer.value
    lower = data.parent / "mine.toml"
    lower.write_text(lower.read_text(encoding="utf-8") + 'better = "lower"\n', encoding="utf-8")
    assert "COMET: layered is worse than plain (+" in nmtlab("grid", "mine.toml").out
