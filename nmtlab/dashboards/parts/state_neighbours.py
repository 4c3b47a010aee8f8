"""The training sentences in which a system was in nearly the same state as at a position of the current sentence."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import ipywidgets as widgets

from nmtlab.analysis.access.texts import corpus_of
from nmtlab.analysis.states.neighbours import SAMPLE, nearest_states
from nmtlab.analysis.states.token_states import TokenStates, joined, states_in_batches, token_states
from nmtlab.dashboards.frame.page import heading
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.widgets.columns import row
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.marks import Token
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import Sample, draw_sample
from nmtlab.workspace import Workspace

_TITLE = "Nearest states in the training text"


class StateNeighbours(widgets.VBox):
    """The choice of a token of the current sentence, and the nearest states in a sample of the training text.

    The states of the last sample are kept, so that another token of any sentence is answered at once.

    Args:
        workspace: where the corpora are.
        guarded: context manager of the page that reports errors.
    """

    def __init__(self, workspace: Workspace, guarded: Callable[[], AbstractContextManager[None]]) -> None:
        self._workspace, self._guarded = workspace, guarded
        self._run: Run | None = None
        self._known: tuple[object, Sample, TokenStates] | None = None
        self.fresh = False
        self.where = widgets.Dropdown(
            description="States of", options=[("the decoder", "decoder"), ("the encoder", "encoder")]
        )
        self.position = widgets.Dropdown(description="Token", options=[])
        self.sample = widgets.IntSlider(
            description="Sentences", value=SAMPLE, min=100, max=5000, step=100, continuous_update=False
        )
        self.button = widgets.Button(description="Find nearest states")
        self.work, self.found = Work(guarded), Table(_TITLE, height="20em")
        self.where.observe(lambda _: self._offer_tokens(), "value")
        self.button.on_click(lambda _: self._find())
        controls = row(self.where, self.position, self.sample, self.button, self.work)
        title = heading("Where was the system in nearly the same state in training?")
        super().__init__([title, controls, self.found])
        self.clear()

    def offer(self, run: Run, source: str, target: str) -> None:
        """Offer the tokens of a sentence and its translation."""
        self._run, self._pair = run, (source, target)
        self.layout.display, self.fresh = "", True
        self.work.stop()
        self._offer_tokens()

    def follow(self, token: Token | None) -> None:
        """Ask for a selected token of the sentence, the encoder's state of one in the source."""
        if token is None or token.position is None or self._run is None:
            return
        self.where.value = "encoder" if token.side == "source" else "decoder"
        pieces = [label.partition("  ")[2] for label, _ in self.position.options]
        self.position.value = next(iter(token.places(token.side, pieces)), self.position.value)

    def clear(self) -> None:
        """Offer nothing."""
        self._run = None
        self.work.stop()
        self.found.clear()
        self.layout.display = "none"

    def _offer_tokens(self) -> None:
        self.found.clear()
        if self._run is None:
            return
        tokens = token_states(system_of(self._run), [self._pair], self.where.value).tokens
        places = zip(tokens["piece"], tokens["position"], strict=True)
        before = self.position.value
        self.position.options = [(f"{place + 1}  {piece}", place) for piece, place in places]
        self.position.value = before if before is not None and before < len(tokens) else 0

    def _find(self) -> None:
        with self._guarded():
            if self._run is None:
                return
            corpus = corpus_of(self._run, self._workspace)
            work = self._found(self._run, corpus, self._pair, self.position.value)
            self.work.start("decoding training sentences", self.sample.value, work)

    def _found(self, run: Run, corpus: ParallelCorpus, pair: tuple[str, str], position: int) -> Iterator[None]:
        system, where = system_of(run), self.where.value
        key = (system, where, corpus.folder, self.sample.value)
        if self._known is None or self._known[0] != key:
            drawn, parts = draw_sample(corpus, "train", self.sample.value), []
            for sentences, states in states_in_batches(system, drawn.pairs, where):
                parts.append(states)
                yield from [None] * sentences
            self._known = key, drawn, joined(parts)
        _, drawn, states = self._known
        asked = token_states(system, [pair], where)
        nearest = nearest_states(states, drawn.pairs, asked, position, left_out=pair)
        other = "target" if where == "encoder" else "source"
        lines = [drawn.lines[place] for place in nearest["sentence"]]
        shown = nearest.assign(line=lines, position=nearest["position"] + 1).round({"cos": 3})
        self.found.title = f"{_TITLE}: {where} of {run.label} at {self.position.label}, {len(drawn.lines):,} sentences"
        self.found.show(shown[["cos", "piece", "line", "position", "context", other]])
