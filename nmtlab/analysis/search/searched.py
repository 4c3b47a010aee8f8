"""How good are the translations of other searches than the recipe's? (thesis 4.1)"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring, Text
from nmtlab.analysis.search.beams import DECODED, OUTCOME, varied
from nmtlab.analysis.search.planned_lengths import LENGTH_SWEEP
from nmtlab.analysis.search.search_errors import FEW, SAMPLED
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample

LENGTHS_TRIED = (1, 2, 5, 10)
"""Numbers of lengths to try on dev with a run that plans lengths."""

LENGTH_WEIGHTS = (1.0, 0.0, 0.5, 2.0, 4.0)
"""Exponents w of p(length) to try with each; the first wins ties."""

GAMMAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Word rewards to try on dev."""

BEAMS = (1, 4, 12, 100)

Ask = Callable[..., pd.DataFrame | None]
"""`Analysis.of`, or `Analysis.stored`, which computes nothing."""


@dataclass(frozen=True)
class Way:
    """A way to search the test text that is not the recipe's.

    It replaces UNKs if the recipe does, to be compared with samples and translations by the recipe. A run that plans
    lengths keeps its score, p(length)^w times p; it only takes the beam size from `search`. Where word rewards are
    tuned for other runs, its w and its number of lengths are, unless that is given.

    Args:
        search: the search settings.
        gammas: word rewards to choose from by dev BLEU, of runs that plan lengths `LENGTHS_TRIED` and
            `LENGTH_WEIGHTS`; empty for no tuning.
        sample: number of sentences, drawn from the text (`nmtlab.text.corpora.sample`); all if not given.
        lengths: number of lengths that a run that plans lengths tries; that of its recipe if not given.
    """

    search: SearchSettings
    gammas: tuple[float, ...] = ()
    sample: int | None = None
    lengths: int | None = None

    def asked(self, run: Run, corpus: ParallelCorpus, ask: Ask) -> dict[str, Any] | None:
        """Return the arguments of `beams.decoded` and `beams.outcome`, tuned on dev; None if `ask` does not know.

        Args:
            run: a trained run.
            corpus: the text.
            ask: `Analysis.of`, or `Analysis.stored` to compute nothing.
        """
        search = self._tuned(run, corpus, ask)
        return None if search is None else {"corpus": corpus, "search": search, "sample": self.sample}

    def computed(self, run: Run, corpus: ParallelCorpus) -> dict[str, Any]:
        """Return `asked`, having computed what it needs."""
        asked = self.asked(run, corpus, Analysis.of)
        assert asked is not None  # `Analysis.of` knows all
        return asked

    def _tuned(self, run: Run, corpus: ParallelCorpus, ask: Ask) -> SearchSettings | None:
        """Return the search settings, with the word reward, or the plan of lengths, that has the best dev BLEU."""
        search = unknowns_as_in(run, self.search)
        if run.recipe.model.plans_length:
            lengths = self.lengths or run.recipe.search.length_candidates
            planned = SearchSettings(score="log-prob", beam_size=search.beam_size, length_candidates=lengths)
            usual = unknowns_as_in(run, planned)
            return usual if self.lengths or not self.gammas else _tuned_plan(run, corpus, usual, ask)
        if not self.gammas:
            return search
        candidates = varied(search, "gamma", self.gammas)
        answers = [ask(OUTCOME, run, corpus=corpus, split="dev", search=one) for one in candidates]
        found = [one["bleu"].item() for one in answers if one is not None]
        return candidates[int(np.argmax(found))] if len(found) == len(candidates) else None


def unknowns_as_in(run: Run, search: SearchSettings) -> SearchSettings:
    """Return search settings that replace UNKs if the recipe of a run does."""
    return search.model_copy(update={"replace_unknown": run.recipe.search.replace_unknown})


def _tuned_plan(run: Run, corpus: ParallelCorpus, search: SearchSettings, ask: Ask) -> SearchSettings | None:
    """Return search settings with the number of lengths and the weight of p(length) that have the best dev BLEU."""
    tried = {"search": search, "lengths": LENGTHS_TRIED, "weights": LENGTH_WEIGHTS}
    found = ask(LENGTH_SWEEP, run, corpus=corpus, split="dev", **tried)
    if found is None:
        return None
    best = found.iloc[int(found["bleu"].argmax())]
    plan = {"length_candidates": int(best["length_candidates"]), "length_weight": float(best["length_weight"])}
    return search.model_copy(update=plan)


def searched(run: Run, corpus: ParallelCorpus, way: Way) -> pd.DataFrame:
    """Return `beams.outcome` of a way to search the test text, whose answer is stored."""
    return OUTCOME.of(run, **way.computed(run, corpus))


def text_of_sample(sample: int | None) -> Callable[[ParallelCorpus, Run | None], Text]:
    """Return what finds the sentences of a sample of the test text, or of all of it, with their references."""

    def text(corpus: ParallelCorpus, run: Run | None) -> Text:
        drawn = draw_sample(corpus, "test", sample)
        return Text(drawn.sources, [drawn.of(lines) for lines in corpus.references("test")])

    return text


def searched_bleu(key: str, label: str, way: Way) -> Metric:
    """Return the BLEU of a way to search the test text."""

    def stored(run: Run, corpus: ParallelCorpus) -> pd.DataFrame | None:
        asked = way.asked(run, corpus, Analysis.stored)
        return DECODED.stored(run, **asked) if asked else None

    return Metric(
        key, label, "score", "BLEU", given={"way": way}, read=lambda found: found["bleu"].item(), stored=stored,
        scoring=Scoring(made_by=label, text=text_of_sample(way.sample)), usable=USABLE_BLEU, if_diverged=0.0,
    )  # fmt: skip


def searched_empty(key: str, label: str, score: Metric) -> Metric:
    """Return the percentage of empty translations among those that the BLEU of a way to search is of."""
    return Metric(
        key, label, "proportion", "%", "lower", given=score.given, read=lambda found: 100 * found["empty"].item(),
        hits=lambda lines: np.array([float(not line) for line in lines]), translations=score.key, if_diverged=0.0,
    )  # fmt: skip


def searched_length(key: str, label: str, way: Way) -> Metric:
    """Return the length of the translations of a way to search, in words, relative to that of the references."""
    return Metric(key, label, given={"way": way}, read=lambda found: found["length_ratio"].item(), if_diverged=0.0)


def _way(score: str, beam: int, gammas: tuple[float, ...] = (), lengths: int | None = None) -> Way:
    """Return a score and a beam; the widest beam is for a sample."""
    return Way(SearchSettings(score=score, beam_size=beam), gammas, FEW if beam == BEAMS[-1] else None, lengths)


def _names(key: str, label: str, way: Way) -> tuple[str, str]:
    """Return key and label of a number of a way, such as `bleu-log-prob-4` and `BLEU by log-prob, beam 4`."""
    score, beam, one = way.search.score, way.search.beam_size, way.lengths is not None
    sampled = f" {SAMPLED}" if way.sample else ""
    whole = f"{label} by {score}, beam {beam}{sampled}" + (f" ({way.lengths} length)" if one else "")
    ending = "-one-length" if one else "-sample" if way.sample and beam != BEAMS[-1] else ""
    return f"{key}-{score}-{beam}{ending}", whole


_BY_LOG_PROB = tuple(_way("log-prob", beam) for beam in BEAMS)
_ONE_LENGTH = _way("log-prob", 4, lengths=1)
_WAYS = (
    *_BY_LOG_PROB, *(_way("length-normalised", beam) for beam in BEAMS[1:3]),
    *(_way("word-reward", beam, GAMMAS) for beam in BEAMS[1:3]),
    _ONE_LENGTH, _way("word-reward", 4, GAMMAS, lengths=1),
    *(replace(_way(score, 4), sample=FEW) for score in ("log-prob", "length-normalised")),
)  # fmt: skip
_BLEU = [searched_bleu(*_names("bleu", "BLEU", way), way) for way in _WAYS]

SEARCHED = Analysis(
    "How good, how long and how often empty are the translations of another search, tuned on dev text?",
    searched,
    source="thesis 4.1",
    metrics=(
        *_BLEU,
        *(searched_length(*_names("length", "length", way), way) for way in (*_BY_LOG_PROB, _ONE_LENGTH)),
        *(searched_empty(*_names("empty", "% empty", one.given["way"]), one) for one in _BLEU[: len(BEAMS)]),
    ),
)
