"""Choosing a sentence: from a text of the runs, or typed."""

from collections.abc import Sequence

import ipywidgets as widgets

from nmtlab.analysis.access.texts import Text, by_title, sentences, texts
from nmtlab.dashboards.frame.about import Sentence
from nmtlab.dashboards.frame.examples import example
from nmtlab.dashboards.frame.saved import CHOOSER
from nmtlab.dashboards.frame.systems import of_one_pair
from nmtlab.dashboards.widgets.columns import row
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import isolated
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import is_blank
from nmtlab.workspace import Workspace

MAX_LETTERS = 2000
"""Maximum length of a typed sentence, in characters; the rest is cut."""


class SentenceChooser(widgets.VBox):
    """The sentences of a text, one of them selected; a typed sentence replaces the selection, and the reverse.

    Runs without a text get an example, which is neither selected nor typed. `state` holds the widgets that an address
    stores.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._runs: list[Run] = []
        self._texts: list[Text] = []
        self._line, self._typed_last = 1, False
        self.text = widgets.Dropdown(description="Text", options=[], layout={"width": "26em"})
        self.table = Table("Sentences: select one", pick="one", height="15em")
        self.typed = widgets.Text(
            placeholder="or type a sentence and press Enter",
            continuous_update=False,
            layout={"width": "100%"},
        )
        self.typed.description = "Sentence"
        self.state = {"text": self.text, "line": self.table, "sentence": self.typed}
        edit = widgets.Button(description="Edit sentence", tooltip="Copy the selected sentence into the box below")
        edit.on_click(lambda _: self._edit())
        self.empty = widgets.Button(
            description="Clear", tooltip="Empty the box and return to the selected sentence", layout={"width": "6em"}
        )
        self.empty.on_click(lambda _: self._empty())
        self.table.observe(lambda change: self._note_picked(change["new"]), "value")
        self.typed.observe(lambda change: self._note_typed(change["new"]), "value")
        self._note_typed("")
        super().__init__([row(self.text, edit), self.table, widgets.HBox([self.typed, self.empty])])
        self.add_class(CHOOSER)

    @property
    def source(self) -> str:
        """The current sentence; empty if there is none."""
        return self._typed[:MAX_LETTERS] or self._picked("source") or self._example

    @property
    def reference(self) -> str | None:
        """Its reference translation; None if it is typed or an example."""
        return None if self._typed else self._picked("reference") or None

    @property
    def chosen_text(self) -> Text | None:
        """The selected text, if any."""
        index = self.text.index
        return self._texts[index] if index is not None else None

    @property
    def line(self) -> int | None:
        """Number of the sentence in its text, from 1; None if it is typed or an example."""
        return None if self._typed else self.table.value

    @property
    def where(self) -> Sentence:
        """The current sentence and where it is, for links."""
        text = self.chosen_text
        direction = text.corpus.direction if text else None
        return Sentence(self.source, self.text.value, self.line, text, direction)

    @property
    def runs(self) -> list[Run]:
        """The runs that translate in the direction of the chosen text, else of the first run; opened in it."""
        text = self.chosen_text
        return of_one_pair(self._runs, text.corpus.direction if text else None)

    def directed(self, run: Run) -> Run:
        """Return a run in the direction of the chosen text, or unchanged if it does not translate in it."""
        return next(iter(of_one_pair([run], self.chosen_text.corpus.direction)), run) if self.chosen_text else run

    @property
    def shown_source(self) -> str:
        """The current sentence and where it comes from, for display."""
        if self._typed:
            where = "Typed sentence"
        elif self.line is not None:
            where = f"Line {self.line} of {self.text.value}"
        else:
            where = "Example sentence, since no text of these runs is available"
        return f"{where}: {isolated(self.source)}"

    def follow(self, changed: set[str], runs: Sequence[Run]) -> None:
        """Update texts and sentences for some runs; of the selected line and the typed sentence the more recent counts.

        Args:
            changed: changed names of the page's state, as given to its update.
            runs: the chosen runs; texts of those that do not translate the first one's language pair are not offered.
        """
        if "runs" in changed:
            self._offer(runs)
        if changed & {"runs", "text"}:
            self._show()
        self._settle()

    def _offer(self, runs: Sequence[Run]) -> None:
        """Offer the texts of some runs."""
        found = by_title(text for run in of_one_pair(runs) for text in texts(run, self._workspace))
        self._runs, self._texts = list(runs), list(found.values())
        if tuple(found) != self.text.options:
            before = self.text.value
            self.text.options = tuple(found)
            self.text.value = before if before in found else next(iter(found), None)

    def _show(self) -> None:
        """Show the sentences of the chosen text."""
        text = self.chosen_text
        if text is None:
            self.table.clear()
            return
        try:
            found = sentences(self._runs, text)
        except NmtlabError:
            self.table.clear()  # the sentences there are those of other runs
            raise
        self.table.show(found.reset_index().set_index("line", drop=False))

    def _settle(self) -> None:
        """Keep either the typed sentence or the selected line, and clear the other."""
        if self._typed_last:
            self.table.unpick()
        elif self.table.value is not None:
            self.typed.value = ""
        elif not self._typed:
            lines = self.table.frame.index
            self.table.choose([self._line if self._line in lines else 1])

    def _note_picked(self, line: int | None) -> None:
        if line is not None:
            self._line, self._typed_last = line, False

    def _note_typed(self, text: str) -> None:
        self._typed_last = not is_blank(text)
        self.empty.layout.display = "" if self._typed_last else "none"

    @property
    def _typed(self) -> str:
        return "" if is_blank(self.typed.value) else self.typed.value.strip()

    @property
    def _example(self) -> str:
        return example(self._runs[0], self._workspace) if self._runs else ""

    def _edit(self) -> None:
        self.typed.value = self.source

    def _empty(self) -> None:
        self.typed.value = ""

    def _picked(self, column: str) -> str:
        line = self.table.value
        return "" if line is None else str(self.table.frame.loc[line, column])
