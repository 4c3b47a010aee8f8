"""Long work behind a page, step by step: its progress is seen, it can be stopped, and the page answers meanwhile."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import ipywidgets as widgets

_DONE = object()
_PAUSE = 0.001  # seconds in which messages that came meanwhile are answered
_QUIET = 0.4  # seconds without another question, after which a person stays with the last one
_PATIENCE = 1.0  # seconds of work without a bar
_AT_ONCE = 0.15  # seconds of work that a person does not notice


class Work(widgets.HBox):
    """A bar that shows how far some work is, and a button that stops it; both hidden while there is none.

    Steps are taken between the messages of the browser, in the same thread, so that nothing changes under their hands.

    Args:
        guarded: the page's, which tells of errors.
    """

    def __init__(self, guarded: Callable[[], AbstractContextManager[None]]) -> None:
        self._guarded = guarded
        self._task: asyncio.Task[None] | None = None
        self.fresh = False
        self._bar = widgets.IntProgress(layout={"width": "20em"})
        self._label = widgets.Label()
        stop = widgets.Button(description="Stop")
        stop.on_click(lambda _: self.stop())
        super().__init__([self._bar, self._label, stop], layout={"display": "none"})

    def start(self, what: str, steps: int, work: Iterator[object], waits: bool = False) -> None:
        """Do some work; what was under way is given up.

        Args:
            what: it is, in a few words.
            steps: how many there are.
            work: does one each time it is asked for the next.
            waits: begin only when nothing else has been asked for a moment; else what fits into one is done at once.
        """
        self.stop()
        self.fresh = True
        self._bar.max, self._bar.value, self._label.value = steps, 0, what
        loop, end = _loop(), time.monotonic() + (0 if waits else _AT_ONCE)
        while loop is None or time.monotonic() < end:
            if next(work, _DONE) is _DONE:
                return
            self._bar.value += 1
        self._task = loop.create_task(self._go_on(work, _QUIET if waits else _PAUSE))

    def stop(self) -> None:
        """Give up what is under way, if anything is."""
        if self._task is not None:
            self._task.cancel()
        self._task = None
        self.layout.display = "none"

    clear = stop

    async def _go_on(self, work: Iterator[object], pause: float) -> None:
        with self._guarded():
            await asyncio.sleep(pause)
            begun = time.monotonic()
            for _ in work:
                self._bar.value += 1
                self.layout.display = "" if time.monotonic() - begun > _PATIENCE else "none"
                await asyncio.sleep(_PAUSE)
        self.layout.display = "none"


def _loop() -> asyncio.AbstractEventLoop | None:
    """Return the kernel's loop; None outside of one, where all is done at once."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
