"""Table `more-sources`: the same lines for all systems of a row, in the texts that they are declared with."""

import pandas as pd
import pytest

from nmtlab.grids.declared.corpora import IncompleteCorpus, SeveralSources
from nmtlab.grids.declared.whole_corpora import MultiParallelCorpus, SyntheticFamily
from nmtlab.grids.running.cells import Cell, cells_of, trainings
from nmtlab.text.artificial import ArtificialSettings
from nmtlab.thesis.tables.more_sources import MORE_SOURCES
from nmtlab.workspace import RESULTS, Workspace

SETTINGS = ArtificialSettings(vocabulary=100, names=3)
WHOLE = SyntheticFamily("family", (("qaa", SETTINGS), ("qab", SETTINGS)), train=400, dev=10, test=10)
LANGUAGES = ("qaa", "qab")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("incomplete") / "data")


def rows(corpus: IncompleteCorpus, workspace: Workspace) -> list[tuple[str, ...]]:
    return list(SeveralSources(corpus, LANGUAGES[1:]).open(workspace).rows("train"))


def test_a_share_of_the_lines_lacks_one_of_the_sources_and_dev_and_test_none(workspace):
    complete, some, more = (IncompleteCorpus(WHOLE, LANGUAGES, share) for share in (0.0, 0.3, 0.6))
    whole = rows(complete, workspace)
    assert len(whole) == len(set(whole)) == 400
    assert all(all(row) for row in whole)
    lacking = {}
    for corpus, share in ((some, 0.3), (more, 0.6)):
        found = rows(corpus, workspace)
        assert all(
            target == expected[-1]
            and all(ours in ("", theirs) for ours, theirs in zip(sources, expected, strict=False))
            for (*sources, target), expected in zip(found, whole, strict=True)
        )
        assert all(row.count("") < 2 for row in found)
        lacking[share] = {place: row.index("") for place, row in enumerate(found) if "" in row}
        assert len(lacking[share]) == pytest.approx(400 * share, abs=40)
        assert 0.3 < sum(lacking[share].values()) / len(lacking[share]) < 0.7
        opened = SeveralSources(corpus, ("qab",)).open(workspace)
        assert all(all(row) for split in ("dev", "test") for row in opened.rows(split))
    assert lacking[0.3].items() <= lacking[0.6].items()
    kept = rows(IncompleteCorpus(WHOLE, LANGUAGES, 0.6, only_complete=True), workspace)
    assert kept == [row for place, row in enumerate(whole) if place not in lacking[0.6]]


def test_lines_of_a_text_that_is_a_tenth_of_what_there_is_are_incomplete_and_complete(tmp_path):
    for code in LANGUAGES:
        folder = tmp_path / f"found/tale-{code}"
        folder.mkdir(parents=True)
        for split, lines in (("train", range(2000)), ("dev", range(2000, 2010)), ("test", range(2010, 2020))):
            for side in (code, "en"):
                folder.joinpath(f"{split}.{side}").write_text("".join(f"{side} line {n}\n" for n in lines))
    workspace = Workspace(tmp_path / "data", (tmp_path / "found",))
    whole = MultiParallelCorpus("tale", "qaa", "en", ("tale-qaa", "tale-qab"), train=200)
    lacking = [row for row in rows(IncompleteCorpus(whole, LANGUAGES, 0.6), workspace) if "" in row]
    complete = rows(IncompleteCorpus(whole, LANGUAGES, 0.6, only_complete=True), workspace)
    assert len(lacking) == pytest.approx(120, abs=30)
    assert len(lacking) + len(complete) == 200


@pytest.fixture(scope="module")
def cells() -> dict[tuple[str, str], Cell]:
    return {(cell.row, cell.column): cell for cell in cells_of(MORE_SOURCES, "small") if cell.seed == 1}


def test_systems_of_several_sources_name_them_and_all_are_tested_on_the_first(cells):
    several = {column for (_, column), cell in cells.items() if cell.recipe.corpus.also_sources}
    assert several == {
        "complete lines", "several sources", "several, joint", "several, one encoder", "mixture of experts"
    }  # fmt: skip
    for (row, _), cell in cells.items():
        assert [text.source for text in cell.texts] == [row.split("-")[0]]
        assert cell.recipe.corpus.also_sources in ((), ("pt",), ("qaa",))


def test_only_rows_with_missing_sources_have_a_system_of_the_complete_lines(cells):
    assert {row for row, column in cells if column == "complete lines"} == {
        "gl-en (60 % incomplete)", "qab-en (60 % incomplete)"
    }  # fmt: skip


def test_a_parent_reads_the_second_source_of_the_same_lines_for_as_many_updates(cells):
    child = cells["gl-en (60 % incomplete)", "second as parent"]
    parent, _ = trainings([child])
    assert (parent.corpus.source, parent.corpus.name) == ("pt", child.corpus.name)
    alike = ("validate_every", "max_evaluations", "patience", "batch_tokens")
    systems = [parent, *(cell for (row, _), cell in cells.items() if row == child.row)]
    assert len({tuple(getattr(cell.recipe.training, field) for field in alike) for cell in systems}) == 1
    assert len({cell.recipe.text for cell in systems}) == 1


def test_the_published_gain_of_several_sources_is_that_of_the_paper():
    values = pd.read_csv(RESULTS.parent / "published/nishimura-2018.csv")
    un = values[(values["text"] == "UN") & (values["lines"] == 800_000)]
    best = un[un["system"] == "single"].groupby("condition")["bleu"].max()
    gained = un[un["system"] == "multi-encoder"].set_index("condition")["bleu"] - best
    assert gained.round(2).to_dict() == {"complete": 5.68, "incomplete": 5.45}
