"""Which words of a text became likelier as a run went on from another, and where did attention move?"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import (
    ATTENDS,
    CONTINUED,
    NEURAL,
    WEIGHTS,
    check_same_types,
    continued_from,
    in_direction,
)
from nmtlab.analysis.access.word_pairs import WordPair, between_words, pair_of_words
from nmtlab.evaluation.scores import perplexity
from nmtlab.figures.marks import some_words, with_words
from nmtlab.figures.theme import BELOW, FAINT, SOLID, dressed, name_in_lines, plain, see_through, styles
from nmtlab.figures.words import number, quoted
from nmtlab.interchange.folding import FORBIDDEN
from nmtlab.runs.run import Run
from nmtlab.search.attention import last_layer
from nmtlab.search.forced import ForcedDecoding, forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS

FEW = 200
"""Sentences that are enough for a look."""

_SHOWN = 10
_MAX_WORDS = 1000
_TWICE = float(np.log(2))


class _Forced(NamedTuple):
    """A pair, log p of its target words and of its end, (words + 1,), and attention, (words, source words)."""

    pair: WordPair
    log_probs: np.ndarray
    attention: np.ndarray


def word_changes(
    run: Run, parent: Run, corpus: ParallelCorpus, split: str = "test", sample: int | None = None
) -> pd.DataFrame:
    """Return how likely each word of the references is to a run and to the run that it went on from.

    Both read the same forced references. The log-probability of a word is the sum over its pieces, so that the sum over
    a sentence, its end included, is that of forced decoding.

    Args:
        run: one that went on from another.
        parent: that run.
        corpus: in its languages.
        sample: number of pairs, drawn as in `nmtlab.text.corpora.sample`; all if not given.

    Returns:
        A row for each target word, and for the end of each sentence, `</s>`: `line`, from 1; `position`, from 0;
        `word`; `before` and `after`, log p in the parent and in the run, in nats; `attention`, the total variation
        (0 to 1) between their attention on the source, the mean over the heads of the last layer, NaN at the end.
        Pairs with a blank side have none.

    Raises:
        RunError: the runs have different vocabularies, or one has no weights.
        CorpusError: no such split, or other languages.
    """
    check_same_types(run, parent)
    run = in_direction(run, corpus)
    drawn = draw_sample(corpus, split, sample)
    numbered = [(line, pair) for line, pair in zip(drawn.lines, drawn.pairs, strict=True) if all(map(str.strip, pair))]
    before, after = (_forced(one.directed(*run.direction), numbered) for one in (parent, run))
    rows = [row for both in zip(before, after, strict=True) for row in _compared(*both)]
    return pd.DataFrame(rows, columns=["line", "position", "word", "before", "after", "attention"])


def producible(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `word_changes` of words that no bias of an exported model forbids."""
    return found[found[["before", "after"]].min(axis=1) > FORBIDDEN / 2]


def gains_by_word(found: pd.DataFrame) -> pd.DataFrame:
    """Return the mean log-probabilities of each word that the models can produce.

    Args:
        found: rows of `word_changes` with a column `run`.

    Returns:
        A row for each run and word: `run`; `word`; `times` in the text; `before` and `after`, means of log p; `gain`,
        their difference; `total`, its sum over the text, by which rows are sorted, the largest first; `attention`, the
        mean total variation.
    """
    known = producible(found)
    grouped = known.assign(total=known["after"] - known["before"], times=1).groupby(["run", "word"], sort=False)
    table = grouped.agg(
        times=("times", "sum"), before=("before", "mean"), after=("after", "mean"), gain=("total", "mean"),
        total=("total", "sum"), attention=("attention", "mean"),
    ).reset_index()  # fmt: skip
    return table.sort_values("total", ascending=False, kind="stable", ignore_index=True)


def most_changed(found: pd.DataFrame) -> pd.DataFrame:
    """Return, from `gains_by_word`, the ten words of each run that gained most over the text, and the ten that lost."""
    groups = [of_run for _, of_run in gains_by_word(found).groupby("run", sort=False)]
    ends = [pd.concat([one.head(_SHOWN), one.iloc[_SHOWN:].tail(_SHOWN)]) for one in groups]
    return pd.concat(ends, ignore_index=True)


def gains_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the mean log-probability of each word after against that before; of many words, every n-th.

    Args:
        found: rows of `word_changes` with a column `run`; the `customdata` of a point is the word, and how often it is
            in the text.
    """
    figure, table, style = go.Figure(), gains_by_word(found), styles(found["run"], SOLID)
    low = float(table[["before", "after"]].min().min()) if len(table) else 0.0
    figure.add_scatter(
        x=[low, 0], y=[low, 0], mode="lines", line={"color": FAINT, "dash": "dash"}, name="as likely as before",
        hoverinfo="skip",
    )  # fmt: skip
    for run, of_run in table.groupby("run", sort=False):
        drawn = some_words(of_run, _MAX_WORDS, "")
        figure.add_scatter(
            x=drawn["before"], y=drawn["after"], mode="markers", name=name_in_lines(run),
            marker={"size": 4 + 2 * np.log2(drawn["times"]), "color": see_through(style[str(run)]["color"], 0.5)},
            text=[plain(word) for word in drawn["word"]], customdata=drawn[["word", "times"]],
            hovertemplate="%{text}, %{customdata[1]} times<br>log p %{x:.2f} before, %{y:.2f} after<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="mean log p before (nats)")
    figure.update_yaxes(title_text="mean log p after (nats)")
    figure.update_layout(legend=BELOW, margin_b=110)
    return with_words(dressed(figure, "How likely each word of the references is, before and after", 480), "target")


def gains_finding(found: pd.DataFrame) -> str:
    """Return how many words became likelier, and which most, from rows of `word_changes` with a column `run`."""
    return " ".join(f"{run}: {_said(of_run)}." for run, of_run in found.groupby("run", sort=False))


WORD_CHANGES = Analysis(
    "Which words of a text became likelier than to the run that it went on from, and where did attention move?",
    word_changes,
    needs=(NEURAL, ATTENDS, WEIGHTS, CONTINUED),
    version=1,
    columns=("line", "position", "word", "before", "after", "attention"),
    table=most_changed,
    figure=gains_figure,
    finding=gains_finding,
    follows=(("parent", continued_from),),
)


def _said(found: pd.DataFrame) -> str:
    if (found["before"] == found["after"]).all():
        return "no word became likelier or less likely"
    known, table = producible(found), gains_by_word(found)
    if known.empty:
        return "no word of the text can be produced"
    likelier, less = (int((sign * table["gain"] >= _TWICE).sum()) for sign in (1, -1))
    first = table.iloc[0]
    before, after = (perplexity(-float(known[when].sum()), len(known)) for when in ("before", "after"))
    gained = f"; {quoted(first['word'])} gained most" if first["total"] > 0 else ""
    return (
        f"{likelier:,} of {len(table):,} words are at least twice as likely as before, {less:,} at most half as likely"
        f"{gained}; perplexity of a word {number(before, 1)} before, {number(after, 1)} after; of the attention, "
        f"{number(100 * found['attention'].mean(), 0)} % is on other words"
    )


def _forced(run: Run, numbered: Sequence[tuple[int, tuple[str, str]]]) -> list[_Forced]:
    """Return each pair as a run reads it."""
    pairs = [pair_of_words(run.pipeline, *pair, (), line) for line, pair in numbered]
    sources, targets = ([getattr(pair, ids) for pair in pairs] for ids in ("source_ids", "target_ids"))
    found = dict(forced_decode_all(open_model(run).model, sources, targets))
    return [_in_words(pair, found[place]) for place, pair in enumerate(pairs)]


def _in_words(pair: WordPair, forced: ForcedDecoding) -> _Forced:
    log_probs = forced.log_probs.astype(float)
    words = np.bincount(pair.target_places, weights=log_probs[:-1], minlength=len(pair.target_words))
    return _Forced(pair, np.append(words, log_probs[-1]), between_words(last_layer(forced.attention).mean(0), pair))


def _compared(before: _Forced, after: _Forced) -> list[tuple[object, ...]]:
    here, there = after.attention, before.attention
    moved = np.abs(here - there).sum(1) + np.abs(here.sum(1) - there.sum(1))  # the rest is on EOS
    words = [*after.pair.target_words, SPECIALS[EOS]]
    log_probs = before.log_probs.tolist(), after.log_probs.tolist()
    columns = zip(words, *log_probs, [*(moved / 2).tolist(), np.nan], strict=True)
    return [(after.pair.line, position, *row) for position, row in enumerate(columns)]
