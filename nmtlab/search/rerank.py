"""Reranking of n-best lists by a weighted sum of features, whose weights are tuned exactly, one at a time.

Candidates of a sentence stand one below the other. Shapes: N candidates of all sentences, F features, C counts.
"""

from collections.abc import Callable, Iterator

import numpy as np

_LEAST_GAIN = 1e-9
"""In points: less is rounding."""
_MOST_ROUNDS = 20


def best_candidates(scores: np.ndarray, lines: np.ndarray) -> np.ndarray:
    """Return the place of the best candidate of each sentence; of equals, the first.

    Args:
        scores: (N,), higher is better.
        lines: (N,) the sentence of each candidate, ascending.
    """
    return np.array([rows[np.argmax(scores[rows])] for rows in _lists(lines)], dtype=int)


def tuned_weights(
    features: np.ndarray,
    lines: np.ndarray,
    statistics: np.ndarray,
    score: Callable[[list[float]], float],
    start: np.ndarray,
) -> np.ndarray:
    """Return weights with a higher corpus score than those at the start (Och 2003, by coordinates).

    The weight of the first feature stays: only the ratios matter. In each round the one weight is changed whose best
    value, found exactly, gains most, until none gains. It is a local optimum.

    Args:
        features: (N, F).
        lines: (N,) as of `best_candidates`.
        statistics: (N, C) what the metric counts in each candidate.
        score: from the sums of the counts to the corpus score, higher is better.
        start: (F,) weights to begin with.
    """
    weights = start.astype(float)
    best = score(statistics[best_candidates(features @ weights, lines)].sum(0).tolist())
    for _ in range(_MOST_ROUNDS):
        found = []
        for place in range(1, features.shape[1]):
            slopes = features[:, place]
            offsets = features @ weights - weights[place] * slopes
            found.append((*best_weight(offsets, slopes, lines, statistics, score, weights[place]), place))
        gain, value, place = max(((reached - best, value, place) for value, reached, place in found), default=(0, 0, 0))
        if gain <= _LEAST_GAIN:
            break
        weights[place], best = value, best + gain
    return weights


def best_weight(
    offsets: np.ndarray,
    slopes: np.ndarray,
    lines: np.ndarray,
    statistics: np.ndarray,
    score: Callable[[list[float]], float],
    now: float = 0.0,
) -> tuple[float, float]:
    """Return the weight w with the highest corpus score of the candidates best by offset + w · slope, and that score.

    The best candidate of a sentence changes only where lines of its upper envelope cross, so the score is constant
    between the crossings of all sentences. Of the best interval the middle is returned; of several, the one nearest to
    `now`.

    Args:
        offsets, slopes: (N,) of each candidate.
        lines, statistics, score: as of `tuned_weights`.
        now: the weight in use, which is returned if no other is better.
    """
    sums = np.zeros(statistics.shape[1])
    crossings: list[tuple[float, np.ndarray]] = []
    for rows in _lists(lines):
        (_, first), *rest = _envelope(offsets[rows], slopes[rows])
        sums += statistics[rows[first]]
        for at, place in rest:
            crossings.append((at, statistics[rows[place]] - statistics[rows[first]]))
            first = place
    crossings.sort(key=lambda one: one[0])
    found = [(score(sums.tolist()), -np.inf)]
    for at, change in crossings:
        sums = sums + change
        if at == found[-1][1]:
            found.pop()
        found.append((score(sums.tolist()), at))
    ends = [at for _, at in found[1:]] + [np.inf]
    best = max(reached for reached, _ in found)
    middles = [
        _within(begin, end, now)
        for (reached, begin), end in zip(found, ends, strict=True)
        if reached >= best - _LEAST_GAIN
    ]
    return min(middles, key=lambda weight: abs(weight - now)), best


def _within(begin: float, end: float, now: float) -> float:
    """Return a weight between two crossings: the one in use if it is there, else the middle, or one beyond the last."""
    if begin < now < end:
        return now
    if np.isinf(begin) or np.isinf(end):
        return end - 1 if np.isinf(begin) else begin + 1
    return (begin + end) / 2


def _envelope(offsets: np.ndarray, slopes: np.ndarray) -> list[tuple[float, int]]:
    """Return from where on each line of the upper envelope is the highest, and its place, from minus infinity on."""
    found: list[tuple[float, int]] = []
    for place in np.lexsort((-np.arange(len(offsets)), offsets, slopes)).tolist():
        at = -np.inf
        while found:
            begin, last = found[-1]
            rise = slopes[place] - slopes[last]
            at = (offsets[last] - offsets[place]) / rise if rise > 0 else -np.inf
            if at > begin:
                break
            found.pop()
            at = -np.inf
        found.append((at, place))
    return found


def _lists(lines: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the places of the candidates of each sentence."""
    begins = np.flatnonzero(np.diff(lines)) + 1
    yield from np.split(np.arange(len(lines)), begins)
