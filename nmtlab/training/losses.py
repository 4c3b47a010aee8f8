"""Losses of tokens and of lengths, summed over a batch."""

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from nmtlab.nn.autograd import check_first_derivative
from nmtlab.nn.precision import widened

NO_LENGTH = -1
"""Length of a row that only pads a batch; an empty translation has length 0."""

_CHUNK = 2**18
"""Logits per chunk: 1 MiB, so that all passes but the first find them in the CPU cache."""


def length_loss(log_probs: Tensor, length: Tensor, weight: Tensor | None = None) -> Tensor:
    """Return the negative log-likelihood of lengths, (B,), under log-probabilities (B, n), summed.

    Lengths of n or more count as n - 1, and rows with `NO_LENGTH` are ignored. Each row counts `weight` times, (B,), or
    once without weights.
    """
    gold, reduction = length.clamp_max(log_probs.shape[1] - 1), "sum" if weight is None else "none"
    loss = F.nll_loss(log_probs, gold, ignore_index=NO_LENGTH, reduction=reduction)
    return loss if weight is None else (loss * weight).sum()


class CrossEntropies(NamedTuple):
    """The parts of the label-smoothed loss, summed over tokens.

    Args:
        smoothed: (1 - smoothing) `gold` + smoothing `uniform`, with a gradient.
        gold: negative log-likelihood of the gold columns.
        uniform: cross-entropy with the uniform distribution over the columns.
    """

    smoothed: Tensor
    gold: Tensor
    uniform: Tensor


def cross_entropy(logits: Tensor, gold: Tensor, smoothing: float, weight: Tensor | None = None) -> CrossEntropies:
    """Return the label-smoothed loss and its parts.

    The gold column has weight 1 - smoothing + smoothing/C, the others smoothing/C.

    Args:
        logits: (tokens, C), in any precision: the loss is computed in single precision, chunk by chunk; on a CPU they
            are overwritten by their gradient.
        gold: (tokens,) the gold columns.
        smoothing: from 0 to below 1.
        weight: (tokens,) how often each token counts; None: once.
    """
    if logits.requires_grad and logits.device.type == "cpu" and not torch.compiler.is_compiling():
        return CrossEntropies(*_CrossEntropy.apply(logits, gold, smoothing, weight))
    log_probs = widened(logits).log_softmax(-1)
    if weight is None:
        nll, uniform = F.nll_loss(log_probs, gold, reduction="sum"), -log_probs.mean(-1).sum()
    else:
        nll = (F.nll_loss(log_probs, gold, reduction="none") * weight).sum()
        uniform = -(log_probs.mean(-1) * weight).sum()
    return CrossEntropies((1 - smoothing) * nll + smoothing * uniform, nll.detach(), uniform.detach())


def soft_cross_entropy(
    logits: Tensor, wanted: Tensor, weight: Tensor | None = None, temperature: float = 1.0
) -> Tensor:
    """Return -τ² Σ softmax(wanted / τ) log softmax(logits / τ), the cross-entropy with a teacher's distributions.

    The gradient of each logit shrinks with 1/τ², which the factor makes up for (Hinton, Vinyals and Dean 2015).

    Args:
        logits: (tokens, C), in any precision; they may be overwritten afterwards.
        wanted: (tokens, C) logits of the teacher, without a gradient.
        weight: (tokens,) how often each token counts; None: once.
        temperature: τ, above 0.
    """
    ours, theirs = (widened(one) if temperature == 1 else widened(one) / temperature for one in (logits, wanted))
    each = -(temperature**2) * (theirs.softmax(-1) * ours.log_softmax(-1)).sum(-1)
    return each.sum() if weight is None else (each * weight).sum()


class _CrossEntropy(torch.autograd.Function):
    """The losses and their gradient in one pass over the logits, whose memory traffic dominates the cost on a CPU."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        gold: Tensor,
        smoothing: float,
        weight: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        columns = logits.shape[1]
        grad = logits.detach()
        wide = widened(logits[:0]).dtype
        nll, spread = logits.new_zeros((2,), dtype=wide)
        rows = max(1, _CHUNK // columns)
        for begin in range(0, len(grad), rows):
            some = slice(begin, begin + rows)
            chunk, right = widened(grad[some]), gold[some].unsqueeze(1)
            torch.log_softmax(chunk, dim=-1, out=chunk)
            likely, each = chunk.gather(1, right), chunk
            if weight is not None:
                times = weight[some].unsqueeze(1)
                likely, each = likely * times, chunk.sum(1, keepdim=True) * times
            nll -= likely.sum()
            spread -= each.sum()
            chunk.exp_().sub_(smoothing / columns)
            chunk.scatter_add_(1, right, chunk.new_full(right.shape, smoothing - 1))
            if weight is not None:
                chunk.mul_(times)
            if wide != grad.dtype:
                grad[some] = chunk
        uniform = spread / columns
        ctx.mark_non_differentiable(nll, uniform)
        ctx.grad = grad
        return (1 - smoothing) * nll + spread * (smoothing / columns), nll, uniform

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor, None, None, None]:
        check_first_derivative("the loss")
        if ctx.grad is None:
            raise RuntimeError("the gradient of this loss was already used: compute the loss again before backward")
        used, ctx.grad = ctx.grad.mul_(grad), None
        return used, None, None, None
