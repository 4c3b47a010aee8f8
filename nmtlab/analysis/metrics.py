"""All metrics, found by their keys, and what each kind is of a run: its value, and what each sentence adds to it."""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, overload

import numpy as np
import pandas as pd
from sacrebleu.metrics.base import Metric as Scorer

from nmtlab.analysis.access.analysis import Analysis, named
from nmtlab.analysis.access.metric import Metric, Text
from nmtlab.analysis.access.needs import unmet
from nmtlab.analysis.access.translations import stored_translations, text_digest, translations_by_text
from nmtlab.analysis.declared import declared_analyses
from nmtlab.errors import NmtlabError
from nmtlab.evaluation import bleu_metric, chrf_metric, default_tokenizer, tokenized_bleu_metric
from nmtlab.languages import language_of
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import moses_words


@cache
def declared_metrics() -> dict[str, tuple[Metric, Analysis]]:
    """Return every metric and its analysis, by key."""
    return {metric.key: (metric, analysis) for analysis in declared_analyses() for metric in analysis.metrics}


def find_metric(key: str) -> Metric:
    """Return the metric with a key.

    Raises:
        NmtlabError: no metric has that key.
    """
    if key not in declared_metrics():
        raise NmtlabError(f"metric {key!r}: unknown", f"choose one of {', '.join(sorted(declared_metrics()))}")
    return declared_metrics()[key][0]


def label_of(key: str) -> str:
    """Return the label of the metric with a key; scores from elsewhere are called by their key."""
    return find_metric(key).label if key in declared_metrics() else key


def find_metrics(keys: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics with some keys; errors as of `find_metric`."""
    return tuple(find_metric(key) for key in keys)


def analysis_of(metric: Metric) -> Analysis:
    """Return the analysis that a metric is from."""
    return declared_metrics()[metric.key][1]


def value_of(metric: Metric, run: Run, corpus: ParallelCorpus) -> float:
    """Return the number of a run, from the answer of the metric's analysis, which is stored with the run.

    NaN for a run that lacks what the metric needs.
    """
    if unmet(run, metric.needs):
        return math.nan
    found = analysis_of(metric).of(run, **_arguments(metric, run, corpus))
    if metric.read:
        return float(metric.read(found, **named(metric.read, {"corpus": corpus})))
    if metric.scoring:
        return _score(metric, found[metric.scoring.column].tolist(), run, corpus)
    if metric.hits:
        return 100 * float(np.nanmean(metric.hits(found)))
    sums = _amounts(metric, found).sum()
    return float(sums["amount"] / sums["of"]) if len(found) else math.nan


def sums_of(metric: Metric, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
    """Return what each sentence adds to numerator and denominator of a ratio or proportion, in whole numbers.

    Returns:
        (sentences, 2); None if the run has not been measured, or has no such number.
    """
    found = None if unmet(run, metric.needs) else _stored(metric, run, corpus)
    if found is None:
        return None
    if metric.hits:
        return percent(np.asarray(metric.hits(found), dtype=float))
    amounts = _amounts(metric, found)
    return None if amounts.empty else _by_sentence(amounts, corpus, metric.split)


def sums_among(metric: Metric, lines: Sequence[str], run: Run | None, corpus: ParallelCorpus) -> np.ndarray | None:
    """Return `sums_of` of a proportion of translations, given these; None if they cannot be judged without the run."""
    assert metric.hits is not None, f"{metric.key} is no proportion"
    hits = metric.hits(lines, **named(metric.hits, {"run": run, "corpus": corpus}))
    return None if hits is None else percent(hits)


def percent(hits: np.ndarray) -> np.ndarray:
    """Return the sums, (sentences, 2), of a percentage of sentences, given 1, 0 or NaN for each."""
    return np.stack([100 * np.nan_to_num(hits), ~np.isnan(hits)], axis=1)


def stored_lines(score: Metric, run: Run, corpus: ParallelCorpus) -> list[str] | None:
    """Return a run's stored translations that a score is of; None if it has not made them, or too few."""
    scoring = score.scored
    if not scoring.made_by:
        return stored_translations(run, corpus, score.split)
    if not run.translates(*corpus.direction):
        return None
    packed = _packed_lines(score, run.directed(*corpus.direction), corpus)
    if packed is not None:
        return packed  # at once, where arguments of an analysis may have to be computed
    found = _stored(score, run, corpus)
    return None if found is None or len(found) < scoring.enough else found[scoring.column].tolist()


@overload
def scored_text(score: Metric, corpus: ParallelCorpus, run: Run) -> Text: ...
@overload
def scored_text(score: Metric, corpus: ParallelCorpus, run: Run | None) -> Text | None: ...
def scored_text(score: Metric, corpus: ParallelCorpus, run: Run | None) -> Text | None:
    """Return the text that a score is of; None if it depends on the run, and there is none."""
    if score.scored.text:
        return score.scored.text(corpus, run)
    return Text(list(corpus.lines(score.split, corpus.source)), corpus.references(score.split))


def scorer_of(score: Metric, language: str) -> Scorer:
    """Return sacrebleu's metric for translations into a language."""
    if score.scored.score == "chrF":
        return chrf_metric()
    return bleu_metric(default_tokenizer(language)) if is_detokenized(score, language) else tokenized_bleu_metric()


def as_scored(score: Metric, lines: Sequence[str], language: str) -> list[str]:
    """Return lines as a score compares them."""
    if is_detokenized(score, language):
        return list(lines)
    words = moses_words(language)
    return [" ".join(words.split(line)) for line in lines]


def is_detokenized(score: Metric, language: str) -> bool:
    """Return whether translations into a language are scored on detokenized text."""
    into = score.scored.detokenized_into
    return into is None or language_of(language) in into


def _arguments(metric: Metric, run: Run, corpus: ParallelCorpus) -> dict[str, Any]:
    """Return the arguments of a metric's analysis."""
    about = named(analysis_of(metric).compute, {"corpus": corpus, "split": metric.split})
    return {**about, **metric.given, **metric.find(run, corpus)}


def _stored(metric: Metric, run: Run, corpus: ParallelCorpus) -> pd.DataFrame | None:
    """Return the stored answer with the sentences of a metric."""
    if metric.stored:
        return metric.stored(run, corpus)
    return analysis_of(metric).stored(run, **_arguments(metric, run, corpus))


def _packed_lines(score: Metric, run: Run, corpus: ParallelCorpus) -> list[str] | None:
    """Return the translations that a run was packed with: answers with them are too large."""
    found = translations_by_text(run, score.split, score.scored.made_by)
    text = scored_text(score, corpus, run) if found else None
    return found.get(text_digest(text.sources)) if text else None


def _score(metric: Metric, lines: Sequence[str], run: Run, corpus: ParallelCorpus) -> float:
    if len(lines) < metric.scored.enough:
        return math.nan
    compared = [as_scored(metric, one, corpus.target) for one in (lines, *scored_text(metric, corpus, run).references)]
    return scorer_of(metric, corpus.target).corpus_score(compared[0], compared[1:]).score


def _amounts(metric: Metric, found: pd.DataFrame) -> pd.DataFrame:
    """Return the columns `line`, `amount` and `of` of a ratio."""
    rows = found[found[metric.where[0]] == metric.where[1]] if metric.where else found
    amount = rows[metric.amount] - (rows[metric.less] if metric.less else 0)
    percents = 100 if metric.unit == "%" else 1
    return pd.DataFrame({"line": rows["line"], "amount": percents * amount, "of": rows[metric.of]})


def _by_sentence(amounts: pd.DataFrame, corpus: ParallelCorpus, split: str) -> np.ndarray:
    """Return the amounts of all sentences of a split, 0 for those that have none: (sentences, 2)."""
    found = np.zeros((sum(1 for _ in corpus.lines(split, corpus.source)), 2), dtype=int)
    found[amounts["line"].to_numpy() - 1] = amounts[["amount", "of"]]
    return found
