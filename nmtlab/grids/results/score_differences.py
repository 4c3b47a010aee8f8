"""Scores of compared systems, and their differences with intervals for other seeds and other sentences."""

from collections.abc import Collection

import numpy as np
import pandas as pd

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.evaluation.resampling import resampled_scores
from nmtlab.grids.results.statistics import difference, sentence_spread

COLUMNS = ["metric", "system", "seeds", "score", "difference", "low", "high", "p", "covers", "signature", "better"]


def score_differences(
    compared: Compared, metrics: Collection[str] = (), lines: np.ndarray | slice = slice(None)
) -> pd.DataFrame:
    """Return the scores of each system, and how far it is from the first one.

    Args:
        metrics: titles of those of the comparison that are wanted; all if there are none.
        lines: numbers of those that count, from 0; all if not given.

    Returns:
        A row for each metric and system: `metric`, `system`, `seeds`; `score`, their mean; `difference` to the first
        system, its 95 % interval from `low` to `high`, and `p` of no difference, NaN for the first system; what the
        interval `covers`: seeds and sentences, or sentences alone if either system has a single seed; sacrebleu's
        `signature`; and which scores are `better`, higher or lower.
    """
    rows = []
    for title in metrics or compared.titles:
        whole = compared.counted(title)
        counts = {name: of._replace(statistics=of.statistics[:, lines]) for name, of in whole.items()}
        scores = {name: [of.score(sums) for sums in of.statistics.sum(axis=1).tolist()] for name, of in counts.items()}
        drawn = {name: resampled_scores(of.statistics, of.score) for name, of in counts.items()}
        first = next(iter(scores))
        sentences = counts[first].statistics.shape[1]
        for name, of_seeds in scores.items():
            line = _difference(scores, drawn, name, first, sentences) if name != first else _NOTHING
            about = (title, name, len(of_seeds), float(np.mean(of_seeds)))
            rows.append((*about, *line, counts[name].signature, counts[name].better))
    return pd.DataFrame(rows, columns=COLUMNS)


def scores_by(compared: Compared, buckets: pd.Categorical) -> pd.DataFrame:
    """Return `score_differences` within each bucket of lines, with `bucket` and `sentences`, their number.

    Args:
        buckets: of each line (`line_buckets`).
    """
    parts = []
    for bucket in buckets.remove_unused_categories().categories:
        lines = np.flatnonzero(buckets == bucket)
        found = score_differences(compared, lines=lines)
        parts.append(found.assign(bucket=bucket, sentences=len(lines)))
    return pd.concat(parts, ignore_index=True)


_NOTHING = (np.nan, np.nan, np.nan, np.nan, "")


def _difference(
    scores: dict[str, list[float]], drawn: dict[str, np.ndarray], name: str, first: str, sentences: int
) -> tuple[float, float, float, float, str]:
    """Return difference, interval, p and what the interval covers; a system with a single seed is taken as it is."""
    several = min(len(scores[name]), len(scores[first])) > 1
    one, other = (scores[system] if several else float(np.mean(scores[system])) for system in (name, first))
    ours, theirs = (drawn[system] if several else _whole(drawn[system]) for system in (name, first))
    line = difference(one, other, sentences=sentence_spread(ours, theirs, sentences)).estimate()
    return line.effect, line.low, line.high, line.p, "seeds and sentences" if several else "sentences alone"


def _whole(drawn: np.ndarray) -> np.ndarray:
    """Return the mean over seeds on each resampled text as a single column, whose variance is taken whole."""
    return drawn.mean(axis=1, keepdims=True)
