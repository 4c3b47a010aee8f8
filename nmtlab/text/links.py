"""Which words of a sentence pair belong together, as text: `0-0 1-2`, the format of Pharaoh and GIZA++'s tools."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.files import read_lines

Link = tuple[int, int]
"""Positions of two linked words, source and target, from 0."""

_LINK = re.compile(r"([0-9]+)-([0-9]+)")


def read_links(path: Path) -> list[frozenset[Link]]:
    """Return the links of each line of a file; a blank line has none.

    Raises:
        CorpusError: the file cannot be read, or, with the line's number, something in it is not a link.
    """
    return [_parsed(line, f"{path}, line {number}") for number, line in enumerate(read_lines(path), start=1)]


def gold_links(corpus: ParallelCorpus, split: str) -> list[frozenset[Link]]:
    """Return the true links of each pair of a split, between white-space words, as controlled languages have them.

    They are in the corpus' folder in `gold/SPLIT.SOURCE-TARGET.align`, or turned round in
    `gold/SPLIT.TARGET-SOURCE.align`.

    Raises:
        CorpusError: no such file, not a line for each pair, or a link to a word that is not there.
    """
    path, turned = _gold(corpus, split)
    links = read_links(path)
    if turned:
        links = [frozenset((j, i) for i, j in sentence) for sentence in links]
    pairs = list(corpus.pairs(split))
    if len(links) != len(pairs):
        raise CorpusError(
            f"{path}: {len(links):,} lines, but {split} has {len(pairs):,} pairs", "give it a line for each pair"
        )
    for number, (sentence, (source, target)) in enumerate(zip(links, pairs, strict=True), start=1):
        check_links(sentence, len(source.split()), len(target.split()), f"{path}, line {number}")
    return links


def has_gold_links(corpus: ParallelCorpus, split: str) -> bool:
    """Return whether a corpus has the true links of a split, as controlled languages have."""
    return any((corpus.folder / "gold" / name).is_file() for name in _names(corpus, split))


def aligned_path(corpus: ParallelCorpus, split: str) -> Path:
    """Return where a corpus keeps the links that a word aligner has found in a split, if it does."""
    return corpus.folder / "aligned" / _names(corpus, split)[0]


def format_alignment(links: Iterable[Link]) -> str:
    """Return links as a line of a file."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def check_links(links: Collection[Link], source_words: int, target_words: int, where: str) -> None:
    """Raise `CorpusError` if a link is to a word that a sentence pair of so many words does not have.

    Args:
        links: of one sentence pair.
        source_words: number of its source words.
        target_words: number of its target words.
        where: file and line, for the error.
    """
    for i, j in sorted(links):
        if i >= source_words or j >= target_words:
            raise CorpusError(
                f"{where}: link {i}-{j}, but the pair has {source_words} source and {target_words} target words",
                "count the same words from 0 that were aligned",
            )


def _parsed(line: str, where: str) -> frozenset[Link]:
    matches = {word: _LINK.fullmatch(word) for word in line.split()}
    if wrong := [word for word, match in matches.items() if not match]:
        raise CorpusError(f"{where}: {wrong[0]!r} is not a link", "write links as 0-0 1-2, source and target from 0")
    return frozenset((int(match[1]), int(match[2])) for match in matches.values() if match)


def _gold(corpus: ParallelCorpus, split: str) -> tuple[Path, bool]:
    """Return the file of gold links, and whether it is in the other direction."""
    names = _names(corpus, split)
    for turned, name in enumerate(names):
        if (corpus.folder / "gold" / name).is_file():
            return corpus.folder / "gold" / name, bool(turned)
    raise CorpusError(
        f"{corpus.folder}: no gold/{names[0]}", "choose a controlled language, or give links of a word aligner"
    )


def _names(corpus: ParallelCorpus, split: str) -> list[str]:
    """Return the names that a file of gold links may have, the second in the other direction."""
    languages = ((corpus.source, corpus.target), (corpus.target, corpus.source))
    return [f"{split}.{one}-{other}.align" for one, other in languages]
