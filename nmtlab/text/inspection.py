"""Checks of all texts of a training before it begins."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nmtlab.errors import CorpusError
from nmtlab.text.cleaning import digest, normalise
from nmtlab.text.corpus import Pair, ParallelCorpus


@dataclass(frozen=True)
class DevText:
    """The text that decides when training stops."""

    source: list[str]
    references: list[list[str]]
    """One or more sets of references."""


def shared_lines(*corpora: ParallelCorpus) -> dict[tuple[int, str], list[int]]:
    """Read corpora completely and return which dev and test pairs also occur in any of the training texts.

    Dev and test are held in memory.

    Returns:
        (index of the corpus, split) -> line numbers, from 1, of the pairs that occur there verbatim.

    Raises:
        CorpusError: the first problem found (see `ParallelCorpus.checked_pairs`).
    """
    held_out: dict[Pair, list[tuple[int, str, int]]] = {}
    for index, corpus in enumerate(corpora):
        for split in corpus.begun_splits:
            if split != "train":
                for number, pair in enumerate(corpus.checked_pairs(split), start=1):
                    held_out.setdefault(pair, []).append((index, split, number))
    found = set()
    for corpus in corpora:
        if "train" in corpus.begun_splits:
            found |= {pair for pair in corpus.checked_pairs("train") if pair in held_out}
    lines: dict[tuple[int, str], list[int]] = {}
    for index, split, number in sorted(line for pair in found for line in held_out[pair]):
        lines.setdefault((index, split), []).append(number)
    return lines


def shared_targets(trained: ParallelCorpus, held_out: ParallelCorpus) -> dict[str, int]:
    """Return split -> number of dev and test sentences of one corpus whose target side is in another's train, if any.

    Sentences are compared normalised: case and white space do not matter.
    """
    targets = {
        split: Counter(digest(normalise(target)) for _, target in held_out.pairs(split) if target.strip())
        for split in held_out.splits
        if split != "train"
    }
    found = dict.fromkeys(targets, 0)
    seen = {digest(normalise(target)) for _, target in trained.pairs("train")}
    for split, counts in targets.items():
        found[split] = sum(number for key, number in counts.items() if key in seen)
    return {split: number for split, number in found.items() if number}


def check_texts(corpora: Sequence[ParallelCorpus], allow_overlap: bool = False) -> tuple[DevText, dict[str, int]]:
    """Check all texts of a training before it begins.

    Args:
        corpora: training corpora; dev text of the first one decides when training stops.
        allow_overlap: accept pairs of dev and test that are also in train.

    Returns:
        The dev text, and split -> number of pairs that are also in train, if any.

    Raises:
        CorpusError: sides of different length, unreadable text, no training or dev text, a duplicate corpus, or pairs
            of dev or test that are also in train without `allow_overlap`.
    """
    first, *more = corpora
    _check_splits(first, "train", "dev")
    for corpus in more:
        _check_splits(corpus, "train")
    for index, corpus in enumerate(corpora):
        if any((corpus.folder, corpus.direction) == (other.folder, other.direction) for other in corpora[:index]):
            raise CorpusError(f"corpus {corpus.name!r}: named twice", "remove one; use weight to make it count more")
    overlap: dict[str, int] = {}
    for (index, split), lines in shared_lines(*corpora).items():
        corpus = corpora[index]
        if not allow_overlap:
            raise CorpusError(
                f"corpus {corpus.name!r}: {_counted(len(lines), split)} in "
                f"{'a training text' if more else 'train'} too, first at {split} line {lines[0]}",
                "import the text again with 'nmtlab corpus import', which removes them from train; to keep published "
                "splits unchanged, train with --allow-overlap",
            )
        overlap[split if index == 0 else f"{split} of {corpus.name}"] = len(lines)
    return DevText(list(first.lines("dev", first.source)), first.references("dev")), overlap


def _counted(pairs: int, split: str) -> str:
    return f"{pairs:,} pair{'' if pairs == 1 else 's'} of {split} {'is' if pairs == 1 else 'are'}"


def _check_splits(corpus: ParallelCorpus, *splits: str) -> None:
    for split in splits:
        if split not in corpus.splits:
            raise CorpusError(
                f"corpus {corpus.name!r}: no {split}.{corpus.source} and {split}.{corpus.target}",
                "add them, or import the text with 'nmtlab corpus import', which creates the splits",
            )
