"""How a SentencePiece model comes to its pieces: all segmentations of a unigram model, or the merges of BPE one by one.

Words begin with SentencePiece's mark of a space.
"""

import math
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # generated

from nmtlab.text.corpora.lines import SPACE
from nmtlab.text.segmentation.tokenizers import plain

_PENALTY = 10.0
"""By how much a letter without a type is less probable than the rarest type, as in SentencePiece."""


class Segmentation(NamedTuple):
    """Pieces of a text, with their log-probability under a unigram model."""

    pieces: tuple[str, ...]
    log_prob: float


class Segmentations(NamedTuple):
    """The most probable segmentations of a text, best first; the number of all, and the log of their sum."""

    best: list[Segmentation]
    number: int
    log_sum: float


class Merge(NamedTuple):
    """A merge of two neighbours: the pieces after it, the piece that it made, and its rank among all merges, from 0."""

    pieces: tuple[str, ...]
    made: str
    rank: int


def segmentations(model: bytes, text: str, most: int = 40) -> Segmentations:
    """Return the segmentations of a text by a unigram model (Kudo 2018): the `most` probable ones, and their number.

    Args:
        model: serialised, of a unigram model.
        text: normalised as the model's tokenizer does.
        most: at least 1.
    """
    scores = _scores(model)
    unknown, longest = min(scores.values()) - _PENALTY, max(map(len, scores))
    marked = _marked(text)
    best: list[list[Segmentation]] = [[Segmentation((), 0.0)]]
    number, log_sum = [1], [0.0]
    for end in range(1, len(marked) + 1):
        ways = {marked[begin:end]: begin for begin in range(max(0, end - longest), end)}
        known = [(piece, begin, scores[piece]) for piece, begin in ways.items() if piece in scores]
        letter = marked[end - 1]
        known += [] if letter in scores else [(letter, end - 1, unknown)]
        found = [
            Segmentation((*before.pieces, piece), before.log_prob + score)
            for piece, begin, score in known
            for before in best[begin]
        ]
        best.append(sorted(found, key=lambda one: -one.log_prob)[:most])
        number.append(sum(number[begin] for _, begin, _ in known))
        log_sum.append(_log_sum([log_sum[begin] + score for _, begin, score in known]))
    return Segmentations(best[-1], number[-1], log_sum[-1])


def merges(model: bytes, text: str) -> list[Merge]:
    """Return the merges by which a BPE model makes the pieces of a text from its letters (Sennrich et al. 2016).

    Of all neighbours the pair that was learned first is merged, of equal ones the leftmost.

    Args:
        model: serialised, of BPE.
        text: normalised as the model's tokenizer does.
    """
    scores = _scores(model)
    pieces = list(_marked(text))
    found: list[Merge] = []
    while True:
        pairs = [
            (-scores[one + two], place) for place, (one, two) in enumerate(pairwise(pieces)) if one + two in scores
        ]
        if not pairs:
            return found
        rank, place = min(pairs)
        pieces[place : place + 2] = ["".join(pieces[place : place + 2])]
        found.append(Merge(tuple(pieces), pieces[place], round(rank)))


def _marked(text: str) -> str:
    """Return a text as SentencePiece cuts it."""
    return "".join(SPACE + word for word in plain(text).split())


@lru_cache(maxsize=4)
def _scores(model: bytes) -> dict[str, float]:
    """Return the score of each type of text."""
    pieces = ModelProto.FromString(model).pieces
    return {piece.piece: piece.score for piece in pieces if piece.type == ModelProto.SentencePiece.NORMAL}


def _log_sum(values: list[float]) -> float:
    """Return log Σ exp of one or more values."""
    highest = max(values)
    return highest + math.log(sum(math.exp(value - highest) for value in values))
