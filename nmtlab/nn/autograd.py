"""Gradients written by hand: a guard against differentiating them, and a factor."""

import torch
from torch import Tensor


def check_first_derivative(what: str) -> None:
    """Refuse to differentiate a hand-written backward pass.

    torch's `once_differentiable` refuses only what depends on the incoming gradient and treats the rest as constant.

    Raises:
        RuntimeError: the backward pass records a graph.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(f"{what} has no second derivative: its gradient is written by hand")


def with_gradient_times(factor: float, x: Tensor) -> Tensor:
    """Return x, with a factor on the gradient that flows back into it."""
    return _GradientTimes.apply(factor, x)


class _GradientTimes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, factor: float, x: Tensor) -> Tensor:
        ctx.factor = factor  # type: ignore[attr-defined]
        return x.view_as(x)

    @staticmethod
    def backward(ctx: torch.autograd.function.BackwardCFunction, grad: Tensor) -> tuple[None, Tensor]:
        return None, grad * ctx.factor  # type: ignore[attr-defined]
