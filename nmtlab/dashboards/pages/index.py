"""The start page in JupyterLab; the server sends its content without a kernel."""

from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.parts.argument import Argument, argument_markup
from nmtlab.workspace import Workspace

PAGE = About(
    place=0,
    group="Results",
    title="nmtlab",
    question="Why do low-resource translation systems behave as they do?",
    name="index",
)


def index_page(workspace: Workspace | None = None) -> Page:
    """Return the page: the messages of the thesis, and the verdicts on its claims."""
    return Page(PAGE, {}, [], [Argument(markup=argument_markup(workspace or Workspace.find()))])
