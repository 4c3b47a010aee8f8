"""The start page: findings so far, and links to the other pages."""

from collections.abc import Iterator, Sequence
from html import escape

import pandas as pd

from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.headings import headings
from nmtlab.dashboards.frame.links import link_to_line, links_to, pages_about
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.note import Note, heading, html
from nmtlab.dashboards.widgets.table import Table
from nmtlab.grids.results.judgement import RULE
from nmtlab.grids.results.summary import in_words, rounded
from nmtlab.runs.listing import open_run
from nmtlab.thesis.claims.declared import ORIGINS, Claim, declared_claims
from nmtlab.thesis.claims.verdicts import counted, measured_claims, not_measured, overall
from nmtlab.workspace import Workspace

PAGE = About(
    place=0,
    group="Results",
    title="nmtlab",
    question="Why do low-resource translation systems behave as they do?",
    name="index",
)

_WHOSE = (
    "The thesis claims some things from its results; what it proposes, expects or conjectures, it did not measure; "
    "other things it quotes, as the survey does; and what it leaves open is asked here. A claim has a line per text."
)
_EXAMPLE = "multi30k-de-en.small"
"""A packed run that most pages can show, chosen until there are others."""


def index_page(workspace: Workspace | None = None) -> Page:
    """Return the page: links to the other pages, verdicts on claims, and the runs."""
    workspace = workspace or Workspace.find()
    found = measured_claims(workspace=workspace)
    counts = Table("Whose claims, on which text: how many have which verdict", height="20em")
    claims = Table("Claims tested here: select one to see its numbers", pick="one", height="24em")
    numbers = Table("By text", height="18em")
    trained = any(workspace.runs.glob("[!.]*"))
    runs = RunChooser(workspace, first=() if trained else (_EXAMPLE,), title="Runs")
    numbered = counted(found)
    counts.show(numbered.assign(origin=numbered["origin"].map(ORIGINS)))
    summary = overall(found)
    shown = summary.set_index("claim", drop=False).drop(columns=["direction", "origin"])
    claims.show(shown, [ORIGINS[origin].capitalize() for origin in summary["origin"]])
    claims.choose(summary["claim"][:1])
    more = " ".join(_waiting(not_measured(found)))
    look, look_at_runs = html(), html()

    def show_claim() -> None:
        selected = found[found["claim"] == claims.value]
        numbers.show(_numbers(selected))
        available = set(runs.table.frame.index)
        look.value = "".join(f"<div>{links}</div>" for links in _links_by_pair(selected, available, workspace))

    def show_links() -> None:
        look_at_runs.value = f"Open in: {links_to(runs.chosen)}" if runs.chosen else ""

    body = [
        _links(),
        heading("Findings so far"),
        Note(more, f"{_WHOSE} Effects are in points of the measure. {RULE}"),
        counts, claims, numbers, look, heading("Available runs"), runs, look_at_runs,
    ]  # fmt: skip
    sections = [Section(("claim",), (numbers,), show_claim), Section(("runs",), (), show_links)]
    return Page(PAGE, {"claim": claims, "runs": runs.table}, sections, body, refresh=runs.refresh)


def _waiting(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield how many claims have no numbers, and which of them need text that nobody may have here."""
    if here := [claim for claim in claims if claim.scale != "thesis"]:
        yield f"Claims not measured yet: {len(here)}."
    if tables := sorted({claim.table.name for claim in claims if claim.scale == "thesis"}):
        yield f"Not measurable here, since they need the text of the thesis: those of {', '.join(tables)}."


def _links() -> object:
    items = (
        f"<li><a href='{page.name}.ipynb'>{escape(page.title)}</a><br>{escape(page.question)}</li>"
        for page in headings()[1:]
    )
    return html(f"<ul class='nmtlab-index'>{''.join(items)}</ul>")


def _links_by_pair(found: pd.DataFrame, available: set[str], workspace: Workspace) -> Iterator[str]:
    """Yield, for each text of a claim, links to its line and to the pages with its available runs."""
    by_text = {claim.text: claim for claim in declared_claims()}
    for line in found.itertuples():
        claim = by_text[line.claim]
        evidence = link_to_line(claim.stored, claim.metric.key, line.pair, line.system)
        runs = [open_run(name, workspace) for name in line.runs if name in available]
        shown = links_to(runs, pages_about(claim.metric))
        yield f"{escape(line.text)}: evidence in {evidence}" + (f"; underlying runs in {shown}" if shown else "")


_NAMES = {
    "text": "text", "metric": "metric", "direction": "effect of", "effect": "effect", "bounds": "95 % interval",
    "verdict": "verdict", "reason": "why undecided", "q": "q", "detectable": "detectable effect", "seeds": "seeds",
    "seeds_needed": "seeds to detect the effect asked about", "bound": "equivalence bound",
    "interval": "interval covers", "mark": "interval without", "budget": "budget", "late_gain": "still rising by",
    "p": "p", "pooled_p": "p, pooled variance", "runs": "runs",
}  # fmt: skip


def _numbers(selected: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of a claim for display."""
    bounds = [in_words(low, high) for low, high in zip(selected["low"], selected["high"], strict=True)]
    shown = selected.assign(bounds=bounds, runs=[", ".join(names) for names in selected["runs"]])[list(_NAMES)]
    filled = shown.loc[:, shown.notna().any() & shown.ne("").any()]
    return rounded(filled).rename(columns=_NAMES).reset_index(drop=True)
