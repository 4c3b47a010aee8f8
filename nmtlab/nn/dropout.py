"""Dropout with masks that are cheap on a CPU."""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Zero a share p of the units in training and scale the others by 1/(1-p).

    On a CPU one 64-bit random number decides four units, so p is rounded to a multiple of 2^-16. Drawing one number per
    unit, as torch does, takes a sixth of a small Transformer's training step.

    Args:
        p: share of units dropped, [0, 1).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Return x with units dropped in training, x itself otherwise."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return nn.functional.dropout(x, self.p)
        return _Drop.apply(x, self.p)

    def mask(self, x: Tensor) -> Tensor | None:
        """Return the mask to multiply x by, 0 or 1/(1-p) for each unit; None if nothing is dropped."""
        if not self.training or self.p == 0:
            return None
        if x.device.type != "cpu" or torch.compiler.is_compiling():
            return nn.functional.dropout(torch.ones_like(x), self.p)
        return _kept(x.shape, self.p).to(x.dtype).mul_(1 / (1 - self.p))


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, p: float) -> Tensor:
        mask = _kept(x.shape, p).to(x.dtype).mul_(1 / (1 - p))
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: torch.autograd.function.BackwardCFunction, grad: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return grad * mask, None


def _kept(shape: torch.Size, p: float) -> Tensor:
    """Return 1 for each unit that is kept and 0 for the others, in uint8: torch converts that faster than bool."""
    units = shape.numel()
    dropped = min(round(p * 2**16), 2**16 - 1)  # of 2^16 values; one more would not fit in 16 bits
    bits = torch.empty((units + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    return (bits.view(torch.int16)[:units] >= dropped - 2**15).view(torch.uint8).view(shape)
