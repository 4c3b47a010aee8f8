"""Dependency trees: the best one against all trees and against networkx; heads counted by hand."""

import itertools

import numpy as np
import pytest
from support.trees import is_tree, trees

from nmtlab.evaluation.dependencies import attachments, left_branching, maximum_tree, right_branching


def value(scores: np.ndarray, heads) -> float:
    return float(scores[list(heads), range(len(scores))].sum())


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_the_maximum_tree_is_the_best_of_all_trees(words):
    every = trees(words)
    for seed in range(20):
        scores = np.random.default_rng(seed).normal(size=(words, words)) * 3
        assert tuple(maximum_tree(scores)) == max(every, key=lambda heads, s=scores: value(s, heads))


@pytest.mark.parametrize("seed", range(10))
def test_the_maximum_tree_of_a_long_sentence_is_that_of_networkx(seed):
    networkx = pytest.importorskip("networkx")
    scores = np.random.default_rng(seed).normal(size=(14, 14))
    best = -np.inf
    for root in range(14):  # one root each
        graph = networkx.DiGraph()
        graph.add_weighted_edges_from(
            (i, j, scores[i, j]) for i, j in itertools.permutations(range(14), 2) if j != root
        )
        tree = networkx.maximum_spanning_arborescence(graph)
        best = max(best, scores[root, root] + sum(scores[edge] for edge in tree.edges))
    found = maximum_tree(scores)
    assert is_tree(tuple(found))
    assert value(scores, found) == pytest.approx(best)


def test_equal_scores_still_give_a_tree():
    assert is_tree(tuple(maximum_tree(np.zeros((6, 6)))))
    assert maximum_tree(np.zeros((1, 1))) == [0]


def test_branching_trees_are_chains():
    assert left_branching(4) == [1, 2, 3, 3]
    assert right_branching(4) == [0, 0, 1, 2]
    assert left_branching(1) == right_branching(1) == [0]


def test_heads_are_counted_by_hand():
    gold = [1, 1, 1, 2]  # 1 is the root
    assert attachments(gold, gold) == (4, 4, 4)
    assert attachments([1, 2, 2, 2], gold) == (2, 3, 4)  # 1 is headed by 2, which it should head; 2 is not the root
    assert attachments([0, 0, 1, 2], gold) == (2, 3, 4)
