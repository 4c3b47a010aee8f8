"""A loss is a weighted sum of named terms; whole sentences have a log-probability with a gradient."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import ByteNetSettings, ConvSettings, RnnSettings, TransformerSettings
from nmtlab.search.forced import forced_decode
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.training import objective
from nmtlab.training.objective import (
    CrossEntropy,
    Length,
    Objective,
    Summand,
    forward_pass,
    sentence_log_probs,
    training_objective,
)
from nmtlab.training.setup import train

ALLOWED = np.array([i not in (0, 1, 8) for i in range(12)])
SOURCE = np.array([[5, 7, 4, 2], [6, 8, 2, 0], [9, 2, 0, 0]])
TARGET = np.array([[9, 10, 5, 2], [11, 8, 2, 0], [2, 0, 0, 0]])
"""Type 8 is not allowed, and the last translation is empty."""

SMALL = {"d_model": 8, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "heads": 2, "dropout": 0.0}
KINDS = {
    "transformer": TransformerSettings(**SMALL),
    "planned": TransformerSettings(**SMALL, plan_length=True, max_predicted_length=6),
    "conv": ConvSettings(d_model=6, dropout=0.0),
    "bytenet": ByteNetSettings(d_model=6, dropout=0.0, encoder_layers=2, decoder_layers=2),
    "rnn": RnnSettings(d_model=6, dropout=0.0, init_range=0.5, fixnorm=True, lexicon="module"),
}


def batch() -> Batch[Tensor]:
    return on_device(batch_of(SOURCE, TARGET))


def model_of(kind: str) -> TranslationModel:
    torch.manual_seed(0)
    return build_model(KINDS[kind], ModelText(12, ALLOWED, joint=False)).double().eval()


@pytest.fixture(params=KINDS)
def model(request) -> TranslationModel:
    return model_of(request.param)


@pytest.mark.parametrize("weight", [None, [1.0, 0.5, 2.0]])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("gradient", [True, False])
def test_the_loss_is_the_weighted_sum_of_its_terms(model, smoothing, weight, gradient):
    made = training_objective(model, smoothing)
    weights = None if weight is None else torch.tensor(weight)
    with torch.set_grad_enabled(gradient):
        loss = made(replace(batch(), weight=weights))
    names = ["cross_entropy", *(["label_smoothing"] if smoothing else []), *(["length"] if model.plans_length else [])]
    assert list(loss.terms) == list(made.weights) == names
    weighted = sum(made.weights[name] * value for name, value in loss.terms.items())
    assert loss.total.item() == pytest.approx(weighted.item(), rel=1e-6)
    assert not any(value.requires_grad for value in loss.terms.values())


def test_a_pair_counts_in_loss_and_gradient_as_often_as_its_weight_says(model):
    made = training_objective(model, smoothing=0.1)
    names = [name for name, _ in model.named_parameters()]
    found = []
    for rows, weight in (([0, 1, 2], [2.0, 0.0, 1.0]), ([0, 0, 2], None)):
        weights = None if weight is None else torch.tensor(weight)
        some = batch().map(lambda values, rows=rows: values[rows])
        loss = made(replace(some, weight=weights))
        gradients = torch.autograd.grad(loss.total, list(model.parameters()), allow_unused=True)
        found.append((loss.total.item(), *(value.item() for value in loss.terms.values())))
        found.append(dict(zip(names, gradients, strict=True)))
    assert found[0] == pytest.approx(found[2], rel=1e-6)
    for name, gradient in found[1].items():
        torch.testing.assert_close(gradient, found[3][name], rtol=1e-5, atol=1e-6, msg=name)


class Size:
    """A regulariser, as a term that no model defines: half the squared norm of the bias."""

    def __init__(self, bias: Tensor) -> None:
        self.bias = bias
        self.weights = {"size": 0.3}

    def __call__(self, model, batch, forward) -> Summand:
        size = self.bias.square().sum() / 2
        return Summand(0.3 * size, {"size": size.detach()})


def test_a_term_can_be_added_without_a_change_elsewhere():
    model = model_of("planned")
    bias = model.output_layer.bias
    torch.nn.init.constant_(bias, 1.5)
    alone, joined = (Objective(model, [CrossEntropy(0.1), Length(), *more]) for more in ([], [Size(bias)]))
    before, after = alone(batch()), joined(batch())
    assert list(after.terms) == ["cross_entropy", "label_smoothing", "length", "size"]
    assert after.total.item() == pytest.approx(before.total.item() + 0.3 * 12 * 1.5**2 / 2)
    assert after.nll.item() == before.nll.item()
    gradients = [torch.autograd.grad(loss.total, bias)[0] for loss in (before, after)]
    torch.testing.assert_close(gradients[1] - gradients[0], torch.full_like(bias, 0.3 * 1.5))


@pytest.mark.parametrize(("terms", "passes"), [(["size"], 0), (["tokens", "length", "size"], 1)])
def test_a_model_is_run_once_for_all_terms_that_ask_for_it(monkeypatch, terms, passes):
    model, made = model_of("planned"), []
    kinds = {"tokens": CrossEntropy(0.1), "length": Length(), "size": Size(model.output_layer.bias)}
    monkeypatch.setattr(objective, "forward_pass", lambda *pair: made.append(pair) or forward_pass(*pair))
    Objective(model, [kinds[term] for term in terms])(batch())
    assert len(made) == passes


def test_a_sentence_has_the_log_probability_that_forced_decoding_gives_it(model):
    found = sentence_log_probs(model, batch())
    forced = forced_decode(model, model.encode(torch.from_numpy(SOURCE)), torch.from_numpy(TARGET))
    assert found.tolist() == pytest.approx([one.log_prob for one in forced], rel=1e-5)
    assert -found.sum().item() == pytest.approx(training_objective(model, 0.0)(batch()).nll.item(), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_log_probability_of_a_sentence_has_the_gradient_of_finite_differences(kind):
    model = model_of(kind)
    parameter = max((p for p in model.parameters() if p.dim() == 2), key=lambda p: p.std())
    for sentence in range(3):
        (gradient,) = torch.autograd.grad(sentence_log_probs(model, batch())[sentence], parameter)
        place = np.unravel_index(int(gradient.abs().argmax()), gradient.shape)
        values = []
        for step in (1e-3, -1e-3):
            with torch.no_grad():
                parameter[place] += step
                values.append(sentence_log_probs(model, batch())[sentence].item())
                parameter[place] -= step
        assert gradient[place].item() == pytest.approx((values[0] - values[1]) / 2e-3, rel=1e-2)


def test_expected_risk_is_minimised_through_the_log_probabilities_of_sentences():
    """What minimum risk training needs: the better of two translations becomes more probable."""
    model = model_of("transformer").train()
    target = np.array([[9, 10, 2], [11, 4, 2]])
    both, risk = on_device(batch_of(SOURCE[:1].repeat(2, 0), target)), torch.tensor([1.0, 0.0])
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02)
    shares = []
    for _ in range(5):
        share = sentence_log_probs(model, both).softmax(0)
        shares.append(share[1].item())
        optimiser.zero_grad()
        (share * risk).sum().backward()
        optimiser.step()
    assert shares == sorted(shares)
    assert shares[-1] > shares[0]


def test_terms_are_logged_and_add_up_to_the_loss(tiny_corpus, tiny_recipe, workspace):
    planned = {"model.plan_length": True, "model.max_predicted_length": 30, "training.max_evaluations": 1}
    run = train("planned", tiny_recipe.with_changes(planned), tiny_corpus, workspace)
    logged = run.log.metrics("train")
    assert [list(terms) for terms in logged["terms"]] == [["cross_entropy", "label_smoothing", "length"]] * len(logged)
    for loss, terms in zip(logged["loss"], logged["terms"], strict=True):
        assert sum(terms.values()) == pytest.approx(loss, rel=1e-6)
