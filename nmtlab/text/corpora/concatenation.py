"""Concatenation of corpora of the same two languages."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import Limits, Marks, clean, digest, sentence_digests, without_leaks
from nmtlab.text.corpora.corpus import SPLITS, Pair, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import ImportReport, synthetic_language, translated_from
from nmtlab.text.corpora.lines import MAX_WORDS, new_folder, write_pairs

SURPLUS = "more than wanted"
SKIPPED = "among the first, which are skipped"
UNCOMMON = "target sentence not in all"


def join(
    folder: Path | str,
    parts: Sequence[ParallelCorpus],
    most: Mapping[str, int] | None = None,
    among: Sequence[ParallelCorpus] = (),
    skip: int = 0,
) -> ImportReport:
    """Write the corpus `folder` atomically: train, dev and test of all parts, one part after the other.

    Dropped are pairs with a blank side, duplicates, pairs of dev with a sentence of test, and pairs of train with a
    sentence of either. If more pairs remain than wanted, a hash of their text decides which to keep: a smaller
    selection is always part of a larger one, and train does not depend on the size of dev and test. Further references
    (`dev.en.1` ...) are left out, since not every part has as many.

    Args:
        folder: must not exist.
        parts: corpora of the same source and target language, each with one split or more.
        most: split -> maximum number of pairs (0 or missing: all).
        among: corpora with the same target language; training pairs are kept only if the training text of all of them
            has the target sentence, compared by letters and digits without case, each sentence once. Corpora made this
            way differ in their source language only.
        skip: leave out the training pairs that `most={"train": skip}` would keep, and choose from those after them.

    Returns:
        Pairs kept and dropped, by split and reason; `options` has the numbers wanted, and how many further references
        were left out of each split.

    Raises:
        CorpusError: `folder` exists, there are no parts, their languages differ, a number is negative, a part cannot be
            read, or no training pair is left after those to skip.
    """
    report = _report(parts)
    wanted = sizes(most)
    report.options = {**wanted, **report.options}
    if skip:
        report.options["skip"] = sizes({"train": skip})["train"]
    if among:
        report.options["among"] = [corpus.name for corpus in among]
    held_out: set[bytes] = set()
    with new_folder(folder) as temporary:
        joined = ParallelCorpus(temporary, report.source, report.target)
        for split in ("test", "dev", "train"):
            dropped = report.dropped[split]
            pairs = clean(_pairs(parts, split), Limits(MAX_WORDS), dropped)
            if among and split == "train":
                pairs = _with_common_target(pairs, among, dropped)
            _write(joined, split, without_leaks(pairs, held_out, dropped))
            if split in joined.splits:
                # Before the selection: what is held out must not depend on how much of it is kept.
                held_out |= sentence_digests(joined.pairs(split))
                _choose(joined, split, skip if split == "train" else 0, wanted[split], dropped)
        report.kept = {split: joined.count(split) if split in joined.splits else 0 for split in SPLITS}
        report.save(temporary)
    return report


def sizes(most: Mapping[str, int] | None) -> dict[str, int]:
    """Return the largest number of pairs of every split, 0 for all; raise `CorpusError` if one is negative."""
    wanted = {split: (most or {}).get(split, 0) for split in SPLITS}
    for split, number in wanted.items():
        if number < 0:
            raise CorpusError(f"{split} is {number}", "give 1 or more pairs, or 0 for all of them")
    return wanted


def _report(parts: Sequence[ParallelCorpus]) -> ImportReport:
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
    references = {
        f"{part.name} {split}": further
        for part in parts
        for split in SPLITS[1:]
        if split in part.splits and (further := len(part.references(split)) - 1)
    }
    made = {language for part in parts if (language := synthetic_language(part))}
    if len(made) > 1:
        raise CorpusError(
            "text made by a system on the source side of one part, and on the target side of another",
            "name them apart in the recipe, as more_corpora",
        )
    report = ImportReport("join", {"parts": [part.name for part in parts]}, first.source, first.target)
    report.synthetic = next(iter(made), "")
    report.translated = next(filter(None, map(translated_from, parts)), {})
    report.options["references_left_out"] = references
    return report


def _pairs(parts: Sequence[ParallelCorpus], split: str) -> Iterator[Pair]:
    for part in parts:
        if split in part.splits:
            yield from part.pairs(split)


def _with_common_target(
    pairs: Iterator[Pair], among: Sequence[ParallelCorpus], dropped: Counter[str]
) -> Iterator[Pair]:
    """Yield the first pair of each target sentence that all corpora have in train; count the others."""
    found = ({_key(target) for _, target in corpus.pairs("train")} for corpus in among)
    common = set.intersection(*found)
    for pair in pairs:
        if (key := _key(pair[1])) in common:
            common.discard(key)
            yield pair
        else:
            dropped[UNCOMMON] += 1


def _key(sentence: str) -> bytes:
    return digest("".join(letter for letter in sentence.casefold() if letter.isalnum()))


def _write(corpus: ParallelCorpus, split: str, pairs: Iterator[Pair]) -> None:
    source, target = (corpus.folder / f"{split}.{language}" for language in (corpus.source, corpus.target))
    if not write_pairs(source, target, pairs):
        source.unlink()
        target.unlink()


def _choose(corpus: ParallelCorpus, split: str, skip: int, most: int, dropped: Counter[str]) -> None:
    """Keep the pairs of a split after the first ones, `most` of them at most (0: all), in the order of their marks."""
    if not (skip or most):
        return
    with Marks() as marks:
        count = sum(marks.add(_mark(pair)) for pair in corpus.pairs(split))
        if skip >= count:
            raise CorpusError(f"{corpus.name}: has {count:,} training pairs, {skip:,} are to be skipped", "skip fewer")
        after = marks.smallest(skip) if skip else b""
        last = marks.smallest(min(skip + most, count) if most else count)
    _write(corpus, split, (pair for pair in corpus.pairs(split) if after < _mark(pair) <= last))
    for reason, number in ((SKIPPED, skip), (SURPLUS, max(0, count - skip - most) if most else 0)):
        if number:
            dropped[reason] += number


def _mark(pair: Pair) -> bytes:
    return digest("\n".join(pair))
