"""A guard for hand-written gradients."""

import torch


def check_first_derivative(what: str) -> None:
    """Refuse to differentiate a hand-written backward pass.

    torch's `once_differentiable` refuses only what depends on the incoming gradient and treats the rest as constant.

    Raises:
        RuntimeError: the backward pass records a graph.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(f"{what} has no second derivative: its gradient is written by hand")
