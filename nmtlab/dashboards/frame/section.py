"""A section of a page: what it shows, and the state that this depends on."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol


class Part(Protocol):
    """What a section shows: a chart, a table, a note, or work in progress."""

    fresh: bool
    """Whether it was shown or started since this was last set to False."""

    def clear(self) -> None:
        """Show nothing and stop any work."""


@dataclass(eq=False)
class Section:
    """What a page shows whenever one of some inputs has changed.

    Args:
        inputs: names of the page's state that it depends on.
        parts: that it shows; each belongs to one section. Those that it does not show this time are cleared.
        show: shows them, and may change the state: sections after it see these changes. Without it, the parts are shown
            at the press of a button, and are cleared when an input changes.
    """

    inputs: Collection[str]
    parts: Collection[Part] = ()
    show: Callable[[], None] = lambda: None
