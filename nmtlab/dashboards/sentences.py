"""Choosing a sentence: from a text of the runs, filtered and sorted, or typed."""

from collections.abc import Sequence

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.sentences import Text, sentences, texts
from nmtlab.dashboards.columns import row
from nmtlab.dashboards.table import Table
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

MOST_LETTERS = 2000
"""Longest sentence that is typed."""


class SentenceChooser(widgets.VBox):
    """The sentences of a text, one of which is looked at; typing another one takes its place.

    `state` has what an address keeps of it.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._runs: list[Run] = []
        self._texts: list[Text] = []
        self.text = widgets.Dropdown(description="Text", options=[], layout={"width": "26em"})
        self.table = Table("Sentences: pick one", pick="one", height="15em")
        self.typed = widgets.Text(
            placeholder="or type a sentence of your own, and press Enter",
            continuous_update=False,
            layout={"width": "100%"},
        )
        self.typed.description = "Sentence"
        self.state = {"text": self.text, "line": self.table, "sentence": self.typed}
        edit = widgets.Button(description="Edit it", tooltip="Put the picked sentence into the box below")
        edit.on_click(lambda _: self._edit())
        super().__init__([row(self.text, edit), self.table, self.typed])

    @property
    def source(self) -> str:
        """The sentence that is looked at, empty if there is none."""
        return self.typed.value.strip()[:MOST_LETTERS] or self._picked("source")

    @property
    def reference(self) -> str | None:
        """Its translation, where it is one of the text's."""
        return None if self.typed.value.strip() else self._picked("reference") or None

    @property
    def chosen_text(self) -> Text | None:
        """The text that is chosen."""
        place = self.text.index
        return self._texts[place] if place is not None else None

    @property
    def line(self) -> int | None:
        """Number of the sentence in its text, from 1; None of a typed one."""
        return None if self.typed.value.strip() else self.table.value

    def offer(self, runs: Sequence[Run]) -> None:
        """Offer the texts of some runs, and show the sentences of the chosen one."""
        found: dict[str, Text] = {}
        for run in runs:
            found |= {text.name: text for text in texts(run, self._workspace)}
        self._runs, self._texts = list(runs), list(found.values())
        if tuple(found) != self.text.options:
            before = self.text.value
            self.text.options = tuple(found)
            self.text.value = before if before in found else next(iter(found), None)
        self.show()

    def show(self) -> None:
        """Show the sentences of the chosen text."""
        text = self.chosen_text
        if text is None:
            self.table.show(pd.DataFrame())
            return
        pair = (text.corpus.source, text.corpus.target)
        fitting = [run for run in self._runs if (run.recipe.corpus.source, run.recipe.corpus.target) == pair]
        frame = sentences(fitting, text)
        self.table.show(frame.reset_index().set_index("line", drop=False))
        if not self.table.chosen and len(frame):
            self.table.choose([1])

    def _edit(self) -> None:
        self.typed.value = self._picked("source")

    def _picked(self, column: str) -> str:
        line = self.table.value
        return "" if line is None else str(self.table.frame.loc[line, column])
