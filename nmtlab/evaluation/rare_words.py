"""Translation of rare words and names, and their confusion with more frequent ones (thesis 3.2.1).

Sentences are lists of words; counts are word frequencies in the target side of the training text.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from nmtlab.errors import CorpusError, NmtlabError

EDGES = (0, 1, 2, 5, 10, 100)
"""Lower bounds of the training-frequency buckets: 0, 1, 2-4, 5-9, 10-99, 100+."""

UNKNOWN = "<unk>"

Outcome = Literal["right", "confused", "unknown", "missing"]


@dataclass(frozen=True)
class BucketAccuracy:
    """Translation accuracy of the words in one training-frequency bucket.

    Args:
        frequency: the bucket, as in `bucket_names`.
        words: number of reference tokens.
        produced: number of translation tokens.
        matched: number of tokens shared by a translation and its reference (clipped counts).
    """

    frequency: str
    words: int
    produced: int
    matched: int

    @property
    def recall(self) -> float:
        """Share of reference tokens that are produced; NaN if there are none."""
        return _share(self.matched, self.words)

    @property
    def precision(self) -> float:
        """Share of produced tokens that are in the references; NaN if there are none."""
        return _share(self.matched, self.produced)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; NaN if neither side has a token."""
        return _share(2 * self.matched, self.words + self.produced)


class Name(NamedTuple):
    """A one-word proper name, its class of confusable names, and its uninflected source form."""

    target: str
    group: str
    source: str = ""


class NameOutcome(NamedTuple):
    """How a reference's name was translated; `produced` is the wrong name if it was confused, else empty."""

    name: str
    group: str
    outcome: Outcome
    produced: str


def bucket_names(edges: Sequence[int] = EDGES) -> list[str]:
    """Return the names of training-frequency buckets, such as `0`, `2-4`, `100+`.

    Args:
        edges: lower bounds, increasing from 0; the last bucket is open-ended.

    Raises:
        NmtlabError: the edges do not increase from 0.
    """
    if not edges or edges[0] != 0 or any(before >= after for before, after in pairwise(edges)):
        raise NmtlabError(
            f"frequency buckets {', '.join(map(str, edges))}: not increasing from 0", "give increasing numbers from 0"
        )
    closed = [str(low) if low == end - 1 else f"{low}-{end - 1}" for low, end in pairwise(edges)]
    return [*closed, f"{edges[-1]}+"]


def bucket_of(count: int, edges: Sequence[int] = EDGES) -> int:
    """Return the index in `bucket_names` of the bucket of a training frequency."""
    return bisect_right(edges, count) - 1


def accuracy_by_frequency(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    counts: Mapping[str, int],
    edges: Sequence[int] = EDGES,
) -> list[BucketAccuracy]:
    """Return translation accuracy by training frequency, one entry per bucket.

    Matching ignores position: for each word of a sentence, as many tokens match as both sides have (the word accuracy
    of compare-mt, Neubig et al. 2019).

    Args:
        hypotheses: the words of each translation.
        references: the words of each reference.
        counts: training frequency of each word; missing words count 0.
        edges: lower bounds of the buckets.

    Raises:
        CorpusError: hypotheses and references differ in number.
        NmtlabError: the edges do not increase from 0.
    """
    names = bucket_names(edges)
    if len(hypotheses) != len(references):
        raise CorpusError(
            f"{len(hypotheses)} translations but {len(references)} references", "give one reference per translation"
        )
    words, produced, matched = Counter[int](), Counter[int](), Counter[int]()
    for hypothesis, reference in zip(map(Counter, hypotheses), map(Counter, references), strict=True):
        for total, tokens in ((words, reference), (produced, hypothesis), (matched, reference & hypothesis)):
            for word, times in tokens.items():
                total[bucket_of(counts.get(word, 0), edges)] += times
    return [BucketAccuracy(name, words[i], produced[i], matched[i]) for i, name in enumerate(names)]


def name_outcomes(
    hypothesis: Sequence[str], reference: Sequence[str], source: Sequence[str], names: Mapping[str, Name]
) -> list[NameOutcome]:
    """Return how a translation renders each name of its reference, in the reference's order.

    `right`: it has the name. `confused`: it has a surplus name of the same class (Chan for Fauci).
    `unknown`: it has an UNK, or copies a source word that begins with the name's source form. `missing`: none of these.
    Each name and each UNK of the translation accounts for one name only, the first that it matches.

    Args:
        hypothesis, reference, source: the words of one sentence.
        names: names by their target word.
    """
    wanted = [word for word in reference if word in names]
    produced = [word for word in hypothesis if word in names]
    right = Counter(wanted) & Counter(produced)
    spare = list((Counter(produced) - right).elements())
    copies = [word for word in hypothesis if word in set(source) and word not in names]
    unknowns = list(hypothesis).count(UNKNOWN)
    outcomes = []
    for word in wanted:
        name = names[word]
        other = next((candidate for candidate in spare if names[candidate].group == name.group), "")
        outcome: Outcome = "missing"
        if right[word]:
            right[word] -= 1
            outcome, other = "right", ""
        elif other:
            spare.remove(other)
            outcome = "confused"
        elif copied := next((copy for copy in copies if name.source and copy.startswith(name.source)), ""):
            copies.remove(copied)
            outcome = "unknown"
        elif unknowns:
            unknowns -= 1
            outcome = "unknown"
        outcomes.append(NameOutcome(word, name.group, outcome, other))
    return outcomes


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
