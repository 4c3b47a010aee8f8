"""The runs of a workspace, and the pages that can show them."""

from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.links import links_to
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.note import html
from nmtlab.workspace import Workspace

PAGE = About(
    place=130,
    group="Train",
    title="Runs",
    question="Which trainings are here, and on which pages can each be seen?",
    name="runs",
)

_EXAMPLE = "multi30k-de-en.small"
"""A packed run that most pages can show, chosen until there are others."""


def runs_page(workspace: Workspace | None = None) -> Page:
    """Return the page: the runs, and links to the pages that can show those that are chosen."""
    workspace = workspace or Workspace.find()
    trained = any(workspace.runs.glob("[!.]*"))
    none = "No run is here yet: the page Train makes one, and so does 'nmtlab demo'."
    runs = RunChooser(workspace, first=() if trained else (_EXAMPLE,), none=none)
    runs.spread()
    look = html()

    def show_links() -> None:
        look.value = f"Open in: {links_to(runs.chosen)}" if runs.chosen else ""

    return Page(PAGE, {"runs": runs.table}, [Section(("runs",), (), show_links)], [look, runs], refresh=runs.refresh)
