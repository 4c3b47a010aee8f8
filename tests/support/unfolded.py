"""Pages with nothing folded."""

from typing import TypeVar

from nmtlab.dashboards.frame.page import Page

P = TypeVar("P", bound=Page)


def unfolded(page: P) -> P:
    """Return a page with all its folds open."""
    for fold in page.folds:
        fold.opened = True
    return page
