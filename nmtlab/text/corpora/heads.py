"""Gold heads of source words as text: `1 4 4 4`, the position of each word's head from 0; the root's is its own."""

from collections.abc import Iterable
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import read_lines


def gold_heads(corpus: ParallelCorpus, split: str) -> list[list[int]]:
    """Return the heads of the white-space words of each source sentence of a split; artificial languages have them.

    They are read from `gold/SPLIT.SOURCE-TARGET.heads` in the corpus folder.

    Raises:
        CorpusError: no such file, not one line per sentence, or not one position of a word for each word.
    """
    path = heads_path(corpus, split)
    if not path.is_file():
        remedy = "make an artificial language: nmtlab corpus make; make one of an earlier version again"
        raise CorpusError(f"{corpus.folder}: no gold/{path.name}", remedy)
    lines, sources = list(read_lines(path)), list(corpus.alone.lines(split, corpus.source))
    if len(lines) != len(sources):
        problem = f"{path}: {len(lines):,} lines, but {split} has {len(sources):,} sentences"
        raise CorpusError(problem, "give one line per sentence")
    pairs = enumerate(zip(lines, sources, strict=True), start=1)
    return [_parsed(line, len(source.split()), f"{path}, line {number}") for number, (line, source) in pairs]


def has_gold_heads(corpus: ParallelCorpus, split: str) -> bool:
    """Return whether a corpus has gold heads of a split."""
    return heads_path(corpus, split).is_file()


def heads_path(corpus: ParallelCorpus, split: str) -> Path:
    """Return the path of a split's gold heads, whether it exists or not."""
    return corpus.folder / "gold" / f"{split}.{corpus.source}-{corpus.target}.heads"


def format_heads(heads: Iterable[int]) -> str:
    """Return the heads of a sentence as a line of a file."""
    return " ".join(map(str, heads))


def _parsed(line: str, words: int, where: str) -> list[int]:
    found = line.split()
    if len(found) != words:
        raise CorpusError(f"{where}: {len(found)} heads, but the sentence has {words} words", "give one for each word")
    places = {str(place): place for place in range(words)}
    for head in found:
        if head not in places:
            raise CorpusError(f"{where}: {head!r} is no word of the sentence", f"number words from 0 to {words - 1}")
    return [places[head] for head in found]
