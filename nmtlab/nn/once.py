"""Gradients written by hand."""

import torch


def check_first_derivative(what: str) -> None:
    """Refuse, in a backward pass written by hand, to be differentiated itself.

    torch's `once_differentiable` refuses only what depends on the gradient that comes in; the rest it takes for
    constant.

    Raises:
        RuntimeError: the backward pass records a graph.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(f"{what} has no second derivative: its gradient is written by hand")
