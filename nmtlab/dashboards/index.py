"""What has been found so far, and the pages that show it."""

from html import escape

import pandas as pd

from nmtlab.dashboards.about import INDEX, PAGES
from nmtlab.dashboards.page import Note, Page, heading, html
from nmtlab.dashboards.runs import RunChooser
from nmtlab.dashboards.table import Table
from nmtlab.experiments.claims import measured_claims, not_measured, overall
from nmtlab.workspace import Workspace


def index_page(workspace: Workspace | None = None) -> Page:
    """Return the page: the claims of the thesis and how they fared, the other pages, the runs."""
    found = measured_claims()
    claims = Table("Claims of the thesis, measured again: pick one for its numbers", pick="one", height="24em")
    numbers = Table("In each pair of languages", height="18em")
    runs = RunChooser(workspace or Workspace.find(), title="Runs")
    summary = overall(found)
    claims.show(summary.set_index("claim", drop=False))
    claims.choose(summary["claim"][:1])
    waiting = not_measured(found)
    more = f"{len(waiting)} claims more are declared and wait for their runs. " if waiting else ""

    def update(changed: set[str]) -> None:
        if "claim" in changed:
            numbers.show(_numbers(found, claims.value))

    body = [
        _links(),
        heading("What has been found so far"),
        Note(
            more + "Confirmed or refuted: the 95 % interval over at least three seeds leaves out zero. Effects are in "
            "points of the measure. Evidence: the files in data/results, with their commands beside them."
        ),
        claims, numbers, heading("Runs that can be looked at"), runs,
    ]  # fmt: skip
    return Page(INDEX, {"claim": claims}, update, body, lambda: (runs.refresh(), ())[1])


def _links() -> object:
    items = (
        f"<li><a href='{page.name}.ipynb'>{escape(page.title)}</a><br>{escape(page.question)}</li>" for page in PAGES
    )
    return html(f"<ul class='nmtlab-index'>{''.join(items)}</ul>")


def _numbers(found: pd.DataFrame, claim: str | None) -> pd.DataFrame:
    own = found[found["claim"] == claim]
    shown = own[["pair", "metric", "seeds", "effect", "margin", "verdict", "evidence"]].round(3)
    return shown.assign(runs=[", ".join(names) for names in own["runs"]]).reset_index(drop=True)
