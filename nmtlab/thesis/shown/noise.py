"""What bad pairs of each kind cost, and how much is copied (Khayrallah and Koehn 2018)."""

from collections.abc import Iterator
from contextlib import suppress
from html import escape
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import BELOW, COLOURS, dressed, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.results.statistics import ENOUGH_SEEDS, difference, values_by_system
from nmtlab.thesis.measured import described_cells, measured_cells
from nmtlab.thesis.tables.noise import CLEAN, KINDS, NOISE, NOISE_PHRASES, NOISES, SHARES
from nmtlab.workspace import PUBLISHED

COLUMNS = ["text", "system", "kind", "share", "seeds", "bleu", "effect", "low", "high"]

SYSTEMS = {"neural": NOISE, "phrase-based": NOISE_PHRASES}
"""Kind of system -> table of its costs."""

_FILE, _PUBLISHED = "khayrallah-koehn-2018.csv", "published (de-en)"
_PERCENT = tuple(round(100 * share) for share in SHARES)
_HEAD, _PANEL, _FOOT = 65, 230, 190


class _Printed(NamedTuple):
    """A line of the published values: `share` in percent of the clean text, `system` as of `SYSTEMS`."""

    kind: str
    share: int
    system: str
    bleu: float
    source: str


def noise_view(system: str = "", scale: Scale = "small") -> View:
    """Show what noise of each kind and share costs in BLEU, measured here and published.

    Args:
        system: one of `SYSTEMS`; all if empty.
        scale: at which the tables were run.
    """
    cells = {name: some for name, some in _measured(scale, "test-bleu") if system in ("", name)}
    found = [noise_effects(some, name, scale) for name, some in cells.items()]
    lines = pd.concat([*found, published_effects()], ignore_index=True)
    lines = lines[lines["system"] == system] if system else lines
    return View(lines, with_subtitle(noise_figure(lines), _subtitle(lines)), finding=noise_finding(lines))


def _subtitle(lines: pd.DataFrame) -> str:
    """Say what was measured here: seeds, and which systems were not."""
    measured = lines[lines["text"] != _PUBLISHED]
    missing = [name for name in dict.fromkeys(lines["system"]) if name not in set(measured["system"])]
    parts = [f"{', '.join(missing)}: published values alone"] if missing else []
    seeds = sorted({*measured["seeds"]})
    parts += [f"measured here: test text, {' or '.join(map(str, seeds))} seed{'s' * (seeds != [1])}"] if seeds else []
    return "; ".join(reversed(parts))


def noise_effects(cells: pd.DataFrame, system: str, scale: Scale) -> pd.DataFrame:
    """Return what noise of each kind and share costs.

    Args:
        cells: `cells` of `Results` of a table of noise, of test BLEU.
        system: `neural` or `phrase-based`.
        scale: of the cells.

    Returns:
        One line per text, kind and share with a score, if the clean text has one: `text`; `system`; `kind`; `share`, in
        percent; `seeds`; `bleu`, their mean; `effect`, BLEU above that with the clean text, with `low` and `high` of
        its 95 % interval (Welch, seeds alone), NaN for a single seed.
    """
    lines = []
    for row in NOISE.rows:
        values = values_by_system(cells[cells["row"] == row.name])
        for name, (kind, share) in NOISES.items():
            if name in values and CLEAN.name in values:
                noisy, found = values[name], difference(values[name], values[CLEAN.name]).estimate()
                line = (row_label(row, scale), system, kind, round(100 * share), np.size(noisy), np.mean(noisy))
                lines.append((*line, found.effect, found.low, found.high))
    return pd.DataFrame(lines, columns=COLUMNS)


def published_effects() -> pd.DataFrame:
    """Return the published costs as `noise_effects` does, without seeds, at the shares that are measured here."""
    printed = [_Printed(*line) for line in pd.read_csv(PUBLISHED / _FILE).itertuples(index=False)]
    clean = {line.system: line.bleu for line in printed if line.kind == CLEAN.name}
    lines = [
        (_PUBLISHED, line.system, line.kind, line.share, pd.NA, line.bleu, line.bleu - clean[line.system])
        for line in printed
        if line.share in _PERCENT
    ]
    found = pd.DataFrame(lines, columns=COLUMNS[:-2]).assign(low=float("nan"), high=float("nan"))
    return found.astype({"seeds": "Int64"})


def noise_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw the cost of noise as bars by kind and share, a row of panels for each text, a column for each system.

    Args:
        lines: rows of `noise_effects` and `published_effects`.
    """
    texts, systems = (list(dict.fromkeys(lines[name])) for name in ("text", "system"))
    systems = [name for name in SYSTEMS if name in systems]
    drawn = {*zip(lines["text"], lines["system"], strict=True)}
    titles = [escape(", ".join(one)) if one in drawn else "" for one in product(texts, systems)]
    figure = make_subplots(
        len(texts), len(systems), shared_xaxes=True, shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.1,
        vertical_spacing=0.35 / (2 * len(texts)),
    )  # fmt: skip
    for (share, text, system), some in lines.groupby(["share", "text", "system"]):  # bars stand in this order
        place = _PERCENT.index(share)
        figure.add_bar(
            x=some["kind"], y=some["effect"], name=f"{share} %", legendgroup=f"{share}", legendrank=place,
            showlegend=False, offsetgroup=f"{share}", marker={"color": COLOURS[place]},
            error_y={
                "type": "data", "symmetric": False, "array": some["high"] - some["effect"],
                "arrayminus": some["effect"] - some["low"], "thickness": 1.5, "width": 3,
            },
            hovertemplate="%{x}: %{y:+.1f} BLEU<extra>" + escape(f"{text}, {system}, {share} %") + "</extra>",
            row=texts.index(text) + 1, col=systems.index(system) + 1,
        )  # fmt: skip
    for share in sorted(set(lines["share"])):
        next(trace for trace in figure.data if trace.name == f"{share} %").showlegend = True
    figure.update_xaxes(categoryorder="array", categoryarray=KINDS, range=[-0.5, len(KINDS) - 0.5], tickangle=-45)
    figure.update_yaxes(title_text="BLEU above clean", col=1)
    # Plotly.js finds no range for shared axes if a panel is empty.
    for row, (_, some) in enumerate(lines.groupby("text", sort=False), start=1):
        ends = [0.0, *some[["effect", "low", "high"]].stack()]
        aside = 0.05 * (max(ends) - min(ends))
        figure.update_yaxes(range=[min(ends) - aside, max(ends) + aside], row=row)
    figure.update_layout(
        barmode="group", legend={**BELOW, "title": {"text": "bad pairs for 100 clean ones"}},
        margin={"t": _HEAD, "b": _FOOT},
    )  # fmt: skip
    height = _HEAD + len(texts) * _PANEL + _FOOT
    return dressed(figure, "What bad pairs of each kind in the training text cost", height)


def noise_finding(lines: pd.DataFrame) -> str:
    """Say which kind of noise is worst and which best, at its largest share on each text.

    Args:
        lines: rows of `noise_effects` and `published_effects`.
    """
    said = []
    for (text, system), some in lines.groupby(["text", "system"], sort=False):
        largest = some[some["share"] == some["share"].max()].sort_values("effect", kind="stable")
        worst, best = largest.iloc[0], largest.iloc[-1]
        of = f" of {len(largest)} kinds" if len(largest) > 1 else ""
        costs = f"{text}, {system}, {worst['share']} %: {worst['kind']} is worst{of} ({_bleu(worst['effect'])})"
        others = f", {best['kind']} best ({_bleu(best['effect'])})" if of else ""
        few = text != _PUBLISHED and system == "neural" and bool(largest["seeds"].min() < ENOUGH_SEEDS)
        said.append(f"{costs}{others}{'; too few seeds to decide' * few}.")
    return " ".join(said)


def copies_view(system: str = "", scale: Scale = "small") -> View:
    """Show how many translations are copies of the source, over the share of copies on the target side.

    Args:
        system: one of `SYSTEMS`; all if empty.
        scale: at which the tables were run.

    Raises:
        NmtlabError: not measured at this scale.
    """
    cells = {name: some for name, some in _measured(scale, "source-copies") if system in ("", name)}
    if not cells:
        raise NmtlabError(f"{NOISE.name}: not measured at the scale {scale}", f"run 'nmtlab reproduce {NOISE.name}'")
    lines = pd.concat([copies(some, system, scale) for system, some in cells.items()], ignore_index=True)
    return View(lines, with_subtitle(copies_figure(lines), described_cells(pd.concat(cells.values()))))


def copies(cells: pd.DataFrame, system: str, scale: Scale) -> pd.DataFrame:
    """Return the share of translations that are their source, by the share of such pairs in the training text.

    Args:
        cells: `cells` of `Results` of a table of noise, of `source-copies`.
        system: `neural` or `phrase-based`.
        scale: of the cells.

    Returns:
        One line per text and share, from 0, both in percent: `text`; `system`; `share`; `seeds`; `copies`, their mean.
    """
    shares = {CLEAN.name: 0} | {
        name: round(100 * share) for name, (kind, share) in NOISES.items() if kind == "copied-target"
    }
    labels = {row.name: row_label(row, scale) for row in NOISE.rows}
    lines = []
    for row, some in cells.groupby("row", sort=False):
        values = values_by_system(some)
        lines += [
            (labels[row], system, share, np.size(values[name]), np.mean(values[name]))
            for name, share in shares.items()
            if name in values
        ]
    return pd.DataFrame(lines, columns=["text", "system", "share", "seeds", "copies"])


def copies_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw the share of copies over the share of copied-target noise, a line for each text and system.

    Args:
        lines: rows of `copies`.
    """
    figure, names = go.Figure(), lines["text"] + ", " + lines["system"]
    style = styles(names)
    for name, some in lines.groupby(names, sort=False):
        figure.add_scatter(
            x=some["share"], y=some["copies"], mode="lines+markers", name=escape(str(name)), line=style[str(name)],
            hovertemplate="%{x} %: %{y:.1f} % are copies<extra>" + escape(str(name)) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="pairs with the source on both sides, for 100 clean ones", rangemode="tozero")
    figure.update_yaxes(title_text="translations that are their source (%)", rangemode="tozero")
    figure.update_layout(legend=BELOW, margin_b=110, showlegend=True)
    return dressed(figure, "How much systems trained on copies copy", 400)


def _measured(scale: Scale, metric: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each system with those cells of its table that have a value, if there are any."""
    for system, table in SYSTEMS.items():
        with suppress(NmtlabError):
            if len(known := measured_cells(table.name, scale, metric).dropna(subset="value")):
                yield system, known


def _bleu(effect: float) -> str:
    return f"{number(effect, 1, sign=True)} BLEU"
