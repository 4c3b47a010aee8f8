"""Triplets to post-edit: a source, its machine translation and its reference, as a corpus of two sources and a target.

The machine translations are a run's, or references with damaged words: artificial triplets, of which Jauregi Unanue et
al. (2018) need many beside few real ones.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nmtlab.analysis.access.needs import ALONE, ONE_SOURCE, check_needs, in_direction
from nmtlab.errors import CorpusError
from nmtlab.languages import machine_code
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.cleaning import digest, normalise
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import ImportReport
from nmtlab.text.corpora.lines import is_blank, new_folder, one_line, write_lines
from nmtlab.text.noise.damage import damaged
from nmtlab.training.earlier_texts import texts_before
from nmtlab.workspace import Workspace

SEEN = "in the run's training text"
"""Why pairs are left out."""

_Making = Callable[[str, list[Pair]], Sequence[str]]
"""From a split and its pairs to their machine translations."""


def translated_triplets(
    folder: Path | str,
    corpus: ParallelCorpus,
    run: Run,
    workspace: Workspace,
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda lines: None,
) -> ImportReport:
    """Write the corpus `folder` atomically, with translations by a run, by the search of its recipe.

    Pairs whose source is in the training text of the run, or of one that it started from, are left out and counted:
    their translations would be better than those to be corrected. Each split is held in memory. Blank translations are
    blank lines, which systems read as `<NULL>`. Further references, documents and gold data are left out.

    Args:
        folder: must not exist.
        corpus: pairs in a direction of the run, which it has not seen.
        run: with weights and one source, neural or not.
        workspace: with the training text. Without all of it, `options["unchecked"]` is true.
        machine: where to compute.
        on_progress: called with the number of lines just finished.

    Raises:
        CorpusError: the corpus was trained on, or nothing is left of a split; `folder` exists; the text cannot be read.
        RunError: the run has no weights, or reads several sources, or sentences in context.
    """
    run = in_direction(run, corpus)
    check_needs(run, (ONE_SOURCE, ALONE))
    system = open_system(run, machine=machine)
    seen, known = _trained_on(run, corpus, workspace)
    origin = {"run": run.name, "weights": run.checkpoints.original_digest, "pipeline": run.pipeline.checksum()}
    options = {"search": run.recipe.search.model_dump(mode="json"), **({} if known else {"unchecked": True})}

    def made(_: str, pairs: list[Pair]) -> list[str]:
        found = system.translate([source for source, _ in pairs], on_progress=on_progress)
        return [one_line(translation.text) for translation in found]

    return _write(Path(folder), corpus, made, origin, options, seen)


def damaged_triplets(folder: Path | str, corpus: ParallelCorpus, share: float, seed: int = 1) -> ImportReport:
    """Write the corpus `folder` atomically, with references of which a share of the words is damaged.

    Words in the place of others are drawn from the first split of the corpus, by their frequency. With the same seed,
    the words that a smaller share damages are among those of a larger one. Left out is what `translated_triplets`
    leaves out, but for pairs.

    Args:
        folder: must not exist.
        share: of the words, above 0 and at most 1.
        seed: of the damage.

    Raises:
        CorpusError: the share is out of range, the targets have no words, `folder` exists, or the text cannot be read.
    """
    if not 0 < share <= 1:
        raise CorpusError(f"a share of {share:g} of the words", "give more than 0 and at most 1: 0.2 is 20 %")
    words = [word for _, target in corpus for word in target.split()]
    if not words:
        raise CorpusError(f"corpus {corpus.name!r}: no words in {corpus.target}", "choose another corpus")

    def made(split: str, pairs: list[Pair]) -> list[str]:
        order = corpus.splits.index(split)
        generators = (np.random.default_rng([seed, order, line]) for line in range(len(pairs)))
        return [damaged(target, share, words, one) for (_, target), one in zip(pairs, generators, strict=True)]

    return _write(Path(folder), corpus, made, {}, {"damage": share, "seed": seed})


def _trained_on(run: Run, corpus: ParallelCorpus, workspace: Workspace) -> tuple[set[bytes], bool]:
    """Return digests of the training sentences of a run and of those before it that are here, and if these are all.

    Raises:
        CorpusError: the corpus is one that the run was trained on.
    """
    texts, known = texts_before(run, workspace)
    if corpus.checksum() in {*run.checksums, *(text.checksum() for text in texts)}:
        raise CorpusError(
            f"corpus {corpus.name!r}: run {run.name!r} was trained on it, and would translate what it has learned",
            "choose pairs that it has not seen, such as the rest of a corpus: nmtlab corpus join ... --skip",
        )
    spoken = (text for text in texts if corpus.source in text.direction)
    return {_key(line) for text in spoken for line in text.lines("train", corpus.source)}, known


def _key(sentence: str) -> bytes:
    return digest(normalise(sentence))


def _write(
    folder: Path,
    corpus: ParallelCorpus,
    made: _Making,
    origin: dict[str, Any],
    options: dict[str, Any],
    seen: Collection[bytes] = (),
) -> ImportReport:
    """Write all splits of a corpus of triplets, without the pairs whose source has been seen."""
    languages = [corpus.source, machine_code(corpus.target), corpus.target]
    if corpus.source == languages[1]:
        problem = f"corpus {corpus.name!r}: its source, {corpus.source}, is a machine translation already"
        raise CorpusError(problem, "name the language that was translated as its source")
    about = {**origin, "corpus": corpus.name, "checksum": corpus.checksum()}
    report = ImportReport("triplets", about, *corpus.direction, {"languages": languages, "blank": 0, **options})
    report.inherit(corpus)
    with new_folder(folder) as temporary:
        for split in corpus.splits:
            pairs = list(_unseen(corpus, split, seen, report.dropped[split]))
            if not pairs:
                problem = f"corpus {corpus.name!r}: all {report.dropped[split].total():,} pairs of {split} are {SEEN}"
                raise CorpusError(problem, "choose pairs that it has not seen")
            translations = made(split, pairs)
            report.options["blank"] += sum(map(is_blank, translations))
            sources, targets = zip(*pairs, strict=True)
            for language, lines in zip(languages, (sources, translations, targets), strict=True):
                write_lines(temporary / f"{split}.{language}", lines)
            report.kept[split] = len(pairs)
        report.save(temporary, also=(languages[1],))
    return report


def _unseen(corpus: ParallelCorpus, split: str, seen: Collection[bytes], dropped: Counter[str]) -> Iterator[Pair]:
    """Yield the pairs of a split whose source has not been seen; count the others."""
    for source, target in corpus.pairs(split):
        if seen and not is_blank(source) and _key(source) in seen:
            dropped[SEEN] += 1
        else:
            yield source, target
