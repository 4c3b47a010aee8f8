"""Systems whose text is made by systems that were trained on made text: in rounds, and one model of both directions."""

from dataclasses import replace

import pytest

from nmtlab.grids.declared.corpora import TranslatedCorpus
from nmtlab.grids.declared.declaration import Setup
from nmtlab.grids.running.cells import Cell, cells_of, run_cell, trainings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus_builder import synthetic_language
from nmtlab.thesis.tables.monolingual import BACK_EQUAL, MONOLINGUAL
from nmtlab.thesis.tables.rounds import B1, B5, B5_CONTINUED, B6, BOTH_WAYS, IN_ROUNDS, ROUND, U3, U4
from nmtlab.workspace import Workspace

FORTH, BACK = "qaa-en (250)", "en-qaa (250)"


def cells(table) -> dict[tuple[str, str], Cell]:
    return {(cell.row, cell.column): cell for cell in cells_of(table, "tiny") if cell.seed == 1}


@pytest.fixture(scope="module")
def rounds() -> dict[tuple[str, str], Cell]:
    return cells(IN_ROUNDS)


@pytest.fixture(scope="module")
def both() -> dict[tuple[str, str], Cell]:
    return cells(BOTH_WAYS)


def maker(cell: Cell) -> Cell:
    (need,) = cell.needs
    assert need.role == "translator"
    return need.cell


@pytest.mark.parametrize(("row", "other"), [(FORTH, BACK), (BACK, FORTH)])
def test_the_text_of_a_round_is_made_by_a_run_in_the_other_direction_that_read_text_of_the_round_before(
    rounds, row, other
):
    assert maker(rounds[row, ROUND[1].name]).run == rounds[other, "pairs alone"].run
    for number in (2, 3):
        back = maker(rounds[row, ROUND[number].name])
        assert (back.corpus, maker(back).run) == (
            rounds[other, "pairs alone"].corpus,
            rounds[row, f"round {number - 1}"].run,
        )
    order = [one.run for one in trainings([rounds[row, ROUND[3].name]])]
    assert len(order) == 6
    assert order[-1] == rounds[row, ROUND[3].name].run


def test_the_first_round_is_trained_once_for_this_table_and_that_of_monolingual_text(rounds):
    theirs = cells(MONOLINGUAL)[FORTH, BACK_EQUAL]
    ours = rounds[FORTH, ROUND[1].name]
    assert (ours.run, ours.recipe) == (theirs.run, theirs.recipe)


@pytest.mark.parametrize("table", [IN_ROUNDS, BOTH_WAYS], ids=lambda table: table.name)
@pytest.mark.parametrize("scale", ["tiny", "small", "thesis"])
def test_a_run_never_reads_made_text_as_targets_but_where_the_table_asks_what_that_costs(table, scale):
    for cell in trainings(cells_of(table, scale)):
        made = [text for text in cell.more if isinstance(text, TranslatedCorpus)]
        asked = cell.column in (U3.name, U4.name)
        assert asked or {text.side for text in made} <= {"source"}, cell.run
        for text in made if not asked else ():
            assert (text.source, text.target) in {(one.source, one.target) for one in (cell.corpus, *cell.more)}


@pytest.mark.parametrize("scale", ["tiny", "small"])
def test_no_line_is_text_of_both_languages_or_one_of_the_pairs(scale):
    for row in (one for one in IN_ROUNDS.rows[::2] if isinstance(one.at[scale], Setup)):
        pairs = row.at[scale].corpus
        ours, theirs = (row.at[scale].texts[name].made[0].of for name in ("round 1", "back 2"))
        theirs = theirs.corpus  # as pairs in the other direction
        assert (ours.train, theirs.train) == (pairs.train, pairs.train)
        place = "start" if hasattr(ours, "start") else "skip"
        starts = [getattr(one, place) for one in (pairs, ours, theirs)]
        assert starts[0] + pairs.train <= starts[1]
        assert starts[1] + ours.train <= starts[2]


def test_what_a_run_makes_of_a_text_in_one_direction_is_another_text_than_in_the_other(both):
    made = {text for cell in trainings([*both.values()]) for text in cell.more if isinstance(text, TranslatedCorpus)}
    assert len({text.name for text in made}) == len({replace(text, beside=None) for text in made})


def test_one_model_of_both_directions_is_scored_in_both_and_makes_sources_in_both(both):
    for column in (B1, B5, B5_CONTINUED, B6):
        one, other = both[FORTH, column.name], both[BACK, column.name]
        assert (one.run, one.recipe) == (other.run, other.recipe)
        ways = [(named.source, named.target) for named in one.recipe.corpora]
        assert ways == [("qaa", "en"), ("en", "qaa")] * (1 if column is B1 else 2)
    assert len(trainings([*both.values()])) == 12
    starts = {need.role: need.cell.run for need in both[FORTH, B6.name].needs}
    assert starts == dict.fromkeys(("parent", "translator"), both[FORTH, B5_CONTINUED.name].run)
    continued = both[FORTH, B5_CONTINUED.name]
    assert continued.more == both[FORTH, B5.name].more
    assert continued.recipe.transfer.parent == both[FORTH, B1.name].run


@pytest.mark.full  # three trainings
def test_made_again_text_has_real_targets_in_both_directions(both, tmp_path):
    workspace = Workspace(tmp_path / "data")
    last = both[FORTH, B6.name]
    for cell in trainings([last]):
        run_cell(cell, workspace)
    run = Run(workspace.run_folder(last.run))
    assert run.status == "finished"
    assert {(one.source, one.target) for one in run.recipe.corpora} == {("qaa", "en"), ("en", "qaa")}
    for text in last.more[1:]:
        made, real = text.open(workspace), text.whole.open(workspace)
        assert synthetic_language(made) == made.source
        written = [target for _, target in made.pairs("train")]
        assert written
        assert set(written) <= {target for _, target in real.pairs("train")}
