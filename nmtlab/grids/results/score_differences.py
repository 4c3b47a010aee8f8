"""Scores of compared systems, and their differences with intervals for other seeds and other sentences."""

import numpy as np
import pandas as pd

from nmtlab.analysis.comparison.compared import Compared
from nmtlab.evaluation.resampling import corpus_score, resampled_scores, sentence_statistics
from nmtlab.evaluation.scores import bleu_metric, chrf_metric, default_tokenizer
from nmtlab.grids.results.statistics import difference, sentence_spread

COLUMNS = ["metric", "system", "seeds", "score", "difference", "low", "high", "p", "covers", "signature"]


def score_differences(compared: Compared) -> pd.DataFrame:
    """Return the scores of each system, and how far it is from the first one.

    Returns:
        A row for each metric (BLEU, chrF) and system: `metric`, `system`, `seeds`; `score`, their mean; `difference`
        to the first system, its 95 % interval from `low` to `high`, and `p` of no difference, NaN for the first system;
        what the interval `covers`: seeds and sentences, or sentences alone if either system has a single seed;
        sacrebleu's `signature`.
    """
    bleu = bleu_metric(default_tokenizer(compared.languages[1]))
    bleu_counts = {
        name: sentence_statistics(seeds, compared.references, bleu) for name, seeds in compared.systems.items()
    }
    rows = []
    for title, metric, counts in (("BLEU", bleu, bleu_counts), ("chrF", chrf_metric(), compared.chrf_counts)):
        score = corpus_score(metric)
        scores = {name: [score(sums) for sums in of_seeds.sum(axis=1).tolist()] for name, of_seeds in counts.items()}
        drawn = {name: resampled_scores(of_seeds, score) for name, of_seeds in counts.items()}
        metric.num_refs = len(compared.references)  # the signature has it, once something was scored
        first = next(iter(scores))
        for name, of_seeds in scores.items():
            line = _difference(scores, drawn, name, first, len(compared.source)) if name != first else _NOTHING
            about = (title, name, len(of_seeds), float(np.mean(of_seeds)))
            rows.append((*about, *line, str(metric.get_signature())))
    return pd.DataFrame(rows, columns=COLUMNS)


_NOTHING = (np.nan, np.nan, np.nan, np.nan, "")


def _difference(
    scores: dict[str, list[float]], drawn: dict[str, np.ndarray], name: str, first: str, sentences: int
) -> tuple[float, float, float, float, str]:
    """Return difference, interval, p and what the interval covers; a system with a single seed is taken as it is."""
    several = min(len(scores[name]), len(scores[first])) > 1
    one, other = (scores[system] if several else float(np.mean(scores[system])) for system in (name, first))
    spread = sentence_spread(
        *(drawn[system] if several else _whole(drawn[system]) for system in (name, first)), sentences
    )
    line = difference(one, other, sentences=spread).estimate()
    return line.effect, line.low, line.high, line.p, "seeds and sentences" if several else "sentences alone"


def _whole(drawn: np.ndarray) -> np.ndarray:
    """Return the mean over seeds on each resampled text as a single column, whose variance is taken whole."""
    return drawn.mean(axis=1, keepdims=True)
