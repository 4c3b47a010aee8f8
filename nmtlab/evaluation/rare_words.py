"""Are rare words translated, and rare names, or does a more frequent one stand in their place? (thesis 3.2.1)

Sentences are lists of words; counts are how often the training text's target side has a word.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from nmtlab.errors import CorpusError, NmtlabError

EDGES = (0, 1, 2, 5, 10, 100)
"""Where buckets of training frequency begin: 0, 1, 2-4, 5-9, 10-99, 100+."""

UNKNOWN = "<unk>"

Outcome = Literal["right", "confused", "unknown", "missing"]


@dataclass(frozen=True)
class BucketAccuracy:
    """How well the words of one bucket of training frequency are translated.

    Args:
        frequency: the bucket, as in `bucket_names`.
        words: tokens of the references.
        produced: tokens of the translations.
        matched: tokens that a translation and its reference share, each counted as often as the rarer side has it.
    """

    frequency: str
    words: int
    produced: int
    matched: int

    @property
    def recall(self) -> float:
        """Share of the references' tokens that are produced; NaN if there are none."""
        return _share(self.matched, self.words)

    @property
    def precision(self) -> float:
        """Share of the produced tokens that the references have; NaN if there are none."""
        return _share(self.matched, self.produced)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; NaN if no side has a token."""
        return _share(2 * self.matched, self.words + self.produced)


class Name(NamedTuple):
    """A proper name of one word, the class of names that it could be taken for, and its uninflected source form."""

    target: str
    group: str
    source: str = ""


class NameOutcome(NamedTuple):
    """What became of a reference's name; `produced` is the other name where it was confused, else empty."""

    name: str
    group: str
    outcome: Outcome
    produced: str


def bucket_names(edges: Sequence[int] = EDGES) -> list[str]:
    """Return the names of buckets of training frequency: `0`, `2-4`, `100+`.

    Args:
        edges: where each begins, from 0 upwards; the last has no end.

    Raises:
        NmtlabError: the edges do not rise from 0.
    """
    if not edges or edges[0] != 0 or any(before >= after for before, after in pairwise(edges)):
        raise NmtlabError(f"frequency buckets {', '.join(map(str, edges))}", "give rising numbers that begin with 0")
    closed = [str(low) if low == end - 1 else f"{low}-{end - 1}" for low, end in pairwise(edges)]
    return [*closed, f"{edges[-1]}+"]


def bucket_of(count: int, edges: Sequence[int] = EDGES) -> int:
    """Return the place of a word's bucket in `bucket_names`."""
    return bisect_right(edges, count) - 1


def accuracy_by_frequency(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    counts: Mapping[str, int],
    edges: Sequence[int] = EDGES,
) -> list[BucketAccuracy]:
    """Return how well words are translated by how often training has seen them, a bucket each.

    A word is translated if the translation has it, wherever: of each word of a sentence, as many tokens match as both
    sides have (the word accuracy of compare-mt, Neubig et al. 2019).

    Args:
        hypotheses: the words of each translation.
        references: the words of each reference.
        counts: words that are not there have 0.
        edges: where each bucket begins.

    Raises:
        CorpusError: hypotheses and references differ in number.
        NmtlabError: the edges do not rise from 0.
    """
    names = bucket_names(edges)
    if len(hypotheses) != len(references):
        raise CorpusError(
            f"{len(hypotheses)} translations but {len(references)} references", "give one reference a translation"
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
    """Return what a translation has made of each name of its reference, in the reference's order.

    `right`: it has the name. `confused`: it has, beyond those of the reference, another name of the same class (Chan
    for Fauci). `unknown`: it has an UNK, or a word of the source that begins with the name's source form. `missing`:
    none of these. Each name and each UNK of the translation answers for one name only, the first that it can.

    Args:
        hypothesis, reference, source: the words of one sentence.
        names: by their target words.
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
