"""Which n-grams of the references does one system generate and another one not? And which wrong ones?"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import pandas as pd

from nmtlab.analysis.comparison.compared import Compared, Lines

Ngram = tuple[str, ...]

LONGEST = 4


def ngram_differences(compared: Compared, system: str, than: str, smoothing: float = 1.0) -> pd.DataFrame:
    """Return the n-grams that one system generates more often than another one, and the reverse.

    Args:
        compared: with both systems.
        system: the one.
        than: the other.
        smoothing: added to both counts.

    Returns:
        A row for each n-gram of 1 to `LONGEST` words that either system generates, once for those `right` in their
        line's reference and once for those that are not, as far as there are any: `ngram`; `right`; `one` and `other`,
        how often each generates it, as means over seeds; `share`, the part of the one in both, smoothed (compare-mt:
        0.5 is as often). The most different come first, at equal shares the more frequent.
    """
    ones, others = _generated(compared, system), _generated(compared, than)
    rows = []
    for right, (one, other) in ((True, (ones[0], others[0])), (False, (ones[1], others[1]))):
        rows += [(" ".join(ngram), right, one[ngram], other[ngram]) for ngram in {**one, **other}]
    found = pd.DataFrame(rows, columns=["ngram", "right", "one", "other"])
    share = (found["one"] + smoothing) / (found["one"] + found["other"] + 2 * smoothing)
    order = {"how": -(share - 0.5).abs(), "often": -(found["one"] + found["other"])}
    ordered = found.assign(share=share, **order).sort_values([*order, "ngram"], kind="stable", ignore_index=True)
    return ordered.drop(columns=list(order))


def lines_with(lines: Lines, ngram: str) -> list[int]:
    """Return the numbers of the lines, from 1, that contain an n-gram.

    Args:
        lines: the words of each line.
        ngram: words, joined by spaces.
    """
    wanted = tuple(ngram.split(" "))
    return [number for number, words in enumerate(lines, start=1) if wanted in _ngrams(words, len(wanted))]


def _generated(compared: Compared, system: str) -> tuple[Mapping[Ngram, float], Mapping[Ngram, float]]:
    """Return how often a system generates n-grams that are, and that are not, in the references; means over seeds."""
    right, wrong = defaultdict[Ngram, float](float), defaultdict[Ngram, float](float)
    part = 1 / len(compared.words[system])
    for lines in compared.words[system]:
        for words, reference in zip(lines, compared.reference_words, strict=True):
            for length in range(1, LONGEST + 1):
                generated, wanted = Counter(_ngrams(words, length)), Counter(_ngrams(reference, length))
                for total, counts in ((right, generated & wanted), (wrong, generated - wanted)):
                    for ngram, times in counts.items():
                        total[ngram] += part * times
    return right, wrong


def _ngrams(words: Sequence[str], length: int) -> list[Ngram]:
    return [tuple(words[start : start + length]) for start in range(len(words) - length + 1)]
