"""Translations that hardly depend on their source: candidates for hallucinations."""

from collections.abc import Iterator

import pandas as pd

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.attribution.signs import signs_view
from nmtlab.analysis.attribution.source_share import SOURCE_SHARE, most_detached, source_share_figure
from nmtlab.dashboards.frame.about import About, Sentence
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.frame.systems import described_runs, left_out, of_one_pair
from nmtlab.dashboards.parts.text_menu import TextMenu
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.theme import with_subtitle
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=90,
    group="Why",
    title="Detached translations",
    question="Which translations have little to do with their source: are they hallucinations?",
    name="detached",
    needs=SOURCE_SHARE.needs,
)

FIRST = ("small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1")
_SAMPLE = 100
_NO_TEXT = "No text of these runs is here: open a workspace with their corpus, or choose packed runs with sentences."
_READ = (
    "On the left, erasing source words hardly changes the translation: it follows from its beginning. Those that are "
    "probable all the same, at the top, mislead a reader. Select one, and a token of it, to go on to other pages."
)
_NAMES = {
    "run": "run", "line": "line", "source_share": "from the source", "log_prob": "log p per token",
    "chrf": "chrF", "translation": "translation", "source": "source", "length_ratio": "length ratio",
    "repeats": "repeated 4-grams", "agreement": "chrF with samples",
}  # fmt: skip


class DetachedPage(Page):
    """The source's share of each translation, and the translations by it; computed sentence by sentence, and stored."""

    def __init__(self, workspace: Workspace) -> None:
        self._listed = pd.DataFrame()
        self.runs = RunChooser(workspace, PAGE.needs, FIRST)
        self.text = TextMenu(workspace)
        self.answer, self.chart, self.hint, self.work = Answer(), Chart(), Note(), Work(self.guarded)
        self.table = Table("Translations that depend least on their source first: select one", "one", "30em")
        self.selection = Selection(PAGE, (), (self.table,))
        self.trusted, self.signs, self.numbers = Answer(), Chart(), Table("In numbers", height="14em")
        self.chart.on_click(lambda point: self.table.choose([_key(point["meta"], point["customdata"][0])]))
        state = {"runs": self.runs.table, "text": self.text, "line": self.table, "selected": self.selection}
        sections = [
            Section(("runs",), (), self._offer),
            Section(
                ("runs", "text"),
                (self.work, self.answer, self.chart, self.table, self.hint, self.trusted, self.signs, self.numbers),
                self._show,
            ),
            Section(("runs", "text", "line"), (self.selection,), self._offer_tokens),
        ]
        body = [
            self.answer, self.work, self.chart, self.selection, self.hint,
            Fold("list", "Which translations depend least on their source?", self.table, opened=True),
            Fold("signs", "Which sign finds the bad translations?", self.trusted, self.signs, self.numbers),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.text], self.runs.refresh)

    @property
    def _shown(self) -> list[Run]:
        """The runs that translate in the direction of the chosen text, opened in it."""
        text = self.text.text
        return of_one_pair(self.runs.chosen, text.corpus.direction) if text else []

    def _offer(self) -> None:
        self.text.fill(of_one_pair(self.runs.chosen))

    def _show(self) -> None:
        """Show what is stored, and compute the rest in the background."""
        runs = self._shown
        if not runs:
            self.answer.say(_NO_TEXT if self.runs.chosen else "Select a run with weights.")
            return
        self.hint.say(f"{left_out(self.runs.chosen, runs)} {_SAMPLE} sentences of the text, at most. {_READ}".strip())
        self.answer.say(f"Being computed: {_SAMPLE} sentences; each of their words is erased in turn.")
        self._draw()
        missing = [run for run in runs if SOURCE_SHARE.stored(run, **self._asked) is None]
        if missing:
            self.work.start("erasing words", len(missing) * _SAMPLE, self._compute(missing))

    def _compute(self, runs: list[Run]) -> Iterator[int]:
        for run in runs:
            yield from SOURCE_SHARE.steps(run, **self._asked)
            self._draw()

    @property
    def _asked(self) -> dict[str, object]:
        return {**self.text.arguments, "sample": _SAMPLE}

    def _draw(self) -> None:
        stored = {run.label: SOURCE_SHARE.stored(run, **self._asked) for run in self._shown}
        known = [found.assign(run=label) for label, found in stored.items() if found is not None and len(found)]
        if known:
            found = pd.concat(known, ignore_index=True)
            table = most_detached(found).round(2)
            self._listed = table.set_index(pd.Index(map(_key, table["run"], table["line"])))
            subtitle = described_runs(self._shown, str(self.text.value))
            self.answer.say(SOURCE_SHARE.finding(found))
            self.chart.show(with_subtitle(source_share_figure(found), subtitle))
            shown = self._listed["translation"].map(legible)
            self.table.show(self._listed.assign(translation=shown)[list(_NAMES)].rename(columns=_NAMES))
            trusted = signs_view(found)
            self.trusted.say(trusted.finding)
            self.signs.show(with_subtitle(trusted.figure, subtitle))
            self.numbers.show(trusted.frame.round(2))

    def _offer_tokens(self) -> None:
        text = self.text.text
        if self.table.value is None or text is None:
            return
        row = self._listed.loc[self.table.value]
        run = next(run for run in self._shown if run.label == row["run"])
        where = Sentence(row["source"], str(self.text.value), int(row["line"]), text, text.corpus.direction)
        lines = [
            Line("source", "source", run.pipeline.source_pieces(row["source"])),
            Line(row["run"], "target", run.pipeline.target.tokenizer.split(row["translation"])),
        ]
        self.selection.offer(self._shown, where, lines)


def detached_page(workspace: Workspace | None = None) -> DetachedPage:
    """Return the page."""
    return DetachedPage(workspace or Workspace.find())


def _key(run: str, line: int) -> str:
    return f"{run}: {line}"
