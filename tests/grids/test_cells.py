"""A cell is self-contained, and its name describes it."""

import dataclasses

import pytest
from support.little_table import little_table

from nmtlab.errors import RunError
from nmtlab.grids.running.cells import cells_of, made_run
from nmtlab.recipe import Recipe
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.thesis.tables.lexical_choice import TABLE_3_6


def names(table) -> list[str]:
    return [cell.run for cell in cells_of(table, "tiny")]


def test_the_name_of_a_run_has_corpus_recipe_changes_and_seed(tmp_path, tiny_recipe):
    systems = {"a": {}, "b": {"model.dropout": 0.25, "training.schedule": "no-warmup"}}
    assert names(little_table(tmp_path, tiny_recipe, systems)) == [
        "tiny.little.s1", "tiny.little.s2", "tiny.little.dropout-0.25.schedule-no-warmup.s1",
        "tiny.little.dropout-0.25.schedule-no-warmup.s2",
    ]  # fmt: skip


def test_a_change_that_changes_nothing_is_not_in_the_name(tmp_path, tiny_recipe):
    systems = {"tied": {}, "same": {"model.dropout": tiny_recipe.model.dropout}, "other": {"model.dropout": 0.5}}
    table = little_table(tmp_path, tiny_recipe, systems, seeds=(1,))
    assert names(table) == ["tiny.little.s1", "tiny.little.s1", "tiny.little.dropout-0.5.s1"]
    # nor is what the scale changes for all of them
    table = dataclasses.replace(table, changes={"tiny": {"model.dropout": 0.5}})
    same = f"tiny.little.dropout-{tiny_recipe.model.dropout:g}.s1"
    assert names(table) == ["tiny.little.s1", same, "tiny.little.s1"]


def test_the_recipe_has_the_changes_of_scale_row_system_and_exception_the_last_one_counting(tmp_path, tiny_recipe):
    table = little_table(
        tmp_path,
        tiny_recipe,
        {"tied": {}, "fixnorm": {"model.d_ff": 48}},
        seeds=(7,),
        changes={"tiny": {"model.d_ff": 24, "training.warmup_updates": 5}},
        exceptions={("ha-en", "fixnorm"): {"training.warmup_updates": 6}},
    )
    tied, fixnorm = cells_of(table, "tiny")
    assert (tied.recipe.model.d_ff, tied.recipe.training.warmup_updates) == (24, 5)
    assert (fixnorm.recipe.model.d_ff, fixnorm.recipe.training.warmup_updates) == (48, 6)
    assert fixnorm.run == "tiny.little.d_ff-48.warmup_updates-6.s7"
    corpus = fixnorm.recipe.corpus
    assert (corpus.name, corpus.source, corpus.target) == ("tiny", "de", "en")
    assert (fixnorm.recipe.training.seed, fixnorm.recipe.machine.threads, fixnorm.splits) == (7, 1, ("dev",))


def test_a_phrase_based_system_keeps_out_of_what_changes_the_others(tmp_path, tiny_recipe):
    table = little_table(tmp_path, tiny_recipe, changes={"tiny": {"model.d_model": 32, "text.min_frequency": 2}})
    phrase = tmp_path / "phrase.toml"
    Recipe().with_changes({"model.family": "phrase", "text.segmentation": "word"}).save(phrase)
    system = dataclasses.replace(table.columns[0], name="Moses", recipe=str(phrase), seeded=False)
    (cell,) = cells_of(dataclasses.replace(table, columns=(system,)), "tiny")
    assert (cell.run, cell.seed, cell.recipe.text.min_frequency) == ("tiny.phrase", None, 1)


def test_every_table_keeps_the_words_of_moses():
    assert {cell.recipe.text.word_rules for cell in cells_of(TABLE_3_6, "small")} == {"moses"}


def test_what_is_left_out_is_no_cell(tmp_path, tiny_recipe):
    table = little_table(tmp_path, tiny_recipe, left_out={("ha-en", "tied"): "for a reason"})
    assert {cell.column for cell in cells_of(table, "tiny")} == {"fixnorm"}
    assert cells_of(table, "small") == []


def test_a_run_of_another_recipe_or_other_text_is_not_taken_for_the_cell(grid, make_corpus):
    cell = cells_of(grid.table, "tiny")[0]
    corpus = cell.corpus.open(grid.workspace)
    assert made_run(cell, corpus, grid.workspace).name == cell.run
    other = dataclasses.replace(cell, recipe=cell.recipe.with_changes({"model.dropout": 0.9}))
    with pytest.raises(RunError, match=rf"{cell.run}.* its model\.dropout is .* instead of 0\.9; rename it, or remove"):
        made_run(other, corpus, grid.workspace)
    elsewhere = make_corpus()
    (elsewhere / "train.en").write_text((elsewhere / "train.en").read_text().replace("dog", "hound"))
    with pytest.raises(RunError, match=rf"{cell.run}.* on other text; rename it, or remove it with 'nmtlab runs"):
        made_run(cell, ParallelCorpus.open(elsewhere), grid.workspace)


def test_where_it_is_computed_and_what_is_said_of_it_make_no_other_recipe(grid):
    cell = cells_of(grid.table, "tiny")[0]
    corpus = cell.corpus.open(grid.workspace)
    other = cell.recipe.with_changes({"machine.threads": 2, "about": "another word"})
    assert made_run(dataclasses.replace(cell, recipe=other), corpus, grid.workspace)
