"""What does each head of a Transformer attend to? All of them, also in self-attention."""

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.needs import NEURAL, SELF_ATTENTION, WEIGHTS
from nmtlab.analysis.access.opened import RunOrSystem, opened, scored_ids
from nmtlab.analysis.attention.weights import pieces_of
from nmtlab.errors import RunError
from nmtlab.figures.marks import Side, with_tokens
from nmtlab.figures.theme import SHADES, dressed, plain, readable
from nmtlab.figures.words import number
from nmtlab.models.interface import on_device
from nmtlab.models.recording import recorded_attention
from nmtlab.models.transformer import Transformer
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS, SPECIALS
from nmtlab.translation import Translator

AttentionKind = Literal["cross-attention", "encoder self-attention", "decoder self-attention"]
KINDS: tuple[AttentionKind, ...] = get_args(AttentionKind)
_BARE = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False, "mirror": True}
_NAME = {"xref": "paper", "yref": "paper", "showarrow": False}
_HEIGHT, _ABOVE, _BELOW = 130, 65, 15
"""Pixels of a row of heatmaps, above all of them and below."""
_MOSTLY = 0.5
_GAP = 0.12
"""Between heatmaps, as a share of the space of each."""
_SIDES: Mapping[AttentionKind, tuple[Side, Side]] = {
    "cross-attention": ("target", "source"), "encoder self-attention": ("source", "source"),
    "decoder self-attention": ("target", "target"),
}  # fmt: skip
"""The sides of the token that attends and of the one that is attended to, by kind."""


def all_heads(system: RunOrSystem, source: str, target: str | None = None) -> pd.DataFrame:
    """Return the weights of all attention heads of a Transformer in one sentence.

    A position of the decoder is that of the token it predicts; in self-attention, it attends to the tokens read so far,
    of which `<s>`, the tag of the target language, or `<s>` and then the tag are the first. All tokens are in the order
    in which a person reads them.

    Args:
        target: a translation to force; the system's own translation if not given.

    Returns:
        A row for each pair of tokens in each head: `kind`, cross-attention or the self-attention of encoder or decoder;
        `layer` and `head`, from 1; `position` and `piece` of the token that attends, and `attended_position` and
        `attended_piece`, positions from 0; `weight`. The weights of a position in a head add up to 1. A decoder that
        averages the words so far has no self-attention.

    Raises:
        CorpusError: the source sentence is blank.
    """
    translator = opened(system)
    model = translator.model
    if not isinstance(model, Transformer):
        raise RunError("this system has no self-attention and a single head", "choose a Transformer")
    pair = pieces_of(translator, source, target)
    ids = scored_ids(model, pair.target_ids)
    batch = on_device(batch_of(np.array([pair.source_ids]), np.array([ids])), model.device)
    encoder, decoder, cross = (kind[:, 0].cpu().numpy() for kind in recorded_attention(model, batch))
    first = int(model.reads_start)  # a decoder that reads one more token predicts nothing at its first position
    start, side = _start(translator), translator.pipeline.target
    steps, before = side.reading_order(ids), side.reading_order(ids[:-1])
    columns = [*range(len(start)), *(len(start) + place for place in before)]
    predicted = pair.target_pieces[: len(ids)]
    read = [*start, *(predicted[steps[place]] for place in before)]
    cross, decoder = (weights[:, :, first:][:, :, steps] for weights in (cross, decoder))
    kinds = (
        _rows("cross-attention", cross, predicted, pair.source_pieces),
        _rows("encoder self-attention", encoder, pair.source_pieces, pair.source_pieces),
        _rows("decoder self-attention", decoder[..., columns], predicted, read),
    )
    return pd.concat(kinds, ignore_index=True)


def _start(translator: Translator) -> list[str]:
    """Return what the decoder reads before the first token."""
    pipeline = translator.pipeline
    tag = pipeline.first_tokens.get(translator.languages[1])
    if tag is None:
        return [SPECIALS[BOS]]
    return [*([SPECIALS[BOS]] if pipeline.reads_start else []), pipeline.target.vocabulary.types[tag]]


def _rows(kind: AttentionKind, weights: np.ndarray, pieces: list[str], attended: list[str]) -> pd.DataFrame:
    layer, head, position, place = (axis.ravel() for axis in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": layer + 1,
            "head": head + 1,
            "position": position,
            "piece": np.array(pieces, dtype=object)[position],
            "attended_position": place,
            "attended_piece": np.array(attended, dtype=object)[place],
            "weight": weights.ravel(),
        }
    )


def head_summary(weights: pd.DataFrame, kind: AttentionKind = "cross-attention") -> pd.DataFrame:
    """Return how spread out the attention of each head is, and how much of it the ends of the sentence have.

    Args:
        weights: rows of `all_heads`, of one system.

    Returns:
        A row for each head: `layer`, `head`; `entropy` in bits, mean over the positions; `first` and `last`, the mean
        weight of the first and the last token that can be attended to.
    """
    weights = weights[weights["kind"] == kind]
    known = weights.assign(entropy=-weights["weight"] * np.log2(weights["weight"].where(weights["weight"] > 0, 1)))
    end = weights["attended_position"].max()
    known = known.assign(
        first=weights["weight"].where(weights["attended_position"] == 0, 0),
        last=weights["weight"].where(weights["attended_position"] == end, 0),
    )
    sums = known.groupby(["layer", "head", "position"])[["entropy", "first", "last"]].sum()
    return sums.groupby(["layer", "head"]).mean().reset_index()


def heads_figure(weights: pd.DataFrame, kind: AttentionKind = "cross-attention") -> go.Figure:
    """Draw a small heatmap for each head, and the mean of the heads of each layer.

    The token that attends is down, the one that is attended to across. `meta` of a heatmap has its layer and head.

    Args:
        weights: rows of `all_heads`, with their `run`, of one run.
    """
    weights = weights[weights["kind"] == kind]
    title = f"{kind.capitalize()} of {plain(weights['run'].iloc[0])}"
    pair = ["position", "piece", "attended_position", "attended_piece"]
    means = weights.groupby(["layer", *pair], as_index=False)["weight"].mean().assign(head=0)
    layers, heads = int(weights["layer"].max()), int(weights["head"].max())
    tokens: dict[str, tuple[Side, list[str]]] = {}
    traces, axes = [], {}
    sides = _SIDES[kind]
    names = [_named(f"head {head}" if head else "mean", column, heads + 1) for head, column in _columns(heads)]
    names += [_named_row(f"layer {layer}", layer - 1, layers) for layer in range(1, layers + 1)]
    places = dict(_columns(heads))
    for panel, ((layer, head), matrix) in enumerate(pd.concat((weights, means)).groupby(["layer", "head"]), start=1):
        across, down = _domain(places[head], heads + 1), _domain(layers - layer, layers)
        axes[f"xaxis{panel}"] = _BARE | {"domain": across, "anchor": f"y{panel}"}
        axes[f"yaxis{panel}"] = _BARE | {"domain": down, "anchor": f"x{panel}", "autorange": "reversed"}
        x, y = (f"{way}{panel if panel > 1 else ''}" for way in "xy")
        tokens |= {x: (sides[1], _pieces(matrix, "attended_")), y: (sides[0], _pieces(matrix, ""))}
        traces.append(_heatmap(matrix, layer, head) | {"xaxis": x, "yaxis": y})
    figure = dressed(go.Figure(traces, {**axes, "annotations": names}), title, _ABOVE + _BELOW + _HEIGHT * layers)
    return with_tokens(figure, tokens).update_layout(margin={"t": _ABOVE, "b": _BELOW})


def heads_finding(weights: pd.DataFrame, kind: AttentionKind = "cross-attention") -> str:
    """Say which head is the most focused, and how many heads mostly attend to an end of the sentence.

    Args:
        weights: rows of `all_heads`, of one run.
    """
    if weights.empty:
        return ""
    heads = head_summary(weights, kind)
    if heads.empty:
        return "This decoder has no self-attention: it averages the words so far."
    best = heads.loc[heads["entropy"].idxmin()]
    sinks = (heads[["first", "last"]] > _MOSTLY).any(axis=1).sum()
    return (
        f"Most focused: head {int(best['head'])} of layer {int(best['layer'])} ({number(best['entropy'], 1)} bits). "
        f"{sinks} of {len(heads)} heads give an end of the sentence more than {percent(_MOSTLY)} of their weight."
    )


HEADS = Analysis(
    "What does each head of a Transformer attend to?",
    all_heads,
    needs=(NEURAL, SELF_ATTENTION, WEIGHTS),
    table=head_summary,
    figure=heads_figure,
    finding=heads_finding,
)


def _pieces(weights: pd.DataFrame, which: str) -> list[str]:
    """Return the tokens that attend, or those `attended_` to, in order."""
    return weights.drop_duplicates(f"{which}position").sort_values(f"{which}position")[f"{which}piece"].tolist()


def _columns(heads: int) -> list[tuple[int, int]]:
    """Return each head and its column; the mean, head 0, has the last column."""
    return [(head % (heads + 1), head - 1) for head in range(1, heads + 2)]


def _domain(place: int, places: int) -> list[float]:
    """Return the extent of a heatmap, as shares of the whole."""
    return [place / places, (place + 1 - _GAP) / places]


def _named(name: str, column: int, columns: int) -> dict[str, object]:
    left, right = _domain(column, columns)
    return _NAME | {"text": name, "x": (left + right) / 2, "y": 1, "xanchor": "center", "yanchor": "bottom"}


def _named_row(name: str, row: int, rows: int) -> dict[str, object]:
    low, high = _domain(rows - 1 - row, rows)
    return _NAME | {"text": name, "x": 0, "y": (low + high) / 2, "xanchor": "right", "yanchor": "middle"}


def _heatmap(weights: pd.DataFrame, layer: int, head: int) -> dict[str, object]:
    grid = weights.pivot(index="position", columns="attended_position", values="weight")
    pieces, attended = (readable(_pieces(weights, side)) for side in ("", "attended_"))
    named = f"layer {layer}, {f'head {head}' if head else 'mean of the heads'}"
    return {
        "type": "heatmap", "z": grid.to_numpy(), "zmin": 0, "zmax": 1, "colorscale": SHADES, "showscale": False,
        "meta": [int(layer), int(head)], "customdata": [[[plain(a), plain(p)] for a in attended] for p in pieces],
        "hovertemplate": f"%{{customdata[1]}} attends to %{{customdata[0]}}: %{{z:.2f}}<extra>{named}</extra>",
    }  # fmt: skip
