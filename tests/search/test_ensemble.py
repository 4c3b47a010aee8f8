"""Several models that translate as one."""

import numpy as np
import pytest
import torch
from support.scripted_model import ScriptedModel

from nmtlab.errors import RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.exact import exact_search
from nmtlab.search.forced import forced_decode
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

SOURCE = torch.tensor([[4, 5, EOS], [5, EOS, PAD]])
TRANSFORMER = TransformerSettings(d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=2)
SETTINGS = SearchSettings(beam_size=3, extra_length=3)


def model_of(settings, seed: int, types: int = 9):
    torch.manual_seed(seed)
    return build_model(settings, ModelText(types, np.arange(types) > BOS, joint=False)).double().eval()


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_the_distributions_of_all_families_are_averaged_at_each_step(mean):
    models = [model_of(TRANSFORMER, 1), model_of(RnnSettings(d_model=8), 2), model_of(ConvSettings(d_model=8), 3)]
    ensemble = Ensemble(models, mean)
    states = [model.start(model.encode(SOURCE)) for model in models]
    state = ensemble.start(ensemble.encode(SOURCE))
    token = torch.full((2, 1), BOS)
    for token_after in (torch.tensor([[4, 7], [5, 5]]), torch.tensor([[6, 6], [3, 4]])):
        steps = [model.step(own, token) for model, own in zip(models, states, strict=True)]
        p = torch.stack([step.log_probs.exp() for step in steps])
        root = p.prod(0) ** (1 / 3)
        wanted = p.mean(0) if mean == "arithmetic" else root / root.sum(-1, keepdim=True)
        step = ensemble.step(state, token)
        torch.testing.assert_close(step.log_probs.exp(), wanted)
        rows = torch.arange(2)[:, None] * token.shape[1] + torch.zeros(2, 2, dtype=torch.long)
        states, state = [one.state.select(rows) for one in steps], step.state.select(rows)
        token = token_after


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_a_model_beside_itself_translates_as_it_does_alone(mean):
    model = model_of(TRANSFORMER, 4)
    alone, twice = (
        beam_search(one, one.encode(SOURCE), SETTINGS, record=True) for one in (model, Ensemble([model, model], mean))
    )
    for one, both in zip(alone, twice, strict=True):
        assert [h.tokens for h in both.hypotheses] == [h.tokens for h in one.hypotheses]
        assert [h.log_prob for h in both.hypotheses] == pytest.approx([h.log_prob for h in one.hypotheses])
        weights = one.hypotheses[0].attention[-1:].mean(1, keepdims=True)
        np.testing.assert_allclose(both.hypotheses[0].attention, weights, atol=1e-12)


def test_an_ensemble_is_searched_exactly():
    ensemble = Ensemble([ScriptedModel(types=6, seed=1), ScriptedModel(types=6, seed=2)])
    settings = SETTINGS.model_copy(update={"score": "log-prob", "extra_length": 1})
    wide = settings.model_copy(update={"beam_size": 500})
    found = exact_search(ensemble, ensemble.encode(SOURCE[:1]), settings)
    assert found.best.tokens == beam_search(ensemble, ensemble.encode(SOURCE[:1]), wide)[0].hypotheses[0].tokens


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_a_model_beside_itself_says_of_a_given_translation_what_it_says_alone(mean):
    model = model_of(RnnSettings(d_model=8), 5)
    target = torch.tensor([[4, UNK, EOS], [UNK, EOS, PAD]])  # as for UNK replacement
    for one, both in zip(
        *(forced_decode(each, each.encode(SOURCE), target) for each in (model, Ensemble([model, model], mean))),
        strict=True,
    ):
        np.testing.assert_allclose(both.log_probs, one.log_probs)
        np.testing.assert_allclose(both.attention, one.attention, atol=1e-12)


def test_a_model_beside_itself_finds_the_translations_that_differ_which_it_finds_alone():
    model = model_of(TRANSFORMER, 4)
    alone, twice = (
        diverse_beam_search(each, each.encode(SOURCE), SETTINGS, 3) for each in (model, Ensemble([model, model]))
    )
    assert [[h.tokens for h in one.hypotheses] for one in twice] == [
        [h.tokens for h in one.hypotheses] for one in alone
    ]


def test_models_of_other_types_are_no_ensemble():
    with pytest.raises(RunError, match="its runs produce different types; train them on one vocabulary"):
        Ensemble([model_of(TRANSFORMER, 1), model_of(TRANSFORMER, 1, types=8)])
