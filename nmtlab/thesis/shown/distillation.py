"""What distillation does to the search: from greedy to a beam, empty global bests and search errors (survey 16)."""

from html import escape

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.analysis.metrics import find_metrics
from nmtlab.figures.theme import BELOW, COLOURS, dressed, name_in_lines, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import number
from nmtlab.grids.declared.declaration import Scale
from nmtlab.grids.declared.labels import labelled
from nmtlab.thesis.measured import described_cells, measured
from nmtlab.thesis.tables.students import DISTILLED, STUDENTS

GREEDY, BEAM, EMPTY, ERRORS = "bleu-log-prob-1", "test-bleu", "empty-global-best", "search-errors"

_LETTERS = 34  # of a line of a system's name
_LOOKS = {
    GREEDY: ("greedy", "circle-open"), BEAM: ("beam", "circle"), EMPTY: ("empty global best", "square"),
    ERRORS: ("search error", "diamond"),
}  # fmt: skip


def distillation_view(scale: Scale = "small") -> View:
    """Show what teachers change in the search of their students.

    Its table has the means over seeds: BLEU, greedy and with the recipe's beam, what the beam gains, and the shares of
    sentences whose global best is empty, and missed by the beam.

    Args:
        scale: at which `students` was run.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    found = measured(DISTILLED.name, scale)
    lines = labelled(found.summary(), DISTILLED, scale)
    lines = lines[lines["metric"].isin(list(_LOOKS)) & (lines["seeds"] > 0)]
    table = lines.pivot_table("mean", ["row", "column"], "metric", sort=False).reindex(columns=list(_LOOKS))
    table.insert(2, "gap", table[BEAM] - table[GREEDY])
    figure = with_subtitle(distillation_figure(lines), described_cells(found.cells))
    columns = {one.key: one.label for one in find_metrics(tuple(_LOOKS))} | {"gap": "gained by the beam"}
    shown = table.rename(columns=columns).rename_axis(columns=None).reset_index()
    return View(shown, figure, finding=distillation_finding(table))


def distillation_figure(lines: pd.DataFrame) -> go.Figure:
    """Draw BLEU from greedy search to a beam, and the shares of empty and missed global bests, a line for each system.

    Args:
        lines: of a summary, of one text or several: `row`, `column`, `metric`, `mean`, `mean_low` and `mean_high`.
    """
    several = lines["row"].nunique() > 1
    names = lines["row"] + ", " + lines["column"] if several else lines["column"]
    lines = lines.assign(name=[name_in_lines(name, _LETTERS) for name in names])
    figure = make_subplots(1, 2, shared_yaxes=True, horizontal_spacing=0.06)
    ends = lines[lines["metric"].isin([GREEDY, BEAM])].groupby("name", sort=False)["mean"]
    figure.add_scatter(
        x=[x for _, means in ends for x in (*means, None)],
        y=[y for name, means in ends for y in [name] * (len(means) + 1)],
        mode="lines", line={"color": COLOURS[0], "width": 5}, opacity=0.3, hoverinfo="skip", showlegend=False,
        row=1, col=1,
    )  # fmt: skip
    for place, (metric, (name, symbol)) in enumerate(_LOOKS.items()):
        some, panel = lines[lines["metric"] == metric], 1 + (metric in (EMPTY, ERRORS))
        figure.add_scatter(
            x=some["mean"], y=some["name"], mode="markers", name=name,
            marker={"symbol": symbol, "size": 10, "color": COLOURS[0 if panel == 1 else place - 1]},
            error_x={
                "type": "data", "symmetric": False, "array": some["mean_high"] - some["mean"],
                "arrayminus": some["mean"] - some["mean_low"], "thickness": 1.5, "width": 3,
            },
            hovertemplate=f"%{{x:.1f}}<extra>{escape(name)}</extra>", row=1, col=panel,
        )  # fmt: skip
    figure.update_xaxes(title_text="BLEU", col=1)
    figure.update_xaxes(title_text="% of sentences", range=[0, 100], col=2)
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "What distillation does to the search", 220 + 34 * lines["name"].nunique())


def distillation_finding(table: pd.DataFrame) -> str:
    """Say what each student's beam gains, and how often its global best is empty, without a teacher and with one.

    Args:
        table: by `row` and `column`, with the metrics and `gap`.
    """
    said = []
    for row, of_text in table.groupby("row", sort=False):
        systems = of_text.droplevel("row")
        for student in STUDENTS:
            names = [f"{student}, {how}" for how in ("direct", "sequence")]
            if set(names) <= {*systems.index}:
                (gap, empty), (taught_gap, taught_empty) = systems.loc[names, ["gap", EMPTY]].to_numpy()
                gains = f"{number(gap, 1, sign=True)} and {number(taught_gap, 1, sign=True)} BLEU"
                said.append(
                    f"{row}, {student}: a beam gains {gains}, and the global best is empty for {number(empty, 1)} and "
                    f"{number(taught_empty, 1)} % of sentences"
                )
    return f"Trained on the references, and on the teacher's translations. {'; '.join(said)}." if said else ""
