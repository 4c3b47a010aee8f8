"""Alignment error rate against gold links."""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from nmtlab.errors import CorpusError

Link = tuple[int, int]


@dataclass(frozen=True)
class AlignmentError:
    """Alignment error rate, precision and recall, each in [0, 1]; precision is NaN without predicted links."""

    error_rate: float
    precision: float
    recall: float


def alignment_error(
    alignments: Sequence[AbstractSet[Link]],
    sure: Sequence[AbstractSet[Link]],
    possible: Sequence[AbstractSet[Link]] | None = None,
) -> AlignmentError:
    """Compare alignments A with gold links, sure (S) and possible (P) ones (Och and Ney 2003).

    `precision = |A ∩ P| / |A|`, `recall = |A ∩ S| / |S|`, `error rate = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)`, each
    over all sentences together. Sure links always count as possible.

    Args:
        alignments: links (source position, target position), one set per sentence.
        sure: the required gold links.
        possible: the optional gold links; defaults to the sure ones.

    Raises:
        CorpusError: the arguments differ in number of sentences, or there is no sure link.
    """
    possible = sure if possible is None else possible
    if not len(alignments) == len(sure) == len(possible):
        raise CorpusError(
            f"alignments of {len(alignments)} sentences, but gold links of {len(sure)} (sure) and {len(possible)} "
            "(possible)",
            "give one set of links per sentence, empty if it has none",
        )
    made = sum(map(len, alignments))
    required = sum(map(len, sure))
    if required == 0:
        raise CorpusError("gold alignment: no sure link", "give the sure links, or all gold links as sure")
    in_sure = sum(len(a & s) for a, s in zip(alignments, sure, strict=True))
    in_possible = sum(len(a & (p | s)) for a, p, s in zip(alignments, possible, sure, strict=True))
    return AlignmentError(
        error_rate=1 - (in_sure + in_possible) / (made + required),
        precision=in_possible / made if made else math.nan,
        recall=in_sure / required,
    )
