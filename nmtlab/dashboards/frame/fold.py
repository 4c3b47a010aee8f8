"""Parts of a page that are folded until somebody opens them, and which of a page's are open."""

from collections.abc import Iterable, Iterator, Sequence

import ipywidgets as widgets
import traitlets

from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.controls import show_if


class Fold(widgets.VBox):
    """A folded part of a page; what is in it is first drawn when it is opened.

    Args:
        name: in the address of a page.
        title: what is in it, as a question or a noun.
        body: from top to bottom; a section stands for its parts.
        opened: whether it is open at first.
    """

    opened = traitlets.Bool()

    def __init__(self, name: str, title: str, *body: widgets.Widget | Section, opened: bool = False) -> None:
        self.name, self.sections = name, sections_of(body)
        self._head = widgets.Button(description=title)
        self._head.add_class("nmtlab-fold-head")
        self._head.on_click(lambda _: self.set_trait("opened", not self.opened))
        self._content = widgets.VBox(placed(body))
        super().__init__([self._head, self._content])
        self.add_class("nmtlab-fold")
        self.observe(lambda _: self._draw(), "opened")
        self.opened = opened
        self._draw()

    def _draw(self) -> None:
        show_if(self.opened, self._content)
        (self.add_class if self.opened else self.remove_class)("nmtlab-open")


class OpenFolds(traitlets.HasTraits):
    """Which folds of a page are open, for its address: their names in `value`, with commas."""

    value = traitlets.Unicode()

    def __init__(self, folds: Sequence[Fold]) -> None:
        super().__init__()
        self._folds = folds
        for fold in folds:
            fold.observe(lambda _: self._read(), "opened")
        self._read()

    @traitlets.observe("value")
    def _set(self, change: traitlets.Bunch) -> None:
        names = change["new"].split(",")
        for fold in self._folds:
            fold.opened = fold.name in names
        self._read()

    def _read(self) -> None:
        self.value = ",".join(fold.name for fold in self._folds if fold.opened)


def placed(body: Iterable[widgets.Widget | Section]) -> list[widgets.Widget]:
    """Return the widgets of a body, the parts of a section in its place."""
    return [part for one in body for part in (one.parts if isinstance(one, Section) else (one,))]


def sections_of(body: Iterable[object]) -> list[Section]:
    """Return the sections of a body, with those in its folds."""
    inner = (one.sections if isinstance(one, Fold) else [one] for one in body)
    return [one for some in inner for one in some if isinstance(one, Section)]


def homes_of(body: Iterable[widgets.Widget], home: Fold | None = None) -> Iterator[tuple[int, Fold | None]]:
    """Yield, by the `id` of each widget in a body, the innermost fold that it is in, if any."""
    for widget in body:
        yield id(widget), home
        if isinstance(widget, widgets.Box):
            yield from homes_of(widget.children, widget if isinstance(widget, Fold) else home)
