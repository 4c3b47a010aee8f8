"""Attention at a temperature: softmax(score / τ) in search, in every family, and nothing else."""

import numpy as np
import pytest
import torch

from nmtlab.errors import RecipeError
from nmtlab.interchange.served import check_search
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import ConvSettings, Recipe, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_model

SOURCE = torch.tensor([[5, 7, 4, 6, 2], [6, 8, 2, 0, 0]])
TARGET = torch.tensor([[9, 10, 5, 2], [11, 8, 2, 0]])

SMALL = {"d_model": 8, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "heads": 2, "dropout": 0.0}
KINDS = {
    "transformer": TransformerSettings(**SMALL),
    "conv": ConvSettings(d_model=6, dropout=0.0, decoder_layers=1),
    "rnn": RnnSettings(d_model=6, dropout=0.0, init_range=0.8),
    "dot": RnnSettings(d_model=6, dropout=0.0, init_range=0.8, attention="dot"),
    "additive": RnnSettings(d_model=6, dropout=0.0, init_range=0.8, attention="additive"),
}


@pytest.fixture(params=KINDS)
def model(request) -> TranslationModel:
    torch.manual_seed(3)
    text = ModelText(12, np.array([i not in (0, 1) for i in range(12)]), joint=False)
    return build_model(KINDS[request.param], text).double().eval()


def first_step(model: TranslationModel) -> torch.Tensor:
    """Return the weights of the one layer at the first step, (B, heads, S)."""
    state = model.start(model.encode(SOURCE))
    return model.step(state, torch.ones(2, 1, dtype=torch.long), record=True).attention[0, :, 0].double()


@pytest.mark.parametrize("temperature", [0.25, 3.0])
def test_weights_are_the_softmax_of_scores_divided_by_the_temperature(model, temperature):
    with torch.no_grad():
        plain, found = first_step(model), first_step(model.tempered(temperature))
    wanted = plain ** (1 / temperature)  # softmax(s / τ) from softmax(s)
    torch.testing.assert_close(found, wanted / wanted.sum(-1, keepdim=True), rtol=1e-5, atol=1e-7)
    assert not torch.allclose(found, plain, atol=1e-4)


def test_a_temperature_of_one_is_the_identity_bit_for_bit(model):
    plain, same = (forced_decode(one, one.encode(SOURCE), TARGET) for one in (model, model.tempered(1.0)))
    for one, other in zip(plain, same, strict=True):
        assert one.log_prob == other.log_prob
        assert (one.attention == other.attention).all()


def test_a_model_shares_its_weights_with_its_copy_and_stays_as_it_is(model):
    before = model.attention_temperature, first_step(model)
    twin = model.tempered(0.5)
    assert (model.attention_temperature, twin.attention_temperature) == (1.0, 0.5)
    assert all(mine is theirs for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True))
    assert torch.equal(first_step(model), before[1])
    assert torch.equal(first_step(twin.tempered(1.0)), before[1])  # set, not multiplied


def test_a_beam_scores_its_hypotheses_as_forced_decoding_at_the_same_temperature_does(model):
    settings = SearchSettings(beam_size=3, score="log-prob", extra_length=3)
    for temperature in (0.3, 2.0):
        twin = model.tempered(temperature)
        with torch.no_grad():
            found = [one.hypotheses[0] for one in beam_search(twin, twin.encode(SOURCE), settings)]
            for row, best in enumerate(found):
                target = torch.tensor([[*best.tokens, *[2] * best.finished]])
                (forced,) = forced_decode(twin, twin.encode(SOURCE[row : row + 1]), target)
                assert best.log_prob == pytest.approx(forced.log_prob, rel=1e-5)


def test_an_ensemble_has_the_temperature_in_each_of_its_models(model):
    one, two = model.tempered(0.5), Ensemble([model, model]).tempered(0.5)
    assert two.attention_temperature == 0.5
    single, both = (forced_decode(each, each.encode(SOURCE), TARGET) for each in (one, two))
    assert [each.log_prob for each in both] == pytest.approx([each.log_prob for each in single], rel=1e-6)


def test_a_system_is_searched_at_the_temperature_of_its_settings(zoo):
    run = zoo("learned")
    sharp = open_model(run, run.recipe.search.model_copy(update={"attention_temperature": 0.2}))
    plain = open_model(run)
    assert (sharp.model.attention_temperature, plain.model.attention_temperature) == (0.2, 1.0)
    lines = ["ein hund sieht", "katze"]
    (said,) = sharp.translate(lines[:1])[0].hypotheses
    (scores,) = sharp.token_scores(lines, sharp.translate(lines))[0]
    assert said.log_prob == pytest.approx(scores.log_probs.sum(), rel=1e-4)


@pytest.mark.parametrize("model", [{"family": "rnn", "attention": "none"}, {"family": "phrase"}])
def test_what_does_not_attend_has_no_temperature(model):
    changes = {f"model.{field}": value for field, value in model.items()} | {"search.replace_unknown": False}
    with pytest.raises(RecipeError, match="attention_temperature is of attention"):
        Recipe().with_changes({**changes, "search.attention_temperature": 0.5})


def test_ctranslate2_has_none():
    with pytest.raises(RecipeError, match="set it to 1"):
        check_search(SearchSettings(attention_temperature=2.0))
