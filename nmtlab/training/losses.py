"""What training minimises."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmtlab.models.interface import TranslationModel
from nmtlab.nn.once import check_first_derivative
from nmtlab.text.batch import Batch
from nmtlab.text.vocabulary import PAD

NO_LENGTH = -1
"""In the place of a length: a row that only fills a batch has none, while an empty translation has 0."""

_CHUNK = 2**18
"""Logits in a chunk: 1 MiB, so that all passes but the first find them in the processor's cache."""


class Objective(nn.Module):
    """Label-smoothed cross-entropy of a model (thesis 3.3.3.1); with that of the planned length, where it plans one.

    A planned length counts as a token, in place of EOS (eq 4.1), and is not smoothed.

    Args:
        model: any translation model.
        smoothing: probability spread over the allowed types, the right one included.
    """

    def __init__(self, model: TranslationModel, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch[Tensor]) -> tuple[Tensor, Tensor]:
        """Return the smoothed loss and the negative log-likelihood, both summed over the target's tokens."""
        memory = self.model.encode(batch.source) if self.model.plans_length else None
        logits = self.model.output(self.model(batch, memory))
        said = self.model.predicted(batch.target)
        loss, nll = cross_entropy(logits.float(), self.model.columns(batch.target[said]), self.smoothing)
        if memory is None:
            return loss, nll
        length = said.sum(1).masked_fill((batch.target == PAD).all(1), NO_LENGTH)
        length_nll = length_loss(self.model.length_log_probs(memory).float(), length)
        return loss + length_nll, nll + length_nll.detach()


def length_loss(log_probs: Tensor, length: Tensor) -> Tensor:
    """Return the negative log-likelihood of lengths, (B,), under (B, n), summed.

    Longer ones count as the longest, and `NO_LENGTH` for nothing: of a row that only fills a batch.
    """
    return F.nll_loss(log_probs, length.clamp_max(log_probs.shape[1] - 1), ignore_index=NO_LENGTH, reduction="sum")


def cross_entropy(logits: Tensor, gold: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Return the label-smoothed loss and the negative log-likelihood, summed.

    The right column has weight 1 - smoothing + smoothing/C, the others smoothing/C.

    Args:
        logits: (tokens, C); on a CPU they are overwritten by their gradient.
        gold: (tokens,) the right columns.
        smoothing: from 0 to below 1.
    """
    if logits.requires_grad and logits.device.type == "cpu" and not torch.compiler.is_compiling():
        return _CrossEntropy.apply(logits, gold, smoothing)
    log_probs = logits.log_softmax(-1)
    nll = F.nll_loss(log_probs, gold, reduction="sum")
    return (1 - smoothing) * nll - smoothing * log_probs.mean(-1).sum(), nll


class _CrossEntropy(torch.autograd.Function):
    """Both losses and their gradient in one sweep: on a CPU the logits' memory traffic is what they cost."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, logits: Tensor, gold: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        columns = logits.shape[1]
        grad = logits.detach()
        nll = logits.new_zeros(())
        spread = logits.new_zeros(())
        rows = max(1, _CHUNK // columns)
        for chunk, right in zip(grad.split(rows), gold.unsqueeze(1).split(rows), strict=True):
            torch.log_softmax(chunk, dim=-1, out=chunk)
            nll -= chunk.gather(1, right).sum()
            spread -= chunk.sum()
            chunk.exp_().sub_(smoothing / columns)
            chunk.scatter_add_(1, right, chunk.new_full(right.shape, smoothing - 1))
        ctx.mark_non_differentiable(nll)
        ctx.grad = grad
        return (1 - smoothing) * nll + spread * (smoothing / columns), nll

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
        check_first_derivative("the loss")
        if ctx.grad is None:
            raise RuntimeError("the gradient of this loss is used up: compute the loss again for another backward pass")
        used, ctx.grad = ctx.grad.mul_(grad), None
        return used, None, None
