"""Diverse beam search."""

import numpy as np
import pytest
import torch

from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.forced import forced_decode
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD

SOURCE = torch.tensor([[4, 5, EOS], [5, EOS, PAD]])
SETTINGS = SearchSettings(score="length-normalised", beam_size=2, extra_length=4, allow_empty=False)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(7)
    settings = TransformerSettings(d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=1)
    return build_model(settings, ModelText(12, np.arange(12) > BOS, joint=False)).double().eval()


def test_the_first_group_is_an_ordinary_beam_and_without_strength_all_are(model):
    plain = [result.hypotheses[0].tokens for result in beam_search(model, model.encode(SOURCE), SETTINGS)]
    assert [
        found.hypotheses[0].tokens for found in diverse_beam_search(model, model.encode(SOURCE), SETTINGS, 3)
    ] == plain
    for found, best in zip(
        diverse_beam_search(model, model.encode(SOURCE), SETTINGS, 3, diversity_penalty=0.0), plain, strict=True
    ):
        assert [h.tokens for h in found.hypotheses] == [best] * 3


def test_with_strength_enough_no_group_says_at_a_step_what_another_has_said(model):
    for found in diverse_beam_search(model, model.encode(SOURCE), SETTINGS, 3, diversity_penalty=1000.0):
        chosen = [(*h.tokens, *[EOS] * h.finished) for h in found.hypotheses]
        for step in range(min(map(len, chosen))):
            said = [tokens[step] for tokens in chosen]
            assert len(set(said)) == 3


def test_log_probabilities_and_scores_are_the_models_own(model):
    found = diverse_beam_search(model, model.encode(SOURCE), SETTINGS, 2, diversity_penalty=0.8)
    for source, result in zip(SOURCE, found, strict=True):
        for hypothesis in result.hypotheses:
            length = len(hypothesis.tokens) + hypothesis.finished
            target = torch.tensor([[*hypothesis.tokens, EOS][:length]])
            (own,) = forced_decode(model, model.encode(source[source != PAD][None]), target)
            assert hypothesis.log_prob == pytest.approx(own.log_prob)
            assert hypothesis.score == pytest.approx(own.log_prob / ((5 + length) / 6) ** 0.6)


def test_one_group_has_the_scores_of_an_ordinary_beam_coverage_and_all(model):
    settings = SETTINGS.model_copy(update={"coverage": 0.7})
    plain = [result.hypotheses[0] for result in beam_search(model, model.encode(SOURCE), settings)]
    found = [result.hypotheses[0] for result in diverse_beam_search(model, model.encode(SOURCE), settings, 1)]
    assert [one.tokens for one in found] == [one.tokens for one in plain]
    assert [one.score for one in found] == pytest.approx([one.score for one in plain])


def test_what_is_said_costs_at_each_step_as_often_as_it_was_said(model):
    said = torch.tensor([[[5, 5, PAD]], [[6, 3, 6]]])
    constraints, log_probs = (
        Constraints(penalised_ids=said, diversity_penalty=0.25),
        torch.zeros(2, 2, len(model.output_ids), dtype=torch.double),
    )
    found = constraints.constrain(model.output_ids, log_probs, torch.tensor([1, 0]), 0)
    for row, costs in ((0, {6: 0.5, 3: 0.25}), (1, {5: 0.5})):
        for type_, value in zip(model.output_ids.tolist(), found[row, 1].tolist(), strict=True):
            assert value == -costs.get(type_, 0.0)
    assert (constraints.constrain(model.output_ids, log_probs, torch.tensor([1, 0]), 1) == 0).all()
