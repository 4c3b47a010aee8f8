"""How the pipeline of a run sees a text that it may not have been learned on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.extending import has_bytes, known_languages, tagged_sides, unknown_letters, unknown_pieces
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.vocabulary import UNK


@dataclass(frozen=True)
class SeenSide:
    """A side of a text as a pipeline sees it.

    Args:
        side: source or target.
        language: its code.
        known: whether it is a language of this side of the pipeline.
        tag: whether the pipeline has a tag of it; None if this side needs none.
        words: white-space words.
        tokens: pieces, without the ends of sentences.
        unknown: those of them that become UNK.
        unwritten: those of them that can be read but not generated; 0 on the source side.
        has_bytes: whether letters without a type become pieces of bytes, and none is UNK.
        letters: letters without a type, for which pieces become UNK; none of a pipeline of words.
        unknown_words: words with a piece that becomes UNK.
    """

    side: str
    language: str
    known: bool
    tag: bool | None
    words: int
    tokens: int
    unknown: int
    unwritten: int
    has_bytes: bool
    letters: Counter[str]
    unknown_words: Counter[str]


def seen(pipeline: Pipeline, corpus: ParallelCorpus, split: str = "train") -> tuple[SeenSide, SeenSide]:
    """Return both sides of a text as a pipeline sees it, whether it has their languages or not.

    Raises:
        CorpusError: the text cannot be read.
    """
    sides = ("source", pipeline.source, corpus.source), ("target", pipeline.target, corpus.target)
    lines = zip(*corpus.pairs(split), strict=True)
    source, target = (_seen(pipeline, *side, of_side) for side, of_side in zip(sides, lines, strict=True))
    return source, target


def _seen(pipeline: Pipeline, name: str, side: Side, language: str, lines: Sequence[str]) -> SeenSide:
    counts = np.zeros(side.size, dtype=np.int64)
    letters: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for line, ids in zip(lines, side.encode(lines), strict=True):
        counts += np.bincount(ids[:-1], minlength=side.size)
        if UNK in ids:
            letters.update(unknown_letters(side, line))
            words.update(_unknown_words(side, line))
    masks = pipeline.allowed_by_language
    allowed = [masks[language]] if language in masks else [*masks.values()]
    unwritten = counts[~np.any(allowed, axis=0)].sum() if name == "target" else 0
    tags = known_languages(pipeline)
    return SeenSide(
        side=name,
        language=language,
        known=language in side.languages,
        tag=language in tags if tags and name in tagged_sides(pipeline) else None,
        words=sum(len(line.split()) for line in lines),
        tokens=int(counts.sum()),
        unknown=int(counts[UNK]),
        unwritten=int(unwritten),
        has_bytes=has_bytes(side),
        letters=letters,
        unknown_words=words,
    )


def _unknown_words(side: Side, line: str) -> list[str]:
    """Return the words of a line that have a piece that becomes UNK."""
    words, word_of_piece = side.tokenizer.words(line)
    return [words[index] for index in {word_of_piece[place] for place, _ in unknown_pieces(side, line)}]
