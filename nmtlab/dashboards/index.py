"""What has been found so far, and the pages that show it."""

from collections.abc import Iterator
from html import escape

import pandas as pd

from nmtlab.dashboards.about import INDEX, PAGES
from nmtlab.dashboards.links import link_to_line, links_to
from nmtlab.dashboards.page import Note, Page, heading, html
from nmtlab.dashboards.runs import RunChooser
from nmtlab.dashboards.table import Table
from nmtlab.experiments.claims.declared import declared_claims
from nmtlab.experiments.claims.verdicts import measured_claims, not_measured, overall
from nmtlab.experiments.results.summary import rounded
from nmtlab.runs.listing import open_run
from nmtlab.workspace import Workspace

_PAGES = {page.name: page for page in PAGES}


def index_page(workspace: Workspace | None = None) -> Page:
    """Return the page: the claims of the thesis and how they fared, the other pages, the runs."""
    workspace, found = workspace or Workspace.find(), measured_claims()
    claims = Table("Claims of the thesis, measured again: select one for its numbers", pick="one", height="24em")
    numbers = Table("By language pair", height="18em")
    runs = RunChooser(workspace, title="Runs")
    summary = overall(found)
    claims.show(summary.set_index("claim", drop=False).drop(columns="direction"))
    claims.choose(summary["claim"][:1])
    waiting = not_measured(found)
    more = f"Claims not measured yet: {len(waiting)}. " if waiting else ""
    look, look_at_runs = html(), html()

    def update(changed: set[str]) -> None:
        if "claim" in changed:
            own = found[found["claim"] == claims.value]
            numbers.show(_numbers(own))
            here = set(runs.table.frame.index)
            look.value = "".join(f"<div>{links}</div>" for links in _links_by_pair(own, here, workspace))
        look_at_runs.value = f"Open in: {links_to(runs.chosen)}" if runs.chosen else ""

    body = [
        _links(),
        heading("What has been found so far"),
        Note(
            more + "Confirmed or refuted: the 95 % interval excludes zero (three seeds or more). Effects are in "
            "points of the measure; p is the paired bootstrap's, of the median seed."
        ),
        claims, numbers, look, heading("Available runs"), runs, look_at_runs,
    ]  # fmt: skip
    return Page(INDEX, {"claim": claims, "runs": runs.table}, update, body, runs.refresh, {numbers: ("claim",)})


def _links() -> object:
    items = (
        f"<li><a href='{page.name}.ipynb'>{escape(page.title)}</a><br>{escape(page.question)}</li>" for page in PAGES
    )
    return html(f"<ul class='nmtlab-index'>{''.join(items)}</ul>")


def _links_by_pair(found: pd.DataFrame, here: set[str], workspace: Workspace) -> Iterator[str]:
    """Yield of each pair that a claim is about links to its line, and to the page that shows its runs that are here."""
    by_text = {claim.text: claim for claim in declared_claims()}
    for line in found.itertuples():
        claim = by_text[line.claim]
        evidence = link_to_line(claim.stored, line.metric, line.pair, claim.system)
        runs = links_to([open_run(name, workspace) for name in line.runs if name in here], [_PAGES[claim.page]])
        yield f"{escape(line.pair)}: evidence in {evidence}" + (f"; underlying runs in {runs}" if runs else "")


def _numbers(own: pd.DataFrame) -> pd.DataFrame:
    names = ["pair", "metric", "direction", "seeds", "effect", "margin", "p", "significant", "verdict"]
    shown = rounded(own[names]).rename(columns={"direction": "effect of", "significant": "seeds with p < 0.01"})
    return (
        shown.dropna(axis="columns", how="all")
        .assign(runs=[", ".join(names) for names in own["runs"]])
        .reset_index(drop=True)
    )
