"""What each source token contributes to a target token: by erasure, and by gradients with captum.

Erasure (Li, Monroe and Jurafsky 2016) needs nothing of a model but its scores. Input × gradient (Denil et al. 2014) is
the contribution of a vector to the first-order approximation around the sentence. Integrated gradients (Sundararajan et
al. 2017) average the gradient on the straight way from a baseline to the sentence, so that contributions add up to the
difference of the outputs at both ends. The baseline has the mean vector of the source vocabulary at every position: at
the zero vector, a system that scales what it reads to a fixed norm jumps, and its gradient has no bound. The fixed
table of `arthur` looks up source types, not vectors: what passes through it has no gradient.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.interface import Searchable, TranslationModel, on_device
from nmtlab.search.forced import forced_decode_all
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import SPECIALS


class Contrast(NamedTuple):
    """A token that a target token is compared with: what is explained is the difference of their log-probabilities.

    Args:
        position: of the target token, from 0.
        type: id of the other token, which the model can produce.
    """

    position: int
    type: int

    def instead(self, target: Sequence[int]) -> list[int]:
        """Return a target with the other token at the position."""
        return [*target[: self.position], self.type, *target[self.position + 1 :]]


def erasure(
    model: Searchable,
    source: Sequence[int],
    target: Sequence[int],
    contrast: Contrast | None = None,
    replacement: int | None = None,
) -> np.ndarray:
    """Return by how much the log-probability of each target token falls if each source token is erased.

    Args:
        source: ids, EOS last.
        target: ids of a translation, EOS last.
        contrast: at its position, the difference of the two log-probabilities is explained.
        replacement: type that is put in the place of an erased token, such as UNK; if not given, the token is dropped.

    Returns:
        (|y|, S) in nats; positive where the source token supports the target token. EOS is never erased: its
        contributions are 0.
    """
    scores = _scores(model, source, target, replacement)  # (S, |y|): of the whole source, then without each token
    if contrast is not None:
        others = _scores(model, source, contrast.instead(target), replacement)
        scores[:, contrast.position] -= others[:, contrast.position]
    falls = scores[:1] - scores[1:]
    return np.vstack((falls, np.zeros_like(scores[:1]))).T


def prefix_erasure(model: Searchable, source: Sequence[int], target: Sequence[int]) -> np.ndarray:
    """Return by how much the log-probability of each target token falls if a token before it is erased.

    Args:
        model: one that plans lengths would plan another one.
        source: ids, EOS last.
        target: ids of a translation, EOS last.

    Returns:
        (|y|, |y|) in nats: of the token of each row, without that of each column; 0 where the column is not before it.
    """
    last = len(target) - 1
    shorter = [[*target[:t], *target[t + 1 :]] for t in range(last)]
    forced = dict(forced_decode_all(model, [source] * len(target), [target, *shorter]))
    whole, falls = forced[0].log_probs, np.zeros((last + 1, last + 1))
    for t in range(last):
        falls[t + 1 :, t] = whole[t + 1 :] - forced[t + 1].log_probs[t:]
    return falls


def _scores(model: Searchable, source: Sequence[int], target: Sequence[int], replacement: int | None) -> np.ndarray:
    """Return the log-probabilities of a target given its source, and given the source without each of its tokens."""
    filled = [] if replacement is None else [replacement]
    sources = [list(source), *([*source[:s], *filled, *source[s + 1 :]] for s in range(len(source) - 1))]
    forced = dict(forced_decode_all(model, sources, [target] * len(sources)))
    return np.stack([forced[place].log_probs for place in range(len(sources))])


if TYPE_CHECKING:
    from captum.attr import GradientAttribution

STEPS = 50
"""Points at which the gradient is evaluated for integrated gradients."""

_BATCH_TOKENS = 8192


def input_x_gradient(
    model: TranslationModel, source: Sequence[int], target: Sequence[int], contrast: Contrast | None = None
) -> np.ndarray:
    """Return the inner product of each source vector and the gradient of each target token's log-probability.

    Args:
        source: ids, EOS last.
        target: ids of a translation, EOS last.
        contrast: at its position, the difference of the two log-probabilities is explained.

    Returns:
        (|y|, S) in nats; positive where the source token supports the target token. A system that plans lengths does
        not generate EOS: its row is 0.
    """
    from captum.attr import InputXGradient  # which loads matplotlib: two seconds

    vectors = _vectors(model, source)
    return _contributions(InputXGradient, model, source, target, contrast, vectors)


def integrated_gradients(
    model: TranslationModel,
    source: Sequence[int],
    target: Sequence[int],
    contrast: Contrast | None = None,
    steps: int = STEPS,
) -> np.ndarray:
    """Return the inner product of each source vector, minus the baseline, and the gradient averaged on the way to it.

    Args:
        model, source, target, contrast: as of `input_x_gradient`.
        steps: points of the quadrature (Gauss-Legendre) of the average.

    Returns:
        (|y|, S) in nats, as of `input_x_gradient`. A row adds up to the log-probability minus that at the baseline, up
        to the error of the quadrature.
    """
    from captum.attr import IntegratedGradients

    vectors = _vectors(model, source)
    rows = max(len(target), _BATCH_TOKENS // (len(source) + len(target)))
    more = {"baselines": baseline(model, vectors), "n_steps": steps, "internal_batch_size": rows}
    return _contributions(IntegratedGradients, model, source, target, contrast, vectors, **more)


@torch.no_grad()
def baseline(model: TranslationModel, vectors: Tensor) -> Tensor:
    """Return the mean vector of the source vocabulary at every position of a sentence's vectors, (1, S, D)."""
    types = torch.arange(len(SPECIALS), len(model.embeddings()["source"]), device=vectors.device)
    return model.embed_source(types[None]).mean(1, keepdim=True).expand_as(vectors)


def token_scores(
    model: TranslationModel, source: Sequence[int], target: Sequence[int], contrast: Contrast | None = None
) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function of source vectors, (N, S, D), and positions, (N,), whose value is the log-probability there.

    Args:
        model, source, target, contrast: as of `input_x_gradient`.
    """
    ids, scored = np.array([source]), np.array([target])
    pair = on_device(batch_of(ids, scored), model.device)
    columns = model.output_index(pair.target[0])
    other = None if contrast is None else model.output_index(torch.tensor([contrast.type], device=model.device))

    def scores(vectors: Tensor, positions: Tensor) -> Tensor:
        count = len(vectors)
        batch = pair.map(lambda values: values.expand(count, *values.shape[1:]))
        states = model(batch, model.encode(batch.source, embedded=vectors)).unflatten(0, (count, -1))
        states = states[torch.arange(count, device=states.device), positions]
        log_probs = model.output(states).log_softmax(-1, dtype=torch.promote_types(states.dtype, torch.float32))
        found = log_probs.gather(1, columns[positions, None])[:, 0]
        return found if contrast is None else found - (positions == contrast.position) * log_probs[:, other][:, 0]

    return scores


@torch.no_grad()
def _vectors(model: TranslationModel, source: Sequence[int]) -> Tensor:
    return model.embed_source(torch.tensor([source], device=model.device))


def _contributions(
    method: "type[GradientAttribution]",
    model: TranslationModel,
    source: Sequence[int],
    target: Sequence[int],
    contrast: Contrast | None,
    vectors: Tensor,
    **more: Any,
) -> np.ndarray:
    """Return the contributions, (|y|, S), of source vectors, (1, S, D)."""
    count = len(target) - model.plans_length
    rows = vectors.repeat(count, 1, 1)
    if "baselines" in more:
        more["baselines"] = more["baselines"].expand_as(rows)
    explain = method(token_scores(model, source, target, contrast)).attribute
    with torch.backends.cudnn.flags(enabled=False):  # cuDNN has no gradient of a recurrent layer in evaluation mode
        found = explain(rows.requires_grad_(), additional_forward_args=torch.arange(count, device=rows.device), **more)
    summed = found.detach().sum(-1).double().cpu().numpy()
    return np.vstack((summed, np.zeros((len(target) - count, len(source)))))
