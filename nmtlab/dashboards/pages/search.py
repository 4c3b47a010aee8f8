"""Search: the beam search tree of a sentence beside exact search, and length planning (thesis 4.1)."""

from collections.abc import Iterator
from itertools import islice

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.texts import Text
from nmtlab.analysis.search.beams import described
from nmtlab.analysis.search.planned_lengths import length_plan, lengths_figure, lengths_finding
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, empty_bests
from nmtlab.analysis.search.search_tree import (
    best_so_far,
    empty_above_beam,
    ended_hypotheses,
    exact_finding,
    first_empty_rank,
    ranked,
    tree_finding,
)
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import described_runs, left_out, system_of
from nmtlab.dashboards.parts.beam_tree import TOKENS, Asked, BeamTree, result
from nmtlab.dashboards.parts.finder import Finder
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, row, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.marks import Token
from nmtlab.figures.theme import isolated, with_subtitle
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

PAGE = About(
    place=80,
    group="Why",
    title="Search",
    question=(
        "Which hypotheses does a beam keep and drop, what does exact search find, and is the global best "
        "empty? (thesis 4.1, Figure 4.1)"
    ),
    name="search",
    needs=DECODING,
    tokens={("target", True): "Where does the beam keep or drop it?"},
)

FIRST = ("multi30k-de-en.small",)
_SCORES = [
    ("log-probability", "log-prob"), ("average", "average"), ("length-normalised", "length-normalised"),
    ("word reward", "word-reward"), ("bounded reward", "bounded-reward"),
]  # fmt: skip
_NO_WEIGHTS = "No run here can be searched: choose one with weights."
_BUDGET, _PORTION = 20_000, 100  # expansions at the press of the button, and in a step
_CHEAP = 2_000  # expansions without being asked
_LEAST = 1e-3  # difference of log-probabilities that is no rounding error
_MANY = 200  # sentences that are searched for empty translations


class SearchPage(Page):
    """The search tree of a sentence step by step, its reranked translations, and what exact search finds."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, PAGE.needs, FIRST)
        self.sentences = SentenceChooser(workspace, lambda: self.runs.chosen)
        self.beam, self.step = (
            widgets.IntSlider(
                description=name, value=first, min=1, max=most, continuous_update=live, layout={"width": "100%"}
            )
            for name, first, most, live in (("Beam", 8, 500, False), ("Step", 1, 1, True))
        )
        self.score = widgets.Dropdown(description="Rank by", options=_SCORES)
        self.alpha = widgets.FloatSlider(description="α", value=0.6, min=0, max=2, step=0.05)
        self.gamma = widgets.FloatSlider(description="γ", value=0.5, min=-1, max=4, step=0.05)
        about = "Find the most probable translation"
        self.exact = button("Exact search", lambda: self._search_on(_BUDGET), self.guarded, tooltip=about)
        self.tree, self.planned_tree = (
            BeamTree(f"Beam search tree{more}", self.guarded, self._select)
            for more in ("", ", one beam per planned length")
        )
        self.answer, self.planned, self.lengths = Answer(), Answer(), Chart()
        self.hint, self.found, self.work = Note(), Note(), Work(self.guarded)
        self.both = Table("Beam search and exact search")
        self.ended = Table("Finished hypotheses of the beam, reranked", height="18em")
        self.ranking = row(self.score, self.alpha, self.gamma)
        self.each = Table("Translations of each run with its own search settings")
        self.finder = Finder("Sentences whose most probable translation is the empty one", self.sentences)
        self._exact: Iterator[pd.DataFrame] | None = None
        others = (
            self.tree.chart, self.planned_tree.chart, self.sentences.table, self.both, self.ended, self.each,
            *(table for tree in (self.tree, self.planned_tree) for table in (tree.prefix, tree.continued)),
        )  # fmt: skip
        self.selection = Selection(PAGE, (), others)
        for tree in (self.tree, self.planned_tree):
            self.selection.follow_rows(tree.prefix, "token", "step")
        state = {
            "runs": self.runs.table, **self.sentences.state, "beam": self.beam, "step": self.step, "score": self.score,
            "alpha": self.alpha, "gamma": self.gamma, "selected": self.selection,
        }  # fmt: skip
        searched = {*self.sentences.inputs, "beam"}
        shown = (self.answer, self.hint, self.selection, self.both, self.work, self.found)
        sections = [
            *self.sentences.sections,
            Section(searched, shown, self._search),
            Section(searched | {"step"}, (self.tree, self.planned_tree), self._draw),
            Section(("score",), (), self._offer_parameters),
            Section(searched | {"score", "alpha", "gamma"}, (self.ended,), self._rank),
            Section(self.sentences.inputs, (self.each,), self._translate),
            Section(self.sentences.inputs, (self.planned, self.lengths), self._plan),
            Section(("runs", "text"), (self.finder,), self._find),
        ]
        body = [
            self.answer, self.tree, self.planned_tree, self.hint, self.selection,
            Fold("exact", "What does exact search find, and how far is the beam from it?", self.both),
            Fold("empty", "In which sentences is the most probable translation the empty one?", self.finder),
            Fold("scores", "Which translation would other scores choose?", self.ranking, self.ended),
            Fold("runs", "What does each run translate with its own search?", self.each),
            Fold("lengths", "Which length does a run plan?", self.planned, self.lengths),
        ]  # fmt: skip
        rail = [self.runs, self.sentences, self.beam, self.step, self.exact, self.work, self.found]
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    def _draw(self) -> None:
        for grown in self._grown:
            grown.draw(self.step.value)

    def _offer_parameters(self) -> None:
        show_if(self.score.value == "length-normalised", self.alpha)
        show_if(self.score.value in ("word-reward", "bounded-reward"), self.gamma)

    def _rank(self) -> None:
        if self._grown:
            ranking = SearchSettings(score=self.score.value, alpha=self.alpha.value, gamma=self.gamma.value)
            self.ended.show(_ranked(self._grown[0], ranking))

    def _search(self) -> None:
        """Search with the first ordinary run and the first that plans lengths; exactly, too, where that is cheap."""
        self._exact = None
        self.tree.clear()
        self.planned_tree.clear()
        self._offer_controls()
        source, runs, chosen = self.sentences.source, self.sentences.runs, self.sentences.chosen
        if not source:
            self.answer.say("Type a sentence to see its search tree." if chosen else _NO_WEIGHTS)
            return
        ending = [run for run in runs if not _plans(run)][:1]
        fates = [self._search_ending(run) for run in ending] + [self._search_planning(run) for run in self._planning]
        self._offer_controls()
        self.step.max = max((int(grown.tree["step"].max()) for grown in self._grown), default=1)
        self.step.value = self.step.max
        self.selection.offer(chosen, self.sentences.where, self._lines(runs[0]))
        reference = self.sentences.reference
        backwards = [run.label for run in runs if run.recipe.text.reversed_target]
        order = f"Trees grow from the end of the sentence: {', '.join(backwards)}." if backwards else ""
        shown = f"Reference: {isolated(reference)}." if reference else ""
        said = left_out(chosen, runs), shown, order, f"{'; '.join(fates)}."
        self.hint.say(" ".join(filter(None, said)))
        self._search_on(_CHEAP)

    @property
    def _planning(self) -> list[Run]:
        """The first run that plans lengths, if any."""
        return [run for run in self.sentences.runs if _plans(run)][:1]

    def _translate(self) -> None:
        if source := self.sentences.source:
            self.each.show(_translations(self.sentences.runs, source))

    def _select(self, token: Token | None) -> None:
        self.selection.select(token)

    def _lines(self, run: Run) -> list[Line]:
        """Return the sentence, the best translation of the first tree and the reference as tokens."""
        pipeline, reference = system_of(run).pipeline, self.sentences.reference
        lines = [Line("source", "source", pipeline.source_pieces(self.sentences.source))]
        for grown in self._grown[:1]:
            lines.append(Line("beam search", "target", pipeline.target.turned(grown.best_tokens)))
        if reference:
            lines.append(Line("reference", "target", pipeline.target.tokenizer.split(reference)))
        return lines

    @property
    def _grown(self) -> list[BeamTree]:
        """The trees of the current sentence; none has nothing in it."""
        return [tree for tree in (self.tree, self.planned_tree) if len(tree.tree)]

    def _offer_controls(self) -> None:
        """Show the controls of the tree and of exact search, if they apply."""
        show_if(self._grown, self.ranking, self.step)
        show_if(len(self.tree.tree), self.exact)

    def _search_ending(self, run: Run) -> str:
        system = system_of(run)
        self.tree.search(self._asked(run, system))
        self.answer.say(tree_finding(self.tree.tree))
        self._show_both()
        return f"{run.label}: {_fate_of_empty(self.tree.tree, first_empty_rank(system, self.sentences.source))}"

    def _search_planning(self, run: Run) -> str:
        self.planned_tree.search(self._asked(run, system_of(run)))
        plan = length_plan(system_of(run), self.sentences.source)
        if self.tree.asked is None:
            self.answer.say(tree_finding(self.planned_tree.tree) or lengths_finding(plan))
        empty = plan.loc[plan["length"] == 0, "probability"].iloc[0]
        return f"{run.label} plans the empty translation with probability {empty:.2g}"

    def _plan(self) -> None:
        """Show which lengths are planned for the sentence."""
        source, reference = self.sentences.source, self.sentences.reference
        for run in self._planning if source else ():
            system = system_of(run)
            plan = length_plan(system, source)
            tokens = len(system.pipeline.target_ids(reference)) - 1 if reference else None
            self.planned.say(lengths_finding(plan, tokens))
            self.lengths.show(with_subtitle(lengths_figure(plan, tokens), self._about(run)))
        if not self._planning:
            self.planned.say("None of these runs plans the length of its translation.")

    def _about(self, run: Run) -> str:
        return described_runs([run], self.sentences.where.place)

    def _asked(self, run: Run, system: Translator) -> Asked:
        kept = {name: getattr(system.settings, name) for name in ("length_candidates", "length_weight")}
        search = SearchSettings(score="log-prob", beam_size=self.beam.value, **kept)
        return Asked(system, self.sentences.source, self.sentences.reference, search, self._about(run))

    def _search_on(self, expansions: int) -> None:
        """Search exactly with so many more expansions, continuing the last search of the sentence."""
        if self.tree.asked is None:
            return
        system, source, _, search, _ = self.tree.asked
        self._exact = self._exact or best_so_far(system, source, search, _PORTION)
        steps = expansions // _PORTION
        self.work.start("exact search", steps, self._exactly(islice(self._exact, steps)))

    def _exactly(self, search: Iterator[pd.DataFrame]) -> Iterator[None]:
        """Search in portions, and show the best hypothesis so far after each."""
        for found in search:
            self._show_both(found.iloc[0])
            yield

    def _show_both(self, exact: pd.Series | None = None) -> None:
        """Show the beam's translation, the exact search's if it was made, and the reference."""
        rows = [self.tree.best]
        if exact is not None:
            rows.append(result("exact search" if exact["complete"] else "exact search, so far", exact))
            self.answer.say(exact_finding(self.tree.tree, exact))
            self.found.say(_verdict(self.tree.log_prob, exact))
        if self.tree.reference is not None:
            rows.append(result("reference (forced)", self.tree.reference.iloc[-1]))
        self.both.show(pd.DataFrame(rows))

    def _find(self) -> None:
        """Find sentences whose most probable translation is the empty one: as stored, or else with a beam."""
        text, run = self.sentences.chosen_text, next((run for run in self.sentences.runs if not _plans(run)), None)
        if text is None or run is None:
            self.finder.offer((), "No text of this run is here.")
            return
        stored = _stored(run, text)
        if stored is not None:
            title, lines = "whose most probable translation is the empty one", empty_bests(stored)
        else:
            sources = self.sentences.table.frame["source"].tolist()[:_MANY]
            title, lines = (
                "whose empty translation is more probable than the beam's",
                empty_above_beam(system_of(run), sources),
            )
        self.finder.title = f"Sentences {title}, in {run.label}: select one to search it"
        self.finder.offer(lines, "None is: the beam finds a more probable translation of each sentence.")


def search_page(workspace: Workspace | None = None) -> SearchPage:
    """Return the page."""
    return SearchPage(workspace or Workspace.find())


def _plans(run: Run) -> bool:
    return run.recipe.model.plans_length


def _stored(run: Run, text: Text) -> pd.DataFrame | None:
    """Return the stored exact searches of a text, or of a sample of it; None if there are none."""
    samples = [answer.question.arguments["sample"] for answer in SEARCH_ERRORS.answers(run)]
    found = (SEARCH_ERRORS.stored(run, corpus=text.corpus, split=text.split, sample=sample) for sample in samples)
    return next((one for one in found if one is not None), None)


def _verdict(beam: float, exact: pd.Series) -> str:
    """Say whether a beam found the most probable translation.

    Args:
        beam: log-probability of its best.
        exact: row of `best_so_far`.
    """
    missed = exact["log_prob"] - beam
    best = f"has a log p {missed:.2f} higher than the beam's" if missed > _LEAST else "is the beam's"
    done = f"after {exact['expansions']:,} expansions"
    if not exact["complete"]:
        return f"Not proved {done}; press “Exact search” to continue. The best so far {best}."
    return f"Proved {done}: {'search error; ' if missed > _LEAST else ''}the global best {best}."


def _fate_of_empty(tree: pd.DataFrame, rank: int) -> str:
    """Describe which beam sizes admit the empty translation, and what happens to it in a tree."""
    enters = f"the empty translation enters beams of size {rank:,} or more at step 1"
    ended = ended_hypotheses(tree)
    found = ended[ended["scored_length"] == 1]
    if found.empty:
        return f"{enters}, and may be dropped again at step 2"
    dropped = found["dropped_at"].iloc[0]
    return f"{enters}; this beam {'keeps it to the end' if pd.isna(dropped) else f'drops it after step {dropped}'}"


def _ranked(grown: BeamTree, search: SearchSettings) -> pd.DataFrame:
    assert grown.asked is not None, "nothing was searched"
    tokens = len(grown.asked.system.pipeline.source_ids(grown.asked.source))
    found = ranked(ended_hypotheses(grown.tree), search, tokens)
    found["text"] = found["text"].map(legible)
    names = {"scored_length": TOKENS, "step": "finished at", "dropped_at": "dropped after", "log_prob": "log p"}
    shown = found[["score", "log_prob", "scored_length", "step", "dropped_at", "text"]]
    return shown.round({"score": 2, "log_prob": 2}).rename(columns=names)


def _translations(runs: list[Run], source: str) -> pd.DataFrame:
    rows = []
    for run in runs:
        system = system_of(run)
        (translation,) = system.translate([source])
        best, search = translation.hypotheses[0], system.settings
        rows.append(
            {
                "run": run.label, "beam": search.beam_size, "by": described(run, search),
                "log p": round(best.log_prob, 2), TOKENS: len(best.tokens) + best.finished,
                "translation": legible(translation.text),
            }
        )  # fmt: skip
    return pd.DataFrame(rows)
