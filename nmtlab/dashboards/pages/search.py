"""Search: beam search trees, exact search and length planning (thesis 4.1)."""

from collections.abc import Iterator
from itertools import islice

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.needs import NEURAL, Need
from nmtlab.analysis.search.beams import OUTCOME, SWEEPS, described, sweep_figure, text_of, way_of
from nmtlab.analysis.search.length_baselines import stored_length_models
from nmtlab.analysis.search.planned_lengths import (
    PLANNED_LENGTHS,
    calibration_figure,
    length_calibration,
    length_plan,
    lengths_figure,
)
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, error_rates
from nmtlab.analysis.search.search_tree import best_so_far, ended_hypotheses, first_empty_rank, ranked
from nmtlab.analysis.search.searched import SEARCHED
from nmtlab.analysis.search.unseen_lengths import REFERENCE_LOSSES
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.selection import Line, Selection
from nmtlab.dashboards.frame.sentences import SentenceChooser
from nmtlab.dashboards.frame.systems import can_decode, left_out, mentioned, system_of
from nmtlab.dashboards.parts.beam_tree import Asked, BeamTree, result
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import button, columns, offer, row, show_if
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.figures.marks import Token
from nmtlab.figures.theme import isolated
from nmtlab.recipe import SearchSettings
from nmtlab.runs.answers import StoredAnswer
from nmtlab.runs.run import Run
from nmtlab.translation import Translator
from nmtlab.workspace import Workspace

_SEARCHES = Need(
    "neither weights nor stored searches",
    "it has neither weights nor stored searches",
    "choose another run",
    lambda run: (
        run.checkpoints.has_weights() or any(one.answers(run) for one in (OUTCOME, SEARCH_ERRORS, PLANNED_LENGTHS))
    ),
)
PAGE = About(
    place=80,
    group="Why",
    title="Search",
    question=(
        "Which hypotheses does a beam keep and drop, what does exact search find, and is the global best "
        "empty? (thesis 4.1, Figure 4.1)"
    ),
    name="search",
    needs=(NEURAL, _SEARCHES),
    tokens={("target", True): "Where does the beam keep or drop it?"},
    illustrates=(SEARCH_ERRORS, SEARCHED, REFERENCE_LOSSES),
)

FIRST = ("multi30k-de-en.small",)
_SCORES = [
    ("log-probability", "log-prob"), ("average", "average"), ("length-normalised", "length-normalised"),
    ("word reward", "word-reward"),
]  # fmt: skip
_NO_WEIGHTS = "No search tree: select a run with weights."
_BUDGET, _PORTION = 20_000, 250  # expansions
_LEAST = 1e-3  # difference of log-probabilities that is no rounding error
_RATES = {
    "sentences": "sentences", "complete": "searched exactly", "errors": "search errors",
    "empty": "empty global best", "beam_empty": "empty from the beam", "length_ratio": "length of the global best",
    "beam_length_ratio": "length of the beam's best", "empty_rank": "smallest beam with the empty translation (median)",
}  # fmt: skip
_PLANNED = {
    "text": "text", "system": "predicted by", "sentences": "sentences", "error": "absolute error (tokens)",
    "bias": "bias (tokens)", "among 1": "right", "among 5": "in top 5", "among 10": "in top 10", "nll": "loss (nats)",
}  # fmt: skip


class SearchPage(Page):
    """The search tree of a sentence step by step, its reranked translations, and stored measurements of whole texts."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, PAGE.needs, FIRST)
        self.sentences = SentenceChooser(workspace, lambda: [run for run in self.runs.chosen if can_decode(run)])
        self.beam = widgets.IntSlider(
            description="Beam", value=8, min=1, max=500, continuous_update=False, layout={"width": "26em"}
        )
        self.step = widgets.IntSlider(description="Step", value=1, min=1, max=1, continuous_update=True)
        self.score = widgets.Dropdown(description="Rank by", options=_SCORES)
        self.alpha = widgets.FloatSlider(description="α", value=0.6, min=0, max=2, step=0.05)
        self.gamma = widgets.FloatSlider(description="γ", value=0.5, min=-1, max=4, step=0.05)
        about = "Find the most probable translation"
        self.exact = button("Exact search", self._start_exact, self.guarded, tooltip=about)
        self.tree, self.planned_tree = (
            BeamTree(f"Beam search tree{more}", self.guarded, self._select)
            for more in ("", ", one beam per planned length")
        )
        self.lengths, self.curves, self.calibration = Chart(), Chart(), Chart()
        self.hint, self.found, self.work = Note(), Note(), Work(self.guarded)
        self.both = Table("Beam search and exact search")
        self.ended = Table("Finished hypotheses of the beam, reranked", height="18em")
        self.ranking = row(self.score, self.alpha, self.gamma)
        self.each = Table("Translations of each run with its own search settings")
        self.rates = Table("Beam search against exact search (lengths relative to the reference)")
        self.planned = Table("Most probable planned length against the reference length")
        self.about_curves = Note()
        self.swept = widgets.Dropdown(description="Curves of", options=[], layout={"width": "26em"})
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
            "alpha": self.alpha, "gamma": self.gamma, "curves": self.swept,
            "selected": self.selection,
        }  # fmt: skip
        searched = {*self.sentences.inputs, "beam"}
        whole = (self.about_curves, self.curves, self.rates, self.planned, self.calibration)
        sections = [
            *self.sentences.sections,
            Section(("runs", "text", "curves"), whole, self._show_measured),
            Section(searched, (self.work, self.found)),
            Section(searched, (self.hint, self.selection, self.both, self.each, self.lengths), self._search),
            Section(searched | {"step"}, (self.tree, self.planned_tree), self._draw),
            Section(("score",), (), self._offer_parameters),
            Section(searched | {"score", "alpha", "gamma"}, (self.ended,), self._rank),
        ]
        body = [
            columns(widgets.VBox([row(self.beam, self.step), row(self.exact, self.work), self.found]), self.both),
            self.hint, self.selection, self.tree, self.planned_tree, self.ranking, self.ended, self.each, self.lengths,
            heading("Over whole texts"), self.about_curves, self.swept, self.curves, self.rates, self.planned,
            self.calibration,
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, [self.runs, self.sentences], self.runs.refresh)

    def _draw(self) -> None:
        for grown in self._grown:
            grown.draw(self.step.value)

    def _offer_parameters(self) -> None:
        show_if(self.score.value == "length-normalised", self.alpha)
        show_if(self.score.value == "word-reward", self.gamma)

    def _rank(self) -> None:
        if self._grown:
            ranking = SearchSettings(score=self.score.value, alpha=self.alpha.value, gamma=self.gamma.value)
            self.ended.show(_ranked(self._grown[0].tree, ranking))

    def _search(self) -> None:
        """Search with the first ordinary run and the first that plans lengths, and translate with all."""
        self._exact = None
        self.tree.clear()
        self.planned_tree.clear()
        self._offer_controls()
        source, runs, chosen = self.sentences.source, self.sentences.runs, self.sentences.chosen
        if not source:
            self.hint.say("Type a sentence to see its search tree." if chosen else _NO_WEIGHTS)
            return
        planning = [run for run in runs if system_of(run).model.plans_length][:1]
        ending = [run for run in runs if not system_of(run).model.plans_length][:1]
        findings = [self._search_ending(run) for run in ending] + [self._search_planning(run) for run in planning]
        self._offer_controls()
        self.step.max = max((int(grown.tree["step"].max()) for grown in self._grown), default=1)
        self.step.value = self.step.max
        self.each.show(_translations(runs, source))
        self.selection.offer(chosen, self.sentences.where, self._lines(runs[0]))
        pair = f"{self.sentences.shown_source}  →  {isolated(self.sentences.reference or '(no reference)')}"
        self.hint.say(f"{left_out(chosen, runs)} {pair}  —  {'; '.join(findings)}.".strip())

    def _select(self, token: Token | None) -> None:
        self.selection.select(token)

    def _lines(self, run: Run) -> list[Line]:
        """Return the sentence, the best translation of the first tree and the reference as tokens."""
        pipeline, reference = system_of(run).pipeline, self.sentences.reference
        lines = [Line("source", "source", pipeline.source_pieces(self.sentences.source))]
        for grown in self._grown[:1]:
            best = grown.tree[grown.tree["best"] & (grown.tree["piece"] != "")]
            lines.append(Line("beam search", "target", best["piece"].tolist()))
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
        self.tree.search(self._asked(system))
        self._show_both()
        return f"{run.label}: {_fate_of_empty(self.tree.tree, first_empty_rank(system, self.sentences.source))}"

    def _search_planning(self, run: Run) -> str:
        system, reference = system_of(run), self.sentences.reference
        self.planned_tree.search(self._asked(system))
        plan = length_plan(system, self.sentences.source)
        tokens = len(system.pipeline.target_ids(reference)) - 1 if reference else None
        self.lengths.show(lengths_figure(plan, tokens))
        empty = plan.loc[plan["length"] == 0, "probability"].iloc[0]
        return f"{run.label} plans the empty translation with probability {empty:.2g}"

    def _asked(self, system: Translator) -> Asked:
        kept = {name: getattr(system.settings, name) for name in ("length_candidates", "length_weight")}
        search = SearchSettings(score="log-prob", beam_size=self.beam.value, **kept)
        return Asked(system, self.sentences.source, self.sentences.reference, search)

    def _start_exact(self) -> None:
        """Search within the budget, continuing the last search of the sentence."""
        if self.tree.asked is None:
            return
        system, source, _, search = self.tree.asked
        self._exact = self._exact or best_so_far(system, source, search, _PORTION)
        steps = _BUDGET // _PORTION
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
            self.found.say(_verdict(rows[0]["log p"], exact))
        if self.tree.reference is not None:
            rows.append(result("reference, scored", self.tree.reference.iloc[-1]))
        self.both.show(pd.DataFrame(rows))

    def _show_measured(self) -> None:
        """Show stored measurements of the chosen runs over whole texts, and how to get those that are missing."""
        runs = [self.sentences.directed(run) for run in self.runs.chosen]
        missing = self._show_sweeps(runs), self._show_rates(runs), self._show_plans(runs)
        self.about_curves.say(" ".join(filter(None, missing)))

    def _show_sweeps(self, runs: list[Run]) -> str:
        """Show the curves of one text: those of different texts are not comparable."""
        sweeps = SWEEPS.among(runs)
        names = tuple(dict.fromkeys(sweeps.get("text", ())))
        offer(self.swept, names)
        show_if(len(names) > 1, self.swept)
        if not names:
            return "No beam sweep of these runs yet: run 'nmtlab beam-sweep RUN'."
        shown = sweeps[sweeps["text"] == self.swept.value]
        self.curves.show(sweep_figure(shown))
        without = mentioned(run for run in runs if run.label not in set(shown["run"]))
        return f"No beam sweep of {self.swept.value} for {without}." if without else ""

    def _show_rates(self, runs: list[Run]) -> str:
        rates = [_rates(run, answer) for run in runs for answer in SEARCH_ERRORS.answers(run)]
        if rates:
            self.rates.show(pd.DataFrame(rates))
            return ""
        ending = not all(run.recipe.model.plans_length for run in runs)
        return "No exact search of a text yet: run 'nmtlab search-errors RUN'." if ending else ""

    def _show_plans(self, runs: list[Run]) -> str:
        plans = [(run, answer) for run in runs for answer in PLANNED_LENGTHS.answers(run)]
        if plans:
            self.planned.show(pd.concat([_plan_errors(run) for run in {run.name: run for run, _ in plans}.values()]))
            self.calibration.show(calibration_figure(pd.concat(_calibrated(run, answer) for run, answer in plans)))
            return ""
        planning = any(run.recipe.model.plans_length for run in runs)
        return "No planned lengths of a text yet: run 'nmtlab length-errors RUN'." if planning else ""


def search_page(workspace: Workspace | None = None) -> SearchPage:
    """Return the page."""
    return SearchPage(workspace or Workspace.find())


def _plan_errors(run: Run) -> pd.DataFrame:
    found = stored_length_models(run).round(3).assign(run=run.label)
    return found.rename(columns=_PLANNED).reindex(columns=["run", *_PLANNED.values()])


def _calibrated(run: Run, answer: StoredAnswer) -> pd.DataFrame:
    return length_calibration(answer.frame()).assign(row=text_of(answer), column=run.label)


def _verdict(beam: float, exact: pd.Series) -> str:
    """Say whether a beam found the most probable translation.

    Args:
        beam: log-probability of its best.
        exact: row of `best_so_far`.
    """
    missed = exact["log_prob"] - beam
    best = f"has a log p {missed:.3f} higher than the beam's" if missed > _LEAST else "is the beam's"
    done = f"after {exact['expansions']:,} expansions"
    if not exact["complete"]:
        return f"Not proved {done}; press again to continue. The best so far {best}."
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


def _ranked(tree: pd.DataFrame, search: SearchSettings) -> pd.DataFrame:
    found = ranked(ended_hypotheses(tree), search)
    found["text"] = found["text"].where(found["text"] != "", "(empty)")
    names = {
        "scored_length": "tokens, end included",
        "step": "finished at",
        "dropped_at": "dropped after",
        "log_prob": "log p",
    }
    shown = found[["score", "log_prob", "scored_length", "step", "dropped_at", "text"]]
    return shown.round({"score": 3, "log_prob": 3}).rename(columns=names)


def _translations(runs: list[Run], source: str) -> pd.DataFrame:
    rows = []
    for run in runs:
        system = system_of(run)
        (translation,) = system.translate([source])
        best, search = translation.hypotheses[0], system.settings
        rows.append(
            {
                "run": run.label, "beam": search.beam_size, "by": described(run, search),
                "log p": round(best.log_prob, 3), "tokens": len(best.tokens),
                "translation": translation.text or "(empty)",
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _rates(run: Run, answer: StoredAnswer) -> dict[str, object]:
    rates = error_rates(answer.frame()).round(3)
    beam = answer.question.arguments["search"]["beam_size"]
    searched = {"run": run.label, "text": text_of(answer), "beam": beam, "by": way_of(run, answer)}
    return {**searched, **{shown: rates[name] for name, shown in _RATES.items()}}
