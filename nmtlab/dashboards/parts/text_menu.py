"""The choice of one text among those of some runs."""

from collections.abc import Iterable

import ipywidgets as widgets

from nmtlab.analysis.access.texts import Text, by_title, texts
from nmtlab.dashboards.widgets.controls import offer
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


class TextMenu(widgets.Dropdown):
    """A menu of texts, by their titles; `text` is the chosen one, if there is any.

    Args:
        workspace: with the texts.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self._texts = workspace, dict[str, Text]()
        super().__init__(description="Text", options=[], layout={"width": "100%"})

    def fill(self, runs: Iterable[Run]) -> None:
        """Offer the texts of runs."""
        self._texts = {}  # if one of them is damaged
        self._texts = by_title(text for run in runs for text in texts(run, self._workspace))
        offer(self, tuple(self._texts))

    @property
    def text(self) -> Text | None:
        """The chosen text."""
        return self._texts.get(self.value or "")

    @property
    def arguments(self) -> dict[str, object]:
        """The chosen text as arguments of an analysis: `corpus` and `split`; none if no text is chosen."""
        return {"corpus": self.text.corpus, "split": self.text.split} if self.text else {}
