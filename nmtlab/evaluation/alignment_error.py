"""How far a word alignment is from the gold one."""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from nmtlab.errors import CorpusError

Link = tuple[int, int]


@dataclass(frozen=True)
class AlignmentError:
    """Alignment error rate, precision and recall, each in [0, 1]; precision is NaN if no link was made."""

    error_rate: float
    precision: float
    recall: float


def alignment_error(
    alignments: Sequence[AbstractSet[Link]],
    sure: Sequence[AbstractSet[Link]],
    possible: Sequence[AbstractSet[Link]] | None = None,
) -> AlignmentError:
    """Compare alignments A with sure links S and possible links P (Och and Ney 2003).

    `precision = |A ∩ P| / |A|`, `recall = |A ∩ S| / |S|`, `error rate = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|)`, each
    over all sentences together. Sure links are possible ones, listed or not.

    Args:
        alignments: a sentence's links (source position, target position), one set a sentence.
        sure: the gold links that have to be there.
        possible: the gold links that may be there; without it, the sure ones.

    Raises:
        CorpusError: the three differ in number of sentences, or there is no sure link.
    """
    possible = sure if possible is None else possible
    if not len(alignments) == len(sure) == len(possible):
        raise CorpusError(
            f"alignments of {len(alignments)} sentences but gold ones of {len(sure)} (sure) and {len(possible)} "
            "(possible)",
            "give one set of links a sentence, empty where there is none",
        )
    made = sum(map(len, alignments))
    required = sum(map(len, sure))
    if required == 0:
        raise CorpusError("gold alignment: not one sure link", "give the sure links, or all gold links as sure")
    in_sure = sum(len(a & s) for a, s in zip(alignments, sure, strict=True))
    in_possible = sum(len(a & (p | s)) for a, p, s in zip(alignments, possible, sure, strict=True))
    return AlignmentError(
        error_rate=1 - (in_sure + in_possible) / (made + required),
        precision=in_possible / made if made else math.nan,
        recall=in_sure / required,
    )
