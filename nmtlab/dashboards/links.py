"""Links to the pages that show some runs."""

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlencode

from nmtlab.dashboards.about import ATTENTION, DYNAMICS, NORMS, TRANSLATE, About

SHOWING = (NORMS, ATTENTION, DYNAMICS, TRANSLATE)
"""Pages that show several runs together."""


def links_to(names: Sequence[str], pages: Iterable[About] = SHOWING) -> str:
    """Return links, as markup, to pages that show some runs together.

    Args:
        names: of the runs.
        pages: which.
    """
    query = urlencode({"runs": ",".join(names)})
    return " · ".join(f"<a href='{page.name}.ipynb?{query}'>{escape(page.title)}</a>" for page in pages)
