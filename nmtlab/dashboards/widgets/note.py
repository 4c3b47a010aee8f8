"""Text on a page: headings, notes and markup."""

from html import escape

import ipywidgets as widgets


def html(text: str = "", style: str = "") -> widgets.HTML:
    """Return an HTML widget for trusted markup; escape any other text first."""
    widget = widgets.HTML(text)
    if style:
        widget.add_class(style)
    return widget


def heading(text: str) -> widgets.HTML:
    """Return a section heading."""
    return html(f"<h2>{escape(text)}</h2>")


class Note(widgets.HTML):
    """A short text beside a figure."""

    style_class = "nmtlab-note"

    def __init__(self, text: str = "", more: str = "") -> None:
        super().__init__()
        self.add_class(self.style_class)
        self.say(text, more)

    def say(self, text: str, more: str = "") -> None:
        """Show a text, and what can be unfolded below it; markup in them is escaped."""
        unfolded = f"<details><summary>How to read this</summary><div>{escape(more)}</div></details>" if more else ""
        self.value = escape(text) + unfolded
        self.layout.display = "" if self.value else "none"
        self.fresh = True

    def clear(self) -> None:
        """Show nothing."""
        self.say("")


class Answer(Note):
    """What a page or a figure shows, in a sentence or two."""

    style_class = "nmtlab-answer"
