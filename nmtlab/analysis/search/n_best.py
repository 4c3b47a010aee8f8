"""N-best lists of a text, their scores by other systems, and how they are reranked (survey 9, 18)."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import DECODING, check_needs, in_direction
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.expected_utility import expected_chrf
from nmtlab.evaluation.resampling import corpus_score, sentence_statistics
from nmtlab.evaluation.scores import bleu_metric, chrf_metric, default_tokenizer
from nmtlab.models.interface import on_device
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.rerank import best_candidates, tuned_weights
from nmtlab.systems import open_model, open_system
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import is_blank
from nmtlab.training.objective import sentence_log_probs

FEATURES = ("log-prob", "length", "chrf", "channel", "second")
"""log p(y|x); |y| with EOS; the expected chrF in the list; log p(x|y) of a reverse run; log p(y|x) of another run."""

_BATCH_TOKENS = 4096


def n_best(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    size: int = 50,
    search: SearchSettings | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Return the n-best list of each sentence of a text.

    Args:
        size: n; the beam is at least as wide.
        search: otherwise; the recipe's if not given.

    Returns:
        A row for each candidate, best first: `line` of the text, from 1; `text`; `score`, what the search maximised;
        `log-prob`; `length`, in tokens with EOS; `chrf`, the expected chrF with each of the list as the reference. A
        blank line has one blank candidate, with zeros.
    """
    search = search or run.recipe.search
    wide = search.model_copy(update={"beam_size": max(size, search.beam_size)})
    sources = list(corpus.lines(split, corpus.source))
    system = open_system(in_direction(run, corpus), wide, machine=machine)
    blank = [Hypothesis((), 0.0, 0.0, finished=False)]
    rows = []
    for line, found in enumerate(system.translate(sources, size, on_progress=on_progress), start=1):
        listed = zip(found.texts, found.hypotheses or blank, expected_chrf(found.texts), strict=True)
        rows += [(line, text, h.score, h.log_prob, len(h.tokens) + h.finished, chrf) for text, h, chrf in listed]
    columns = ["line", "text", "score", *FEATURES[:3]]
    return pd.DataFrame(rows, columns=columns)


N_BEST = Analysis(
    "Which translations does a search find besides the best, and how probable is each?",
    n_best,
    needs=DECODING,
    version=1,
    columns=("line", "text", "score", *FEATURES[:3]),
)


def scored_by(
    run: Run,
    corpus: ParallelCorpus,
    other: Run,
    reverse: bool,
    split: str = "test",
    size: int = 50,
    search: SearchSettings | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Return the log-probabilities that another run gives to the candidates of `n_best`, which are stored.

    Args:
        other: neural; with any vocabulary.
        reverse: log p(x|y) of the source given each candidate instead of log p(y|x).
        on_progress: called with the number of candidates just scored.

    Returns:
        `log_prob` of each candidate, 0 if its source is blank.
    """
    listed = N_BEST.of(run, corpus=corpus, split=split, size=size, search=search, machine=machine)
    sources = np.array(list(corpus.lines(split, corpus.source)), dtype=object)[listed["line"] - 1].tolist()
    sides = (listed["text"].tolist(), sources) if reverse else (sources, listed["text"].tolist())
    system = open_model(other.directed(*corpus.direction[:: -1 if reverse else 1]), machine=machine)
    ids = system.pipeline.encode_source(sides[0]), system.pipeline.encode_target(sides[1])
    filled = [place for place, source in enumerate(sources) if not is_blank(source)]
    found = np.zeros(len(listed))
    lengths = [max(len(ids[0][place]), len(ids[1][place])) for place in filled]
    with torch.inference_mode():
        for batch in sorted_batches(lengths, _BATCH_TOKENS):
            places = [filled[number] for number in batch]
            pairs = batch_of(*(pad([of_side[place] for place in places]) for of_side in ids))
            found[places] = sentence_log_probs(system.model, on_device(pairs, system.model.device)).cpu()
            on_progress(len(places))
    return pd.DataFrame({"log_prob": found})


SCORED_BY = Analysis(
    "How probable are the translations of an n-best list by another run, or their source by a reverse run?",
    scored_by,
    needs=DECODING,
    version=1,
    columns=("log_prob",),
)


class Lists(NamedTuple):
    """The n-best lists of a text with their features, and the references.

    Args:
        corpus: of the text.
        split: of the corpus.
        found: rows of `n_best`, with a column for each of `features`.
        features: some of `FEATURES`; the first is `log-prob`.
    """

    corpus: ParallelCorpus
    split: str
    found: pd.DataFrame
    features: tuple[str, ...]

    @property
    def lines(self) -> np.ndarray:
        """(N,) the sentence of each candidate."""
        return self.found["line"].to_numpy()

    def first(self) -> np.ndarray:
        """Return the place of the candidate of each sentence that the search ranks first."""
        return np.flatnonzero(np.diff(self.lines, prepend=0))

    def reranked(self, weights: Mapping[str, float]) -> np.ndarray:
        """Return the place of the best candidate of each sentence; a feature without a weight counts nothing."""
        used = np.array([weights.get(name, 0.0) for name in self.features])
        return best_candidates(self.found[list(self.features)].to_numpy() @ used, self.lines)

    def oracle(self) -> np.ndarray:
        """Return the place of the candidate of each sentence with the highest chrF, which needs the reference."""
        score = corpus_score(chrf_metric())
        return best_candidates(np.array([score(one) for one in self.statistics("chrf").tolist()]), self.lines)

    def texts(self, places: np.ndarray) -> list[str]:
        """Return the texts of candidates."""
        return self.found["text"].iloc[places].tolist()

    def statistics(self, metric: str) -> np.ndarray:
        """Return what `bleu` or `chrf` counts in each candidate, (N, counts)."""
        references = [np.array(of, dtype=object)[self.lines - 1].tolist() for of in self.corpus.references(self.split)]
        return sentence_statistics([self.found["text"].tolist()], references, self._metric(metric))[0]

    def tuned(self, metric: str) -> dict[str, float]:
        """Return the weights that `tuned_weights` finds for corpus `bleu` or `chrf`, from those of log p alone."""
        start = np.eye(len(self.features))[0]
        score, features = corpus_score(self._metric(metric)), self.found[list(self.features)].to_numpy()
        weights = tuned_weights(features, self.lines, self.statistics(metric), score, start)
        return dict(zip(self.features, weights.tolist(), strict=True))

    def _metric(self, metric: str) -> Any:
        return chrf_metric() if metric == "chrf" else bleu_metric(default_tokenizer(self.corpus.target))


def n_best_lists(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    size: int = 50,
    search: SearchSettings | None = None,
    channel: Run | None = None,
    second: Run | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> Lists:
    """Return n-best lists with all features that can be computed; each is stored with the run.

    Args:
        size, search: as of `n_best`.
        channel: translates in the reverse direction.
        second: translates in the same direction.
        on_progress: called with the number of sentences just translated.

    Raises:
        NmtlabError: `channel` or `second` does not translate in its direction, is phrase-based, or has no weights.
    """
    for other, direction in ((channel, corpus.direction[::-1]), (second, corpus.direction)):
        if other and not other.translates(*direction):
            known = ", ".join(f"{source} to {target}" for source, target in other.directions)
            problem = f"run {other.name!r}: translates {known}, but the candidates need {' to '.join(direction)}"
            raise NmtlabError(problem, "choose a run in this direction")
        if other:
            check_needs(other, DECODING)
    asked: dict[str, Any] = {"corpus": corpus, "split": split, "size": size, "search": search, "machine": machine}
    columns = {}
    listed = N_BEST.of(run, on_progress, **asked)
    for name, other in (("channel", channel), ("second", second)):
        if other:
            columns[name] = SCORED_BY.of(run, other=other, reverse=name == "channel", **asked)["log_prob"]
    return Lists(corpus, split, listed.assign(**columns), (*FEATURES[:3], *columns))
