"""Which word heads which: marginals of dependency trees (Tran and Bisk 2018, 2; Koo et al. 2007), for an encoder.

Shapes: B sentences, S words, D width; [i, j] is "i heads j", and [j, j] is "j is the root".
"""

import math
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from nmtlab.nn.linear import Linear

GrammarKind = Literal["flat", "tree", "hard"]

_FLOOR = -30.0
"""Smallest score, less that of the word's best head: it keeps the matrix from being singular. Marginals are exact to
1e-10 for scores with a deviation of 5. Of far larger scores they may be wrong where the best heads form a circle, which
every tree leaves by such an arc; columns add up to 1 within 0.01 for any scores."""


class Heads(NamedTuple):
    """The heads of words, each (B, S, S): scores φ, and probabilities β, 0 at padding; a column of β adds up to 1."""

    scores: Tensor
    probs: Tensor


def tree_marginals(scores: Tensor, mask: Tensor) -> Tensor:
    """Return β, (B, S, S): the marginals of all trees with a single root, each as probable as exp of its scores' sum.

    They are computed in double precision.

    Args:
        scores: φ, (B, S, S).
        mask: (B, S) bool, what is no padding: the first position, at least, and those behind it without a gap.
    """
    edges = mask.unsqueeze(2) & mask.unsqueeze(1)
    phi = scores.double().masked_fill(~edges, torch.finfo(torch.float64).min)
    # Each word has one head, or is the root: what its column has in common changes no probability.
    weights = (phi - phi.amax(1, keepdim=True).detach()).clamp_min(_FLOOR).exp() * edges
    root = weights.diagonal(dim1=1, dim2=2)
    arcs = weights - root.diag_embed()
    laplacian = arcs.sum(1).diag_embed() - arcs  # eq 6
    rooted = torch.cat((root.unsqueeze(1), laplacian[:, 1:]), dim=1) + (~mask).double().diag_embed()  # eq 7
    inverse = torch.linalg.inv(rooted)
    to, from_ = inverse.diagonal(dim1=1, dim2=2).unsqueeze(1), inverse.transpose(1, 2)
    inner = torch.ones_like(root)
    inner[:, 0] = 0  # 1 - δ_1j
    marginals = arcs * (inner.unsqueeze(1) * to - inner.unsqueeze(2) * from_)  # eq 8
    return (marginals + (root * inverse[:, :, 0]).diag_embed()).to(scores.dtype)  # eq 9


def flat_marginals(scores: Tensor, mask: Tensor) -> Tensor:
    """Return β, (B, S, S), of words that choose their heads alone: a softmax; arguments as of `tree_marginals`."""
    edges = mask.unsqueeze(2) & mask.unsqueeze(1)
    return scores.masked_fill(~edges, torch.finfo(scores.dtype).min).softmax(1) * edges


class HeadSelection(nn.Module):
    """Annotates each word with the heads it may have: M = W_v S β, where φ = (W_q S)ᵀ W_k S / √D.

    Args:
        d_model: width D.
        kind: how β follows from φ: `tree_marginals`, or of these the largest alone, with their gradient (`hard`, eq
            15), or `flat_marginals`.
    """

    def __init__(self, d_model: int, kind: GrammarKind) -> None:
        super().__init__()
        self.kind = kind
        self.query, self.key, self.value = (Linear(d_model, d_model, bias=False) for _ in range(3))
        self.gate = Linear(d_model, d_model, bias=False)

    def heads(self, states: Tensor, mask: Tensor) -> Heads:
        """Return which word heads which, of states, (B, S, D); mask as of `tree_marginals`."""
        queries = self.query(states) / math.sqrt(states.shape[2])
        scores = queries @ self.key(states).transpose(1, 2)
        if self.kind == "flat":
            return Heads(scores, flat_marginals(scores, mask))
        probs = tree_marginals(scores, mask)
        return Heads(scores, probs if self.kind == "tree" else _largest(probs, mask))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the annotations M, (B, S, D), of states; arguments as of `heads`."""
        return self.heads(states, mask).probs.transpose(1, 2) @ self.value(states)

    def gated(self, read: Tensor, h: Tensor) -> Tensor:
        """Return d = read ⊙ σ(W_g h), given the annotations that the decoder's state h reads, both (..., D) (eq 11)."""
        return read * self.gate(h).sigmoid()


def _largest(probs: Tensor, mask: Tensor) -> Tensor:
    """Return 1 at the most probable head of each word, with the gradient of `probs`."""
    chosen = torch.zeros_like(probs).scatter_(1, probs.argmax(1, keepdim=True), 1.0) * mask.unsqueeze(1)
    return chosen + probs - probs.detach()
