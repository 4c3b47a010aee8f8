"""What has been found so far, and the pages that show it."""

from html import escape
from itertools import chain

import pandas as pd

from nmtlab.dashboards.about import INDEX, PAGES
from nmtlab.dashboards.links import links_to
from nmtlab.dashboards.page import Note, Page, heading, html
from nmtlab.dashboards.runs import RunChooser
from nmtlab.dashboards.table import Table
from nmtlab.experiments.judged import measured_claims, not_measured, overall
from nmtlab.runs.run import list_runs
from nmtlab.workspace import Workspace

_MOST_RUNS = 4


def index_page(workspace: Workspace | None = None) -> Page:
    """Return the page: the claims of the thesis and how they fared, the other pages, the runs."""
    workspace, found = workspace or Workspace.find(), measured_claims()
    claims = Table("Claims of the thesis, measured again: pick one for its numbers", pick="one", height="24em")
    numbers = Table("In each pair of languages", height="18em")
    runs = RunChooser(workspace, title="Runs")
    summary = overall(found)
    claims.show(summary.set_index("claim", drop=False))
    claims.choose(summary["claim"][:1])
    waiting = not_measured(found)
    more = f"{len(waiting)} claims more are declared and wait for their runs. " if waiting else ""
    look, look_at_runs = html(), html()

    def update(changed: set[str]) -> None:
        if "claim" in changed:
            own = found[found["claim"] == claims.value]
            numbers.show(_numbers(own))
            look.value = _look(own, workspace)
        look_at_runs.value = f"Look at them: {links_to([run.name for run in runs.chosen])}" if runs.chosen else ""

    body = [
        _links(),
        heading("What has been found so far"),
        Note(
            more + "Confirmed or refuted: the 95 % interval over at least three seeds leaves out zero. Effects are in "
            "points of the measure; p is the paired bootstrap's, of the median seed. Evidence: files in data/results."
        ),
        claims, numbers, look, heading("Runs that can be looked at"), runs, look_at_runs,
    ]  # fmt: skip
    return Page(INDEX, {"claim": claims, "runs": runs.table}, update, body, runs.refresh, {numbers: ("claim",)})


def _links() -> object:
    items = (
        f"<li><a href='{page.name}.ipynb'>{escape(page.title)}</a><br>{escape(page.question)}</li>" for page in PAGES
    )
    return html(f"<ul class='nmtlab-index'>{''.join(items)}</ul>")


def _look(found: pd.DataFrame, workspace: Workspace) -> str:
    """Return links to the pages that show the runs behind a claim, of those that are here."""
    here = {run.name for run in list_runs(workspace)[0]}
    names = [name for name in dict.fromkeys(chain.from_iterable(found["runs"])) if name in here]
    if not names:
        return "None of the runs behind it is here: <code>nmtlab reproduce</code> makes them."
    return f"The runs behind it that are here. Look at them: {links_to(names[:_MOST_RUNS])}"


def _numbers(own: pd.DataFrame) -> pd.DataFrame:
    names = ["pair", "metric", "seeds", "effect", "margin", "p", "significant", "verdict", "evidence"]
    shown = own[names].round(3).rename(columns={"significant": "seeds with p < 0.01"})
    return (
        shown.dropna(axis="columns", how="all")
        .assign(runs=[", ".join(names) for names in own["runs"]])
        .reset_index(drop=True)
    )
