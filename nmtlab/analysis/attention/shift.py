"""Does attention point at the word being translated? (thesis 3.2.6.3)

Shifts are counted to the left, as in the thesis: attention one word to the *left* of the aligned source word, in the
written order of the source, has shift 1, and attention one word to its right has shift -1.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import over_seeds, percent, without_seed
from nmtlab.analysis.access.metric import Better, Metric
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, WEIGHTS, in_direction
from nmtlab.analysis.access.reference_links import reference_links
from nmtlab.analysis.access.word_pairs import WordPair, forced_attention, word_pairs
from nmtlab.analysis.attention.strips import strips
from nmtlab.evaluation.alignment_error import alignment_error
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import listed
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link

_COLUMNS = {
    "line": int, "target_position": int, "target_word": str, "unknown": bool, "source_position": int,
    "source_word": str, "weight": float, "linked_position": "Int64", "shift": "Int64", "links": int,
    "source_length": int,
}  # fmt: skip
_PEAK = ["source_position", "target_position"]
_SHARES = ("first", "first_linked", "last", "last_linked", "on", "on_if_moved")
_PLACES = {"first": "first word", "on_if_moved": "1 left", "on": "aligned word", "last": "last word"}
_FAR = 5
"""Shifts from here on are drawn together."""


def attention_shift(
    run: Run,
    corpus: ParallelCorpus,
    split: str,
    links: Sequence[Collection[Link]],
    limit: int | None = None,
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda pairs: None,
) -> pd.DataFrame:
    """Compare the peaks of attention with the positions of the aligned words, under forced references.

    Words and their attention are those of `word_pairs` and `forced_attention`. If a target word is linked to several
    words, the one nearest to the attention peak counts; of two equally near, the left one. Shifts by links of different
    kinds compare only over the words with a single link: an aligner gives more words several links than a gold
    alignment does, and the more links a word has, the smaller is its shift.

    Args:
        links: word links of each pair of the split, as from `gold_links` or a word aligner.
        limit: number of pairs to use, from the first; all if not given.

    Returns:
        A row for each target word: `run`; `line`, from 1; `target_position` and `target_word`; `unknown`, whether the
        system cannot generate it; `source_position`, `source_word` and `weight` of the attention peak;
        `linked_position`, of the aligned source word, and `shift`, how many words to its left the peak is, negative to
        the right: both missing for a word without links; `links`, how many it has; `source_length`, in words. Positions
        count from 0.

    Raises:
        CorpusError: no such split, other languages, or links that do not belong to it.
    """
    run = in_direction(run, corpus)
    pairs = word_pairs(run, corpus, split, links, limit)
    weights = forced_attention(open_model(run, machine=machine), pairs, on_progress)
    return peak_shifts(run.label, pairs, weights)


def peak_shifts(name: str, pairs: Sequence[WordPair], weights: Sequence[np.ndarray]) -> pd.DataFrame:
    """Return the rows of `attention_shift`.

    Args:
        weights: attention in each pair, (target words, source words).
    """
    rows = [row for pair, matrix in zip(pairs, weights, strict=True) for row in _peaks(pair, matrix)]
    frame = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
    frame.insert(0, "run", name)
    return frame


def shift_summary(shifts: pd.DataFrame, by: Sequence[str] = ("run", "unknown")) -> pd.DataFrame:
    """Summarise how far attention is from the aligned words.

    Args:
        shifts: rows of `attention_shift`, of one run or several.
        by: columns to group by.

    Returns:
        A row for each group of linked words: the columns of `by`; `words`, their number; `mean` and `median` shift to
        the left; `left`, `on` and `right`, the shares (0 to 1) of those whose attention is to the left of the aligned
        word, on it and to the right.
    """
    linked = shifts.dropna(subset="shift")
    sides = linked.assign(left=linked["shift"] > 0, on=linked["shift"] == 0, right=linked["shift"] < 0)
    return (
        sides.groupby(list(by), observed=True)
        .agg(
            words=("shift", "size"),
            mean=("shift", "mean"),
            median=("shift", "median"),
            left=("left", "mean"),
            on=("on", "mean"),
            right=("right", "mean"),
        )
        .reset_index()
        .astype(dict.fromkeys(("mean", "median", "left", "on", "right"), float))
    )


def shift_distribution(shifts: pd.DataFrame, by: Sequence[str] = ("run", "unknown")) -> pd.DataFrame:
    """Return how many words with a single link have each shift.

    Args:
        shifts: rows of `attention_shift`, of one run or several.
        by: columns to group by.

    Returns:
        A row for each group and shift that occurs: the columns of `by`, `shift`, `words`, and `share` of the group's
        words (0 to 1).
    """
    groups = shifts[shifts["links"] == 1].groupby([*by, "shift"], observed=True)
    counted = groups.size().rename("words").reset_index()
    return counted.assign(share=counted["words"] / counted.groupby(list(by), observed=True)["words"].transform("sum"))


def sink_summary(shifts: pd.DataFrame, by: Sequence[str] = ("run",)) -> pd.DataFrame:
    """Summarise whether attention collects on the first source word instead of being shifted by a constant.

    Attention that is off by one word, as in thesis Figure 3.3, would be on the linked word if every peak were moved one
    word to the right. An attention sink is on the first word far more often than links are. Only words with a single
    link count.

    Args:
        shifts: rows of `attention_shift`, of one run or several.
        by: columns to group by.

    Returns:
        A row for each group of words: the columns of `by`; `words`, their number; `first` and `last`, the shares of
        peaks on the first and on the last source word, and `first_linked` and `last_linked`, those of words linked to
        it; `on`, the share of peaks on the linked word, and `on_if_moved`, the share if each peak were one word further
        right; `most_frequent`, the most frequent shift. Shares are from 0 to 1.
    """
    shares = (
        _marked(shifts)
        .groupby(list(by), observed=True, sort=False)
        .agg(
            words=("shift", "size"),
            **{name: (name, "mean") for name in _SHARES},
            most_frequent=("shift", lambda some: int(some.mode().iloc[0])),
        )
    )
    return shares.reset_index().astype(dict.fromkeys(_SHARES, float))


def shift_figure(shifts: pd.DataFrame) -> go.Figure:
    """Draw the share of linked words by the shift of their attention peak: a group of bars for each shift.

    Args:
        shifts: rows of `attention_shift`, of one run or several.
    """
    figure = go.Figure()
    style = styles(shifts["run"], SOLID)
    for run, of_run in shifts.groupby("run", sort=False):
        found = shift_distribution(of_run, by=["run"])
        clipped = found.assign(shift=found["shift"].astype(int).clip(-_FAR, _FAR)).groupby("shift")
        shares = clipped[["share", "words"]].sum().reindex(range(-_FAR, _FAR + 1), fill_value=0)
        figure.add_bar(
            x=[_name(shift) for shift in shares.index[::-1]], y=100 * shares["share"][::-1], name=name_in_lines(run),
            marker_color=style[str(run)]["color"], customdata=shares["words"][::-1],
            hovertemplate="%{x}: %{y:.1f} %, %{customdata:,} words<extra>" + name_in_lines(run) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="most attended word, counted from the linked one", type="category")
    figure.update_yaxes(title_text="linked words (%)", rangemode="tozero")
    figure.update_layout(barmode="group", legend=BELOW, margin_b=110)
    return dressed(figure, "How far from the linked word is the attention peak?", 440)


SHIFT = Analysis(
    "How far from the linked word is the attention peak, and do peaks collect on the first word?",
    attention_shift,
    source="thesis 3.2.6.3, Figure 3.3",
    needs=(NEURAL, ATTENDS, WEIGHTS),
    table=sink_summary,
    figure=shift_figure,
    finding=lambda shifts: _peaks_said(_marked(shifts).assign(words=1)) if len(shifts) else "",
    in_context=True,
)


def peak_counts(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return the counts behind `sink_summary` for each sentence of a text, by the links of `reference_links`.

    Args:
        corpus: in its languages, with its training text.

    Returns:
        A row for each sentence that has words with a single link: `line`, from 1; `words`, their number; how many of
        them are `first`, `first_linked`, `last`, `last_linked`, `on` and `on_if_moved`.

    Raises:
        CorpusError: no such split, no training text, or other languages.
    """
    run = in_direction(run, corpus)
    marked = _marked(attention_shift(run, corpus, part, reference_links(run.pipeline, corpus, part)))
    return marked.assign(words=1).groupby("line")[["words", *_SHARES]].sum().astype(int).reset_index()


def peak_shares(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of peaks on the first word, one word left of the linked one, on it and on the last word.

    They overlap: the linked word may be the first, for example.

    Args:
        counts: rows of `peak_counts`, with their `run`.

    Returns:
        `run`, `place`, `share`, 0 to 1.
    """
    sums = counts.groupby("run", sort=False)[["words", *_PLACES]].sum()
    shares = sums[list(_PLACES)].div(sums["words"], axis=0).rename(columns=_PLACES)
    return shares.rename_axis(columns="place").stack().rename("share").reset_index()


def peaks_figure(counts: pd.DataFrame) -> go.Figure:
    """Draw `peak_shares` as `strips`; arguments as there."""
    title = "Where are the attention peaks? (% of target words)"
    return strips(peak_shares(counts), _PLACES["first"], title, "most attended source word (places may overlap)")


def _peaks_said(counts: pd.DataFrame) -> str:
    """Say where peaks are, from rows with `run`, `words` and what `sink_summary` counts."""
    if counts.empty:
        return ""
    shares = peak_shares(counts).pivot_table("share", "run", "place", sort=False)
    linked = counts["first_linked"].sum() / counts["words"].sum()
    systems = shares.groupby([without_seed(run) for run in shares.index], sort=False)
    parts = [
        f"{system} {over_seeds(seeds[_PLACES['on']])} and {over_seeds(seeds[_PLACES['first']])}"
        for system, seeds in systems
    ]
    return (
        f"Attention peaks on the aligned word and on the first one: {listed(parts, '; ')}. "
        f"Of the links, {percent(linked)} lead to the first word."
    )


def _peak_share(key: str, label: str, amount: str, less: str = "", better: Better = "lower") -> Metric:
    """Return a percentage of the peaks, or a difference of two; NaN for a phrase-based run."""
    return Metric(
        key, f"{label} (%)", "ratio", "%", better, needs=(NEURAL, ATTENDS), amount=amount, less=less, of="words"
    )


PEAK_COUNTS = Analysis(
    "How often are attention peaks on the linked, the first and the last word of a sentence?",
    peak_counts,
    needs=(NEURAL, ATTENDS, WEIGHTS),
    version=1,
    columns=("line", "words", *_SHARES),
    table=peak_shares,
    figure=peaks_figure,
    finding=_peaks_said,
    metrics=(
        _peak_share("peaks-first", "peaks on the first word", "first"),
        _peak_share("peaks-last", "peaks on the last word", "last"),
        _peak_share("peaks-linked", "peaks on the linked word", "on", better="higher"),
        _peak_share("first-excess", "peaks less links on the first word", "first", "first_linked", "zero"),
        _peak_share("last-excess", "peaks less links on the last word", "last", "last_linked", "zero"),
        # How many more peaks would be on the linked word if each were one word further right: positive in Figure 3.3.
        _peak_share("moved-gain", "gain on the linked word if moved right", "on_if_moved", "on"),
    ),
    in_context=True,
)


def attention_error(shifts: pd.DataFrame, links: Sequence[Collection[Link]]) -> pd.DataFrame:
    """Return the alignment error rate of the attention peaks, one link for each target word.

    Args:
        shifts: rows of `attention_shift`, of one run or several.
        links: of each pair of the split, as given to `attention_shift`; all count as sure links.

    Returns:
        A row for each run: `run`, `error_rate`, `precision`, `recall`, each from 0 to 1.

    Raises:
        CorpusError: the lines of `shifts` have no links.
    """
    return pd.DataFrame([{"run": name, **_error(rows, links)} for name, rows in shifts.groupby("run", sort=False)])


def error_by_line(shifts: pd.DataFrame, links: Sequence[Collection[Link]]) -> pd.DataFrame:
    """Return what each sentence adds to the alignment error rate of the attention peaks of one run.

    Args:
        shifts: rows of `attention_shift`, of one run.
        links: as for `attention_error`.

    Returns:
        A row for each line with target words, by `line`: `amount`, the peaks without a link and the links without a
        peak, and `of`, the peaks and the links; the error rate is the ratio of their sums.
    """
    hits = [(peak, j) in links[line - 1] for line, peak, j in shifts[["line", *_PEAK]].itertuples(index=False)]
    found = shifts[["line"]].assign(peaks=1, hits=hits).groupby("line").sum()
    of = found["peaks"] + [len(set(links[line - 1])) for line in found.index]
    return pd.DataFrame({"amount": of - 2 * found["hits"], "of": of})


def _marked(shifts: pd.DataFrame) -> pd.DataFrame:
    """Return the words with a single link, with what `sink_summary` counts as columns of bools."""
    linked = shifts[shifts["links"] == 1]
    end = linked["source_length"] - 1
    return linked.assign(
        first=linked["source_position"] == 0,
        first_linked=linked["linked_position"] == 0,
        last=linked["source_position"] == end,
        last_linked=linked["linked_position"] == end,
        on=linked["shift"] == 0,
        on_if_moved=linked["shift"] == 1,
    )


def _name(shift: int) -> str:
    if shift == 0:
        return "on it"
    more = " or more" if abs(shift) == _FAR else ""
    return f"{abs(shift)}{more} {'left' if shift > 0 else 'right'}"


def _peaks(pair: WordPair, weights: np.ndarray) -> Iterator[dict[str, Any]]:
    for j, word in enumerate(pair.target_words):
        peak = int(weights[j].argmax())
        linked = min((i for i, t in pair.links if t == j), key=lambda i: (abs(peak - i), i), default=None)
        yield {
            "line": pair.line,
            "target_position": j,
            "target_word": word,
            "unknown": bool(pair.unknown[j]),
            "source_position": peak,
            "source_word": pair.source_words[peak],
            "weight": float(weights[j, peak]),
            "linked_position": linked,
            "shift": None if linked is None else linked - peak,
            "links": sum(t == j for _, t in pair.links),
            "source_length": len(pair.source_words),
        }


def _error(rows: pd.DataFrame, links: Sequence[Collection[Link]]) -> dict[str, float]:
    lines = rows.groupby("line")
    peaks = [set(zip(words["source_position"], words["target_position"], strict=True)) for _, words in lines]
    return vars(alignment_error(peaks, [set(links[line - 1]) for line in lines.groups]))
