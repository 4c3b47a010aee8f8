"""How alike are two languages' vectors of the same sentences? Numbers from matrices, with what chance would give.

Row n of every matrix belongs to sentence n.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmtlab.errors import NmtlabError

Matrix = NDArray[np.float64]


class Similarity(NamedTuple):
    """A similarity, and what it is when the sentences of one side are shuffled.

    Args:
        value: the similarity; 1 for copies up to rotation and scale, 0 on average for unrelated ones.
        null_mean: mean over shuffles.
        null_95: 95th percentile over shuffles.
        p: share of shuffles with at least this value, the measured order counted as one of them; above 0.
    """

    value: float
    null_mean: float
    null_95: float
    p: float


class Retrieval(NamedTuple):
    """Share of sentences whose nearest neighbour in the other language is their translation, 0 to 1, each way."""

    forward: float
    backward: float


class Probe(NamedTuple):
    """How well the language can be read off: cross-validated accuracy, and that of always guessing the commonest."""

    accuracy: float
    chance: float


def debiased_cka(x: ArrayLike, y: ArrayLike) -> float:
    """Return linear CKA of two sets of vectors (Kornblith et al. 2019) from unbiased HSIC (Song et al. 2012).

    With as many units as sentences the usual estimate is far above 0 for unrelated vectors; this one is about 0 (used
    as in Nguyen et al. 2021), and may be below it.

    Args:
        x: (sentences, units), 4 sentences or more.
        y: (sentences, units), units may be of another number.

    Raises:
        NmtlabError: the numbers of sentences differ or are below 4, or all vectors of a side are equally far apart.
    """
    return _cosine(*_centred_pair(x, y))


def cka_with_null(x: ArrayLike, y: ArrayLike, permutations: int = 200, seed: int = 1) -> Similarity:
    """Return `debiased_cka` and its distribution when the sentences of one side are shuffled.

    Args:
        x, y: as for `debiased_cka`.
        permutations: number of shuffles, 1 or more.
        seed: seed of the shuffles.

    Raises:
        NmtlabError: as for `debiased_cka`.
    """
    ours, theirs = _centred_pair(x, y)
    value = _cosine(ours, theirs)
    generator = np.random.default_rng(seed)
    orders = (generator.permutation(len(theirs)) for _ in range(permutations))
    null = np.array([_cosine(ours, theirs[np.ix_(order, order)]) for order in orders])
    # Summed in another order, an equal value may differ by a rounding error.
    reached = int((null >= value - 1e-12).sum())
    return Similarity(value, float(null.mean()), float(np.quantile(null, 0.95)), (1 + reached) / (1 + permutations))


def retrieval(x: ArrayLike, y: ArrayLike) -> Retrieval:
    """Return how often the translation is the nearest neighbour by cosine, after removing each language's mean.

    By chance it is 1 / sentences. Of equally near neighbours the first counts.

    Args:
        x: (sentences, units), 2 sentences or more.
        y: (sentences, units), of the same number of units.

    Raises:
        NmtlabError: the shapes differ, or there is a single sentence.
    """
    ours, theirs = _matrices(x, y, least=2)
    if ours.shape != theirs.shape:
        raise NmtlabError(f"vectors of {ours.shape[1]} and {theirs.shape[1]} units", "compare those of one layer")
    cosines = _unit(ours) @ _unit(theirs).T
    right = np.arange(len(cosines))
    return Retrieval(*(float((cosines.argmax(axis=axis) == right).mean()) for axis in (1, 0)))


def language_probe(
    vectors: ArrayLike, languages: Sequence[str], sentences: Sequence[int], folds: int = 5, seed: int = 1
) -> Probe:
    """Return how well a linear classifier tells the language of a vector (logistic regression on standardised units).

    It is tested on sentences that it was not trained on in any language, since a translation could give it away.

    Args:
        vectors: (vectors, units).
        languages: (vectors,), the language of each, two or more in all.
        sentences: (vectors,), the number of the sentence; translations have the same.
        folds: number of parts of the sentences, each tested once by a classifier trained on the others.
        seed: seed of the division.

    Raises:
        NmtlabError: the numbers of vectors, languages and sentences differ, there is a single language, or there are
            fewer sentences than folds.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    units, labels, groups = np.asarray(vectors, dtype=float), np.asarray(languages), np.asarray(sentences)
    if not len(units) == len(labels) == len(groups):
        raise NmtlabError(
            f"{len(units)} vectors, {len(labels)} languages, {len(groups)} sentences", "give as many of each"
        )
    if len(set(labels)) < 2 or len(set(groups)) < folds:
        raise NmtlabError(
            f"{len(set(labels))} languages, {len(set(groups))} sentences", f"give 2 languages and {folds} sentences"
        )
    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    division = GroupKFold(folds, shuffle=True, random_state=seed)
    found = cross_val_predict(probe, units, labels, groups=groups, cv=division)
    chance = np.unique(labels, return_counts=True)[1].max() / len(labels)
    return Probe(float((found == labels).mean()), float(chance))


def _centred_pair(x: ArrayLike, y: ArrayLike) -> tuple[Matrix, Matrix]:
    ours, theirs = (_u_centred(side) for side in _matrices(x, y, least=4))
    return ours, theirs


def _matrices(x: ArrayLike, y: ArrayLike, least: int) -> tuple[Matrix, Matrix]:
    """Return both matrices without their means."""
    ours, theirs = (np.asarray(side, dtype=np.float64) for side in (x, y))
    if len(ours) != len(theirs) or len(ours) < least:
        raise NmtlabError(
            f"vectors of {len(ours)} and {len(theirs)} sentences", f"give those of the same {least} sentences or more"
        )
    return ours - ours.mean(axis=0), theirs - theirs.mean(axis=0)


def _u_centred(vectors: Matrix) -> Matrix:
    """Return the similarities of all sentences with a zero diagonal, centred so that products sum to unbiased HSIC.

    The sum of the products of two such matrices, divided by n (n - 3), is Song et al.'s estimate (Székely and Rizzo
    2014, section 3).
    """
    gram = vectors @ vectors.T
    size = np.linalg.norm(gram)
    np.fill_diagonal(gram, 0)
    n, sums = len(gram), gram.sum(axis=0)
    centred = gram - (sums[:, None] + sums[None, :]) / (n - 2) + sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(centred, 0)
    if not np.linalg.norm(centred) > 1e-12 * size:
        raise NmtlabError("all vectors of a language are equally far apart", "give vectors that differ by sentence")
    return centred


def _cosine(ours: Matrix, theirs: Matrix) -> float:
    return float(np.vdot(ours, theirs) / (np.linalg.norm(ours) * np.linalg.norm(theirs)))


def _unit(vectors: Matrix) -> Matrix:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
