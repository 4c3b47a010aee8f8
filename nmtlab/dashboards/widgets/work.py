"""Long work in the background of a page, in steps: with a progress bar, stoppable, and without blocking the page."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from html import escape

import ipywidgets as widgets

Guarded = Callable[[], AbstractContextManager[None]]
"""A context manager of the page that reports errors."""

_DONE = object()
_PAUSE = 0.001  # seconds for the event loop to handle pending messages
_QUIET = 0.4  # seconds without a new request before work starts
_PATIENCE = 1.0  # seconds of work before the bar appears
_AT_ONCE = 0.15  # seconds of work that may block the page unnoticed


class Work(widgets.HBox):
    """A progress bar and a stop button, hidden when no work is running.

    Steps run between messages from the browser, in the same thread, so that no state changes during a step.
    """

    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded
        self._task: asyncio.Task[None] | None = None
        self.fresh = False
        self._bar = widgets.IntProgress(layout={"width": "20em"})
        self._label = widgets.Label()
        stop = widgets.Button(description="Stop")
        stop.on_click(lambda _: self.stop())
        super().__init__([self._bar, self._label, stop], layout={"display": "none"})

    def start(self, what: str, steps: int, work: Iterator[object], waits: bool = False) -> None:
        """Start some work, and cancel any that is running.

        Args:
            what: label of the work, in a few words.
            steps: number of steps.
            work: an iterator that does one step per item.
            waits: start only after a short time without a new request; otherwise run as many steps at once as go
                unnoticed.
        """
        self.stop()
        self.fresh = True
        self._bar.max, self._bar.value, self._label.value = steps, 0, what
        loop, end = _loop(), time.monotonic() + (0 if waits else _AT_ONCE)
        while loop is None or time.monotonic() < end:
            if next(work, _DONE) is _DONE:
                return
            self._bar.value += 1
        self._task = loop.create_task(self._continue(work, _QUIET if waits else _PAUSE))

    def stop(self) -> None:
        """Cancel the running work, if any."""
        if self._task is not None:
            self._task.cancel()
        self._task = None
        self.layout.display = "none"

    clear = stop

    def as_html(self) -> str:
        """Return what a page says that is saved meanwhile."""
        done = f"{self._bar.value:,} of {self._bar.max:,}"
        return f"<p>{escape(self._label.value)}: still computing when this page was saved, {done} done.</p>"

    async def _continue(self, work: Iterator[object], pause: float) -> None:
        with self._guarded():
            await asyncio.sleep(pause)
            begun = time.monotonic()
            for _ in work:
                self._bar.value += 1
                self.layout.display = "" if time.monotonic() - begun > _PATIENCE else "none"
                await asyncio.sleep(_PAUSE)
        self.layout.display = "none"


def _loop() -> asyncio.AbstractEventLoop | None:
    """Return the kernel's event loop; None outside a kernel, where work runs to completion at once."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
