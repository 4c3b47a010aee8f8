"""Search under constraints: how a translation begins, what the model attends to."""

import math

import numpy as np
import pytest
import torch
from support.scripted_model import ScriptedModel, every_translation, score_of

from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

SOURCE = torch.tensor([[4, 5, EOS], [5, EOS, PAD]])
WIDE = SearchSettings(score="length-normalised", alpha=0.7, beam_size=200, extra_length=2)
MODELS = {
    "transformer": TransformerSettings(d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=2),
    "rnn": RnnSettings(d_model=8, layers=2),
    "conv": ConvSettings(d_model=8, decoder_layers=2),
    "rnn+lex": RnnSettings(d_model=8, layers=1, fixnorm=True, radius=3.0, lexicon="module"),
}


def model_of(name: str):
    torch.manual_seed(3)
    return build_model(MODELS[name], ModelText(9, np.arange(9) > BOS, joint=False)).double().eval()


@pytest.mark.parametrize("seed", range(5))
def test_a_prefix_is_gone_on_with_as_brute_force_would(seed):
    model, prefix = ScriptedModel(types=6, seed=seed), torch.tensor([[4, 3], [5, PAD]])
    results = beam_search(model, model.encode(SOURCE), WIDE, constraints=Constraints(prefix=prefix))
    for result, source, begun, limit in zip(results, [(4, 5, EOS), (5, EOS)], [(4, 3), (5,)], [4, 3], strict=True):
        everything = every_translation(model, source, limit)
        fitting = {y: log_prob for y, log_prob in everything.items() if y[: len(begun)] == begun}
        best = max(fitting, key=lambda y: score_of(WIDE, fitting[y], len(y) + 1, len(source)))
        assert result.hypotheses[0].tokens == best
        assert result.hypotheses[0].log_prob == pytest.approx(fitting[best])


def test_nothing_given_changes_nothing():
    model = ScriptedModel(types=7)
    nothing = Constraints(prefix=torch.full((2, 1), PAD), attention=None)
    assert beam_search(model, model.encode(SOURCE), WIDE, constraints=nothing) == beam_search(
        model, model.encode(SOURCE), WIDE
    )


def test_a_prefix_that_is_longer_than_is_allowed_can_still_be_ended():
    settings = WIDE.model_copy(update={"extra_length": 0, "beam_size": 3})
    model, prefix = ScriptedModel(types=6), torch.tensor([[4, 4, 4, 4]])
    (result,) = beam_search(model, model.encode(SOURCE[:1]), settings, constraints=Constraints(prefix=prefix))
    assert result.hypotheses[0].tokens[:4] == (4, 4, 4, 4)


def test_a_type_that_may_not_be_produced_counts_as_unknown():
    model = ScriptedModel(types=6)
    found = beam_search(model, model.encode(SOURCE[:1]), WIDE, constraints=Constraints(prefix=torch.tensor([[99]])))
    assert found == beam_search(
        model, model.encode(SOURCE[:1]), WIDE, constraints=Constraints(prefix=torch.tensor([[UNK]]))
    )


@pytest.mark.parametrize("name", MODELS)
def test_what_a_model_attends_to_by_itself_changes_nothing_when_it_is_imposed(name):
    model, settings = model_of(name), SearchSettings(score="log-prob", beam_size=1, extra_length=4)
    source = SOURCE[:1]
    (free,) = beam_search(model, model.encode(source), settings, record=True)
    weights = torch.from_numpy(free.hypotheses[0].attention)  # (layers, heads, T, S)
    constraints = Constraints(attention=weights.permute(0, 2, 1, 3)[:, None])
    (same,) = beam_search(model, model.encode(source), settings, record=True, constraints=constraints)
    assert same.hypotheses[0].tokens == free.hypotheses[0].tokens
    assert same.hypotheses[0].log_prob == pytest.approx(free.hypotheses[0].log_prob, abs=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_attention_is_imposed_on_the_steps_that_are_chosen_and_on_no_other(name):
    model, settings = model_of(name), SearchSettings(score="log-prob", beam_size=2, extra_length=4, allow_empty=False)
    source = SOURCE[:1]
    attention = torch.full((1, 1, 2, 1, 3), math.nan)
    attention[0, 0, 1, 0] = torch.tensor([0.0, 1.0, 0.0])
    (free,) = beam_search(model, model.encode(source), settings, record=True)
    (result,) = beam_search(
        model, model.encode(source), settings, record=True, constraints=Constraints(attention=attention)
    )
    first, second = result.tree[:2]
    np.testing.assert_allclose(first.attention, free.tree[0].attention, atol=1e-12)
    assert (second.attention == np.array([0.0, 1.0, 0.0])).all()  # in every layer, slot and head
    assert (second.log_prob != free.tree[1].log_prob).any()
    if len(result.tree) > 2:
        assert not (result.tree[2].attention == np.array([0.0, 1.0, 0.0])).all(axis=-1).any()


def test_coverage_is_of_the_words_that_a_model_can_look_at():
    """An RNN never attends to EOS, which its source lacks; a Transformer does."""
    settings = SearchSettings(score="log-prob", coverage=1.0, beam_size=2, extra_length=4)
    for name in MODELS:
        model = model_of(name)
        (result,) = beam_search(model, model.encode(SOURCE[:1]), settings, record=True)
        best = result.hypotheses[0]
        attended = best.attention[-1].mean(0).sum(0)
        seen = attended[: 2 if name != "transformer" else 3]
        penalty = np.log(np.clip(seen, 1e-3, 1)).sum()
        assert best.score == pytest.approx(best.log_prob + penalty, abs=1e-6)


def test_each_sentence_of_a_batch_has_its_own_attention():
    model, settings = model_of("transformer"), SearchSettings(score="log-prob", beam_size=2, extra_length=3)
    attention = torch.full((1, 2, 3, 1, 3), math.nan)
    attention[0, 1] = torch.tensor([1.0, 0.0, 0.0])
    both = beam_search(model, model.encode(SOURCE), settings, constraints=Constraints(attention=attention))
    alone = [
        beam_search(model, model.encode(SOURCE[:1]), settings)[0],
        beam_search(
            model, model.encode(SOURCE[1:, :2]), settings, constraints=Constraints(attention=attention[:, 1:, ..., :2])
        )[0],
    ]
    assert [one.hypotheses[0].tokens for one in both] == [one.hypotheses[0].tokens for one in alone]
