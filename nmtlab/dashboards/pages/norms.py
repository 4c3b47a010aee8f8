"""Norms and frequency (thesis Figure 3.2), and their effect on lexical choice (3.2.1, 3.2.3)."""

from collections.abc import Iterator
from typing import Any

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, NORMS
from nmtlab.analysis.access.opened import output_type_of
from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.attention.weights import pieces_of
from nmtlab.analysis.lexical.choices import choices_in_batches, deciding_terms
from nmtlab.analysis.lexical.embedding_norms import NORMS_BY_FREQUENCY
from nmtlab.analysis.lexical.logits import decompose, logit_figure, with_radius
from nmtlab.analysis.lexical.rare_words import confusions, name_accuracy, name_translations
from nmtlab.analysis.states.neighbours import neighbours
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Note, Page, heading
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import can_decode, mentioned, of_one_pair, system_of
from nmtlab.dashboards.parts.projection import VectorProjection
from nmtlab.dashboards.parts.state_neighbours import StateNeighbours
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.columns import columns, row
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import NmtlabError
from nmtlab.figures.marks import Token, shows_word
from nmtlab.figures.theme import isolated
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=3,
    title="Norms and frequency",
    question=(
        "Does the norm of a word's vector follow its frequency, and does it make frequent words win where a "
        "rare one is right? (thesis Figure 3.2 and 3.2.1)"
    ),
    name="norms",
    needs=(NEURAL, NORMS),
    tokens={
        ("target", True): "Which terms of its logit made it win or lose?",
        ("target", False): "How long is its vector for its frequency?",
        ("source", True): "Where was the encoder in nearly the same state?",
    },
    illustrates=(NORMS_BY_FREQUENCY, "norm-frequency", "rare-recall"),
)

FIRST = ("small-qaa-en.tied.s1", "small-qaa-en.fixnorm.s1", "small-tr-en.tied.s1")
_NO_WEIGHTS = "None of these runs has weights here: select a run with weights to see its logits."
_CANDIDATES = 12
_BATCH_TOKENS = 256  # padded
_TERMS = {
    "word_norm": "‖W‖",
    "word_cos": "cos",
    "shared_norm": "‖W‖ of shared units",
    "shared_cos": "cos of shared units",
    "private_norm": "‖W‖ of private units",
    "private_cos": "cos of private units",
    "bias": "b",
    "lexicon_norm": "‖Wˡ‖",
    "lexicon_cos": "cosˡ",
    "lexicon_bias": "bˡ",
}

_NO_COUNTS = "the counts of its types are unknown; import it again with 'nmtlab runs import ... --corpus CORPUS'."


class NormsPage(Page):
    """Norms of word vectors, nearest neighbours of a word, and the logits of each position, also at another norm r."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, needs=PAGE.needs, first=FIRST)
        self.norms, self.correlations = Chart(), Table("Rank correlation with frequency")
        self.uncounted = Note()
        self.projection = VectorProjection(self.guarded)
        self.word = widgets.Text(description="Word", continuous_update=False, placeholder="or click a point")
        self.neighbours = Table("Nearest words", pick="one")
        self.system = widgets.Dropdown(description="System", options=[], layout={"width": "26em"})
        self.sentences = SentenceChooser(workspace)
        self.position = widgets.Dropdown(description="Word", options=[], layout={"width": "26em"})
        self.fixed = widgets.Checkbox(description="all vectors at norm r", indent=False)
        self.radius = widgets.FloatSlider(description="r", value=5, min=0.5, max=12, step=0.1)
        self.find = widgets.Button(description="Find mispredicted rare words", layout={"width": "18em"})
        self.find_names = widgets.Button(description="Find confused names", layout={"width": "18em"})
        self.names = Table("Proper names in the references, by training frequency: shares of outcomes")
        self.confused = Table("Names translated as another name of their class")
        self.wrong = Table("Mispredicted rare words, and the deciding term: select one", pick="one", height="15em")
        self.work = Work(self.guarded)
        self.logits, self.hint = Chart(), Note()
        self.terms = Table("Terms of each candidate's logit", pick="one")
        self.near = StateNeighbours(workspace, self.guarded)
        self._target, self._pieces, self._decomposed = "", list[str](), pd.DataFrame()
        charts = (self.norms, self.projection.chart, self.logits)
        for chart in charts:
            chart.on_click(self._clicked)
        tables = (
            self.neighbours, self.terms, self.sentences.table, self.wrong, self.names, self.confused, self.near.found,
        )  # fmt: skip
        self.selection = Selection(PAGE, charts, tables)
        for table in (self.neighbours, self.terms):
            self.selection.follow_rows(table)
        self.find.on_click(lambda _: self._find())
        self.find_names.on_click(lambda _: self._find_names())
        self.wrong.observe(lambda _: self._go_to(), "value")
        state = {
            "runs": self.runs.table, "vectors": self.projection.vectors, "projection": self.projection.method,
            "word": self.word, "system": self.system,
            **self.sentences.state, "position": self.position, "fixed": self.fixed, "r": self.radius,
            "selected": self.selection,
        }  # fmt: skip
        sentence = {"runs", "system", "text", "line", "sentence"}
        parts = {
            **dict.fromkeys((self.uncounted, self.norms, self.correlations), ("runs",)),
            self.projection: ("runs", "vectors", "projection"),
            **dict.fromkeys((self.near, self.selection), sentence),
            **dict.fromkeys((self.work, self.wrong, self.names, self.confused), ("runs", "system", "text")),
            **dict.fromkeys((self.logits, self.terms, self.hint), state.keys() - {"selected"}),
            self.neighbours: ("runs", "word", "system"),
        }
        body = [
            self.runs, self.uncounted, self.norms,
            columns(self.correlations, widgets.VBox([self.word, self.neighbours])),
            self.projection,
            heading("Why this word? The logits at any position, decomposed"),
            columns(
                self.sentences, widgets.VBox([self.system, self.position, row(self.fixed, self.radius), self.hint])
            ),
            self.selection, self.logits, self.terms, self.near,
            heading("For which mispredicted rare words did the norm decide?"),
            row(self.find, self.find_names, self.work), self.wrong, columns(self.names, self.confused),
        ]  # fmt: skip
        super().__init__(PAGE, state, self._answer, body, self.runs.refresh, parts)

    def _answer(self, changed: set[str]) -> None:
        runs = self.runs.chosen
        decodable = [run for run in runs if can_decode(run)]
        if "runs" in changed:
            self._offer_systems(decodable)
        chosen = self._chosen_system()
        fitting = of_one_pair([chosen, *decodable])[1:] if chosen else []
        implied = {"runs"} if "system" in changed else set()
        self.sentences.follow(changed | implied, fitting)
        chosen = self._chosen_in_direction()
        if "runs" in changed and runs:
            self._show_norms(runs)
        if changed & {"runs", "vectors", "projection"} or ("text" in changed and self.projection.of_states):
            shown = fitting if self.projection.of_states else decodable
            self.projection.draw([run for run in shown if run.pipeline.counts_known], self.sentences.chosen_text)
        if changed & {"runs", "system", "text", "line", "sentence"}:
            self._offer_positions(chosen)
            if chosen and self.sentences.source and self._target:
                self._offer_tokens(chosen)
        self._follow(changed, chosen)
        if chosen is None:
            self.hint.say(_NO_WEIGHTS if runs else self.runs.none_chosen("No runs yet: train one on the page Train."))
            return
        if changed & {"runs", "system", "text", "line", "sentence", "position"}:
            self._decompose(chosen)
        self._show_logits()
        if changed & {"runs", "word", "system"}:
            self._show_neighbours(chosen)  # last, since it fails for unknown words

    def _offer_systems(self, runs: list[Run]) -> None:
        before, names = self.system.value, [run.name for run in runs]
        self.system.options = [(run.label, run.name) for run in runs]
        self.system.value = before if before in names else next(iter(names), None)

    def _chosen_system(self) -> Run | None:
        return next((run for run in self.runs.chosen if run.name == self.system.value), None)

    def _chosen_in_direction(self) -> Run | None:
        run = self._chosen_system()
        return run and self.sentences.directed(run)

    def _show_norms(self, runs: list[Run]) -> None:
        uncounted = [run for run in runs if not run.pipeline.counts_known]
        if uncounted:
            self.uncounted.say(
                f"{mentioned(uncounted)}: neither norms by frequency nor word vectors in the plane, since {_NO_COUNTS}"
            )
        counted = [run for run in runs if run.pipeline.counts_known]
        if not counted:
            return
        view = NORMS_BY_FREQUENCY.view(counted, also=self.word.value.strip())
        self.norms.show(view.figure)
        self.correlations.show(view.frame.round(3))

    def _clicked(self, point: dict[str, Any]) -> None:
        """Look at the system of a word that is clicked."""
        self.system.value = dict(self.system.options).get(point["meta"], self.system.value)

    def _offer_tokens(self, run: Run) -> None:
        """Offer the tokens of the sentence and its translation."""
        pair = pieces_of(system_of(run), self.sentences.source, self._target)
        lines = [Line("source", "source", pair.source_pieces), Line("target", "target", pair.target_pieces)]
        self.near.offer(run, self.sentences.source, self._target)
        self.selection.offer(self.runs.chosen, self.sentences.where, lines)

    def _follow(self, changed: set[str], run: Run | None) -> None:
        """Select the token or word that was chosen by hand, or choose those that were selected."""
        if changed == {"position"} and self.position.value:
            self.selection.select(Token("target", self.position.value, self._pieces[self.position.value - 1]))
        if changed == {"word"} and run and _is_word(run, self.word.value.strip()):
            self.selection.select(Token("target", None, self.word.value.strip()))
        token = self.selection.token
        if "selected" not in changed or token is None or run is None:
            return
        self.near.follow(token)
        place = self.selection.place("target", self._pieces)
        if place is not None:
            self.position.value = place + 1
        if token.side == "target" and _is_word(run, token.word):
            self.word.value = token.word
            self._draw_also(token.word)

    def _draw_also(self, word: str) -> None:
        """Draw a word, too, where only every n-th one is drawn."""
        self.projection.draw_also(word)
        if not shows_word(self.norms.figure, word):
            self._show_norms(self.runs.chosen)

    def _show_neighbours(self, run: Run) -> None:
        word = self.word.value.strip()
        found = f"Nearest words to {word} in {run.label}"
        self.neighbours.title = found if word else "Nearest words: type or click one"
        self.neighbours.show(neighbours(system_of(run), word).round(3) if word else pd.DataFrame())

    def _offer_positions(self, run: Run | None) -> None:
        source = self.sentences.source
        if run is None or not source:
            self.position.options, self._pieces = [], []
            return
        self._target = self.sentences.reference or system_of(run).translate([source])[0].text
        pipeline = system_of(run).pipeline
        self._pieces = [*pipeline.target.tokenizer.split(self._target), "</s>"]
        before, numbered = self.position.value, enumerate(self._pieces, start=1)
        self.position.options = [(f"{position}  {piece}", position) for position, piece in numbered]
        self.position.value = before if before is not None and before <= len(self._pieces) else 1

    def _text(self) -> tuple[Text, Run]:
        """Return the selected text and system."""
        text, run = self.sentences.chosen_text, self._chosen_in_direction()
        if text is None or run is None:
            raise NmtlabError(
                "no text of these runs is available", "select a run with its corpus here or with packed sentences"
            )
        return text, run

    def _find_names(self) -> None:
        self.tell("")
        with self.guarded():
            text, run = self._text()
            if stored_translations(run, text.corpus, text.split) is None:
                raise NmtlabError(
                    f"run {run.name!r}: its translations of {text.name} are not stored",
                    f"make them with 'nmtlab evaluate {run.name} --corpus {text.corpus.name} --split {text.split}'",
                )
            outcomes = name_translations(run, text.corpus, text.split)
            self.names.title = f"{run.label}: proper names of the references by training frequency, shares of outcomes"
            self.names.show(name_accuracy(outcomes).round(3))
            self.confused.show(confusions(outcomes).drop(columns="more_frequent"))

    def _find(self) -> None:
        with self.guarded():
            text, run = self._text()
            self.work.start("scoring rare words", text.corpus.count(text.split), self._found(run, text))

    def _found(self, run: Run, text: Text) -> Iterator[None]:
        tables = []
        for batch, choices in choices_in_batches(system_of(run), text.corpus, text.split, batch_tokens=_BATCH_TOKENS):
            tables.append(choices)
            yield from [None] * len(batch)
        choices = pd.concat(tables).sort_values(["line", "position"], ignore_index=True)
        shares = ", ".join(
            f"{_TERMS.get(line.effect, line.effect)} in {line.share:.0%}"
            for line in deciding_terms(choices).itertuples()
        )
        self.wrong.title = f"{run.label}: mispredicted rare words; largest effect: {shares}"
        self.wrong.show(_wrong(choices))

    def _go_to(self) -> None:
        """Show the sentence and position of the selected word."""
        run = self._chosen_in_direction()
        if self.wrong.value is None or run is None:
            return
        choice = self.wrong.frame.loc[self.wrong.value]
        with self.guarded(), self._together():
            self.sentences.typed.value = ""
            self.sentences.table.choose([choice["line"]])
            self._offer_positions(run)
            self.position.value = int(choice["position"])
        self.selection.select(Token("target", int(choice["position"]), choice["right word"]))

    def _decompose(self, run: Run) -> None:
        if self.position.value is None:
            self._decomposed = pd.DataFrame()
            return
        self._decomposed = decompose(
            system_of(run), self.sentences.source, self._target, self.position.value - 1, top=_CANDIDATES
        )

    def _show_logits(self) -> None:
        frame = self._decomposed
        if frame.empty:
            self.hint.say("Type a sentence.")
            return
        shown = with_radius(frame, self.radius.value) if self.fixed.value else frame
        self.logits.show(logit_figure(shown))
        self.terms.show(shown.drop(columns="id").round(4))
        best, wanted = shown.iloc[0]["word"], shown[shown["wanted"]].iloc[0]
        word = "Reference word" if self.sentences.reference else "Word of the system's translation"
        norm = f" of these with all vectors at norm {self.radius.value:g}" if self.fixed.value else ""
        rank = f"rank {wanted['rank']}{norm}" + ("" if wanted["rank"] == 1 else f"; rank 1: “{isolated(best)}”")
        pair = f"{self.sentences.shown_source}  →  {isolated(self._target)}"
        self.hint.say(f"{pair}  —  {word}: “{isolated(wanted['word'])}”, {rank}.")


def _wrong(choices: pd.DataFrame) -> pd.DataFrame:
    wrong = choices[~choices["right"]].reset_index(drop=True)
    return pd.DataFrame(
        {
            "line": wrong["line"],
            "position": wrong["position"] + 1,
            "right word": wrong["gold"],
            "times": wrong["gold_count"],
            "preferred": wrong["preferred"],
            "its times": wrong["preferred_count"],
            "margin": wrong["margin"].round(2),
            "largest part": wrong["largest"].map(lambda term: _TERMS.get(term, term)),
            "alone": wrong["alone"],
        }
    )


def _is_word(run: Run, word: str) -> bool:
    """Return whether a system can produce a word of its vocabulary."""
    try:
        output_type_of(system_of(run), word)
    except NmtlabError:
        return False
    return True


def norms_page(workspace: Workspace | None = None) -> NormsPage:
    """Return the page."""
    return NormsPage(workspace or Workspace.find())
