"""Choosing a sentence: from a text of the runs, or typed."""

from collections.abc import Callable, Collection, Mapping, Sequence

import ipywidgets as widgets

from nmtlab.analysis.access.texts import Text, by_title, sentences, texts
from nmtlab.dashboards.frame.about import Sentence
from nmtlab.dashboards.frame.chips import Chips, LongTable, panel
from nmtlab.dashboards.frame.examples import example
from nmtlab.dashboards.frame.saved import CHOOSER
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import of_one_pair
from nmtlab.dashboards.widgets.controls import offer, row, show_if
from nmtlab.dashboards.widgets.note import Note
from nmtlab.figures.theme import isolated
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import is_blank
from nmtlab.workspace import Workspace

MAX_LETTERS = 2000
"""Maximum length of a typed sentence, in characters; the rest is cut."""


class SentenceChooser(widgets.VBox):
    """The sentences of a text, one of them selected; a typed sentence replaces the selection, and the reverse.

    Runs without a text get an example, which is neither selected nor typed. `state` holds the widgets that an address
    stores, `sections` fill the chooser, and `inputs` are what its sentence depends on. `chosen` are the runs.

    Args:
        workspace: with the texts.
        runs: returns the chosen runs; texts of those that do not translate the first one's language pair are not
            offered.
        inputs: names of the page's state that these runs depend on.
        first: title of the text and line to choose at first, if they are offered.
    """

    def __init__(
        self,
        workspace: Workspace,
        runs: Callable[[], Sequence[Run]],
        inputs: Collection[str] = ("runs",),
        first: tuple[str, int] = ("", 1),
    ) -> None:
        self._workspace, self._runs = workspace, runs
        self.chosen: Sequence[Run] = ()
        self._texts: Mapping[str, Text] = {}
        self._first, self._typed_last = first, False
        self._line: int | None = None
        self._current = Note()
        self._current.add_class("nmtlab-sentence")
        self.text = widgets.Dropdown(description="Text", options=[], layout={"width": "100%"})
        self.table = LongTable("Sentences: select one", pick="one")
        self.typed = widgets.Text(
            placeholder="or type a sentence and press Enter", continuous_update=False, layout={"width": "100%"}
        )
        self.typed.description = "Sentence"
        self.state = {"text": self.text, "line": self.table, "sentence": self.typed}
        self.inputs = {*inputs, *self.state}
        self.sections = [
            Section(inputs, (), self._offer),
            Section({*inputs, "text"}, (self.table,), self._show),
            Section(self.inputs, (self._current,), self._settle),
        ]
        self._back = self._button("‹", "Previous sentence", lambda: self._step(-1))
        self._on = self._button("›", "Next sentence", lambda: self._step(1))
        edit = self._button("Edit", "Copy the selected sentence into the box below", self._edit)
        self.empty = self._button("Clear", "Empty the box and return to the selected sentence", self._empty)
        self.table.observe(lambda change: self._note_picked(change["new"]), "value")
        self.typed.observe(lambda change: self._note_typed(change["new"]), "value")
        self._note_typed("")
        steps = row(Chips("Choose", self.table), self._back, self._on, edit, self.empty)
        steps.add_class("nmtlab-steps")
        super().__init__([self.text, self._current, steps, self.typed, panel(self.table)])
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
        return self._texts.get(self.text.value or "")

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
        return of_one_pair(self.chosen, text.corpus.direction if text else None)

    def directed(self, run: Run) -> Run:
        """Return a run in the direction of the chosen text, or unchanged if it does not translate in it."""
        return next(iter(of_one_pair([run], self.chosen_text.corpus.direction)), run) if self.chosen_text else run

    @property
    def shown_source(self) -> str:
        """The current sentence and where it comes from, for display."""
        if self._typed:
            cut = len(self._typed) > MAX_LETTERS
            where = f"Typed sentence (cut after {MAX_LETTERS:,} letters)" if cut else "Typed sentence"
        elif self.line is not None:
            where = f"Line {self.line} of {self.text.value}"
        else:
            where = "Example sentence, since no text of these runs is available"
        return f"{where}: {isolated(self.source)}"

    def _offer(self) -> None:
        """Offer the texts of the chosen runs."""
        self.chosen, self._texts = (), {}  # if one of them is damaged
        runs = self._runs()
        found = by_title(text for run in of_one_pair(runs) for text in texts(run, self._workspace))
        self.chosen, self._texts = runs, found
        offer(self.text, tuple(found), otherwise=self._first[0])
        show_if(found, self.text)

    def _show(self) -> None:
        """Show the sentences of the chosen text."""
        if text := self.chosen_text:
            found = sentences(self.chosen, text)
            self.table.show(found.reset_index().set_index("line", drop=False))

    def _settle(self) -> None:
        """Keep either the typed sentence or the selected line, and clear the other."""
        if self._typed_last:
            self.table.unpick()
        elif self.table.value is not None:
            self.typed.value = ""
        elif not self._typed:
            text, line = self._first
            wanted = self._line or (line if self.text.value == text else 1)
            self.table.choose([wanted if wanted in self.table.frame.index else 1])
        place = self._place
        self._back.disabled = place is None or place == 0
        self._on.disabled = place is None or place == len(self.table.frame) - 1
        self._current.say(self.shown_source if self.source else "")

    @property
    def _place(self) -> int | None:
        """Where the current sentence is in the table, if it is in it."""
        return None if self.line is None else self.table.frame.index.get_loc(self.line)

    def _step(self, by: int) -> None:
        if (place := self._place) is not None:
            self.table.choose(self.table.frame.index[place + by : place + by + 1])

    def _note_picked(self, line: int | None) -> None:
        if line is not None:
            self._line, self._typed_last = line, False

    def _note_typed(self, text: str) -> None:
        self._typed_last = not is_blank(text)
        show_if(self._typed_last, self.empty)

    @property
    def _typed(self) -> str:
        return "" if is_blank(self.typed.value) else self.typed.value.strip()

    @property
    def _example(self) -> str:
        return example(self.chosen[0], self._workspace) if self.chosen else ""

    @staticmethod
    def _button(text: str, what: str, press: Callable[[], None]) -> widgets.Button:
        made = widgets.Button(description=text, tooltip=what, layout={"width": "auto"})
        made.on_click(lambda _: press())
        return made

    def _edit(self) -> None:
        self.typed.value = self.source

    def _empty(self) -> None:
        self.typed.value = ""

    def _picked(self, column: str) -> str:
        line = self.table.value
        return "" if line is None else str(self.table.frame.loc[line, column])
