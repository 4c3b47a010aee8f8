"""The sentences behind a number, from beside its table and from its trainings."""

import shutil
from dataclasses import replace

import pandas as pd
import pytest

from nmtlab.analysis.access.translations import stored_translations
from nmtlab.experiments import cells_of
from nmtlab.experiments.measures.quality import DEV_BLEU, TRAIN_PERPLEXITY
from nmtlab.experiments.results.hypotheses import hypotheses, save_hypotheses
from nmtlab.experiments.results.scored import Scored
from nmtlab.experiments.results.stored import saved_table
from nmtlab.runs.listing import open_run
from nmtlab.workspace import Workspace


@pytest.fixture
def stored(grid, space):
    """The table as saved in an empty workspace that has its text, without anything beside its cells."""
    return saved_table(grid.table, "tiny", space)


@pytest.fixture
def first(grid):
    """A training of the table, and its translations."""
    cell = cells_of(grid.table, "tiny")[0]
    run = open_run(cell.run, grid.workspace)
    return run, stored_translations(run, cell.corpus.open(grid.workspace), "dev")


def beside(stored, translations) -> None:
    stored.path.parent.mkdir(parents=True, exist_ok=True)
    save_hypotheses(stored.path.with_suffix(".translations.parquet"), translations)


def test_a_training_that_is_here_has_its_translations_of_the_scored_sentences(stored, space, first, tiny_corpus):
    run, lines = first
    scored = Scored.of(stored, DEV_BLEU, "ha-en", space)
    assert scored.sentences(run).sources == list(tiny_corpus.lines("dev", "de"))
    assert scored.translations("tied", 1, run) == lines
    assert scored.translations("tied", 1, None) is None


def test_a_training_that_is_not_here_has_those_beside_the_table(grid, stored, space, first):
    beside(stored, hypotheses(grid.table, "tiny", grid.workspace))
    _, lines = first
    assert Scored.of(stored, DEV_BLEU, "ha-en", space).translations("tied", 1, None) == lines


def test_lines_beside_the_table_replace_those_of_another_training_with_the_same_name(grid, stored, space, first):
    run, lines = first
    different = hypotheses(grid.table, "tiny", grid.workspace).query("column == 'tied' and seed == 1 and line == 2")
    beside(stored, different.assign(translation="as measured"))
    scored = Scored.of(stored, DEV_BLEU, "ha-en", space)
    assert scored.translations("tied", 1, run) == [*lines[:2], "as measured", *lines[3:]]
    assert scored.translations("tied", 1, None) is None  # one line is not all of them


def test_translations_of_another_text_are_not_shown_as_those_of_this_one(grid, stored, space):
    beside(stored, hypotheses(grid.table, "tiny", grid.workspace).assign(text="another digest"))
    assert Scored.of(stored, DEV_BLEU, "ha-en", space).translations("tied", 1, None) is None


def test_a_number_of_no_sentences_shows_those_of_the_first_score_and_a_table_without_scores_none(stored, space):
    both = replace(stored, table=replace(stored.table, measures=(TRAIN_PERPLEXITY, DEV_BLEU)))
    assert Scored.of(both, TRAIN_PERPLEXITY, "ha-en", space).score == DEV_BLEU
    alone = replace(stored, table=replace(stored.table, measures=(TRAIN_PERPLEXITY,)))
    assert Scored.of(alone, TRAIN_PERPLEXITY, "ha-en", space) is None


@pytest.fixture
def elsewhere(stored, tmp_path):
    """The score of the table's row in a workspace without its text."""
    return Scored.of(stored, DEV_BLEU, "ha-en", Workspace(tmp_path / "elsewhere"))


def test_where_the_text_is_not_here_a_training_has_its_translations_alone(elsewhere, first):
    run, lines = first
    assert (elsewhere.corpus, elsewhere.translations("tied", 1, run)) == (None, None)
    assert elsewhere.translations_alone("tied", 1, run) == lines
    assert elsewhere.translations_alone("tied", 1, None) is None


def test_where_the_text_is_not_here_translations_beside_the_table_are_those_that_were_measured(
    grid, stored, first, tmp_path
):
    run, lines = first
    every = hypotheses(grid.table, "tiny", grid.workspace)
    beside(stored, every.assign(translation=every["translation"].mask(every["line"] == 2, "as measured")))
    scored = Scored.of(stored, DEV_BLEU, "ha-en", Workspace(tmp_path / "elsewhere"))
    measured = [*lines[:2], "as measured", *lines[3:]]
    assert scored.translations_alone("tied", 1, None) == scored.translations_alone("tied", 1, run) == measured
    assert scored.translations_alone("tied", 3, None) is None


def test_translations_of_several_texts_that_are_not_here_are_not_mixed(grid, stored, tmp_path):
    every = hypotheses(grid.table, "tiny", grid.workspace)
    beside(stored, pd.concat([every, every.assign(text="another digest")]))
    scored = Scored.of(stored, DEV_BLEU, "ha-en", Workspace(tmp_path / "elsewhere"))
    assert scored.translations_alone("tied", 1, None) is None


def test_looking_at_a_row_makes_no_text(space, stored):
    shutil.rmtree(space.data, ignore_errors=True)
    assert Scored.of(stored, DEV_BLEU, "hu-en", space).corpus is None
    assert Scored.of(stored, DEV_BLEU, "a row of an earlier declaration", space).corpus is None
    assert not space.data.exists()
