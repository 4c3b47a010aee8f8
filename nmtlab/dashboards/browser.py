"""What a page asks of the browser that shows it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

_HERE = Path(__file__).parent


class Browser(anywidget.AnyWidget):
    """The browser's address line and downloads, and its signs of life.

    Args:
        opened: called with the address' query when a page is opened.
        looking: called every few seconds while the page is looked at.
    """

    _esm = _HERE / "browser.js"
    _css = _HERE / "page.css"
    query = traitlets.Unicode().tag(sync=True)
    answered = traitlets.Int().tag(sync=True)

    def __init__(self, opened: Callable[[str], None], looking: Callable[[], None]) -> None:
        super().__init__()
        self._opened, self._looking = opened, looking
        self.on_msg(self._answer)

    def save(self, file: str, content: str) -> None:
        """Have the browser save a page under a file's name."""
        self.send({"save": {"file": file, "content": content}})

    def copy_address(self) -> None:
        """Put the page's address on the clipboard."""
        self.send({"copy": True})

    def _answer(self, _: object, content: dict[str, Any], __: object) -> None:
        if "opened" in content:
            self._opened(content["opened"])
        if "looking" in content:
            self._looking()
        self.answered += 1
