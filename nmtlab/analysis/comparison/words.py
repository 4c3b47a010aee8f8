"""Which words does a system get right that another one does not? By frequency, kind, position, and sentence length.

Precision, recall and F1 are those of compare-mt (Neubig et al. 2019): matching ignores position, and of a word as many
tokens match as both sides have.

matches = by_frequency(word_matches(compared), compared.counts)
print(word_accuracy(matches))
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.comparison.compared import Compared, Lines
from nmtlab.evaluation.rare_words import EDGES, UNKNOWN, bucket_names, bucket_of
from nmtlab.evaluation.resampling import drawn_test_sets
from nmtlab.figures.theme import BELOW, SOLID, dressed, styles
from nmtlab.figures.words import number

KINDS = ("punctuation", "number", "name", "copied", "capitalised", "other")
LENGTHS = (0, 6, 11, 21, 31)
"""Lower bounds of the buckets of sentence lengths, in words of the reference."""

FIFTHS = ("first fifth", "second fifth", "middle fifth", "fourth fifth", "last fifth")
"""Parts of a line by the relative position of their words."""

COLUMNS = ["system", "seed", "line", "side", "position", "word", "matched"]
_PARTS = ["words", "matched", "produced"]


def word_matches(compared: Compared) -> pd.DataFrame:
    """Return the words of references and translations, and whether the other side has them.

    Returns:
        A row for each system, seed and word of either side: `system`; `seed`, the number of its translations, from 1;
        `line`, from 1; `side`, reference or translation; `position` in the line, from 0; `word`; `matched`.
    """
    rows = []
    for name, seeds in compared.words.items():
        for seed, lines in enumerate(seeds, start=1):
            both = zip(compared.reference_words, lines, strict=True)
            for line, (reference, translation) in enumerate(both, start=1):
                for side, words, others in (
                    ("reference", reference, translation),
                    ("translation", translation, reference),
                ):
                    found = matched(words, others)
                    rows += [(name, seed, line, side, i, word, found[i]) for i, word in enumerate(words)]
    return pd.DataFrame(rows, columns=COLUMNS)


def matched(words: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Return for each word whether it has a partner among others: each partner counts once, from the left."""
    left = Counter(others)
    found = []
    for word in words:
        found.append(left[word] > 0)
        left[word] -= 1
    return found


def by_frequency(matches: pd.DataFrame, counts: Mapping[str, int]) -> pd.DataFrame:
    """Return `word_matches` with a `bucket` of each word by its training frequency (`bucket_names`)."""
    names = bucket_names(EDGES)
    return _in_buckets(matches, [names[bucket_of(counts.get(word, 0), EDGES)] for word in matches["word"]], names)


def by_kind(matches: pd.DataFrame, source_words: Sequence[Sequence[str]], names: Collection[str] = ()) -> pd.DataFrame:
    """Return `word_matches` with a `bucket` of each word by its kind, the first of these that it is.

    `punctuation`: no letter or digit; `number`: a digit; `name`: one of the given names; `copied`: the source line has
    the same word; `capitalised`, but not at the beginning of the line; `other`.

    Args:
        matches: of `word_matches`.
        source_words: of each source line.
        names: words of the target language that are names, if they are known.
    """
    known, sources = set(names), [set(words) for words in source_words]
    kinds = [
        _kind(word, line, position, known, sources)
        for word, line, position in zip(matches["word"], matches["line"], matches["position"], strict=True)
    ]
    return _in_buckets(matches, kinds, KINDS)


def by_position(matches: pd.DataFrame) -> pd.DataFrame:
    """Return `word_matches` with a `bucket` of each word: the one of `FIFTHS` that its middle is in, on its own side.

    A system that writes from left to right may be more often right at the beginning, where it has seen fewer of its own
    errors, and one that writes from right to left at the end (Liu et al. 2016). Of a repeated word, the first ones are
    right if the other side has fewer.
    """
    lengths = matches.groupby(["system", "seed", "line", "side"])["position"].transform("size")
    places = len(FIFTHS) * (2 * matches["position"] + 1) // (2 * lengths)
    return _in_buckets(matches, [FIFTHS[place] for place in places], FIFTHS)


def by_line(matches: pd.DataFrame, buckets: pd.Categorical) -> pd.DataFrame:
    """Return `word_matches` with a `bucket` of each word: that of its line, of `line_buckets`."""
    return matches.assign(bucket=buckets[matches["line"] - 1])


def line_buckets(compared: Compared) -> dict[str, pd.Categorical]:
    """Return what lines are put into buckets by, with the bucket of each line.

    They are the length of the first reference in words, and the labels of the lines, if there are any.
    """
    names = bucket_names(LENGTHS)
    lengths = [names[bucket_of(len(words), LENGTHS)] for words in compared.reference_words]
    found = {"length of the sentence": pd.Categorical(lengths, categories=names, ordered=True)}
    if compared.labels:
        order = [label for label, _ in Counter(compared.labels).most_common()]
        found["label"] = pd.Categorical(compared.labels, categories=order, ordered=True)
    return found


def word_accuracy(matches: pd.DataFrame) -> pd.DataFrame:
    """Return how well each system translates the words of each bucket.

    Args:
        matches: of `by_frequency`, `by_kind`, `by_position` or `by_line`.

    Returns:
        A row for each bucket that has words, and system: `bucket`; `system`; `words` of the references, `produced` of
        the translations and `matched`, as means over seeds; `recall`, `precision` and `f1` of these, NaN without words;
        `difference` of F1 to the first system, and its 95 % interval over resampled sentences from `low` to `high`, NaN
        for the first system.
    """
    systems = list(dict.fromkeys(matches["system"]))
    sums, draws = _counts(matches, systems)
    rows = []
    for bucket, name in enumerate(matches["bucket"].cat.categories):
        if not sums[:, bucket].any():
            continue
        drawn = _f1(draws[:, :, bucket])
        for place, system in enumerate(systems):
            words, right, produced = sums[place, bucket]
            low, high = _ends(drawn[:, place] - drawn[:, 0]) if place else (np.nan, np.nan)
            f1, first = _f1(sums[place, bucket]), _f1(sums[0, bucket])
            shares = (_share(right, words), _share(right, produced), float(f1))
            difference = float(f1 - first) if place else np.nan
            rows.append((name, system, words, produced, right, *shares, difference, low, high))
    named = ["bucket", "system", "words", "produced", "matched", "recall", "precision", "f1"]
    return pd.DataFrame(rows, columns=[*named, "difference", "low", "high"])


def word_accuracy_figure(accuracy: pd.DataFrame, axis: str, text: str) -> go.Figure:
    """Draw the F1 of words by bucket, a bar for each system; `customdata` of a bar is its bucket.

    Args:
        accuracy: rows of `word_accuracy`.
    """
    figure = go.Figure()
    style = styles(accuracy["system"], SOLID)
    for system, rows in accuracy.groupby("system", sort=False):
        hover = rows[["bucket", "words", "recall", "precision", "difference", "low", "high"]]
        difference = "<br>difference %{customdata[4]:+.3f} (%{customdata[5]:.3f} to %{customdata[6]:.3f})"
        figure.add_bar(
            x=rows["bucket"], y=100 * rows["f1"], name=escape(str(system)), customdata=hover, meta="bucket",
            marker_color=style[system]["color"],
            hovertemplate="%{x}: F1 %{y:.1f} %, %{customdata[1]:,.0f} words, recall %{customdata[2]:.1%}, precision "
            "%{customdata[3]:.1%}"
            + (difference if rows["difference"].notna().any() else "")
            + f"<extra>{escape(str(system))}</extra>",
        )  # fmt: skip
    words = accuracy.drop_duplicates("bucket").set_index("bucket")["words"]
    figure.update_xaxes(
        title_text=f"{axis} (words of the references)", type="category",
        tickvals=list(words.index), ticktext=[f"{bucket}<br>({count:,.0f})" for bucket, count in words.items()],
    )  # fmt: skip
    figure.update_yaxes(title_text="F1 of words (%)", rangemode="tozero")
    figure.update_layout(barmode="group", legend=BELOW, margin_b=120)
    return dressed(figure, f"Which words are right, by {escape(axis)}:<br>{escape(text)}", 420)


def word_accuracy_finding(accuracy: pd.DataFrame, axis: str) -> str:
    """Return in which bucket two systems differ most, of those with a clear difference.

    Args:
        accuracy: rows of `word_accuracy`, of two systems.
        axis: what the buckets are by, such as `training frequency`.
    """
    pairs = accuracy.dropna(subset="difference")
    if pairs.empty:
        return ""
    several = pairs["low"] < pairs["high"]  # a bucket of one sentence has no interval
    clear = pairs[several & ((pairs["low"] > 0) | (pairs["high"] < 0))]
    if clear.empty:
        return f"By {axis}, no difference in F1 is clear."
    most = clear.loc[clear["difference"].abs().idxmax()]
    first = accuracy[accuracy["bucket"] == most["bucket"]].iloc[0]
    worse, better = sorted((first, most), key=lambda row: row["f1"])
    low, high = sorted(100 * abs(most[end]) for end in ("low", "high"))
    return (
        f"By {axis}, {better['system']} is ahead of {worse['system']} most in “{most['bucket']}”: F1 "
        f"{number(100 * better['f1'], 1)} % against {number(100 * worse['f1'], 1)} % (95 % interval of the difference "
        f"{number(low, 1)} to {number(high, 1)})."
    )


def changed_lines(matches: pd.DataFrame, system: str, than: str, bucket: str) -> list[int]:
    """Return the numbers of the lines where one of two systems has more right words of a bucket than the other.

    Args:
        matches: of `by_frequency`, `by_kind`, `by_position` or `by_line`.
    """
    right = matches[(matches["side"] == "reference") & (matches["bucket"] == bucket)]
    share = right.groupby(["line", "system"])["matched"].mean().unstack("system")
    return share.index[share[system] != share[than]].tolist()


def _in_buckets(matches: pd.DataFrame, names: Sequence[str], order: Sequence[str]) -> pd.DataFrame:
    return matches.assign(bucket=pd.Categorical(names, categories=list(order), ordered=True))


def _kind(word: str, line: int, position: int, names: Collection[str], sources: Sequence[Collection[str]]) -> str:
    if word == UNKNOWN:
        return "other"
    if not any(map(str.isalnum, word)):
        return "punctuation"
    if any(map(str.isdigit, word)):
        return "number"
    if word in names:
        return "name"
    if word in sources[line - 1]:
        return "copied"
    return "capitalised" if position and word[0].isupper() else "other"


def _counts(matches: pd.DataFrame, systems: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return (systems, buckets, 3), and the same of each resampled text (draws, systems, buckets, 3): `_PARTS`."""
    reference = matches["side"] == "reference"
    parts = matches.assign(
        words=reference, matched=reference & matches["matched"], produced=~reference, place=matches["system"]
    )
    seeds = matches.groupby("system")["seed"].nunique()
    lines, buckets = int(matches["line"].max()), matches["bucket"].cat.categories
    whole = pd.MultiIndex.from_product([systems, range(1, lines + 1), buckets])
    found = parts.groupby(["system", "line", "bucket"], observed=True)[_PARTS].sum().reindex(whole, fill_value=0)
    counts = found.to_numpy(dtype=float).reshape(len(systems), lines, len(buckets), len(_PARTS))
    counts /= seeds[list(systems)].to_numpy()[:, None, None, None]
    drawn = drawn_test_sets(lines) @ counts.transpose(1, 0, 2, 3).reshape(lines, -1)
    return counts.sum(axis=1), drawn.reshape(-1, len(systems), len(buckets), len(_PARTS))


def _f1(counts: np.ndarray) -> np.ndarray:
    """Return the harmonic mean of precision and recall; NaN if neither side has a word."""
    words, right, produced = np.moveaxis(counts, -1, 0)
    both = words + produced
    return np.divide(2 * right, both, out=np.full_like(both, np.nan), where=both > 0)


def _share(part: float, whole: float) -> float:
    return part / whole if whole else np.nan


def _ends(drawn: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of resampled values; NaN if a bucket is in no resampled text."""
    known = drawn[~np.isnan(drawn)]
    return tuple(np.quantile(known, (0.025, 0.975))) if len(known) else (np.nan, np.nan)


Ngram = tuple[str, ...]

LONGEST = 4


def ngram_differences(compared: Compared, system: str, than: str) -> pd.DataFrame:
    """Return the n-grams that one system generates more often than another one, and the reverse.

    Returns:
        A row for each n-gram of 1 to `LONGEST` words that either system generates, once for those `right` in their
        line's reference and once for those that are not, as far as there are any: `ngram`; `right`; `one` and `other`,
        how often each generates it, as means over seeds; `share`, the part of the one in both, with 1 added to each
        (compare-mt: 0.5 is as often). The most different come first, at equal shares the more frequent.
    """
    ones, others = _generated(compared, system), _generated(compared, than)
    rows = []
    for right, (one, other) in ((True, (ones[0], others[0])), (False, (ones[1], others[1]))):
        rows += [(" ".join(ngram), right, one[ngram], other[ngram]) for ngram in {**one, **other}]
    found = pd.DataFrame(rows, columns=["ngram", "right", "one", "other"])
    share = (found["one"] + 1) / (found["one"] + found["other"] + 2)
    order = {"how": -(share - 0.5).abs(), "often": -(found["one"] + found["other"])}
    ordered = found.assign(share=share, **order).sort_values([*order, "ngram"], kind="stable", ignore_index=True)
    return ordered.drop(columns=list(order))


def lines_with(lines: Lines, ngram: str) -> list[int]:
    """Return the numbers of the lines, from 1, that contain an n-gram.

    Args:
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
