"""Checks of all texts of a training before it begins."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import digest, normalise
from nmtlab.text.corpora.corpus import Direction, Pair, ParallelCorpus
from nmtlab.text.corpora.corpus_builder import synthetic_language
from nmtlab.text.corpora.lines import is_blank
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.segmentation.pipeline import Pipeline


@dataclass(frozen=True)
class DevText:
    """The text of one direction that decides when training stops."""

    source: list[str]
    references: list[list[str]]
    """One or more sets of references."""
    more_sources: tuple[list[str], ...] = ()
    """The lines of the sources that are translated together with the first."""


def shared_lines(*corpora: ParallelCorpus) -> dict[tuple[int, str], list[int]]:
    """Read corpora completely and return which dev and test pairs also occur in any of the training texts.

    With several directions, a pair also occurs in a text that has it reversed. Dev and test are held in memory.

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
    found: set[Pair] = set()
    several = len({corpus.direction for corpus in corpora}) > 1
    for corpus in corpora:
        if "train" in corpus.begun_splits:
            for pair in corpus.checked_pairs("train"):
                ways = (pair, pair[::-1]) if several else (pair,)
                found.update(way for way in ways if way in held_out)
    lines: dict[tuple[int, str], list[int]] = {}
    for index, split, number in sorted(line for pair in found for line in held_out[pair]):
        lines.setdefault((index, split), []).append(number)
    return lines


def shared_targets(trained: ParallelCorpus, held_out: ParallelCorpus) -> dict[str, int]:
    """Return split -> number of dev and test sentences of one corpus whose target side is in another's train, if any.

    Sentences are compared normalised: case and white space do not matter.
    """
    return _targets_in(_digests(target for _, target in trained.pairs("train")), held_out)


def held_out_among(lines: Iterable[str], language: str, corpora: Iterable[ParallelCorpus]) -> dict[str, int]:
    """Return split -> number of dev and test sentences of corpora in a language that are among some lines, if any.

    Sentences are compared as by `shared_targets`. The lines are streamed.
    """
    sided = {corpus.folder: _into(language, corpus) for corpus in corpora if language in corpus.direction}
    held_out = {
        mark
        for corpus in sided.values()
        for split in corpus.splits
        if split != "train"
        for mark in _digests(corpus.lines(split, language))
    }
    seen = {found for line in lines if (found := digest(normalise(line))) in held_out}
    counted: Counter[str] = Counter()
    for corpus in sided.values():
        counted.update(_targets_in(seen, corpus))
    return dict(counted)


def check_held_out(text: MonolingualCorpus, corpora: Iterable[ParallelCorpus], otherwise: str = "") -> None:
    """Refuse text with sentences of the dev and test sets of corpora.

    Args:
        text: in one of their languages; streamed.
        corpora: with dev or test.
        otherwise: what can be done besides removing the sentences, with a comma before it.

    Raises:
        CorpusError: there are some, as by `held_out_among`.
    """
    found = held_out_among(text.lines(), text.language, corpora)
    if found:
        numbers = [
            f"{number:,} {text.language} sentence{'' if number == 1 else 's'} of {split}"
            for split, number in found.items()
        ]
        raise CorpusError(
            f"text {text.name}: has {' and '.join(numbers)}",
            f"remove them from the text{otherwise}",
        )


def _into(language: str, corpus: ParallelCorpus) -> ParallelCorpus:
    """Return a corpus in the direction into one of its languages."""
    return corpus if corpus.target == language else replace(corpus, source=corpus.target, target=corpus.source)


def check_texts(
    corpora: Sequence[ParallelCorpus], allow_overlap: bool = False
) -> tuple[dict[Direction, DevText], dict[str, int]]:
    """Check all texts of a training before it begins.

    Args:
        corpora: training corpora; dev text of the first one in each direction decides when training stops.
        allow_overlap: accept pairs of dev and test that are also in train, and sentences whose target side is in the
            training text of another corpus, if that was made by a system, its sources are blank, or there are several
            directions.

    Returns:
        The dev text of each direction that has some, and split -> number of pairs that are also in train, if any.

    Raises:
        CorpusError: sides of different length, unreadable text, no training text, no dev text in the first direction, a
            duplicate corpus, or without `allow_overlap`, text of dev or test that is also in train.
    """
    as_read, corpora = corpora, [corpus.alone for corpus in corpora]
    first, *more = corpora
    _check_splits(first, "train", "dev")
    for corpus in more:
        _check_splits(corpus, "train")
    for index, corpus in enumerate(corpora):
        if any((corpus.folder, corpus.direction) == (other.folder, other.direction) for other in corpora[:index]):
            raise CorpusError(f"corpus {corpus.name!r}: named twice", "remove one; use weight to make it count more")
    overlap: dict[str, int] = {}
    several = len({corpus.direction for corpus in corpora}) > 1
    for (index, split), lines in shared_lines(*corpora).items():
        corpus = corpora[index]
        if not allow_overlap:
            raise CorpusError(
                f"corpus {corpus.name!r}: {_counted(len(lines), split)} in "
                f"{'a training text' if more else 'train'} too, first at {split} line {lines[0]}",
                "import the text again with 'nmtlab corpus import', which removes them from train; to keep published "
                "splits unchanged, train with --allow-overlap",
            )
        overlap[_title(corpora, index, split)] = len(lines)
    compared = corpora if several else [corpus for corpus in corpora if corpus.blank or synthetic_language(corpus)]
    for (index, split), number in _targets_elsewhere(corpora, compared).items():
        corpus = corpora[index]
        if not allow_overlap:
            raise CorpusError(
                f"corpus {corpus.name!r}: {number:,} {corpus.target} sentence{'' if number == 1 else 's'} of {split} "
                f"{'is' if number == 1 else 'are'} in the training text of another corpus",
                "remove them there, or accept it with --allow-overlap",
            )
        overlap[f"{_title(corpora, index, split)} (target side, in another corpus)"] = number
    dev: dict[Direction, DevText] = {}
    for corpus in as_read:
        if "dev" in corpus.splits and corpus.direction not in dev:
            source, *also = (list(corpus.lines("dev", language)) for language in corpus.sources)
            dev[corpus.direction] = DevText(source, corpus.references("dev"), tuple(also))
    return dev, overlap


def scored_dev(dev: DevText, pipeline: Pipeline) -> DevText:
    """Return the dev text of which no reference of the first set has more than `text.max_target_tokens` tokens, if any.

    Raises:
        CorpusError: none is as short.
    """
    most = pipeline.settings.max_target_tokens
    if not most:
        return dev
    kept = [place for place, ids in enumerate(pipeline.encode_target(dev.references[0])) if len(ids) - 1 <= most]
    if not kept:
        raise CorpusError(
            f"dev: no target has at most {most} tokens", "add shorter ones, or raise text.max_target_tokens"
        )
    source, *more = ([lines[place] for place in kept] for lines in (dev.source, *dev.more_sources))
    return DevText(source, [[lines[place] for place in kept] for lines in dev.references], tuple(more))


def _title(corpora: Sequence[ParallelCorpus], index: int, split: str) -> str:
    """Return the name of a split of one of a training's corpora; the first is not named."""
    corpus = corpora[index]
    if index == 0:
        return split
    twice = sum(other.folder == corpus.folder for other in corpora) > 1
    return f"{split} of {corpus.name}{f' {corpus.source}-{corpus.target}' if twice else ''}"


def _targets_elsewhere(
    corpora: Sequence[ParallelCorpus], compared: Sequence[ParallelCorpus]
) -> dict[tuple[int, str], int]:
    """Return the number of dev and test sentences whose target side is in the real training text of another corpus.

    Args:
        corpora: with dev and test.
        compared: those of them whose training text counts.

    Returns:
        (index of the corpus, split) -> number of sentences, if any.
    """
    sides = {(corpus.folder, language): corpus for corpus in compared for language in _real(corpus)}
    trained = {side: _digests(corpus.lines("train", side[1])) for side, corpus in sides.items()}
    found: dict[tuple[int, str], int] = {}
    for index, corpus in enumerate(corpora):
        others = [
            seen
            for (folder, language), seen in trained.items()
            if folder != corpus.folder and language == corpus.target
        ]
        of_splits = _targets_in(set().union(*others), corpus)
        found |= {(index, split): number for split, number in of_splits.items()}
    return found


def _real(corpus: ParallelCorpus) -> list[str]:
    """Return the languages of a corpus whose text is read, and was not made by a system."""
    read = (corpus.target,) if corpus.blank else corpus.direction
    return [language for language in read if language != synthetic_language(corpus)]


def _digests(lines: Iterable[str]) -> set[bytes]:
    return {digest(normalise(line)) for line in lines}


def _targets_in(seen: set[bytes], held_out: ParallelCorpus) -> dict[str, int]:
    """Return split -> number of dev and test sentences whose target side is among `seen` digests, if any."""
    found = {}
    for split in held_out.splits:
        if split != "train":
            targets = (target for _, target in held_out.pairs(split) if not is_blank(target))
            found[split] = sum(digest(normalise(target)) in seen for target in targets)
    return {split: number for split, number in found.items() if number}


def _counted(pairs: int, split: str) -> str:
    return f"{pairs:,} pair{'' if pairs == 1 else 's'} of {split} {'is' if pairs == 1 else 'are'}"


def _check_splits(corpus: ParallelCorpus, *splits: str) -> None:
    for split in splits:
        if split not in corpus.splits:
            raise CorpusError(
                f"corpus {corpus.name!r}: no {split}.{corpus.source} and {split}.{corpus.target}",
                "add them, or import the text with 'nmtlab corpus import', which creates the splits",
            )
