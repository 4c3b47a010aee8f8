"""Recurrent models that select heads (the formulas are in test_recurrent and nn/test_matrix_tree)."""

import numpy as np
import pytest
import torch
from support.small_recurrent import SOURCE, D, log_probs, pairs, recurrent, stepwise

from nmtlab.errors import RecipeError
from nmtlab.models.interface import on_device
from nmtlab.recipe import Recipe, RnnSettings
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import EOS, PAD

every_kind = pytest.mark.parametrize("kind", ["flat", "tree", "hard"])


@every_kind
def test_steps_agree_with_teacher_forcing(kind):
    model = recurrent(grammar=kind)
    torch.testing.assert_close(stepwise(model, pairs())[0], log_probs(model, pairs()))


@every_kind
def test_annotations_that_are_not_combined_leave_the_plain_model(kind):
    model, plain = recurrent(grammar=kind), recurrent()
    with torch.no_grad():
        model.combine.weight[:, D : 2 * D] = 0  # c, then d, then h
        for name, parameter in plain.named_parameters():
            same = dict(model.named_parameters())[name]
            columns = [*range(D), *range(2 * D, 3 * D)]
            parameter.copy_(same[:, columns] if name == "combine.weight" else same)
    torch.testing.assert_close(log_probs(model, pairs()), log_probs(plain, pairs()))


@every_kind
def test_heads_are_of_words_and_the_word_of_a_sentence_of_one_is_its_root(kind):
    model = recurrent(grammar=kind)
    memory = model.encode(pairs().source)
    probs = model.heads(memory).probs
    words = ((SOURCE != PAD) & (SOURCE != EOS)).sum(1)
    assert words.tolist() == [4, 2, 1]
    for found, count in zip(probs, words, strict=True):
        torch.testing.assert_close(found[:count, :count].sum(0), torch.ones(count).double())
        assert not found[count:].any()
        assert not found[:, count:].any()
    assert probs[2, 0, 0] == 1
    some = model.heads(memory.select(torch.tensor([2, 0]))).probs
    torch.testing.assert_close(some, probs[[2, 0]])
    assert recurrent().heads(memory) is None


def test_a_blank_source_has_an_annotation():
    model = recurrent(grammar="tree")
    batch = on_device(batch_of(np.array([[EOS], [5]])[:1], np.array([[4, EOS]])))
    assert torch.isfinite(log_probs(model, batch)).all()


def test_a_model_without_heads_has_the_weights_that_it_always_had():
    assert not any("grammar" in name for name, _ in recurrent().named_parameters())
    assert RnnSettings().grammar == "none"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model.attention": "none"}, "grammar 'tree' is read by attention"),
        (
            {"corpus.source": "de", "corpus.target": "en", "corpus.also_sources": ["nl"]},
            "model.grammar is of one source",
        ),
        ({"model.grammar": "forest"}, "grammar"),
    ],
)
def test_what_does_not_go_together_is_refused(changes, words):
    settings = {"model.grammar": "tree", "search.replace_unknown": False}
    recipe = Recipe(model=RnnSettings())
    with pytest.raises(RecipeError, match=words):
        recipe.with_changes(settings | changes)
