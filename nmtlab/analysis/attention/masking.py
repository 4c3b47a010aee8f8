"""Does a system need what it reads where its attention collects? Its loss with one source word hidden from attention.

Attention on the first source word may read the word, or the whole sentence, which a reversed encoder's state sums up
there, or nothing that is needed. In the last case, hiding the word costs nothing at the target words that are linked to
other words, even where attention was highest on it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, RECURRENCE, WEIGHTS, in_direction
from nmtlab.analysis.access.word_pairs import WordPair, forced_attention, word_pairs
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.attention import pieces_of_words
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link
from nmtlab.translation import Translator

Place = Literal["first", "last"]

_BATCH_TOKENS = 2048
_LINKED = {"it": "linked to it", "others": "linked to other words", "none": "not linked"}


def masked_losses(
    run: Run,
    corpus: ParallelCorpus,
    split: str,
    links: Sequence[Collection[Link]],
    place: Place = "first",
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda pairs: None,
) -> pd.DataFrame:
    """Return the loss of each reference word with and without attention to one source word.

    Args:
        run: a trained recurrent system.
        links: word links of each pair of the split, as from `gold_links` or a word aligner.
        place: the source word that is hidden in each sentence, with all of its pieces.

    Returns:
        A row for each target word of a pair with several source words: `line`, from 1; `target_position`, from 0;
        `target_word`; `linked`, to the hidden word (`it`), only to `others`, or to `none`; `peak`, whether
        the attention peak was on the hidden word; `loss`, in nats, and `masked_loss`, with the word hidden.

    Raises:
        CorpusError: no such split, other languages, or links that do not belong to it.
    """
    run = in_direction(run, corpus)
    pairs = [pair for pair in word_pairs(run, corpus, split, links) if len(pair.source_words) > 1]
    system = open_model(run, machine=machine)
    weights = forced_attention(system, pairs, on_progress)
    whole, masked = _losses(system, pairs, None), _losses(system, pairs, place)
    rows = (row for numbers in zip(pairs, weights, whole, masked, strict=True) for row in _rows(place, *numbers))
    columns = ["line", "target_position", "target_word", "linked", "peak", "loss", "masked_loss"]
    return pd.DataFrame(rows, columns=columns)


def masking_summary(losses: pd.DataFrame) -> pd.DataFrame:
    """Return what hiding the source word costs, by where the target word is linked and where attention was.

    Args:
        losses: rows of `masked_losses`, with their `run`.

    Returns:
        A row for each group of target words: `run`, `linked`, `peak`; `words`, their number; `cost`, the mean rise of
        the loss in nats per word.
    """
    runs = pd.Categorical(losses["run"], losses["run"].unique())  # in their order
    rise = losses.assign(run=runs, cost=losses["masked_loss"] - losses["loss"])
    groups = rise.groupby(["run", "linked", "peak"], observed=True)["cost"]
    return groups.agg(words="size", cost="mean").reset_index()


def masking_figure(losses: pd.DataFrame, place: Place = "first") -> go.Figure:
    """Draw what hiding a source word costs at the target words whose attention peak was on it: bars for each run.

    Args:
        losses: rows of `masked_losses`, with their `run`.
    """
    figure = go.Figure()
    costs = masking_summary(losses)
    style = styles(costs["run"], SOLID)
    attended = costs[costs["peak"]].assign(kind=costs["linked"].map(_LINKED))
    for run, of_run in attended.groupby("run", sort=False):
        shown = of_run.set_index("kind").reindex(list(_LINKED.values()))
        figure.add_bar(
            x=shown.index, y=shown["cost"], name=name_in_lines(run), marker_color=style[str(run)]["color"],
            customdata=shown["words"],
            hovertemplate="%{x}: %{y:+.3f} nats, %{customdata:,} words<extra>" + name_in_lines(run) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text=f"target words whose attention peak is on the {place} source word")
    figure.update_yaxes(title_text="rise of the loss (nats per word)", zeroline=True)
    figure.update_layout(barmode="group", legend=BELOW, margin_b=110)
    return dressed(figure, f"What does it cost to hide the {place} source word from attention?", 440)


def _said(losses: pd.DataFrame) -> str:
    """Say what hiding the word costs where attention was on it: at words linked to it, and at others."""
    if losses.empty:
        return ""
    costs = masking_summary(losses).query("peak").pivot_table("cost", "run", "linked", sort=False, observed=True)
    costs = costs.reindex(columns=["it", "others"])
    parts = [f"{run} {number(row['it'])} and {number(row['others'])}" for run, row in costs.iterrows()]
    return f"Nats that hiding the attended word costs, at words linked to it and to others: {listed(parts, '; ')}."


MASKING = Analysis(
    "What does it cost to hide one source word from attention?",
    masked_losses,
    needs=(NEURAL, RECURRENCE, ATTENDS, WEIGHTS),
    table=masking_summary,
    figure=masking_figure,
    finding=_said,
)


def _losses(system: Translator, pairs: Sequence[WordPair], place: Place | None) -> list[np.ndarray]:
    """Return the loss of each target word of some pairs, in nats, with the source word at `place` hidden."""
    model, found = system.model, [np.empty(0)] * len(pairs)
    for group in sorted_batches([max(len(p.source_ids), len(p.target_ids)) for p in pairs], _BATCH_TOKENS):
        some = [pairs[at] for at in group]
        padded = (pad([getattr(pair, ids) for pair in some]) for ids in ("source_ids", "target_ids"))
        source, target = (torch.from_numpy(ids).to(model.device) for ids in padded)
        with torch.inference_mode():
            memory = model.encode(source)
            if place is not None:
                memory = memory.without(torch.from_numpy(_hidden(some, source.shape[1], place)).to(model.device))
        for at, pair, forced in zip(group, some, forced_decode(model, memory, target), strict=True):
            found[at] = -forced.log_probs[:-1] @ pieces_of_words(pair.target_places)
    return found


def _word(pair: WordPair, place: Place) -> int:
    return 0 if place == "first" else len(pair.source_words) - 1


def _hidden(pairs: Sequence[WordPair], width: int, place: Place) -> np.ndarray:
    """Return which source pieces belong to the word at `place`, (pairs, width) bool."""
    hidden = np.zeros((len(pairs), width), dtype=bool)
    for row, pair in zip(hidden, pairs, strict=True):
        row[: len(pair.source_places)] = np.equal(pair.source_places, _word(pair, place))
    return hidden


def _rows(
    place: Place, pair: WordPair, weights: np.ndarray, losses: np.ndarray, masked: np.ndarray
) -> Iterator[dict[str, Any]]:
    hidden = _word(pair, place)
    for j, word in enumerate(pair.target_words):
        linked = {i for i, t in pair.links if t == j}
        yield {
            "line": pair.line,
            "target_position": j,
            "target_word": word,
            "linked": "it" if hidden in linked else "others" if linked else "none",
            "peak": int(weights[j].argmax()) == hidden,
            "loss": float(losses[j]),
            "masked_loss": float(masked[j]),
        }
