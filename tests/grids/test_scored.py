"""The sentences behind a number, from its trainings."""

import shutil
from dataclasses import replace

import pytest

from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.metrics import find_metric, scored_text
from nmtlab.errors import CorpusError
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.scored import Scored
from nmtlab.grids.running.cells import cells_of
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

DEV_BLEU = find_metric("dev-bleu")
TRAIN_PERPLEXITY = find_metric("train-perplexity")


@pytest.fixture
def stored(grid, space):
    """The table as saved in an empty workspace that has its text."""
    return Results.saved(grid.table, "tiny", space)


@pytest.fixture
def first(grid):
    """A training of the table, and its translations."""
    cell = cells_of(grid.table, "tiny")[0]
    run = open_run(cell.run, grid.workspace)
    return run, stored_translations(run, cell.corpus.open(grid.workspace), "dev")


def test_a_training_that_is_here_has_its_translations_of_the_scored_sentences(stored, space, first, tiny_corpus):
    run, lines = first
    scored = Scored.of(stored, DEV_BLEU, "ha-en")
    assert scored.sentences(run).sources == list(tiny_corpus.lines("dev", "de"))
    assert scored.translations(run) == lines
    assert scored.translations(None) is None


def test_translations_of_another_text_are_not_shown_as_those_of_this_one(stored, space, first, tmp_path):
    other = Run(shutil.copytree(first[0].folder, tmp_path / first[0].name))
    for path in other.folder.glob("translations/*.json"):
        path.write_text(path.read_text("utf-8").replace('"text": "', '"text": "0'), encoding="utf-8")
    assert Scored.of(stored, DEV_BLEU, "ha-en").translations(other) is None


def test_a_number_of_no_sentences_shows_those_of_the_first_score_and_a_table_without_scores_none(stored, space):
    both = replace(stored, table=replace(stored.table, metrics=("train-perplexity", "dev-bleu")))
    assert Scored.of(both, TRAIN_PERPLEXITY, "ha-en").score == DEV_BLEU
    alone = replace(stored, table=replace(stored.table, metrics=("train-perplexity",)))
    assert Scored.of(alone, TRAIN_PERPLEXITY, "ha-en") is None


@pytest.fixture
def elsewhere(stored, tmp_path):
    """The score of the table's row in a workspace without its text."""
    return Scored.of(replace(stored, workspace=Workspace(tmp_path / "elsewhere")), DEV_BLEU, "ha-en")


def test_where_the_text_is_not_here_a_training_has_its_translations_alone(elsewhere, first):
    run, lines = first
    assert (elsewhere.corpus, elsewhere.translations(run)) == (None, None)
    assert elsewhere.translations_alone(run) == lines
    assert elsewhere.translations_alone(None) is None


def test_translations_of_several_texts_that_are_not_here_are_not_mixed(elsewhere, first, tmp_path):
    run, lines = first
    both = Run(shutil.copytree(run.folder, tmp_path / run.name))
    (path,) = both.folder.glob("translations/dev-*.json")
    (path.parent / "dev-other.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (path.parent / "dev-other.json").write_text(path.read_text("utf-8").replace('"text": "', '"text": "0'), "utf-8")
    assert elsewhere.translations_alone(both) is None


def test_looking_at_a_row_makes_no_text(space, stored):
    shutil.rmtree(space.data, ignore_errors=True)
    assert Scored.of(stored, DEV_BLEU, "hu-en").corpus is None
    assert Scored.of(stored, DEV_BLEU, "a row of an earlier declaration").corpus is None
    assert not space.data.exists()


def test_a_text_that_can_be_made_is_made_outside_the_workspace(space):
    text = ConcatenatedCorpus("little-de-en", "de", "en", ("tiny",), dev=3)
    scored = Scored(DEV_BLEU, text, None).made(space)
    assert not space.data.exists()
    assert scored.sentences(None) == scored_text(DEV_BLEU, text.open(space), None)
    with pytest.raises(CorpusError, match=r"its part 'tiny' was not found; .*NMTLAB_CORPORA"):
        Scored(DEV_BLEU, text, None).made(Workspace(space.data / "elsewhere"))
