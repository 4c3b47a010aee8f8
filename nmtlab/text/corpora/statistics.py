"""Size of a corpus, and the share of unseen words in dev and test (after thesis Tables 3.1 and 3.5)."""

import math
from collections import Counter
from collections.abc import Iterable
from statistics import median

import pandas as pd

from nmtlab.text.corpora.cleaning import is_copied
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.filtering import IsOther
from nmtlab.text.corpora.monolingual import MonolingualCorpus

MOST_WORDS = 5
"""Words of a short sentence, at most."""


def statistics(corpus: ParallelCorpus) -> pd.DataFrame:
    """Return a table with one row per split and side of `corpus`.

    Tokens are white-space words of the text as is: in raw text they include punctuation, and in a language written
    without spaces (Japanese, Chinese, Thai) a token may be a whole sentence, so token and type counts of such a side
    are not comparable.

    Returns:
        Columns: `split` (train, dev, test); `side` (source, target); `language`; `sentences`, including blank ones;
        `tokens`; `types`, distinct tokens; `mean_length`, `median_length` and `longest` in tokens per sentence;
        `singletons`, types seen once; `new_tokens` and `new_types`, the share (0 to 1) of this split's tokens and
        types not in the same side of train (missing for train, and without train).

    Raises:
        CorpusError: a split cannot be read (see `ParallelCorpus.pairs`).
    """
    known: dict[str, Counter[str]] = {}
    rows = []
    for split in corpus.splits:
        corpus.count(split)  # raises if the sides are not aligned
        for side, language in (("source", corpus.source), ("target", corpus.target)):
            types, lengths = _counts(corpus.lines(split, language))
            row = {"split": split, "side": side, "language": language, **_summary(types, lengths)}
            if split == "train":
                known[side] = types
            rows.append(row | _novelty(types, known.get(side) if split != "train" else None))
    return pd.DataFrame(rows)


def suspects(corpus: ParallelCorpus, is_other: IsOther | None = None) -> pd.DataFrame:
    """Return what may be noise in a corpus: a row for each split and side, in the order of `statistics`.

    Args:
        corpus: of which each split is read again.
        is_other: finds sentences in another language; None if they are not looked for.

    Returns:
        Columns: `split`; `language`; shares of its sentences, 0 to 1: `copies`, the same on both sides, whatever their
        case and white space; `short`, at most `MOST_WORDS` words; `other_language`, NaN without `is_other`.
    """
    rows = []
    for split in corpus.splits:
        pairs = list(corpus.pairs(split))
        copies = sum(map(is_copied, pairs)) / len(pairs)
        for language, lines in zip(corpus.direction, zip(*pairs, strict=True), strict=True):
            few = sum(len(line.split()) <= MOST_WORDS for line in lines) / len(lines)
            other = sum(is_other(line, language) for line in lines) / len(lines) if is_other else math.nan
            rows.append((split, language, copies, few, other))
    return pd.DataFrame(rows, columns=["split", "language", "copies", "short", "other_language"])


def line_statistics(corpus: MonolingualCorpus) -> pd.DataFrame:
    """Return the table of `statistics` for monolingual text: one row, of the split train and the side `text`."""
    row = {"split": "train", "side": "text", "language": corpus.language}
    corpus.count()  # which refuses an empty one
    types, lengths = _counts(corpus.lines())
    return pd.DataFrame([row | _summary(types, lengths) | _novelty(types, None)])


def _counts(lines: Iterable[str]) -> tuple[Counter[str], Counter[int]]:
    types: Counter[str] = Counter()
    lengths: Counter[int] = Counter()
    for line in lines:
        tokens = line.split()
        types.update(tokens)
        lengths[len(tokens)] += 1
    return types, lengths


def _summary(types: Counter[str], lengths: Counter[int]) -> dict[str, float]:
    return {
        "sentences": lengths.total(),
        "tokens": types.total(),
        "types": len(types),
        "mean_length": types.total() / lengths.total(),
        "median_length": median(lengths.elements()),
        "longest": max(lengths),
        "singletons": sum(times == 1 for times in types.values()),
    }


def _novelty(types: Counter[str], known: Counter[str] | None) -> dict[str, float]:
    if known is None or not types:
        return {"new_tokens": float("nan"), "new_types": float("nan")}
    new = [times for word, times in types.items() if word not in known]
    return {"new_tokens": sum(new) / types.total(), "new_types": len(new) / len(types)}
