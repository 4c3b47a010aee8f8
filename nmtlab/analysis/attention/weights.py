"""What does a system attend to in a sentence? (thesis 3.2.6.3)"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, WEIGHTS
from nmtlab.analysis.access.opened import RunOrSystem, opened
from nmtlab.analysis.attention.heatmap import Links, Look, heatmaps, shown_weights, tokens_in_order
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import SHADES
from nmtlab.figures.words import listed
from nmtlab.search.attention import check_attends
from nmtlab.search.forced import ForcedDecoding, forced_decode_all
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tags import NULL
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK
from nmtlab.translation import Translator

_END = SPECIALS[EOS]


def attention(system: RunOrSystem, source: str, target: str | None = None, more: Sequence[str] = ()) -> pd.DataFrame:
    """Return the attention of a system in one sentence.

    Args:
        target: a translation to force; the system's own translation if not given.
        more: the sentences of the other sources, if the system reads several; a blank one, or one that is not given,
            is missing.

    Returns:
        A row for each pair of tokens in each head: `layer` and `head`, from 1; `target_position` and
        `source_position`, from 0; `target_piece` and `source_piece` as written (`<unk>` where a system has generated
        it), both ending in `</s>`; `target_unknown` and `source_unknown`, whether the token is UNK to the system;
        `target_count` and `source_count`, the token's count in the training text of its language; `weight`. The
        weights of a target position in a head add up to 1, or with a separate attention to each of several sources, to
        1 in each. If there are several, `segment` is the source of a source position, from 0; of a run that reads
        sentences in context, it is 1 for the context.

    Raises:
        CorpusError: the source sentence is blank.
        RunError: the system has no attention.
    """
    translator = opened(system)
    pair = pieces_of(translator, source, target, more)
    first, *others = pair.sources
    ((_, forced),) = forced_decode_all(translator.model, [first], [pair.target_ids], more=[[ids] for ids in others])
    check_attends(forced.attention)
    found = weights_frame(translator.pipeline, pair, forced.attention)
    if not others and not translator.pipeline.settings.context:
        return found
    return found.assign(segment=segments(translator.pipeline, forced, first)[found["source_position"]])


def segments(pipeline: Pipeline, forced: ForcedDecoding, ids: Sequence[int]) -> np.ndarray:
    """Return the source of each source token, (S,), from 0; of a pipeline that reads in context, 1 for the context.

    Args:
        forced: of the tokens.
        ids: of the first source.
    """
    if not pipeline.settings.context:
        return forced.segments
    return (np.arange(len(ids)) < pipeline.tokens_before(ids)).astype(int)


def attention_figure(
    weights: pd.DataFrame, links: Links = (), layer: int | None = None, head: int | None = None
) -> go.Figure:
    """Draw a heatmap for each run: source across, target down, as in the thesis.

    Args:
        weights: rows of `attention`, with their `run`.
        links: token pairs to mark with a ring.
        layer, head: as of `shown_weights`.
    """
    title = f"Attention of each system for each target word{_named(weights, layer, head)}"
    hover = "%{customdata[1]} attends to %{customdata[0]}: %{z:.3f}"
    return heatmaps(weights, Look(title, "weight", 0, 1, SHADES, hover), links, layer, head)


def _named(weights: pd.DataFrame, layer: int | None, head: int | None) -> str:
    """Return which layer and head are shown, if there are several."""
    if weights[["layer", "head"]].max().max() == 1:
        return ""
    return f": {f'layer {layer}' if layer else 'last layer'}, {f'head {head}' if head else 'mean of the heads'}"


def peaks_finding(
    weights: pd.DataFrame,
    links: Links = (),
    layer: int | None = None,
    head: int | None = None,
    what: str = "Attention peaks",
) -> str:
    """Say how many target tokens have their highest weight on an aligned token, and how many on the first instead.

    Only target tokens with a link count; without links, all but the end.

    Args:
        weights: rows of `attention`, or others of this form, with their `run`.
        links: linked token pairs, as of `attention_figure`.
        layer, head: as of `shown_weights`.
        what: the name of highest weights.
    """
    if weights.empty:
        return ""
    parts, known = [], any(links.values()) if isinstance(links, Mapping) else bool(links)
    for run, rows in weights.groupby("run", sort=False):
        peak = shown_weights(rows, layer, head)[:-1].argmax(axis=1).tolist()
        linked = set(links.get(str(run), ()) if isinstance(links, Mapping) else links)
        asked = {target for _, target in linked} or set(range(len(peak)))
        found = {(source, target) for target, source in enumerate(peak) if target in asked}
        first = sum(source == 0 for source, _ in found - linked)
        if asked:
            parts.append(f"{run} {f'{len(found & linked)} and ' if known else ''}{first} of {len(asked)}")
    if not parts:  # nothing but ends
        return ""
    where = "on an aligned token, and on the first instead" if known else "on the first token"
    return f"{what} {where}: {listed(parts, '; ')}."


def peaks(weights: pd.DataFrame) -> pd.DataFrame:
    """Return the source token with the highest weight for each target token: in the last layer, the mean of the heads.

    Args:
        weights: rows of `attention`, or others of this form, with their `run`.

    Returns:
        A row for each target token of each run: `run`, `target_piece`, `source_piece`, `weight`.
    """
    return pd.concat([_peaks(str(run), rows) for run, rows in weights.groupby("run", sort=False)], ignore_index=True)


def _peaks(run: str, rows: pd.DataFrame) -> pd.DataFrame:
    matrix = shown_weights(rows)
    source, target = (tokens_in_order(rows, side)["piece"].to_numpy() for side in ("source", "target"))
    pieces = {"target_piece": target, "source_piece": source[matrix.argmax(axis=1)]}
    return pd.DataFrame({"run": run, **pieces, "weight": matrix.max(axis=1)})


ATTENTION = Analysis(
    "What does a system attend to in a sentence?",
    attention,
    source="thesis 3.2.6.3, Figure 3.3",
    needs=(NEURAL, ATTENDS, WEIGHTS),
    table=peaks,
    figure=attention_figure,
    finding=peaks_finding,
    several_sources=True,
)


class PiecePair(NamedTuple):
    """A sentence and its translation as tokens, ending in EOS: ids as the system writes them, pieces as read.

    `source_ids` and `source_pieces` are those of all sources, if there are several, and `sources` the ids of each.
    """

    source_ids: list[int]
    target_ids: list[int]
    source_pieces: list[str]
    target_pieces: list[str]
    sources: list[list[int]]


def pieces_of(system: Translator, source: str, target: str | None = None, more: Sequence[str] = ()) -> PiecePair:
    """Return a sentence and its translation as tokens; arguments as of `attention`.

    Raises:
        CorpusError: the source sentence is blank.
    """
    pipeline = system.pipeline
    more = [*more, *[""] * (system.model.sources - 1 - len(more))]
    filled, encoded = pipeline.encode_filled([source], *([sentence] for sentence in more))
    if not filled:
        raise CorpusError("source sentence: blank", "give a sentence")
    sources = [ids for (ids,) in encoded]
    written = [pipeline.source_pieces(sentence) or [NULL] for sentence in (source, *more)]
    source_pieces = [piece for pieces in written for piece in (*pieces, _END)]
    if target is None:
        target_ids = [*system.translate([source], more=[[one] for one in more])[0].hypotheses[0].tokens, EOS]
        target_pieces = pipeline.target.pieces(target_ids)
    else:
        target_ids = pipeline.target_ids(target)
        target_pieces = pipeline.target.tokenizer.split(target)
    source_ids = [number for ids in sources for number in ids]
    return PiecePair(source_ids, target_ids, source_pieces, [*target_pieces, _END], sources)


def weights_frame(pipeline: Pipeline, pair: PiecePair, weights: np.ndarray) -> pd.DataFrame:
    """Return weights between the tokens of a pair, (layers, heads, |y|, S), as the rows of `attention`.

    Args:
        weights: of attention, or any other measure of what a source token means to a target token; target tokens are
            in the order in which the system writes them.
    """
    order = pipeline.target.reading_order(pair.target_ids)
    target_ids, weights = np.array(pair.target_ids)[order], weights[:, :, order]
    layer, head, t, s = (axis.ravel() for axis in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "layer": layer + 1,
            "head": head + 1,
            "target_position": t,
            "target_piece": np.array(pair.target_pieces, dtype=object)[t],
            "target_unknown": np.equal(target_ids, UNK)[t],
            "target_count": pipeline.target.counts[target_ids][t],
            "source_position": s,
            "source_piece": np.array(pair.source_pieces, dtype=object)[s],
            "source_unknown": np.equal(pair.source_ids, UNK)[s],
            "source_count": pipeline.source.counts[pair.source_ids][s],
            "weight": weights.ravel(),
        }
    )
