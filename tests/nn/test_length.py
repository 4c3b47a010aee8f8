"""The length model: what it reads, and the probabilities of lengths."""

import math
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from nmtlab.nn.length import COMPONENTS, LengthModel, mixture_log_probs
from nmtlab.nn.private import xavier_normal

READS = ("counted-mean", "counted-attention", "mean")
FORMS = ("mixture", "classifier")


def drawn(width: int, longest: int, reads: str, form: str) -> LengthModel:
    torch.manual_seed(3)
    model = LengthModel(width, longest, reads, form)
    for linear in model.children():
        xavier_normal(linear, {})
    return model


def by_formula(parameters: Tensor, source_length: int, longest: int) -> list[float]:
    """Return the probabilities of lengths from the distribution function of the log-logistic, 1 / (1 + (y/a)^-b)."""
    weights, locations, precisions = parameters.view(3, COMPONENTS).tolist()
    total = sum(map(math.exp, weights))

    def below(edge: float) -> float:
        found = 0.0
        for weight, location, precision in zip(weights, locations, precisions, strict=True):
            ratio = edge / source_length / math.exp(location)
            found += math.exp(weight) / total / (1 + ratio ** -math.exp(2 + precision))
        return found

    edges = [0.0, *(below(k + 0.5) for k in range(longest)), 1.0]
    return [above - lower for lower, above in pairwise(edges)]


@pytest.mark.parametrize("source_length", [1, 7, 40])
def test_a_length_has_the_probability_of_the_ratios_that_round_to_it(source_length):
    torch.manual_seed(source_length)
    parameters = torch.randn(1, 3 * COMPONENTS, dtype=torch.float64)
    found = mixture_log_probs(parameters, torch.tensor([source_length]), 50)[0].exp()
    assert found.tolist() == pytest.approx(by_formula(parameters[0], source_length, 50), abs=1e-12)


@pytest.mark.parametrize("longest", [1, 2, 200, 5000])
@pytest.mark.parametrize("size", [0.0, 1.0, 100.0])
def test_probabilities_sum_to_one_and_have_finite_logarithms_and_gradients(longest, size):
    torch.manual_seed(0)
    parameters = (size * torch.randn(5, 3 * COMPONENTS)).requires_grad_()
    log_probs = mixture_log_probs(parameters, torch.tensor([1, 3, 20, 150, 4000]), longest)
    assert log_probs.shape == (5, longest + 1)
    assert log_probs.isfinite().all()
    torch.testing.assert_close(log_probs.double().exp().sum(1), torch.ones(5).double(), rtol=0, atol=2e-5)
    log_probs.min(1).values.sum().backward()
    assert parameters.grad.isfinite().all()


def test_the_longest_length_stands_for_all_that_are_longer():
    parameters, source = torch.randn(1, 3 * COMPONENTS, dtype=torch.float64), torch.tensor([9])
    cut, whole = mixture_log_probs(parameters, source, 12)[0], mixture_log_probs(parameters, source, 500)[0]
    torch.testing.assert_close(cut[:-1], whole[:12])
    assert cut[-1].exp().item() == pytest.approx(whole[12:].exp().sum().item())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reads", READS)
def test_padding_is_not_read(reads, form):
    model, states, length = drawn(4, 6, reads, form), torch.randn(1, 3, 4), torch.tensor([2])
    padded = torch.cat((states, torch.randn(1, 2, 4)), dim=1)
    mask = torch.tensor([[0.0, 0.0, 0.0, -math.inf, -math.inf]])
    torch.testing.assert_close(model(padded, mask, length), model(states, None, length))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reads", READS)
def test_the_length_of_the_source_is_read_unless_the_mean_stands_alone(reads, form):
    model, states = drawn(4, 30, reads, form), torch.randn(1, 3, 4)
    parameters = []
    model.output.register_forward_hook(lambda _, inputs, output: parameters.append(output))
    for length in (3, 9):
        model(states, None, torch.tensor([length]))
    assert torch.equal(*parameters) == (reads == "mean")


def test_the_mean_with_a_classifier_is_the_first_form_and_has_its_weights():
    model, states = drawn(4, 6, "mean", "classifier"), torch.randn(2, 3, 4)
    assert [name for name, _ in model.named_parameters()] == ["output.weight", "output.bias"]
    expected = (states.mean(1) @ model.output.weight.T + model.output.bias).log_softmax(-1)
    torch.testing.assert_close(model(states, None, torch.tensor([2, 2])), expected)


def test_attention_may_weigh_positions_differently():
    model, states = drawn(4, 6, "counted-attention", "mixture"), torch.randn(1, 3, 4)
    shares = (states @ model.attention.weight.T + model.attention.bias).softmax(1)
    read = torch.cat(((shares * states).sum(1), torch.tensor([[0.03, math.log(3)]])), dim=-1)
    expected = mixture_log_probs(model.output(read), torch.tensor([3]), 6)
    torch.testing.assert_close(model(states, None, torch.tensor([3])), expected)


def test_an_empty_source_counts_as_one_token():
    model, states = drawn(4, 6, "counted-mean", "mixture"), torch.randn(1, 1, 4)
    assert torch.equal(model(states, None, torch.tensor([0])), model(states, None, torch.tensor([1])))


def test_only_the_mixture_names_a_length_that_no_target_in_training_had():
    """Targets of half as many tokens more than sources of at most 12; then a source of 30."""
    likeliest = {}
    for form in FORMS:
        model = drawn(2, 60, "counted-mean", form)
        optimiser = torch.optim.Adam(model.parameters(), 0.05)
        source = torch.arange(2, 13, 2)
        for _ in range(300):
            log_probs = model(torch.ones(len(source), 1, 2), None, source)
            optimiser.zero_grad()
            torch.nn.functional.nll_loss(log_probs, 3 * source // 2).backward()
            optimiser.step()
        likeliest[form] = model(torch.ones(1, 1, 2), None, torch.tensor([30])).argmax().item()
    assert likeliest["mixture"] == pytest.approx(45, abs=3)
    assert likeliest["classifier"] <= 18
