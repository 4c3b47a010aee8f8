"""Several corpora of the same two languages made into one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.cleaning import Limits, clean, digest, sentence_digests, without_leaks
from nmtlab.text.corpus import SPLITS, Pair, ParallelCorpus
from nmtlab.text.files import MAX_WORDS, new_folder, write_pairs
from nmtlab.text.importers.build import ImportReport
from nmtlab.text.marks import Marks

SURPLUS = "more than wanted"


def join(folder: Path, parts: Sequence[ParallelCorpus], most: Mapping[str, int] | None = None) -> ImportReport:
    """Write the corpus `folder`, whole or not at all: train, dev and test of all parts, one part after the other.

    Pairs with a blank side fall, pairs that are there twice, pairs of dev with a sentence of test, and pairs of train
    with a sentence of either. What is then more than wanted falls too: which pairs stay is decided by a hash of their
    text, so that a smaller choice is always part of a larger one, and train is the same whatever the size of dev and
    test. Further references (`dev.en.1` ...) are left out, since not every part has as many.

    Args:
        folder: where the corpus goes; must not be there yet.
        parts: corpora of the same source and target language, each with some of the splits.
        most: split -> most pairs (0, or no such split: all of them).

    Returns:
        What was kept and dropped, by split and reason; `options` has the numbers wanted, and how many further
        references were left out of which split.

    Raises:
        CorpusError: `folder` is there already, there is no part or one of other languages, a number wanted is
            negative, or a part cannot be read.
    """
    wanted = {split: (most or {}).get(split, 0) for split in SPLITS}
    report = _report(parts, wanted)
    held_out: set[bytes] = set()
    with new_folder(folder) as temporary:
        joined = ParallelCorpus(temporary, report.source, report.target)
        for split in ("test", "dev", "train"):
            dropped = report.dropped[split]
            pairs = clean(_pairs(parts, split), Limits(MAX_WORDS), dropped)
            _write(joined, split, without_leaks(pairs, held_out, dropped))
            if split in joined.splits:
                # Before any choice: what is held out must not depend on how much of it is kept.
                held_out |= sentence_digests(joined.pairs(split))
                _choose(joined, split, wanted[split], dropped)
        report.kept = {split: joined.count(split) if split in joined.splits else 0 for split in SPLITS}
        report.save(temporary)
    return report


def _report(parts: Sequence[ParallelCorpus], wanted: Mapping[str, int]) -> ImportReport:
    if not parts:
        raise CorpusError("no parts to join", "name the corpora to join")
    first = parts[0]
    for part in parts:
        if (part.source, part.target) != (first.source, first.target):
            raise CorpusError(
                f"{part.folder}: {part.source} to {part.target}, but {first.folder} is {first.source} to "
                f"{first.target}",
                "join corpora of the same two languages",
            )
    for split, number in wanted.items():
        if number < 0:
            raise CorpusError(f"{split} is {number}", "give 1 or more pairs, or 0 for all of them")
    references = {
        f"{part.name} {split}": further
        for part in parts
        for split in SPLITS[1:]
        if split in part.splits and (further := len(part.references(split)) - 1)
    }
    report = ImportReport("join", {"parts": [part.name for part in parts]}, first.source, first.target)
    report.options |= {**wanted, "references_left_out": references}
    return report


def _pairs(parts: Sequence[ParallelCorpus], split: str) -> Iterator[Pair]:
    for part in parts:
        if split in part.splits:
            yield from part.pairs(split)


def _write(corpus: ParallelCorpus, split: str, pairs: Iterator[Pair]) -> None:
    files = [corpus.folder / f"{split}.{language}" for language in (corpus.source, corpus.target)]
    if not write_pairs(*files, pairs):
        for file in files:
            file.unlink()


def _choose(corpus: ParallelCorpus, split: str, most: int, dropped: Counter[str]) -> None:
    if not most:
        return
    with Marks() as marks:
        count = sum(marks.add(_mark(pair)) for pair in corpus.pairs(split))
        if count <= most:
            return
        last = marks.smallest(most)
    _write(corpus, split, (pair for pair in corpus.pairs(split) if _mark(pair) <= last))
    dropped[SURPLUS] += count - most


def _mark(pair: Pair) -> bytes:
    return digest("\n".join(pair))
