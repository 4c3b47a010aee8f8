"""Are words with a cognate in the parent's language translated more often than those without?"""

from typing import Final

import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import BELOW, dressed, name_in_lines, styles, with_subtitle
from nmtlab.figures.view import View
from nmtlab.figures.words import listed
from nmtlab.thesis.measured import described_cells
from nmtlab.thesis.tables.related_text import COUSIN
from nmtlab.thesis.tables.transfer import CHILD_SIZE
from nmtlab.workspace import RESULTS

_SMALLEST: Final = "qab-en (500)"
COGNATE_SCRIPT = "python tests/oracles/cognates.py"
_TITLES = {"cognate": "words with a cognate", "no cognate": "words without a cognate", "name": "names"}


def cognate_view(row: str = _SMALLEST, table: str = CHILD_SIZE.name, relative: str = COUSIN) -> View:
    """Show how many words of the artificial child are translated, with and without a cognate in a relative's language.

    Its table has means over the seeds.

    Args:
        row: such as `qab-en (2,000)`.
        table: the table that it is a row of.
        relative: whose language it is: the child's `related` or its `cousin` parent.

    Raises:
        NmtlabError: it was not measured.
    """
    path = RESULTS / "cognate-recall.csv"
    whole = pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=["table", "row", "relative"])
    recall = whole[(whole["table"] == table) & (whole["row"] == row) & (whole["relative"] == relative)]
    if recall.empty:
        raise NmtlabError(
            f"{table}, {row}: the recall of words with a cognate was not measured", f"run {COGNATE_SCRIPT}"
        )
    places = recall.groupby(["kind", "seen", "system"], sort=False)
    means = places.agg({"recall": "mean", "right": "sum", "words": "sum"})
    drawn = means.reset_index().rename(columns={"system": "run"})
    wide = means["recall"].unstack("system").reindex(drawn.set_index(["kind", "seen"]).index.unique())
    systems = list(dict.fromkeys(recall["system"]))
    subtitle = described_cells(recall.assign(value=recall["recall"]))
    figure = with_subtitle(cognate_figure(drawn, f"{row}, {relative} parent"), subtitle)
    return View(wide[systems].reset_index().rename_axis(columns=None), figure, finding=recall_finding(drawn))


def recall_finding(recall: pd.DataFrame) -> str:
    """Say how many words with and without a cognate each system translates, of those that its text has.

    Args:
        recall: as of `cognate_figure`.
    """
    seen = recall[(recall["seen"] != "0") & recall["kind"].isin(["cognate", "no cognate"])]
    sums = seen.groupby(["run", "kind"], sort=False)[["right", "words"]].sum()
    shares = (100 * sums["right"] / sums["words"]).unstack("kind")
    said = [
        f"{run} {with_one:.0f} % and {without:.0f} %"
        for run, with_one, without in shares[["cognate", "no cognate"]].itertuples()
    ]
    return (
        f"Translated words of those in the child's text, with and without a cognate: {listed(said, '; ')}."
        if said
        else ""
    )


def cognate_figure(recall: pd.DataFrame, about: str) -> go.Figure:
    """Draw the share of words that systems translate, by how often the child's text has them.

    Args:
        recall: rows of `cognates.cognate_recall` with a column `run`.
        about: what the systems have in common, such as their text.
    """
    kinds = [kind for kind in _TITLES if kind in set(recall["kind"])]
    figure = make_subplots(cols=len(kinds), shared_yaxes=True, subplot_titles=[_TITLES[kind] for kind in kinds])
    style = styles(recall["run"])
    for column, kind in enumerate(kinds, start=1):
        for run, of_run in recall[recall["kind"] == kind].groupby("run", sort=False):
            figure.add_scatter(
                x=of_run["seen"], y=100 * of_run["recall"], mode="lines+markers", name=name_in_lines(run),
                legendgroup=name_in_lines(run), showlegend=column == 1, line=style[str(run)],
                customdata=of_run[["right", "words"]],
                hovertemplate="%{y:.1f} %: %{customdata[0]:,} of %{customdata[1]:,} words<extra>" + name_in_lines(run)
                + "</extra>", row=1, col=column,
            )  # fmt: skip
        figure.update_xaxes(title_text="times in the child's training text", type="category", col=column)
    figure.update_yaxes(title_text="translated words (%)", range=[0, 100], col=1)
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, f"Translated words of the test text, by what the parent knows of them: {about}", 440)
