"""Synthetic pairs: text with its translations by a run, to train another on.

The translations are the sources in back-translation (Sennrich et al. 2016), and the targets in sequence-level
distillation (Kim and Rush 2016).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sacrebleu.metrics.base import Metric

from nmtlab.errors import CorpusError, RunError
from nmtlab.evaluation.scores import chrf_metric, default_tokenizer, sentence_bleu_metric
from nmtlab.recipe.machine import MachineSettings
from nmtlab.recipe.search import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.searches import Sample
from nmtlab.systems import open_ensemble, open_system
from nmtlab.text.corpora.cleaning import BLANK_LINE, COPIED, is_copied
from nmtlab.text.corpora.corpus import Direction, Pair, ParallelCorpus, languages_in
from nmtlab.text.corpora.corpus_builder import ImportReport, copy_held_out
from nmtlab.text.corpora.lines import is_blank, new_folder, write_pairs
from nmtlab.text.corpora.monolingual import MonolingualCorpus, sampled
from nmtlab.translation import System

BLANK_TRANSLATION = "blank translation"
UNFINISHED = "translation at the length limit"
_LOWER_RANKED = "translation that is not the model's best"

Made = tuple[str, Hypothesis]
"""A translation, and the hypothesis behind it."""

_LINES_AT_ONCE = 4096
"""Lines that are translated before the next are read: they are sorted by length, and all held in memory."""


@dataclass(frozen=True)
class Synthesis:
    """How text is translated.

    Args:
        side: side of the pairs that has the translations: the source (back-translation, with real text as the target),
            or the target.
        search: settings of the search; of samples, only those of lengths count.
        samples: translations to sample of each line, each a pair; 0 to search for one.
        temperature: of sampling, above 0.
        limit: maximum number of lines, drawn at random; 0 for all.
        seed: of samples, and of the draw of lines.
        origin: kind of text, for the recipe of a training on it.
        part: which draw of so many lines, from 0: none has a line of another until all are used up.
        nearest: score of a sentence by which the translation nearest to the reference is kept, among as many as the
            beam size (Kim and Rush 2016: sequence-level interpolation); None for the best by the model.
    """

    side: Literal["source", "target"] = "source"
    search: SearchSettings = field(default_factory=lambda: SearchSettings(beam_size=1))
    samples: int = 0
    temperature: float = 1.0
    limit: int = 0
    seed: int = 1
    origin: str = "synthetic"
    part: int = 0
    nearest: Literal["bleu", "chrf"] | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """All settings, for a report."""
        chosen: dict[str, Any] = {"nearest": self.nearest} if self.nearest else {}
        if self.samples:
            chosen |= {"samples": self.samples, "temperature": self.temperature}
        return {
            "translations": self.side, **chosen, "limit": self.limit, "seed": self.seed, "part": self.part,
            "origin": self.origin, "search": self.search.model_dump(mode="json"),
        }  # fmt: skip

    def directed(self, direction: Direction) -> Direction:
        """Return the direction of the pairs, if a system translates in a direction."""
        return direction[::-1] if self.side == "source" else direction

    def pair(self, line: str, translation: str) -> Pair:
        """Return a line and its translation as source and target."""
        return (translation, line) if self.side == "source" else (line, translation)

    def way(self, number: int) -> dict[str, Any]:
        """Return what the system needs to know to translate the lines read as the `number`-th, from 0."""
        if not self.samples:
            return {"n_best": self.search.beam_size} if self.nearest else {}
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        return {"search": Sample(self.search, self.samples, self.temperature, seed=seed)}


def back_translate(
    run: Run,
    text: MonolingualCorpus,
    folder: Path | str,
    settings: Synthesis = Synthesis(),
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda lines: None,
    system: System | None = None,
    others: Sequence[Run] = (),
) -> ImportReport:
    """Write the corpus `folder` of a text and its translations by a run; arguments as of `write_translated`.

    Args:
        run: with weights; in the direction in which it translates.
        machine: where to compute, as of `open_system`.
        system: the run as another engine has opened it, if one is to translate; of no effect with `others`.
        others: runs that translate with it, as an ensemble.

    Raises:
        CorpusError: as `write_translated`.
        RunError: a run has no weights, reads several sources, or sentences in context; or it is phrase-based, and is
            to be sampled from or one of several; or as of `open_ensemble`.
    """
    for one in (run, *others):
        if one.recipe.corpus.also_sources:
            problem = f"run {one.name!r}: it reads several sources, and the text has one"
            raise RunError(problem, "choose a run of one source")
        if one.recipe.text.context:
            problem = f"run {one.name!r}: it reads sentences in context, and the text has no documents"
            raise RunError(problem, "choose a run with text.context = 0")
    _check_language(run.name, run.direction, text)
    first, *further = ({"run": one.name, "weights": one.checkpoints.original_digest} for one in (run, *others))
    made_by: dict[str, Any] = {**first, "with": further} if others else first
    if others:
        system = open_ensemble([run, *others], settings.search, machine=machine)
    system = system or open_system(run, settings.search, machine=machine)
    return write_translated(system, made_by, text, folder, settings, on_progress)


def write_translated(
    system: System,
    made_by: Mapping[str, Any],
    text: MonolingualCorpus,
    folder: Path | str,
    settings: Synthesis,
    on_progress: Callable[[int], None] = lambda lines: None,
) -> ImportReport:
    """Write the corpus `folder` atomically, in the order of the lines.

    It has training text only; but if the translations are the targets, and the text is the source side of a parallel
    corpus, dev and test of that corpus too. Left out are blank lines, and translations that are blank or were cut off
    at the length limit. A translation that copies its line is kept, and counted in `options`. The text is streamed.

    Args:
        system: reads the language of the text.
        made_by: name of its run as `run`, and what else identifies it.
        text: to be translated.
        folder: must not exist.
        settings: how to translate.
        on_progress: called with the number of lines just finished.

    Raises:
        CorpusError: `folder` exists, the text is in another language or cannot be read, it has no references to be near
            to, or no translation is left.
    """
    name, direction = made_by["run"], system.languages
    _check_language(name, direction, text)
    origin = {**made_by, "pipeline": system.pipeline.checksum(), "text": text.name, "language": text.language}
    bitext = _bitext(text, direction, settings)
    origin |= {"checksum": text.checksum()} | ({"bitext": bitext.checksum()} if bitext else {})
    report = ImportReport("translated", origin, *settings.directed(direction))
    report.synthetic = direction[1]
    total = text.count()
    references = bitext if settings.nearest else None
    pairs = references.pairs("train") if references else ((line, "") for line in text.lines())
    lines = sampled(pairs, total, settings.limit or total, settings.seed, settings.part)
    counted: Counter[str] = Counter()
    with new_folder(folder) as temporary:
        source, target = (temporary / f"train.{code}" for code in (report.source, report.target))
        kept = write_pairs(source, target, _pairs(system, lines, settings, counted, on_progress))
        report.options = {"lines": min(total, settings.limit or total), "copies": counted.pop(COPIED, 0)}
        report.options |= {"lower_ranked": counted.pop(_LOWER_RANKED, 0)} if settings.nearest else {}
        report.options |= settings.facts
        report.kept = {"train": kept} | (copy_held_out(bitext, temporary) if bitext else {})
        report.dropped["train"] = +counted
        if not kept:
            raise _none_left(name, +counted)
        report.save(temporary)
    return report


def _check_language(name: str, direction: Direction, text: MonolingualCorpus) -> None:
    source, target = direction
    if text.language != source:
        raise CorpusError(
            f"text {text.name}: in {text.language}, but {name} translates {source} to {target}",
            f"choose text in {source}, or a run that translates {text.language}",
        )


def _bitext(text: MonolingualCorpus, direction: Direction, settings: Synthesis) -> ParallelCorpus | None:
    """Return the pairs whose sources a text is, if its translations are to be targets.

    Raises:
        CorpusError: there are none, and their targets are needed as references.
    """
    if settings.side == "target" and direction[1] in languages_in(text.folder):
        return ParallelCorpus.open(text.folder, *direction)
    if settings.nearest:
        raise CorpusError(
            f"text {text.name}: has no translations into {direction[1]} to be near to",
            "name the source side of a parallel corpus, as NAME:xx, whose translations become targets",
        )
    return None


def _pairs(
    system: System,
    lines: Iterator[Pair],
    settings: Synthesis,
    counted: Counter[str],
    on_progress: Callable[[int], None],
) -> Iterator[Pair]:
    """Yield the pairs that are kept; count those that are not by reason, and those kept that are copies.

    Each line comes with its reference, blank if none is needed.
    """
    bleu = settings.nearest == "bleu"
    metric = sentence_bleu_metric(default_tokenizer(system.languages[1])) if bleu else chrf_metric()
    for number, together in enumerate(_in_parts(lines)):
        found = system.translate(
            [line for line, _ in together], on_progress=on_progress, scored=False, **settings.way(number)
        )
        for (line, reference), translation in zip(together, found, strict=True):
            counted[BLANK_LINE] += not translation.hypotheses  # zip is empty then
            made = list(zip(translation.texts, translation.hypotheses, strict=False))
            if settings.nearest and made:
                chosen = nearest(made, reference, metric)
                counted[_LOWER_RANKED] += chosen is not made[0] and not _fault(*made[0])
                made = [chosen]
            for text, hypothesis in made:
                pair = settings.pair(line, text)
                if reason := _fault(text, hypothesis):
                    counted[reason] += 1
                else:
                    counted[COPIED] += is_copied(pair)
                    yield pair


def nearest(made: Sequence[Made], reference: str, metric: Metric) -> Made:
    """Return the translation with the best sentence score against a reference, the first of equals.

    Blank translations and unfinished ones are chosen only if there are no others.

    Args:
        made: one or more, best first by the model.
        reference: of their line.
        metric: higher is better.
    """
    usable = [one for one in made if not _fault(*one)] or made
    return max(usable, key=lambda one: metric.sentence_score(one[0], [reference]).score)


def _fault(text: str, hypothesis: Hypothesis) -> str:
    """Return why a translation is left out; empty if it is not."""
    return BLANK_TRANSLATION * is_blank(text) or UNFINISHED * (not hypothesis.finished)


def _in_parts(lines: Iterator[Pair]) -> Iterator[list[Pair]]:
    while together := list(islice(lines, _LINES_AT_ONCE)):
        yield together


def _none_left(name: str, counted: Counter[str]) -> CorpusError:
    """Return the error that no translation is left, and why."""
    total = counted.total()
    if counted[BLANK_TRANSLATION] == total:
        return CorpusError(f"{name} translates all {total:,} lines as blank", "choose a run that has learned more")
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in counted.most_common() if number)
    problem = f"{name}: none of {total:,} translations can be used ({reasons})"
    return CorpusError(problem, "choose a run that has learned more, or another text")
