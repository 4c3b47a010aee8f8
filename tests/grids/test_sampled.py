"""Systems that are trained on sources drawn from a model, and children with a parent and back-translated text."""

from dataclasses import replace

import pytest

from nmtlab.grids.declared.corpora import TranslatedCorpus
from nmtlab.grids.running.cells import cells_of, trainings
from nmtlab.thesis.tables.monolingual import BACK_EQUAL, MONOLINGUAL, PAIRS
from nmtlab.thesis.tables.sampled import ONE_BEST, SAMPLED_SOURCES, SAMPLES, SELF_TRAINING, own, sampled
from nmtlab.thesis.tables.transfer import BPE, CHILD_SIZE
from nmtlab.thesis.tables.transfer_and_text import BPE_TRANSFER, RELATIVE_AND_TEXT, WITH_BOTH, WITH_TEXT


def cells(table, scale="tiny"):
    return {cell.column: cell for cell in cells_of(table, scale) if cell.seed == 2}


def test_several_sources_of_a_line_count_as_much_as_the_line():
    found = cells(SAMPLED_SOURCES)
    for number in SAMPLES:
        (named,) = found[sampled(number)].recipe.more_corpora
        assert (named.weight, named.rotation) == (pytest.approx(1 / number), "")
        (text,) = found[sampled(number)].more
        assert (text.samples, text.temperature) == (number, 1.0)
    shared = cells(MONOLINGUAL)["back-translated, 1:1"].run
    assert found[BACK_EQUAL].run == shared  # trained once for both tables
    assert len({cell.needs[0].cell.run for cell in found.values() if cell.needs}) == 1


def test_self_training_draws_from_the_targets_of_the_pairs_a_text_for_each_of_eight_epochs():
    found = cells(SELF_TRAINING)
    pairs = found[PAIRS.name].corpus
    for sharpness, temperature in ((1.0, 1.0), (1.2, 0.833), (1.5, 0.667)):
        cell = found[own(sharpness)]
        assert {(text.whole, text.side, text.samples, text.temperature) for text in cell.more} == {
            (pairs, "source", 1, temperature)
        }
        assert [text.turn for text in cell.more] == [*range(1, 9)]
        assert len({text.name for text in cell.more}) == 8
        assert [(named.rotation, named.weight) for named in cell.recipe.more_corpora] == [("samples", 1.0)] * 8
    (searched,) = found[ONE_BEST].more
    assert searched == TranslatedCorpus(pairs, searched.by, side="source", beside=pairs)


def test_a_child_of_a_relative_reads_back_translated_text_that_its_parent_does_not():
    found = cells(RELATIVE_AND_TEXT)
    both, child = found[WITH_BOTH.name], found[BPE_TRANSFER.name]
    by_role = {need.role: need.cell for need in both.needs}
    assert by_role["parent"] == replace(child.needs[0].cell, column=WITH_BOTH.name)
    assert (by_role["parent"].more, by_role["parent"].recipe.more_corpora[0].vocabulary_only) == ((), True)
    assert by_role["translator"] == found[WITH_TEXT.name].needs[0].cell
    assert by_role["translator"].recipe.transfer.parent == ""
    assert both.recipe.transfer.parent == by_role["parent"].run
    assert both.more == found[WITH_TEXT.name].more
    order = [cell.run for cell in trainings([both])]
    assert (len(order), order[-1]) == (3, both.run)


def test_its_ruler_is_the_table_of_children_by_the_size_of_their_text():
    ruler = {cell.run for cell in cells_of(CHILD_SIZE, "small") if cell.column == BPE.name}
    assert {cell.run for cell in cells_of(RELATIVE_AND_TEXT, "small") if cell.column == BPE.name} < ruler
