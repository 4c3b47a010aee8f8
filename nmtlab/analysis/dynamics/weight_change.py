"""By how much did the weights of each sublayer change as a run went on from another?"""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import CONTINUED, NEURAL, WEIGHTS, check_same_types, continued_from
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import number
from nmtlab.models.parts import part, vocabulary_side
from nmtlab.nn.low_rank import merged
from nmtlab.runs.run import Run

_SUBLAYERS = ("attention", "cross_attention", "feed_forward", "adapters", "convolution", "query", "context")
_ORDER = ("source", "encoder", "decoder", "target", "output")


def weight_change(run: Run, parent: Run) -> pd.DataFrame:
    """Return how far each parameter of a run is from that of the run that it went on from.

    Low-rank changes are merged into the weights of both. Rows of types that the parent lacks are left out.

    Args:
        run: one that went on from another.
        parent: that run.

    Returns:
        A row for each parameter, by name: `parameter`; `module`, such as `decoder feed-forward`;
        `layer` from 1, 0 outside the layers; `norm` (Frobenius) of the parent's, 0 if the parent lacks it; `change`,
        the norm of the difference; `effective_rank` of the difference, the exponential of the entropy of its singular
        values (Roy and Vetterli 2007), NaN for a vector and for no difference.

    Raises:
        RunError: the runs have different vocabularies, or one has no weights.
    """
    check_same_types(run, parent)
    before, after = (merged(one.checkpoints.weights()[0]) for one in (parent, run))
    return pd.DataFrame([_changed(name, before.get(name), weight) for name, weight in after.items()])


def change_by_module(found: pd.DataFrame, by: tuple[str, ...] = ("run", "module")) -> pd.DataFrame:
    """Return the change of each module, the largest first.

    Args:
        found: rows of `weight_change`.
        by: columns to group by.

    Returns:
        The columns of `by`; `relative`, the norm of the change as a share of the norm before, NaN for what the parent
        lacks; `effective_rank`, the mean over the changed matrices, NaN if there are none.
    """
    squares = found.assign(norm=found["norm"] ** 2, change=found["change"] ** 2)
    sums = squares.groupby(list(by), sort=False).agg(
        norm=("norm", "sum"), change=("change", "sum"), effective_rank=("effective_rank", "mean")
    )
    squared = (sums["change"] / sums["norm"].where(sums["norm"] > 0)).where(sums["change"] > 0, 0.0)
    table = sums.assign(relative=squared**0.5).reset_index()
    ordered = table.sort_values("relative", ascending=False, kind="stable", ignore_index=True)
    return ordered[[*by, "relative", "effective_rank"]]


def change_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the relative change of each module in each layer, in the order of the model.

    Args:
        found: rows of `weight_change` with a column `run`.
    """
    figure, style = go.Figure(), styles(found["run"], SOLID)
    places = change_by_module(found, ("run", "module", "layer")).set_index(["run", "module", "layer"])
    for run, of_run in found.groupby("run", sort=False):
        order = sorted(dict.fromkeys(zip(of_run["module"], of_run["layer"], strict=True)), key=_depth)
        some = places.loc[[(run, *place) for place in order]]
        figure.add_bar(
            x=[f"{module}{f', {layer}' if layer else ''}" for module, layer in order], y=100 * some["relative"],
            customdata=some[["effective_rank"]], name=name_in_lines(run), marker_color=style[str(run)]["color"],
            hovertemplate="%{x}: %{y:.2f} %, effective rank %{customdata[0]:.1f}<extra>" + name_in_lines(run)
            + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="module, and its layer", type="category")
    figure.update_yaxes(title_text="norm of the change (% of the norm before)", rangemode="tozero")
    figure.update_layout(barmode="group", legend=BELOW, margin_b=110, showlegend=len(figure.data) > 1)
    return dressed(figure, "How far the weights of each module changed", 460)


def change_finding(found: pd.DataFrame) -> str:
    """Return which module changed most, from rows of `weight_change` with a column `run`."""
    return " ".join(f"{run}: {_said(of_run)}." for run, of_run in found.groupby("run", sort=False))


WEIGHT_CHANGE = Analysis(
    "By how much did the weights of each module change from the run that it went on from?",
    weight_change,
    needs=(NEURAL, WEIGHTS, CONTINUED),
    version=1,
    columns=("parameter", "module", "layer", "norm", "change", "effective_rank"),
    table=change_by_module,
    figure=change_figure,
    finding=change_finding,
    digits=3,
    follows=(("parent", continued_from),),
)


def _said(found: pd.DataFrame) -> str:
    table = change_by_module(found, ("module",))
    new = table[table["relative"].isna()]["module"].tolist()
    most = table.dropna(subset="relative").iloc[0]
    if most["relative"] == 0:
        return "nothing changed" if not new else f"only what is new, {' and '.join(new)}, was trained"
    rank = most["effective_rank"]
    of_rank = "" if math.isnan(rank) else f", effective rank {rank:.0f}"
    still = table[table["relative"] == 0]["module"].tolist()
    rest = f"; unchanged: {', '.join(still)}" if still else ""
    return f"{most['module']} changed most ({number(100 * most['relative'], 1)} % of its norm{of_rank}){rest}"


def _changed(name: str, before: Tensor | None, after: Tensor) -> dict[str, object]:
    module, layer = _place(name)
    old = torch.zeros_like(after) if before is None else before
    change = after[tuple(map(slice, old.shape))].double() - old.double()
    return {
        "parameter": name,
        "module": module,
        "layer": layer,
        "norm": float(old.double().norm()),
        "change": float(change.norm()),
        "effective_rank": _effective_rank(change),
    }


def _depth(place: tuple[str, int]) -> tuple[int, float]:
    """Return where a module and its layer are in the model, from the source to the output."""
    module, layer = place
    return _ORDER.index(module.split()[0]), layer or math.inf


def _place(name: str) -> tuple[str, int]:
    """Return the module of a parameter, and its layer from 1; 0 outside the layers."""
    of = part(name)
    if vocabulary_side(name) or of == "output":
        return of.replace("_", " "), 0
    side = "encoder" if name.startswith("encoder") else "decoder"
    pieces = [piece.removesuffix("_residual") for piece in name.split(".")]
    kind = next((piece for piece in pieces if piece in _SUBLAYERS), pieces[pieces[0] in ("encoder", "decoder")])
    layer = next((int(piece) + 1 for piece in pieces if piece.isdecimal()), 0)
    words = kind.removeprefix(f"{side}_").replace("_", "-")
    return f"{side} {words}", layer


def _effective_rank(change: Tensor) -> float:
    """Return the effective rank of a matrix; from its Gram matrix, since tables of words have many rows."""
    if change.dim() != 2 or not change.any():
        return math.nan
    tall = change if change.shape[0] >= change.shape[1] else change.T
    values = torch.linalg.eigvalsh(tall.T @ tall).clamp_min(0).sqrt().numpy()
    shares = values[values > 0] / values.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))
