"""The connection between a page and the browser that shows it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

_HERE = Path(__file__).parent


class Browser(anywidget.AnyWidget):
    """The browser's address bar, downloads and heartbeat, and what it shows while an answer is awaited.

    `done` is the number of the last event in the browser of which all consequences have been shown.

    Args:
        opened: called with the query of the address when a page is opened.
        looking: called every few seconds while the page is visible.
        copied: called with the address after `copy_address`, and with whether it is on the clipboard now.
        back: called with the query of an earlier address that the browser went back to, or forward.
    """

    _esm = _HERE / "browser.js"
    _css = _HERE / "page.css"
    query = traitlets.Unicode().tag(sync=True)
    answered = traitlets.Int().tag(sync=True)
    done = traitlets.Int().tag(sync=True)

    def __init__(
        self,
        opened: Callable[[str], None],
        looking: Callable[[], None],
        copied: Callable[[str, bool], None],
        back: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._opened, self._looking, self._copied, self._back = opened, looking, copied, back
        self.on_msg(self._answer)

    def save(self, file: str, content: str) -> None:
        """Have the browser download a page under a file name."""
        self.send({"save": {"file": file, "content": content}})

    def copy_address(self) -> None:
        """Copy the address of the page in its present state to the clipboard."""
        self.send({"copy": True})

    def _answer(self, _: object, content: dict[str, Any], __: object) -> None:
        if "opened" in content:
            self._opened(content["opened"])
        if "looking" in content:
            self._looking()
        if "copied" in content:
            self._copied(content["address"], content["copied"])
        if "back" in content:
            self._back(content["back"])
        self.done = content.get("event", self.done)
        self.answered += 1
