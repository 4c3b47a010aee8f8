"""N-best lists of a text, their scores by other systems, and how they are reranked (survey 9, 18)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import ATTENDS, DECODING, check_needs, in_direction
from nmtlab.errors import NmtlabError, RunError
from nmtlab.evaluation.expected_utility import expected_chrf
from nmtlab.evaluation.resampling import Counted, counted
from nmtlab.evaluation.scores import bleu_metric, chrf_metric, default_tokenizer
from nmtlab.language_model import NgramModel
from nmtlab.languages import language_of
from nmtlab.models.interface import on_device
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.answers import Row
from nmtlab.runs.run import Run
from nmtlab.search.attention import last_layer
from nmtlab.search.forced import forced_decode
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.rerank import best_candidates, tuned_weights
from nmtlab.search.scores import coverage_penalty
from nmtlab.systems import lexicon_of, open_model, open_system
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.text.corpora.lines import is_blank
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.training.objective import sentence_log_probs
from nmtlab.translation import Translator

COVERAGE = ("coverage-wu", "coverage-li", "covered")
FEATURES = ("log-prob", "length", "chrf", "channel", "second", "blank", *COVERAGE, "lexicon", "language-model")
"""log p(y|x); |y| with EOS; the expected chrF in the list; log p(x|y) of a reverse run; log p(y|x) of another run;
log p(y) of a run that was trained on blank sources; the features of `covered`; log p(y|x) by the lexicon of the run;
log p(y) of an n-gram model."""

_MOST_UNKNOWN = 0.5
"""Share of unknown tokens above which a language model does not know the candidates' letters."""

_BATCH_TOKENS = 4096
_AT_ONCE = 16
"""Sentences translated between two steps."""


def n_best(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    size: int = 50,
    search: SearchSettings | None = None,
    sample: int | None = None,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield the n-best list of each sentence of a text.

    Args:
        size: n; the beam is at least as wide.
        search: otherwise; the recipe's if not given.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.
        start: index of the first of these sentences to yield, from 0.

    Yields:
        A row for each candidate, best first: `line` of the text, from 1; `text`; `score`, what the search maximised;
        `log-prob`; `length`, in tokens with EOS; `chrf`, the expected chrF with each of the list as the reference. A
        blank line has one blank candidate, with zeros.
    """
    search = search or run.recipe.search
    wide = search.model_copy(update={"beam_size": max(size, search.beam_size)})
    drawn = draw_sample(corpus, split, sample)
    system = open_system(in_direction(run, corpus), wide, machine=machine)
    blank = [Hypothesis((), 0.0, 0.0, finished=False)]
    for begin in range(start, len(drawn.lines), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        for line, found in zip(drawn.lines[part], system.translate(drawn.sources[part], size), strict=True):
            candidates = zip(found.texts, found.hypotheses or blank, expected_chrf(found.texts).tolist(), strict=True)
            rows = [(line, text, h.score, h.log_prob, len(h.tokens) + h.finished, chrf) for text, h, chrf in candidates]
            yield [dict(zip(_COLUMNS, row, strict=True)) for row in rows]


_COLUMNS = ("line", "text", "score", *FEATURES[:3])

N_BEST = Analysis(
    "Which translations does a search find besides the best, and how probable is each?",
    n_best,
    needs=DECODING,
    version=1,
    columns=_COLUMNS,
)


def scored_by(
    run: Run,
    corpus: ParallelCorpus,
    other: Run,
    reverse: bool,
    split: str = "test",
    size: int = 50,
    search: SearchSettings | None = None,
    sample: int | None = None,
    machine: MachineSettings | None = None,
    blank: bool = False,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, sentence by sentence, the log-probabilities that another run gives to the candidates of `n_best`.

    Args:
        other: neural; with any vocabulary.
        reverse: log p(x|y) of the source given each candidate instead of log p(y|x).
        blank: log p(y) of each candidate by a run with a `blank_direction`.
        size, search, sample, start: as of `n_best`, whose answer is stored.

    Yields:
        `log_prob` of each candidate, 0 if its source is blank.

    Raises:
        RunError: most tokens of the candidates are unknown to a run that is to score them without their source.
    """
    listed = N_BEST.of(run, corpus=corpus, split=split, size=size, search=search, sample=sample, machine=machine)
    sources = list(corpus.lines(split, corpus.source))
    way = blank_direction(other, corpus.target) if blank else corpus.direction[:: -1 if reverse else 1]
    system = open_model(other.directed(*way), machine=machine)
    if blank:
        _check_letters(other, system.pipeline.encode_target(listed["text"].tolist()))
    for line, texts in list(listed.groupby("line", sort=False)["text"])[start:]:
        both = ["" if blank else sources[line - 1]] * len(texts), texts.tolist()
        found = [0.0] if is_blank(sources[line - 1]) else _log_probs(system, *(both[::-1] if reverse else both))
        yield [{"log_prob": log_prob} for log_prob in found]


def blank_direction(run: Run, target: str) -> Direction:
    """Return the direction in which a run has learned a language from blank sources, so that it is a model of it.

    Raises:
        NmtlabError: there is none.
    """
    for way in _learned_blank(run):
        if language_of(way[1]) == language_of(target):
            return way
    known = ", ".join(dict.fromkeys(code for _, code in _learned_blank(run)))
    problem = f"is a language model of {known}, but the candidates are in {target}" if known else "is no language model"
    raise NmtlabError(f"run {run.name!r}: {problem}", "train one with corpus.blank_source=true")


def is_language_model(run: Run, target: str) -> bool:
    """Return whether a run has a `blank_direction`."""
    return any(language_of(code) == language_of(target) for _, code in _learned_blank(run))


def _learned_blank(run: Run) -> list[Direction]:
    return [(one.source, one.target) for one in run.recipe.trained_corpora if one.blank_source]


def _check_letters(run: Run, candidates: Sequence[Sequence[int]]) -> None:
    tokens = [token for ids in candidates for token in ids]
    if tokens.count(UNK) > _MOST_UNKNOWN * len(tokens):
        problem = f"run {run.name!r}: most tokens of the candidates are unknown to it"
        raise RunError(problem, "choose a language model of text in the same script")


@torch.inference_mode()
def _log_probs(system: Translator[Any], sources: Sequence[str], targets: Sequence[str]) -> list[float]:
    """Return log p(target | source) of each pair of lines."""
    ids = system.pipeline.encode_source(sources), system.pipeline.encode_target(targets)
    found = np.zeros(len(sources))
    lengths = [max(len(source), len(target)) for source, target in zip(*ids, strict=True)]
    for places in sorted_batches(lengths, _BATCH_TOKENS):
        pairs = batch_of(*(pad([of_side[place] for place in places]) for of_side in ids))
        found[places] = sentence_log_probs(system.model, on_device(pairs, system.model.device)).cpu()
    return found.tolist()


SCORED_BY = Analysis(
    "How probable are the translations of an n-best list by another run, or their source by a reverse run?",
    scored_by,
    needs=DECODING,
    version=1,
    columns=("log_prob",),
)


def scoring(feature: str) -> dict[str, Any]:
    """Return the arguments of `scored_by` for the feature `channel`, `second` or `blank`."""
    return {"reverse": feature == "channel", "blank": feature == "blank"}


def covered(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    size: int = 50,
    search: SearchSettings | None = None,
    sample: int | None = None,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, sentence by sentence, how much of its source each candidate of `n_best` covers.

    The attention is that of forced decoding, the mean over the heads of the last layer.

    Args:
        search: its coverage_floor is β.
        size, sample, start: as of `n_best`, whose answer is stored.

    Yields:
        `coverage-wu` and `coverage-li`, as of `scores.coverage_penalty` (Wu et al. 2016, Li et al. 2018); `covered`,
        the number of source tokens to which some target token attends most: what is set in the coverage vector of
        phrase-based translation. EOS is no such token. All are 0 if the source is blank.
    """
    listed = N_BEST.of(run, corpus=corpus, split=split, size=size, search=search, sample=sample, machine=machine)
    sources = list(corpus.lines(split, corpus.source))
    search = (search or run.recipe.search).with_shortlist(0)
    system = open_model(in_direction(run, corpus), search, machine=machine)
    forms = [search.model_copy(update={"coverage_form": form}) for form in ("wu", "li")]
    for line, texts in list(listed.groupby("line", sort=False)["text"])[start:]:
        if is_blank(sources[line - 1]):
            yield [dict.fromkeys(COVERAGE, 0.0)]
            continue
        source = torch.tensor([system.pipeline.source_ids(sources[line - 1])], device=system.model.device)
        target = torch.from_numpy(pad(system.pipeline.encode_target(texts.tolist()))).to(source.device)
        with torch.inference_mode():
            memory = system.model.encode(source)
        found = forced_decode(system.model, memory.select(torch.zeros_like(target[:, 0])), target)
        mask = memory.mask[0].cpu()
        yield [_coverage_of(last_layer(one.attention).mean(0), mask, forms) for one in found]


def _coverage_of(attention: np.ndarray, mask: Tensor, forms: Sequence[SearchSettings]) -> Row:
    """Return the features of a candidate, given the attention of each target token to each source token.

    Args:
        mask: (S,) bool, which source tokens can be attended to: recurrent systems leave out EOS.
    """
    attended = torch.from_numpy(attention.sum(0, dtype=float))
    soft = [coverage_penalty(form, attended, mask).item() for form in forms]
    hard = len(set(attention[:-1].argmax(1).tolist()) - {len(attended) - 1})
    return dict(zip(COVERAGE, (*soft, float(hard)), strict=True))


COVERED = Analysis(
    "How much of the source do the translations of an n-best list cover?",
    covered,
    needs=(*DECODING, ATTENDS),
    version=1,
    columns=COVERAGE,
)


def lexicon_scores(run: Run, sources: Sequence[str], listed: pd.DataFrame) -> list[float]:
    """Return log p(y|x) of the candidates of `n_best` by Model 1, with the lexicon of a run; 0 if a source is blank.

    Args:
        run: in the direction of the text.
        sources: all lines of the text.

    Raises:
        RunError: the run has no lexicon.
    """
    table, pipeline = lexicon_of(run), run.pipeline
    found = []
    for line, texts in listed.groupby("line", sort=False)["text"]:
        source = pipeline.source_ids(sources[line - 1])[:-1]
        ids = [target[:-1] for target in pipeline.encode_target(texts.tolist())]
        found += table.log_probs(source, ids) if source else [0.0] * len(ids)
    return found


class LanguageModel:
    """An n-gram model of lines, split as the target side of a run splits them.

    Args:
        run: in the direction of the candidates that are to be scored.
        lines: the text to learn from, read once; blank lines are left out.

    Raises:
        CorpusError: there is no line.
    """

    def __init__(self, run: Run, lines: Iterable[str]) -> None:
        self._split = run.pipeline.target.tokenizer.split
        self._model = NgramModel.learn(self._split(line) for line in lines if not is_blank(line))

    def log_probs(self, texts: Iterable[str]) -> list[float]:
        """Return log p(y) of each text, in nats."""
        return [self._model.log_prob(self._split(text)) for text in texts]


@dataclass(frozen=True, eq=False)
class Lists:
    """The n-best lists of a text with their features, and the references; what metrics count is kept.

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
    _kept: dict[str, Counted] = field(default_factory=dict, init=False, repr=False)

    @property
    def lines(self) -> np.ndarray:
        """(N,) the sentence of each candidate."""
        return self.found["line"].to_numpy()

    def first(self) -> np.ndarray:
        """Return the place of the candidate of each sentence that the search ranks first."""
        return np.flatnonzero(np.diff(self.lines, prepend=0))

    def sums(self, weights: Mapping[str, float]) -> np.ndarray:
        """Return (N,) the weighted sum of each candidate's features; one without a weight counts nothing."""
        used = np.array([weights.get(name, 0.0) for name in self.features])
        return self.found[list(self.features)].to_numpy() @ used

    def reranked(self, weights: Mapping[str, float]) -> np.ndarray:
        """Return the place of the candidate of each sentence with the highest of `sums`."""
        return best_candidates(self.sums(weights), self.lines)

    def oracle(self) -> np.ndarray:
        """Return the place of the candidate of each sentence with the highest chrF, which needs the reference."""
        return best_candidates(self.sentence_chrf, self.lines)

    def worst(self) -> np.ndarray:
        """Return the place of the candidate of each sentence with the lowest chrF."""
        return best_candidates(-self.sentence_chrf, self.lines)

    @cached_property
    def sentence_chrf(self) -> np.ndarray:
        """(N,) the chrF of each candidate with its references."""
        score = self._counted("chrf").score
        return np.array([score(one) for one in self.statistics("chrf").tolist()])

    def texts(self, places: np.ndarray) -> list[str]:
        """Return the texts of candidates."""
        return self.found["text"].iloc[places].tolist()

    def statistics(self, metric: str) -> np.ndarray:
        """Return what `bleu` or `chrf` counts in each candidate, (N, counts)."""
        return self._counted(metric).statistics[0]

    def counted(self, metric: str, orders: Iterable[np.ndarray]) -> Counted:
        """Return what `bleu` or `chrf` counts in systems, each the place of a candidate of each sentence."""
        statistics = self.statistics(metric)
        return self._counted(metric)._replace(statistics=np.stack([statistics[places] for places in orders]))

    def tuned(self, metric: str, features: Sequence[str] = ()) -> dict[str, float]:
        """Return the weights that `tuned_weights` finds for corpus `bleu` or `chrf`, from those of log p alone.

        Args:
            features: which to weight, log p first; all if not given.
        """
        used = list(features or self.features)
        start, score = np.eye(len(used))[0], self._counted(metric).score
        weights = tuned_weights(self.found[used].to_numpy(), self.lines, self.statistics(metric), score, start)
        return dict(zip(used, weights.tolist(), strict=True))

    def _counted(self, metric: str) -> Counted:
        """Return what a metric counts in all candidates, as those of one system."""
        if metric not in self._kept:
            places = self.lines - 1
            references = [np.array(of, dtype=object)[places].tolist() for of in self.corpus.references(self.split)]
            by = chrf_metric() if metric == "chrf" else bleu_metric(default_tokenizer(self.corpus.target))
            self._kept[metric] = counted(metric, [self.found["text"].tolist()], references, by)
        return self._kept[metric]


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
    sample: int | None = None,
    language_model: LanguageModel | None = None,
    blank: Run | None = None,
    lexicon: bool = False,
    coverage: bool = False,
) -> Lists:
    """Return n-best lists with all features that can be computed; lists and scores of runs are stored with the run.

    Args:
        size, search, sample: as of `n_best`.
        channel: translates in the reverse direction.
        second: translates in the same direction.
        on_progress: called with the number of sentences just translated.
        language_model: of the target language.
        blank: has learned the target language from blank sources.
        lexicon: score the candidates by the run's lexicon, too.
        coverage: score them by how much of the source they cover, too.

    Raises:
        RunError: the run is to have a lexicon, but has none, or is to say what it covers, but does not attend.
        NmtlabError: `channel` or `second` does not translate in its direction, or has no weights; `blank` is no
            language model of the target language, or knows other letters; or one of the three is phrase-based.
    """
    for other, direction in ((channel, corpus.direction[::-1]), (second, corpus.direction)):
        if other and not other.translates(*direction):
            known = ", ".join(f"{source} to {target}" for source, target in other.directions)
            problem = f"run {other.name!r}: translates {known}, but the candidates need {' to '.join(direction)}"
            raise NmtlabError(problem, "choose a run in this direction")
    if blank:
        blank_direction(blank, corpus.target)
    if lexicon:
        lexicon_of(run)  # which may refuse, before the translation
    if coverage:
        check_needs(run, COVERED.needs)
    for other in filter(None, (channel, second, blank)):
        check_needs(other, DECODING)
    asked: dict[str, Any] = {
        "corpus": corpus, "split": split, "size": size, "search": search, "sample": sample, "machine": machine,
    }  # fmt: skip
    columns = {}
    listed = N_BEST.of(run, on_progress, **asked)
    for name, other in (("channel", channel), ("second", second), ("blank", blank)):
        if other:
            columns[name] = SCORED_BY.of(run, other=other, **scoring(name), **asked)["log_prob"]
    if coverage:
        columns |= dict(COVERED.of(run, **asked).items())
    if lexicon:
        columns["lexicon"] = pd.Series(
            lexicon_scores(in_direction(run, corpus), list(corpus.lines(split, corpus.source)), listed)
        )
    if language_model:
        columns["language-model"] = pd.Series(language_model.log_probs(listed["text"]))
    return Lists(corpus, split, listed.assign(**columns), (*FEATURES[:3], *columns))
