"""What a selection of lines has kept and dropped: the costs of all, and the lines beside the cut."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.reading import read_json
from nmtlab.selection import COSTS, Text, languages_of, number_kept, ranked, selected_from, stored_costs
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.corpus_builder import REPORT
from nmtlab.workspace import Workspace

_BARS = 60
_OUTER = 0.5
"""Percentage of the lines at either end that are drawn in the outer bars."""
_BESIDE = 5
"""Lines that are shown on either side of the cut."""


def selections(workspace: Workspace) -> dict[str, Path]:
    """Return the folders of corpora that were selected, by name; of an older version, none has its costs."""
    return {folder.name: folder for folder in workspace.corpus_folders() if (folder / COSTS).is_file()}


def share_kept(folder: Path) -> float:
    """Return which share of the lines with a cost a selection has kept; raises as `stored_costs`."""
    lines = len(ranked(stored_costs(folder).values))
    keep = read_json(folder / REPORT, dict, "select its lines again")["options"]["keep"]
    return number_kept(keep, lines) / lines


def selection_view(folder: Path, share: float, workspace: Workspace) -> View:
    """Show the costs of all lines of a text, which of them a share keeps, and the lines beside the cut.

    Args:
        folder: of a corpus that was selected from the text.
        share: of the lines with a cost, above 0, at most 1.
        workspace: contains the text; without it, no line is shown.

    Raises:
        RunError: the costs are missing or damaged.
    """
    costs = stored_costs(folder)
    order = ranked(costs.values)
    kept = max(1, round(share * len(order)))
    highest = float(costs.values[order[kept - 1]])
    blank = len(costs.values) - len(order)
    without = f"; {blank:,} without words have none" if blank else ""
    finding = f"{kept:,} of {len(order):,} lines are kept, with costs of at most {number(highest, 2)}{without}."
    figure = _histogram(costs.values[order], kept, highest, costs.by)
    return View(_beside_the_cut(folder, costs.values, order, kept, workspace), figure, finding=finding)


def _histogram(ordered: np.ndarray, kept: int, highest: float, by: str) -> go.Figure:
    """Draw the numbers of kept and dropped lines over their cost; the outer bars have all beyond."""
    lowest, largest = np.percentile(ordered, [_OUTER, 100 - _OUTER])
    left, right = min(lowest, highest), max(largest, highest)
    edges = np.linspace(left, right if right > left else left + 1, _BARS + 1)
    figure = go.Figure()
    for name, colour, values in (("kept", COLOURS[0], ordered[:kept]), ("dropped", COLOURS[1], ordered[kept:])):
        counts, _ = np.histogram(values.clip(edges[0], edges[-1]), edges)
        middles, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
        figure.add_bar(x=middles, y=counts, width=width, name=name, marker={"color": colour})
    figure.add_vline(x=highest, line={"color": FAINT, "dash": "dash"}, annotation_text="cut")
    figure.update_layout(barmode="stack", legend=BELOW, margin_b=110)
    figure.update_xaxes(title_text=f"{by}, nats per token")
    figure.update_yaxes(title_text="lines")
    return dressed(figure, "Which lines are kept", 400)


def _rows(text: Text | None) -> Iterable[tuple[str, ...]]:
    if text is None:
        return ()
    return text.pairs("train") if isinstance(text, ParallelCorpus) else ((line,) for line in text.lines())


def _beside_the_cut(
    folder: Path, values: np.ndarray, order: np.ndarray, kept: int, workspace: Workspace
) -> pd.DataFrame:
    """Return the last lines that are kept and the first that are not, by cost; with their text if it is here."""
    first = max(0, kept - _BESIDE)
    places = order[first : kept + _BESIDE].tolist()
    text, wanted = selected_from(folder, workspace), set(places)
    shown = {place: row for place, row in enumerate(_rows(text)) if place in wanted}
    lines = [
        ("kept" if first + at < kept else "dropped", place + 1, values[place], *shown.get(place, ()))
        for at, place in enumerate(places)
    ]
    return pd.DataFrame(lines, columns=["", "line", "cost", *(languages_of(text) if text else ())])
