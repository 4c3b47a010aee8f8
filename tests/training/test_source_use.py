"""How much a model's prediction depends on its source."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.recipe import RnnSettings
from nmtlab.text.batching.batch import batch_of
from nmtlab.training.objective import sentence_log_probs
from nmtlab.training.trial import source_gain

A, B = batch_of(np.array([[4, 5, 1]] * 2), np.array([[6, 1]] * 2)), batch_of(np.array([[7, 1]]), np.array([[5, 8, 1]]))
PAIRS = batch_of(np.array([[4, 5, 1], [7, 4, 1], [8, 8, 1]]), np.array([[6, 1, 0], [5, 8, 1], [4, 1, 0]]))


@pytest.fixture
def model():
    torch.manual_seed(0)
    return build_model(
        RnnSettings(d_model=8, init_range=0.8, dropout=0.5), ModelText(9, np.ones(9, dtype=bool), joint=False)
    )


def test_the_gain_is_the_mean_loss_with_the_next_sentences_source_less_that_with_its_own(model):
    model.eval()
    log_probs = {
        (s, t): sentence_log_probs(model, on_device(replace(PAIRS, source=PAIRS.source[[s] * 3])))[t].item()
        for s in range(3) for t in range(3)
    }  # fmt: skip
    own, others = (sum(log_probs[(t - shift) % 3, t] for t in range(3)) for shift in (0, 1))
    assert source_gain(model, [PAIRS]) == pytest.approx((own - others) / 7, abs=1e-5)


def test_a_model_that_attends_to_nothing_of_the_source_gains_nothing(model):
    with torch.no_grad():
        model.encoder.embedding.weight.zero_()  # every source of the same length looks the same
    assert source_gain(model, [PAIRS]) == pytest.approx(0, abs=1e-6)


def test_dropout_is_off_while_it_is_measured_and_on_again_afterwards(model):
    model.train()
    assert source_gain(model, [PAIRS]) == source_gain(model, [PAIRS])
    assert model.training


def test_a_pair_without_another_in_its_batch_is_left_out(model):
    assert math.isnan(source_gain(model, [B]))
    assert source_gain(model, [PAIRS, B]) == source_gain(model, [PAIRS])
    assert source_gain(model, [A]) == 0  # the other one's source is the same
