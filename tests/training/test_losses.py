"""The loss and its hand-written gradient, against torch's."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.recipe import TransformerSettings
from nmtlab.text.batching.batch import batch_of
from nmtlab.training import losses
from nmtlab.training.losses import cross_entropy
from nmtlab.training.objective import Objective, training_objective

ROWS = losses._CHUNK // 1000
"""Rows of 1000 columns per chunk."""


def drawn(tokens: int, columns: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(tokens * columns)
    logits = torch.randn(tokens, columns, generator=generator, dtype=dtype) * 3
    return logits, torch.randint(columns, (tokens,), generator=generator)


def losses_and_gradient(logits: torch.Tensor, gold: torch.Tensor, smoothing: float) -> tuple[torch.Tensor, ...]:
    leaf = logits.clone().requires_grad_()
    loss, nll, _ = cross_entropy(leaf * 1, gold, smoothing)  # the product is overwritten, not the leaf
    (loss * 0.5).backward()
    return loss.detach(), nll, leaf.grad


def expected_losses_and_gradient(
    logits: torch.Tensor, gold: torch.Tensor, smoothing: float
) -> tuple[torch.Tensor, ...]:
    leaf = logits.clone().requires_grad_()
    loss = F.cross_entropy(leaf, gold, reduction="sum", label_smoothing=smoothing)
    (loss * 0.5).backward()
    return loss.detach(), F.cross_entropy(logits, gold, reduction="sum"), leaf.grad


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    ("tokens", "columns"),
    [(1, 2), (7, 11), (ROWS - 1, 1000), (ROWS, 1000), (ROWS + 1, 1000), (2 * ROWS + 3, 1000), (3, losses._CHUNK + 1)],
    ids=str,
)
def test_losses_and_gradient_are_those_of_torch_whatever_the_chunks(tokens, columns, dtype, smoothing):
    logits, gold = drawn(tokens, columns, dtype)
    found = losses_and_gradient(logits, gold, smoothing)
    expected = expected_losses_and_gradient(logits.double(), gold, smoothing)
    tolerance = {"rtol": 1e-10, "atol": 1e-12} if dtype == torch.float64 else {"rtol": 2e-5, "atol": 2e-6}
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs.to(dtype), **tolerance)


@pytest.mark.parametrize("tokens", [7, 2 * ROWS + 3])
def test_losses_of_logits_in_half_precision_are_computed_in_single_precision(tokens):
    logits, gold = drawn(tokens, 1000, torch.bfloat16)
    *found, gradient = losses_and_gradient(logits, gold, 0.1)
    *expected, exact = losses_and_gradient(logits.float(), gold, 0.1)
    assert [loss.dtype for loss in found] == [torch.float32, torch.float32]
    assert found == expected
    torch.testing.assert_close(gradient, exact.bfloat16())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_same_without_a_gradient(smoothing):
    logits, gold = drawn(9, 13)
    kept = logits.clone()
    with_gradient = losses_and_gradient(logits, gold, smoothing)[:2]
    torch.testing.assert_close(cross_entropy(logits, gold, smoothing)[:2], with_gradient)
    assert torch.equal(logits, kept)


def test_without_smoothing_the_loss_is_the_negative_log_likelihood():
    logits, gold = drawn(9, 13)
    loss, nll, _ = losses_and_gradient(logits, gold, 0.0)
    by_hand = -sum(row.log_softmax(0)[right] for row, right in zip(logits, gold, strict=True))
    torch.testing.assert_close(loss, by_hand)
    torch.testing.assert_close(nll, by_hand)


def test_the_right_type_is_among_those_that_share_the_smoothing():
    logits, gold = torch.tensor([[0.0, 1.0, -1.0]], dtype=torch.float64), torch.tensor([1])
    wanted = torch.tensor([[0.1, 0.8, 0.1]], dtype=torch.float64)  # smoothing 0.3 over three types
    loss, _, gradient = losses_and_gradient(logits, gold, 0.3)
    torch.testing.assert_close(loss, -(wanted * logits.log_softmax(-1)).sum())
    torch.testing.assert_close(gradient, 0.5 * (logits.softmax(-1) - wanted))


def test_a_second_backward_pass_and_a_second_derivative_are_errors_and_never_wrong():
    logits, gold = drawn(9, 13)
    logits.requires_grad_()
    loss, *_ = cross_entropy(logits * 1, gold, 0.1)
    loss.backward(retain_graph=True)
    first = logits.grad.clone()
    with pytest.raises(RuntimeError, match="compute the loss again"):
        loss.backward()
    assert torch.equal(logits.grad, first)
    loss, *_ = cross_entropy(logits * 1, gold, 0.1)
    with pytest.raises(RuntimeError, match="the loss has no second derivative"):
        torch.autograd.grad(loss, logits, create_graph=True)


def test_very_large_logits_give_finite_losses():
    logits, gold = torch.tensor([[1e4, -1e4, 0.0]]), torch.tensor([1])
    loss, nll, gradient = losses_and_gradient(logits, gold, 0.1)
    assert nll.item() == pytest.approx(2e4)
    assert loss.isfinite()
    assert gradient.isfinite().all()


def test_a_batch_without_target_tokens_costs_nothing():
    loss, nll, gradient = losses_and_gradient(torch.zeros(0, 5), torch.zeros(0, dtype=torch.long), 0.1)
    assert (loss.item(), nll.item(), gradient.shape) == (0.0, 0.0, (0, 5))


# The objective of a model


ALLOWED = np.array([i not in (0, 1, 8) for i in range(12)])
SOURCE = np.array([[5, 7, 4, 2], [6, 8, 2, 0]])
TARGET = np.array([[9, 10, 5, 2], [11, 8, 2, 0]])
"""Type 8 is not allowed."""


def objective(smoothing: float = 0.1, joint: bool = True) -> Objective:
    torch.manual_seed(0)
    settings = TransformerSettings(
        d_model=8, d_ff=16, encoder_layers=1, decoder_layers=1, heads=2, dropout=0.0, init="xavier", fixnorm=False
    )
    return training_objective(build_model(settings, ModelText(12, ALLOWED, joint)), smoothing)


def test_the_objective_sums_over_target_tokens_and_scores_a_type_not_allowed_as_unk():
    made = objective().double()
    loss = made(on_device(batch_of(SOURCE, TARGET)))
    as_unk = np.where(TARGET == 8, 3, TARGET)
    pairs = on_device(batch_of(SOURCE, TARGET))
    logits = made.model.output(made.model(pairs)).detach()
    gold = torch.from_numpy(np.searchsorted(np.flatnonzero(ALLOWED), as_unk[as_unk != 0]))
    expected = expected_losses_and_gradient(logits, gold, 0.1)
    torch.testing.assert_close((loss.total.detach(), loss.nll), expected[:2])


def test_the_gradient_reaches_the_parameters_as_torch_has_it():
    pairs = on_device(batch_of(SOURCE, TARGET))
    ours, theirs = objective(), objective()
    ours(pairs).total.backward()
    gold = theirs.model.output_index(pairs.target[pairs.target != 0])
    logits = theirs.model.output(theirs.model(pairs))
    F.cross_entropy(logits, gold, reduction="sum", label_smoothing=0.1).backward()
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, other.grad, msg=lambda text, name=name: f"{name}: {text}")


def test_bfloat16_products_change_the_loss_by_little_and_leave_parameters_in_float32():
    pairs = on_device(batch_of(SOURCE, TARGET))
    full, half = objective(), objective()
    loss = full(pairs).total
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = half(pairs).total
    rough.backward()
    assert rough.dtype == torch.float32
    assert rough.item() == pytest.approx(loss.item(), rel=0.02)
    assert rough.item() != loss.item()
    assert {parameter.grad.dtype for parameter in half.parameters()} == {torch.float32}
