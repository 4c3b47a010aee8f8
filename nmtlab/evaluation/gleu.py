"""The GLEU of a sentence, a reward that is symmetric in translation and reference (Wu et al. 2016)."""

from collections import Counter
from collections.abc import Sequence

_ORDERS = range(1, 5)


def sentence_gleu(hypothesis: Sequence[str], reference: Sequence[str]) -> float:
    """Return the smaller one of precision and recall of all n-grams of 1 to 4 words together, from 0 to 1.

    Without a word on both sides it is 1, with words on one side alone 0.
    """
    if not hypothesis and not reference:
        return 1.0
    found, wanted = _n_grams(hypothesis), _n_grams(reference)
    return (found & wanted).total() / max(found.total(), wanted.total())


def _n_grams(words: Sequence[str]) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[at : at + n]) for n in _ORDERS for at in range(len(words) - n + 1))
