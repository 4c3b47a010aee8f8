"""Which conclusions change once systems are trained out?"""

from html import escape

import pandas as pd
import plotly.graph_objects as go

from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed
from nmtlab.figures.view import View
from nmtlab.grids.declared.declaration import SCALES
from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.thesis.tables.listing import TABLES

_TABLES = {f"{table.name}.{scale}.csv": table for table in TABLES for scale in SCALES}
"""The tables by the names of the files with their cells."""

_SAME = ["table", "pair", "text", "metric", "direction", "source"]
_MEASURED = ["seeds", "effect", "low", "high", "verdict", "budget"]
_LINE, _AROUND = 46, 150
"""Pixels of a claim's line, and above and below all of them."""

_BUDGETS = {"short": ("short", "circle-open", COLOURS[1], 0.17), "long": ("trained out", "circle", COLOURS[0], -0.17)}
"""Name, symbol, colour and offset of each budget."""


def budgets_view(name: str, row: str) -> View:
    """Show what claims that compare two systems find after a table's short trainings and once these are trained out.

    Args:
        name: of the table.
        row: what one of its rows is called, such as `de-en, Multi30k`.

    Raises:
        NmtlabError: nothing about this row was measured at both budgets.
    """
    both = at_two_budgets(measured_claims())
    of_systems = {claim.text for claim in declared_claims() if isinstance(claim.than, str)}
    files = [file for file, table in _TABLES.items() if table.name == name]
    both = both[both["evidence"].isin(files) & (both["text"] == row) & both["claim"].isin(of_systems)]
    if both.empty:
        raise NmtlabError(f"{name}, {row}: not measured at two budgets", "see at_two_budgets for what is")
    shown = both[["direction", "metric", "effect_short", "verdict_short", "effect_long", "verdict_long"]]
    return View(shown.reset_index(drop=True), budgets_figure(both, f"{name}, {row}: short and trained out"))


def at_two_budgets(measured: pd.DataFrame) -> pd.DataFrame:
    """Set claims about short trainings beside the same claims about systems that are trained out.

    Args:
        measured: as of `measured_claims`.

    Returns:
        One line per claim and text that was measured at both budgets: `claim`, `text`, `metric` and its `unit`,
        `direction`, the `difference` in it, `evidence`; `seeds`, `effect`, `low`, `high`, `verdict` and `budget`, each
        with the suffix `_short` and `_long`; `changed`, whether the verdicts differ.
    """
    tables, claims = measured["evidence"].map(_TABLES), {claim.text: claim for claim in declared_claims()}
    long = tables.map(lambda table: table.short is not None)
    lines = measured.assign(
        table=tables.map(lambda table: (table.short or table).name),
        unit=measured["claim"].map(lambda text: claims[text].metric.unit if text in claims else ""),
        difference=measured["claim"].map(lambda text: claims[text].difference if text in claims else ""),
    )
    short_lines, long_lines = lines[~long], lines[long]
    both = short_lines.merge(long_lines[_SAME + _MEASURED], on=_SAME, suffixes=("_short", "_long"))
    both["changed"] = both["verdict_short"] != both["verdict_long"]
    measures = [f"{name}_{budget}" for budget in ("short", "long") for name in _MEASURED]
    about = ["claim", "text", "metric", "unit", "direction", "difference", "evidence"]
    return both[[*about, *measures, "changed"]]


def budgets_figure(both: pd.DataFrame, title: str) -> go.Figure:
    """Draw the effect that each claim is about at both budgets, with 95 % intervals.

    Args:
        both: as of `at_two_budgets`, of one text or of one metric.
        title: what it shows.
    """
    figure = go.Figure()
    places = [*range(len(both))][::-1]
    for budget, (name, symbol, colour, offset) in _BUDGETS.items():
        effect, low, high = (both[f"{part}_{budget}"] for part in ("effect", "low", "high"))
        figure.add_scatter(
            x=effect, y=[place + offset for place in places], mode="markers", name=name,
            marker={"size": 9, "symbol": symbol, "color": colour, "line": {"width": 2}},
            error_x={"symmetric": False, "array": high - effect, "arrayminus": effect - low, "width": 3},
            customdata=both[[f"verdict_{budget}", f"seeds_{budget}", f"budget_{budget}"]],
            hovertemplate=f"{name}: %{{x:+.2f}}, %{{customdata[0]}}, %{{customdata[1]}} seeds<br>%{{customdata[2]}}"
            "<extra></extra>",
        )  # fmt: skip
    metrics = both["metric"].unique()
    compared = both["difference"].map(escape)
    if both["text"].nunique() == len(metrics) == 1:
        names = compared.str.replace(" − ", "<br>− ")
    else:
        names = compared + "<br>" + both["text" if len(metrics) == 1 else "metric"].map(escape)
    figure.update_yaxes(tickvals=places, ticktext=names, range=[-0.6, len(both) - 0.4], showgrid=False, zeroline=False)
    of_bleu = " in BLEU" if set(both["unit"]) == {"BLEU"} else ""
    difference = f" in {escape(metrics[0])}" if len(metrics) == 1 else of_bleu
    figure.update_xaxes(title_text=f"difference{difference}", zeroline=True, zerolinecolor=FAINT)
    figure.update_layout(legend=BELOW, margin_b=90)
    return dressed(figure, escape(title), _LINE * max(1, len(both)) + _AROUND)
