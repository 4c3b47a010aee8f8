"""Searches of whole texts: wider beams, search errors, empty global bests, calibration, lengths (thesis 4.1)."""

import ipywidgets as widgets
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import NEURAL, Need
from nmtlab.analysis.search.beams import OUTCOME, SWEEPS, sweep_figure, text_of, way_of
from nmtlab.analysis.search.calibration import CALIBRATION
from nmtlab.analysis.search.least_risk import LEAST_RISK, LEAST_RISKS, samples_figure
from nmtlab.analysis.search.length_baselines import length_models_finding, stored_length_models
from nmtlab.analysis.search.length_tokens import LENGTH_TOKENS
from nmtlab.analysis.search.planned_lengths import PLANNED_LENGTHS, calibration_figure, length_calibration
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, error_rates
from nmtlab.analysis.search.searched import SEARCHED
from nmtlab.analysis.search.unseen_lengths import REFERENCE_LOSSES
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import described_runs, mentioned, of_one_pair
from nmtlab.dashboards.frame.views import ViewSection
from nmtlab.dashboards.parts.calibration import Calibration
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import offer, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.figures.theme import with_subtitle
from nmtlab.figures.view import View
from nmtlab.runs.answers import StoredAnswer
from nmtlab.runs.run import Run
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
    place=82,
    group="Why",
    title="Search over whole texts",
    question=(
        "Do wider beams translate better, how often does a beam miss the global best, and how often is that empty? "
        "(thesis 4.1)"
    ),
    name="searches",
    needs=(NEURAL, _SEARCHES),
    illustrates=(SEARCH_ERRORS, SEARCHED, REFERENCE_LOSSES, CALIBRATION, LEAST_RISKS),
)

FIRST = ("multi30k-de-en.small",)
_NONE = "No run here has weights or stored searches: start one on the page Train."
_NOTHING = "No search of a text is stored with these runs yet."
_NO_RISKS = "No choice among samples of a text is stored with these runs: measure it as notebook 17 does."
_NO_LENGTHS = "None of these runs has length tokens: train one with text.length_bins = 10."
_ASKED = 50  # sentences, each translated with every length token
_SHARES = {
    "complete": "searched exactly, %", "errors": "search errors, %", "empty": "empty global best, %",
    "beam_empty": "empty from the beam, %",
}  # fmt: skip
_RATES = {
    "sentences": "sentences", **_SHARES, "length_ratio": "length of the global best",
    "beam_length_ratio": "length of the beam's best", "empty_rank": "median beam at which the empty translation enters",
}  # fmt: skip
_PLANNED = {
    "text": "text", "system": "predicted by", "sentences": "sentences", "error": "absolute error (tokens)",
    "bias": "bias (tokens)", "among 1": "right, %", "among 5": "in top 5, %", "among 10": "in top 10, %",
    "nll": "loss (nats)",
}  # fmt: skip
_PERCENT = ("among 1", "among 5", "among 10")


class SearchesPage(Page):
    """What is stored of the chosen runs' searches of whole texts, and how to get what is missing."""

    def __init__(self, workspace: Workspace) -> None:
        self.runs = RunChooser(workspace, PAGE.needs, FIRST, none=_NONE)
        self.answer, self.missing = Answer(), Note()
        self.swept = widgets.Dropdown(description="Text", options=[], layout={"width": "100%"})
        self.curves, self.calibration, self.predicted = Chart(), Chart(), Answer()
        self.rates = Table("Beam search against exact search (lengths relative to the reference)")
        self.planned = Table("Most probable planned length against the reference length")
        self.probabilities = Calibration(workspace, self.guarded)
        self.risks = ViewSection(
            self._risks, ("runs",), "BLEU, length relative to the reference, and empty translations"
        )
        self.lengths = ViewSection(
            self._lengths, ("runs", "text"), "Ratio of target to source length, by the length token that is asked for"
        )
        sections = [
            Section(("runs",), (), self._offer),
            Section(("runs", "curves"), (self.answer, self.curves, self.missing), self._draw),
            Section(("runs",), (self.rates,), self._show_rates),
            Section(("runs",), (self.predicted, self.planned, self.calibration), self._show_plans),
            Section(("runs", "text"), (self.probabilities,), lambda: self.probabilities.show(self.runs.chosen)),
        ]
        body = [
            self.answer, self.curves, self.missing,
            Fold("errors", "How often does the beam miss the global best, and how long is each?", self.rates),
            Fold("calibration", "Are the probabilities right, and that of the end of a sentence?", self.probabilities),
            Fold("risks", "Does minimum Bayes risk translate better than a beam?", self.risks),
            Fold("lengths", "Are translations as long as a length token asks for?", self.lengths),
            Fold("plans", "How well are lengths planned?", self.predicted, self.planned, self.calibration),
        ]  # fmt: skip
        state = {"runs": self.runs.table, "curves": self.swept, "text": self.probabilities.text}
        super().__init__(PAGE, state, sections, body, [self.runs, self.swept], self.runs.refresh)

    @property
    def _views(self) -> list[Run]:
        """The chosen runs in each of their directions."""
        return [run.directed(*direction) for run in self.runs.chosen for direction in run.directions]

    @property
    def _swept(self) -> list[Run]:
        return [run for run in self._views if OUTCOME.answers(run)]

    def _offer(self) -> None:
        """Offer the texts of beam sweeps, as curves of different texts are not comparable, and those to force."""
        self.probabilities.offer(self.runs.chosen)
        offer(self.swept, tuple(dict.fromkeys(SWEEPS.among(self._swept).get("text", ()))))
        show_if(len(self.swept.options) > 1, self.swept)

    def _draw(self) -> None:
        exact = [run for run in self._views if SEARCH_ERRORS.answers(run)]
        searched = [_first(SEARCH_ERRORS, run) for run in exact]
        said = [SEARCH_ERRORS.finding(pd.concat(searched))] if searched else []
        sweeps = SWEEPS.among(self._swept)
        if len(sweeps):
            shown = sweeps[sweeps["text"] == self.swept.value]
            drawn = [run for run in self.runs.chosen if run.label in set(shown["run"])]
            self.curves.show(with_subtitle(sweep_figure(shown), described_runs(drawn, str(self.swept.value))))
            said.append(SWEEPS.finding(shown))
        self.answer.say(" ".join(said) or (_NOTHING if self.runs.chosen else ""))
        self.missing.say(" ".join(self._missing(sweeps)))

    def _missing(self, sweeps: pd.DataFrame) -> list[str]:
        """Say what is not stored of the chosen runs, and how to get it."""
        runs, views = self.runs.chosen, self._views
        ending = [run for run in runs if not run.recipe.model.plans_length]
        said = []
        if runs and sweeps.empty:
            said.append("No beam sweep of these runs yet: run 'nmtlab beam-sweep RUN'.")
        elif runs:
            there = set(sweeps.loc[sweeps["text"] == self.swept.value, "run"])
            without = mentioned(run for run in runs if run.label not in there)
            said += [f"No beam sweep of {self.swept.value} for {without}."] if without else []
        if ending and not any(SEARCH_ERRORS.answers(run) for run in views):
            said.append("No exact search of a text yet: run 'nmtlab search-errors RUN'.")
        if len(ending) < len(runs) and not any(PLANNED_LENGTHS.answers(run) for run in views):
            said.append("No planned lengths of a text yet: run 'nmtlab length-errors RUN'.")
        return said

    def _show_rates(self) -> None:
        rates = [_rates(run, answer) for run in self._views for answer in SEARCH_ERRORS.answers(run)]
        self.rates.show(pd.DataFrame(rates), why="No exact search of a text is stored with these runs.")

    def _risks(self) -> View | None:
        runs = [run for run in self._views if LEAST_RISK.answers(run)]
        if not runs:
            self.risks.answer.say(_NO_RISKS)
            return None
        found = pd.concat([_first(LEAST_RISK, run) for run in runs], ignore_index=True)
        figure = with_subtitle(samples_figure(found), described_runs(runs))
        return View(found, figure, finding=LEAST_RISK.finding(found))

    def _lengths(self) -> View | None:
        runs, text = [run for run in self.runs.chosen if LENGTH_TOKENS.fits(run)], self.probabilities.text.text
        if not runs or text is None:
            self.lengths.answer.say(_NO_LENGTHS)
            return None
        shown = of_one_pair(runs, text.corpus.direction)
        view = LENGTH_TOKENS.view(shown, corpus=text.corpus, split=text.split, sample=_ASKED)
        with_subtitle(view.figure, described_runs(shown, str(self.probabilities.text.value)))
        return view

    def _show_plans(self) -> None:
        plans = [(run, answer) for run in self._views for answer in PLANNED_LENGTHS.answers(run)]
        if not plans:
            self.planned.show(pd.DataFrame(), why="No planned lengths of a text are stored with these runs.")
            return
        runs = list({(run.name, run.direction): run for run, _ in plans}.values())
        self.predicted.say(length_models_finding(stored_length_models(runs[0])) if len(runs) == 1 else "")
        self.planned.show(pd.concat([_plan_errors(run) for run in runs], ignore_index=True))
        found = pd.concat(_calibrated(run, answer) for run, answer in plans)
        self.calibration.show(with_subtitle(calibration_figure(found), described_runs(runs)))


def searches_page(workspace: Workspace | None = None) -> SearchesPage:
    """Return the page."""
    return SearchesPage(workspace or Workspace.find())


def _first(analysis: Analysis, run: Run) -> pd.DataFrame:
    """Return the first stored answer of a run, with its label."""
    return analysis.answers(run)[0].frame().assign(run=run.label)


def _plan_errors(run: Run) -> pd.DataFrame:
    found = stored_length_models(run).assign(run=run.label)
    found[[*_PERCENT]] = (100 * found[[*_PERCENT]]).round()
    return found.round(2).rename(columns=_PLANNED).reindex(columns=["run", *_PLANNED.values()])


def _calibrated(run: Run, answer: StoredAnswer) -> pd.DataFrame:
    return length_calibration(answer.frame()).assign(row=text_of(answer), column=run.label)


def _rates(run: Run, answer: StoredAnswer) -> dict[str, object]:
    rates = error_rates(answer.frame())
    rates[[*_SHARES]] = (100 * rates[[*_SHARES]]).round()
    beam = answer.question.arguments["search"]["beam_size"]
    searched = {"run": run.label, "text": text_of(answer), "beam": beam, "by": way_of(run, answer)}
    return {**searched, **{shown: rates.round(2)[name] for name, shown in _RATES.items()}}
