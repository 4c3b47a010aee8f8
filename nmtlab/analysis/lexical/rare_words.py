"""Are rare words and rare names translated, or replaced by more frequent ones? (thesis 3.2.1, 3.2.6.2)

Words are Moses tokens for every system, so that systems with different segmentations can be compared. Training
frequencies are counted in the target side of the corpus' training text, for any split that is translated; of several
references the first is used.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.lexical.gold import gold_names
from nmtlab.evaluation.rare_words import (
    EDGES,
    UNKNOWN,
    BucketAccuracy,
    Name,
    accuracy_by_frequency,
    bucket_names,
    bucket_of,
    name_outcomes,
)
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.tokenizers import Words

OUTCOMES = ("right", "confused", "unknown", "missing")

_RAREST = [0, 3]
"""Edges of the frequencies below 3 and of all others."""

_PRIVATE = "\ue000"  # a private-use character, which Moses treats as a word


def word_accuracy(run: Run, corpus: ParallelCorpus, split: str = "test", edges: Sequence[int] = EDGES) -> pd.DataFrame:
    """Return how well a run translates words, by their training frequency.

    Args:
        run: any, including a phrase-based one.
        corpus: in its languages, with its training text.
        edges: lower edges of the frequency buckets.

    Returns:
        A row for each bucket: `frequency`; `words` of the reference and `produced` words of the translation;
        `matched`, those they share; `recall`, `precision` and `f1`, missing where there are no words.

    Raises:
        NmtlabError: the edges do not rise from 0.
    """
    by_line = word_counts_by_line(run, corpus, split, edges)
    sums = by_line.drop(columns="line").groupby("frequency", sort=False).sum().reset_index()
    buckets = [BucketAccuracy(*line) for line in sums.itertuples(index=False)]
    return pd.DataFrame([{**vars(b), "recall": b.recall, "precision": b.precision, "f1": b.f1} for b in buckets])


def word_counts_by_line(
    run: Run, corpus: ParallelCorpus, split: str = "test", edges: Sequence[int] = EDGES
) -> pd.DataFrame:
    """Return the counts of `word_accuracy` for each sentence.

    Args:
        run, corpus, split, edges: as for `word_accuracy`.

    Returns:
        A row for each sentence and bucket: `line`, from 1; `frequency`; `words`, `produced`, `matched`.

    Raises:
        NmtlabError: the edges do not rise from 0.
    """
    hypotheses = _words(translations(run, corpus, split), corpus.target)
    references = _words(corpus.lines(split, corpus.target), corpus.target)
    counts, rows = _counts(run, corpus), []
    for line, (hypothesis, reference) in enumerate(zip(hypotheses, references, strict=True), start=1):
        buckets = accuracy_by_frequency([hypothesis], [reference], counts, edges)
        rows += [(line, one.frequency, one.words, one.produced, one.matched) for one in buckets]
    return pd.DataFrame(rows, columns=["line", "frequency", "words", "produced", "matched"])


RAREST = Analysis(
    "How many of the words that are seen at most twice in training are translated?",
    word_counts_by_line,
    version=1,
    columns=("line", "frequency", "words", "produced", "matched"),
    metrics=(
        Metric(
            "rarest-recall", "recall of words seen at most twice (%)", "ratio", "%", given={"edges": _RAREST},
            amount="matched", of="words", where=("frequency", bucket_names(_RAREST)[0]),
        ),
    ),
)  # fmt: skip


def name_translations(
    run: Run, corpus: ParallelCorpus, split: str = "test", names: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return how a run has translated each proper name in a split's references.

    Args:
        run: any, including a phrase-based one.
        corpus: in its languages, with its training text.
        names: `target`, a word; `class`, a group of names that may be confused with each other; `source`, its
            uninflected source form, optional; the gold names of an artificial language if not given.

    Returns:
        A row for each name in the text: `line`, from 1; `name`; `class`; `count` in training; `outcome`: right,
        confused (with another name of its class, `produced`), unknown (an UNK, or the source word) or missing;
        `produced_count`, the other name's training count; `more_frequent`, whether that is higher. Without a confusion
        `produced` is empty, and the last two are 0 and false.

    Raises:
        CorpusError: no such split, other languages, or `names` is not given and the corpus has no gold names.
    """
    names = gold_names(corpus) if names is None else names.assign(source=names.get("source", ""))
    known = {row["target"]: Name(row["target"], row["class"], row["source"]) for row in names.to_dict("records")}
    hypotheses = _words(translations(run, corpus, split), corpus.target)
    sources, references = (_words(corpus.lines(split, code), code) for code in (corpus.source, corpus.target))
    counts = _counts(run, corpus)
    rows = []
    for line, words in enumerate(zip(hypotheses, references, sources, strict=True), start=1):
        for name, group, outcome, produced in name_outcomes(*words, known):
            count, produced_count = counts[name], counts[produced]
            rows.append((line, name, group, count, outcome, produced, produced_count, produced_count > count))
    columns = ["line", "name", "class", "count", "outcome", "produced", "produced_count", "more_frequent"]
    return pd.DataFrame(rows, columns=columns)


def name_accuracy(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes for names by their training frequency.

    Args:
        outcomes: rows of `name_translations`.

    Returns:
        A row for each bucket that has names: `frequency`; `names`, their occurrences; and the shares of these, 0 to 1,
        that are `right`, `confused`, `unknown` and `missing`.
    """
    codes = [bucket_of(count, EDGES) for count in outcomes["count"]]
    buckets = pd.Categorical.from_codes(codes, bucket_names(EDGES), ordered=True)
    shares = {outcome: outcomes["outcome"] == outcome for outcome in OUTCOMES}
    grouped = outcomes.assign(frequency=buckets, names=1, **shares).groupby("frequency", observed=True)
    table = grouped.agg({"names": "size", **dict.fromkeys(OUTCOMES, "mean")}).reset_index()
    return table.astype({"frequency": str})


def confusions(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return which names were confused with which, the most frequent confusions first.

    Args:
        outcomes: rows of `name_translations`.

    Returns:
        A row for each name and the name produced instead: `class`, `name`, `produced`, `times`, `count` and
        `produced_count` in training, `more_frequent`, whether the name produced is more frequent.
    """
    keys = ["class", "name", "produced", "count", "produced_count", "more_frequent"]
    confused = outcomes[outcomes["outcome"] == "confused"]
    table = confused.groupby(keys).size().rename("times").reset_index()
    table.insert(3, "times", table.pop("times"))
    return table.sort_values("times", ascending=False, kind="stable", ignore_index=True)


def training_counts(corpus: ParallelCorpus, max_words: int) -> Counter[str]:
    """Return the word counts of the target side of a corpus' training text, without the pairs that training leaves out.

    Args:
        corpus: with its training text.
        max_words: maximum number of words on either side of a pair.

    Raises:
        CorpusError: the corpus has no training text.
    """
    words = Words(corpus.target)
    return Counter(word for _, line in usable_pairs(corpus, max_words) for word in words.split(line))


def _counts(run: Run, corpus: ParallelCorpus) -> Counter[str]:
    return training_counts(corpus, run.recipe.text.max_words)


def _words(lines: Iterable[str], language: str) -> list[list[str]]:
    """Return the words of lines, each UNK as one word: Moses would split it into three."""
    words = Words(language)
    cut = (words.split(line.replace(UNKNOWN, _PRIVATE)) for line in lines)
    return [[UNKNOWN if word == _PRIVATE else word for word in line] for line in cut]
