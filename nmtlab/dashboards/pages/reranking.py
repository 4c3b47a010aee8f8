"""N-best lists in another order: weights of features are moved, and the stored lists follow."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import ipywidgets as widgets

from nmtlab.analysis.access.findings import legible
from nmtlab.analysis.access.needs import ALONE, DECODING
from nmtlab.analysis.access.texts import corpus_of
from nmtlab.analysis.comparison.second_opinion import SECOND_OPINION, opinions, opinions_finding
from nmtlab.analysis.search.length_scores import LENGTH_SCORES, length_scores_figure
from nmtlab.analysis.search.n_best import (
    N_BEST,
    SCORED_BY,
    LanguageModel,
    Lists,
    is_language_model,
    n_best_lists,
    scoring,
)
from nmtlab.analysis.search.reranked import RERANKED
from nmtlab.analysis.search.reranking import (
    ORDERS,
    TITLES,
    orders_figure,
    reranked_list,
    reranked_sentences,
    reranking_finding,
    scores_of_orders,
)
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.fold import Fold
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.runs import RunChooser
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.frame.systems import described_runs
from nmtlab.dashboards.parts.system_menu import SystemMenu
from nmtlab.dashboards.parts.text_menu import TextMenu
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.controls import offer, show_if
from nmtlab.dashboards.widgets.note import Answer, Note
from nmtlab.dashboards.widgets.table import Table
from nmtlab.dashboards.widgets.work import Work
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import isolated, with_subtitle
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

PAGE = About(
    place=84,
    group="Why",
    title="Reranking",
    question="How much better could the translations be that a search already finds, if they were ranked otherwise?",
    name="reranking",
    needs=(*DECODING, ALONE),
    illustrates=(RERANKED, SECOND_OPINION),
)

FIRST = ("small-tr-en.fixnorm-lex.s1",)
_SIZE, _SAMPLE = 20, 50  # candidates and sentences
_LINES = 30_000  # of the training text, which a language model is learned from in seconds
_NO_TEXT = "No text of this run is here: open a workspace with its corpus, or choose a packed run with sentences."
_READ = (
    f"{_SIZE} candidates of {_SAMPLE} sentences, at most. The weight of log p(y|x) stays 1, as only ratios matter. The "
    "best and the worst candidate have the highest and the lowest sentence chrF. Weights chosen by these scores fit "
    "this text: 'nmtlab rerank RUN' tunes them on dev and scores test. p is from 200 resampled "
    "texts here, from 1,000 there."
)
_MORE = (
    "A chosen run that translates back adds log p(x|y), the noisy channel; another one its log p(y|x). "
    "One that was trained on blank sources adds log p(y)."
)
_PUBLISHED = (
    "Imamura and Sumita (2018) found BLEU highest where translations are as long as the references, at another w on "
    "each text: 1.2, 0.2 and 0.5 on newstest 2013, 2014 and 2015. Between w = 0 and 2 it changed by more than 0.5."
)
_SLIDERS = {
    "length": ("Length", 0.5, -1, 3), "chrf": ("Exp. chrF", 0.0, 0, 1), "channel": ("Channel", 0.5, 0, 2),
    "second": ("Second", 0.5, 0, 2), "blank": ("Neural LM", 0.2, 0, 1), "language-model": ("LM", 0.2, 0, 1),
}  # fmt: skip
"""Short name, first value, least and most of a feature's weight."""


class RerankingPage(Page):
    """The scores of reordered n-best lists, the lists themselves, and what a reward for length does to them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._models: dict[tuple[str, str], LanguageModel] = {}
        self._lists: Lists | None = None
        self.runs = RunChooser(workspace, PAGE.needs, FIRST)
        self.system = SystemMenu(self.runs)
        self.text = TextMenu(workspace)
        self.channel, self.second, self.blank = (
            widgets.Dropdown(description=name, options=[], layout={"width": "100%"})
            for name in ("Channel", "Second", "Neural LM")
        )
        self.model = widgets.Checkbox(description="language model of the training text", indent=False)
        self.weights = {
            name: widgets.FloatSlider(
                description=short, tooltip=f"Weight of {TITLES[name]}", value=value, min=least, max=most, step=0.05,
                continuous_update=False, layout={"width": "100%"},
            )
            for name, (short, value, least, most) in _SLIDERS.items()
        }  # fmt: skip
        self.answer, self.chart, self.hint, self.work = Answer(), Chart(), Note(), Work(self.guarded)
        self.sentences = Table("First translations, changed ones first: select a sentence for its list", "one", "24em")
        self.sentence, self.candidates = Note(), Table("", height="24em")
        self.said, self.lengths, self.published = Answer(), Chart(), Note()
        moved = {f"weight-{name}": slider for name, slider in self.weights.items()}
        state = {
            "runs": self.runs.table, "system": self.system, "text": self.text, "channel": self.channel,
            "second": self.second, "blank": self.blank, "model": self.model, **moved, "line": self.sentences,
        }  # fmt: skip
        of_lists = ("runs", "system", "text", "channel", "second", "blank", "model")
        ranked = (*of_lists, *moved)
        sections = [
            Section(("runs",), (), self.system.fill),
            Section(("runs", "system"), (), self._offer_texts),
            Section(("runs", "system", "text"), (), self._offer_features),
            Section(of_lists, (), self._offer_weights),
            Section(of_lists, (self.work, self.hint), self._find),
            Section(ranked, (self.answer, self.chart), self._score),
            Section(ranked, (self.sentences,), self._rank),
            Section((*ranked, "line"), (self.sentence, self.candidates), self._show_candidates),
            Section(of_lists, (self.said, self.lengths, self.published), self._score_lengths),
        ]
        body = [
            self.answer, self.work, self.chart, self.hint,
            Fold("list", "Which translations change, and what else is in each list?",
                 self.sentences, self.sentence, self.candidates),
            Fold("length", LENGTH_SCORES.question, self.said, self.lengths, self.published),
        ]  # fmt: skip
        rail = [
            self.runs, self.system, self.text, self.channel, self.second, self.blank, self.model,
            *self.weights.values(),
        ]  # fmt: skip
        super().__init__(PAGE, state, sections, body, rail, self.runs.refresh)

    @property
    def _run(self) -> Run | None:
        """The run whose lists are shown, in the direction of the chosen text."""
        text, run = self.text.text, self.system.run
        return run.directed(*text.corpus.direction) if text and run else None

    def _offer_texts(self) -> None:
        run = self.system.run
        self.text.fill([run] if run else [])
        show_if(len(self.system.options) > 1, self.system)

    def _offer_features(self) -> None:
        """Offer the runs and the training text that candidates can be scored by."""
        run = self._run
        able = [one for one in self.system.able if run and not one.recipe.corpus.blank_source]
        back = [one for one in able if run and one.translates(*run.direction[::-1])]
        others = [one for one in able if run and one.name != run.name and one.translates(*run.direction)]
        models = [one for one in self.system.able if run and is_language_model(one, run.direction[1])]
        for chooser, found in ((self.channel, back), (self.second, others), (self.blank, models)):
            offer(chooser, [("none", ""), *((one.label, one.name) for one in found)])
            show_if(found, chooser)
        has_text = run is not None and _has_training_text(run, self._workspace)
        self.model.value = self.model.value and has_text
        show_if(has_text, self.model)

    def _offer_weights(self) -> None:
        """Show the weights of the features that the lists have or will have."""
        asked = {"length", "chrf", *self._others, *(["language-model"] if self.model.value else [])}
        for name, slider in self.weights.items():
            show_if(self._run and name in asked, slider)

    @property
    def _others(self) -> dict[str, Run]:
        """The runs that score the candidates, too, by their feature."""
        chosen = {"channel": self.channel.value, "second": self.second.value, "blank": self.blank.value}
        return {
            feature: next(one for one in self.system.able if one.name == name)
            for feature, name in chosen.items()
            if name
        }

    @property
    def _used(self) -> dict[str, float]:
        """The weights of the features that the lists have."""
        features = self._lists.features if self._lists else ()
        return {"log-prob": 1.0, **{name: one.value for name, one in self.weights.items() if name in features}}

    @property
    def _asked(self) -> dict[str, Any]:
        return {**self.text.arguments, "size": _SIZE, "sample": _SAMPLE}

    def _find(self) -> None:
        """Read the lists, or compute what is missing of them in the background."""
        self._lists = None
        run = self._run
        if run is None:
            return
        self.hint.say(_READ, _MORE)
        if N_BEST.stored(run, **self._asked) is not None and all(self._is_there(run)):
            self._read(run)
            return
        steps = _SAMPLE * (1 + len(self._others)) + self.model.value
        self.work.start("finding candidates", steps, self._compute(run))

    def _is_there(self, run: Run) -> Iterator[bool]:
        """Yield whether what candidates are scored by beside the run is stored or learned."""
        for feature, other in self._others.items():
            yield SCORED_BY.stored(run, other=other, **scoring(feature), **self._asked) is not None
        yield not self.model.value or (run.name, run.direction[1]) in self._models

    def _compute(self, run: Run) -> Iterator[int]:
        yield from N_BEST.steps(run, **self._asked)
        for feature, other in self._others.items():
            yield from SCORED_BY.steps(run, other=other, **scoring(feature), **self._asked)
        self._read(run)
        for show in (self._score, self._rank, self._show_candidates, self._score_lengths):
            show()

    def _read(self, run: Run) -> None:
        model = self._learned(run) if self.model.value else None
        by_runs: dict[str, Any] = {**self._others}
        self._lists = n_best_lists(run, **self._asked, **by_runs, language_model=model)

    def _learned(self, run: Run) -> LanguageModel:
        key = run.name, run.direction[1]
        if key not in self._models:
            lines = corpus_of(run, self._workspace).lines("train", run.direction[1])
            self._models[key] = LanguageModel(run, islice(lines, _LINES))
        return self._models[key]

    def _score(self) -> None:
        if self._lists:
            found = scores_of_orders(self._lists, self._used)
            said = reranking_finding(found, self._used), opinions_finding(opinions(self._lists))
            self.answer.say(" ".join(filter(None, said)))
            self.chart.show(with_subtitle(orders_figure(found), self._about))
        elif self._run:
            self.answer.say(f"Being computed: a beam finds {_SIZE} candidates of each of {_SAMPLE} sentences.")
        else:
            self.answer.say(_NO_TEXT if self.system.run else "Select a run with weights.")

    @property
    def _about(self) -> str:
        return described_runs([self._run] if self._run else [], str(self.text.value))

    def _rank(self) -> None:
        if self._lists:
            found = reranked_sentences(self._lists, self._used).round({"gain": 1})
            found[["search", "reranked"]] = found[["search", "reranked"]].map(legible)
            names = {"line": "line", "gain": "gain in chrF", **{one: ORDERS[one] for one in ("search", "reranked")}}
            shown = found[[*names, "source"]].set_index("line", drop=False)
            self.sentences.show(shown.rename(columns=names))

    def _show_candidates(self) -> None:
        """Show the list of the selected sentence, or else of the first."""
        if self._lists and len(self.sentences.frame):
            line = int(self.sentences.value or self.sentences.frame.index[0])
            corpus, split = self._lists.corpus, self._lists.split
            source, reference = next(islice(corpus.pairs(split), line - 1, None))
            self.sentence.say(f"Line {line}: {isolated(source)} Reference: {isolated(reference)}")
            self.candidates.title = f"The candidates of line {line}, as the weights rank them"
            found = reranked_list(self._lists, self._used, line).round(2)
            names = {**TITLES, "rank": "search's rank", "reference": "chrF"}
            self.candidates.show(found.assign(text=found["text"].map(legible)).rename(columns=names))

    def _score_lengths(self) -> None:
        if self._lists and (run := self._run):
            found = LENGTH_SCORES.among([run], **self._asked)
            self.said.say(LENGTH_SCORES.finding(found))
            self.lengths.show(with_subtitle(length_scores_figure(found), self._about))
            self.published.say(_PUBLISHED)


def reranking_page(workspace: Workspace | None = None) -> RerankingPage:
    """Return the page."""
    return RerankingPage(workspace or Workspace.find())


def _has_training_text(run: Run, workspace: Workspace) -> bool:
    try:
        return "train" in corpus_of(run, workspace).splits
    except CorpusError:
        return False
