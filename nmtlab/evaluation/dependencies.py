"""Dependency trees: the best one by scores of arcs, and how many heads are those of another.

The head of a word is a position, and that of the root is its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Attachments(NamedTuple):
    """How many words have the right head (directed), or that or a word which they head (undirected), among `words`.

    The root counts as well: it is right where it is the root.
    """

    directed: int
    undirected: int
    words: int


def attachments(heads: Sequence[int], gold: Sequence[int]) -> Attachments:
    """Count right heads; both of the same words."""
    arcs = {frozenset((word, head)) for word, head in enumerate(gold)}
    directed = sum(one == other for one, other in zip(heads, gold, strict=True))
    undirected = sum(frozenset((word, head)) in arcs for word, head in enumerate(heads))
    return Attachments(directed, undirected, len(gold))


def left_branching(words: int) -> list[int]:
    """Return the tree whose words are headed by the one to the right, and whose root is the last."""
    return [*range(1, words), words - 1]


def right_branching(words: int) -> list[int]:
    """Return the tree whose words are headed by the one to the left, and whose root is the first."""
    return [max(0, word - 1) for word in range(words)]


def maximum_tree(scores: np.ndarray) -> list[int]:
    """Return the heads of the tree with the largest sum of scores, with a single root (Chu and Liu 1965; Edmonds 1967).

    Args:
        scores: (words, words), [i, j] of "i heads j", and [j, j] of "j is the root".
    """
    words = len(scores)
    rooted = np.full((words + 1, words + 1), -np.inf)
    rooted[1:, 1:] = scores
    np.fill_diagonal(rooted, -np.inf)
    # A second root costs more than any arc can be worth: there is one.
    rooted[0, 1:] = scores.diagonal() - words * (np.ptp(scores) + 1)
    heads = _arborescence(rooted)[1:] - 1
    return [word if head < 0 else int(head) for word, head in enumerate(heads)]


def _arborescence(scores: np.ndarray) -> np.ndarray:
    """Return the head of each node but node 0, which heads all, in the tree with the largest sum of scores."""
    heads = scores.argmax(0)
    heads[0] = 0
    cycle = _cycle(heads)
    if not len(cycle):
        return heads
    # The cycle becomes one node, the last: what enters it breaks one of its arcs.
    others = np.setdiff1d(np.arange(len(scores)), cycle)
    entering = scores[np.ix_(others, cycle)] - scores[heads[cycle], cycle]
    leaving = scores[np.ix_(cycle, others)]
    merged = np.full((len(others) + 1, len(others) + 1), -np.inf)
    merged[:-1, :-1] = scores[np.ix_(others, others)]
    merged[:-1, -1], merged[-1, :-1] = entering.max(1), leaving.max(0)
    found = _arborescence(merged)
    inside = cycle[leaving.argmax(0)]
    for node, head, source in zip(others[1:], found[1:-1], inside[1:], strict=True):
        heads[node] = source if head == len(others) else others[head]
    entered = int(entering[found[-1]].argmax())
    heads[cycle[entered]] = others[found[-1]]
    return heads


def _cycle(heads: np.ndarray) -> np.ndarray:
    """Return the nodes of a cycle that node 0 is not on; none if there is none."""
    for start in range(1, len(heads)):
        seen: list[int] = []
        node = start
        while node and node not in seen:
            seen.append(node)
            node = int(heads[node])
        if node:
            return np.array(seen[seen.index(node) :])
    return np.array([], dtype=int)
