"""Are rare words translated, and rare names, or do more frequent ones stand in their place? (thesis 3.2.1, 3.2.6.2)

Words are Moses' in every system, so that systems with other segmentations compare. Training frequencies are counted in
the target side of the corpus' training text, whatever the split that is translated; of several references the first
counts.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.lexical.gold import gold_names
from nmtlab.evaluation.rare_words import (
    EDGES,
    UNKNOWN,
    Name,
    accuracy_by_frequency,
    bucket_names,
    bucket_of,
    name_outcomes,
)
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.tokenizers import Words

OUTCOMES = ("right", "confused", "unknown", "missing")

_PRIVATE = "\ue000"  # a character of private use, which Moses takes for a word


def word_accuracy(run: Run, corpus: ParallelCorpus, part: str = "test", edges: Sequence[int] = EDGES) -> pd.DataFrame:
    """Return how well a run translates words by how often training has seen them.

    Args:
        run: any, a phrase-based one too.
        corpus: in its languages, with its training text.
        part: the split that is translated, dev or test.
        edges: where buckets of frequency begin.

    Returns:
        A row for each bucket: `frequency`; `words` of the reference and `produced` words of the translation;
        `matched`, those they share; `recall`, `precision` and `f1`, missing where there are no words.

    Raises:
        CorpusError: no such split, or other languages.
        NmtlabError: the edges do not rise from 0.
    """
    hypotheses = _words(translations(run, corpus, part), corpus.target)
    references = _words(corpus.lines(part, corpus.target), corpus.target)
    buckets = accuracy_by_frequency(hypotheses, references, training_counts(corpus), edges)
    return pd.DataFrame([{**vars(b), "recall": b.recall, "precision": b.precision, "f1": b.f1} for b in buckets])


def name_translations(
    run: Run, corpus: ParallelCorpus, part: str = "test", names: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return what a run has made of each proper name of a split's references.

    Args:
        run: any, a phrase-based one too.
        corpus: in its languages, with its training text.
        part: the split that is translated, dev or test.
        names: `target`, a word; `class`, the names it could be taken for; `source`, its uninflected source form, which
            may be left out; the gold names of a controlled language if not given.

    Returns:
        A row for each name in the text: `line`, from 1; `name`; `class`; `count` in training; `outcome`: right,
        confused (with another name of its class, `produced`), unknown (an UNK, or the source's word) or missing;
        `produced_count`, how often training has the other name; `more_frequent`, whether that is more often. Without a
        confusion `produced` is empty, and the last two are 0 and false.

    Raises:
        CorpusError: no such split, other languages, or `names` is not given and the corpus has no gold names.
    """
    names = gold_names(corpus) if names is None else names.assign(source=names.get("source", ""))
    known = {row["target"]: Name(row["target"], row["class"], row["source"]) for row in names.to_dict("records")}
    hypotheses = _words(translations(run, corpus, part), corpus.target)
    sources, references = (_words(corpus.lines(part, code), code) for code in (corpus.source, corpus.target))
    counts = training_counts(corpus)
    rows = []
    for line, words in enumerate(zip(hypotheses, references, sources, strict=True), start=1):
        for name, group, outcome, produced in name_outcomes(*words, known):
            own, other = counts[name], counts[produced]
            rows.append((line, name, group, own, outcome, produced, other, other > own))
    columns = ["line", "name", "class", "count", "outcome", "produced", "produced_count", "more_frequent"]
    return pd.DataFrame(rows, columns=columns)


def name_accuracy(outcomes: pd.DataFrame, edges: Sequence[int] = EDGES) -> pd.DataFrame:
    """Return what becomes of names by their training frequency.

    Args:
        outcomes: of `name_translations`.
        edges: where buckets of frequency begin.

    Returns:
        A row for each bucket that has names: `frequency`; `names`, their occurrences; and the shares of them, 0 to 1,
        that are `right`, `confused`, `unknown` and `missing`.

    Raises:
        NmtlabError: the edges do not rise from 0.
    """
    codes = [bucket_of(count, edges) for count in outcomes["count"]]
    buckets = pd.Categorical.from_codes(codes, bucket_names(edges), ordered=True)
    shares = {outcome: outcomes["outcome"] == outcome for outcome in OUTCOMES}
    grouped = outcomes.assign(frequency=buckets, names=1, **shares).groupby("frequency", observed=True)
    table = grouped.agg({"names": "size", **dict.fromkeys(OUTCOMES, "mean")}).reset_index()
    return table.astype({"frequency": str})


def confusions(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return which names were taken for which, the most frequent confusions first.

    Args:
        outcomes: of `name_translations`.

    Returns:
        A row for each name and other name: `class`, `name`, `produced`, `times`, `count` and `produced_count` in
        training, `more_frequent`, whether the other one is the more frequent.
    """
    keys = ["class", "name", "produced", "count", "produced_count", "more_frequent"]
    confused = outcomes[outcomes["outcome"] == "confused"]
    table = confused.groupby(keys).size().rename("times").reset_index()
    table.insert(3, "times", table.pop("times"))
    return table.sort_values("times", ascending=False, kind="stable", ignore_index=True)


def training_counts(corpus: ParallelCorpus) -> Counter[str]:
    """Return how often the target side of a corpus' training text has each word.

    Raises:
        CorpusError: the corpus has no training text.
    """
    words = Words(corpus.target)
    return Counter(word for line in corpus.lines("train", corpus.target) for word in words.split(line))


def _words(lines: Iterable[str], language: str) -> list[list[str]]:
    """Return the words of lines; Moses would cut an UNK into three."""
    words = Words(language)
    cut = (words.split(line.replace(UNKNOWN, _PRIVATE)) for line in lines)
    return [[UNKNOWN if word == _PRIVATE else word for word in line] for line in cut]
