"""What is lost if a source token is erased? (Li, Monroe and Jurafsky 2016)

Erasure needs nothing of a model but its scores, so that it is the same for every model.
"""

from collections.abc import Sequence

import numpy as np

from nmtlab.analysis.attribution.contrast import Contrast
from nmtlab.models.interface import Searchable
from nmtlab.search.forced import forced_decode_all


def erasure(
    model: Searchable,
    source: Sequence[int],
    target: Sequence[int],
    contrast: Contrast | None = None,
    replacement: int | None = None,
) -> np.ndarray:
    """Return by how much the log-probability of each target token falls if each source token is erased.

    Args:
        model: in evaluation mode.
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
        model: in evaluation mode; one that plans lengths would plan another one.
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
