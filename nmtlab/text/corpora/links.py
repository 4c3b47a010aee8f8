"""Word alignments as text: `0-0 1-2`, the format of Pharaoh and GIZA++'s tools."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import read_lines

Link = tuple[int, int]
"""Positions of two linked words, source and target, from 0."""

_LINK = re.compile(r"([0-9]+)-([0-9]+)")


def read_links(path: Path | str) -> list[frozenset[Link]]:
    """Return the links of each line of a file; a blank line has none.

    Raises:
        CorpusError: the file cannot be read, or has an invalid link (the message has the line number).
    """
    return [_parsed(line, f"{path}, line {number}") for number, line in enumerate(read_lines(path), start=1)]


def gold_links(corpus: ParallelCorpus, split: str) -> list[frozenset[Link]]:
    """Return the gold links of each pair of a split, between white-space words; artificial languages have them.

    They are read from `gold/SPLIT.SOURCE-TARGET.align` in the corpus folder, or reversed from
    `gold/SPLIT.TARGET-SOURCE.align`.

    Raises:
        CorpusError: no such file, not one line per pair, or a link to a word beyond the sentence.
    """
    path, swapped = _gold(corpus, split)
    links = read_links(path)
    if swapped:
        links = [frozenset((j, i) for i, j in sentence) for sentence in links]
    pairs = list(corpus.alone.pairs(split))
    if len(links) != len(pairs):
        raise CorpusError(
            f"{path}: {len(links):,} lines, but {split} has {len(pairs):,} pairs", "give one line per pair"
        )
    for number, (sentence, (source, target)) in enumerate(zip(links, pairs, strict=True), start=1):
        check_links(sentence, len(source.split()), len(target.split()), f"{path}, line {number}")
    return links


def has_gold_links(corpus: ParallelCorpus, split: str) -> bool:
    """Return whether a corpus has gold links of a split, as artificial languages do."""
    return any((corpus.folder / "gold" / name).is_file() for name in _names(corpus, split))


def aligned_path(corpus: ParallelCorpus, split: str) -> Path:
    """Return the path of a split's word-aligner links in a corpus folder, whether it exists or not."""
    return corpus.folder / "aligned" / _names(corpus, split)[0]


def format_alignment(links: Iterable[Link]) -> str:
    """Return links as a line of a file."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def check_links(links: Collection[Link], source_words: int, target_words: int, where: str) -> None:
    """Raise `CorpusError` if a link exceeds the number of words on either side.

    Args:
        links: links of one sentence pair.
        source_words: number of its source words.
        target_words: number of its target words.
        where: file and line, for error messages.
    """
    for i, j in sorted(links):
        if i >= source_words or j >= target_words:
            raise CorpusError(
                f"{where}: link {i}-{j}, but the pair has {source_words} source and {target_words} target words",
                "number the aligned words from 0, with the same tokenization",
            )


def _parsed(line: str, where: str) -> frozenset[Link]:
    matches = {word: _LINK.fullmatch(word) for word in line.split()}
    if wrong := [word for word, match in matches.items() if not match]:
        raise CorpusError(f"{where}: {wrong[0]!r} is not a link", "write links as 0-0 1-2, source and target from 0")
    return frozenset((int(match[1]), int(match[2])) for match in matches.values() if match)


def _gold(corpus: ParallelCorpus, split: str) -> tuple[Path, bool]:
    """Return the file of gold links, and whether it is in the other direction."""
    names = _names(corpus, split)
    for swapped, name in enumerate(names):
        if (corpus.folder / "gold" / name).is_file():
            return corpus.folder / "gold" / name, bool(swapped)
    raise CorpusError(
        f"{corpus.folder}: no gold/{names[0]}", "choose an artificial language, or give word-aligner links"
    )


def _names(corpus: ParallelCorpus, split: str) -> list[str]:
    """Return the possible names of the file of gold links, the second in the other direction."""
    languages = ((corpus.source, corpus.target), (corpus.target, corpus.source))
    return [f"{split}.{one}-{other}.align" for one, other in languages]
