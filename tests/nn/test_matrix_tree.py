"""Marginals of dependency trees: against the enumeration of all trees, and gradients against finite differences."""

import numpy as np
import pytest
import torch
from support.trees import enumerated, trees
from torch import Tensor

from nmtlab.nn.matrix_tree import HeadSelection, flat_marginals, tree_marginals

D = 4


def scores_of(words: int, spread: float = 1.0, sentences: int = 2) -> Tensor:
    torch.manual_seed(words)
    return spread * torch.randn(sentences, words, words, dtype=torch.float64)


def all_of(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[:2], dtype=torch.bool)


def test_the_number_of_trees_with_one_root_is_that_of_cayleys_formula():
    assert [len(trees(words)) for words in (1, 2, 3, 4, 5)] == [words ** (words - 1) for words in (1, 2, 3, 4, 5)]


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("spread", [1.0, 5.0])
def test_marginals_are_those_of_all_trees(words, spread):
    scores = scores_of(words, spread)
    expected = torch.stack([enumerated(one) for one in scores])
    torch.testing.assert_close(tree_marginals(scores, all_of(scores)), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("marginals", [tree_marginals, flat_marginals])
def test_every_word_has_one_head_in_all(marginals):
    scores = scores_of(9, 3.0)
    found = marginals(scores, all_of(scores))
    torch.testing.assert_close(found.sum(1), torch.ones(2, 9).double())
    if marginals is tree_marginals:
        torch.testing.assert_close(found.diagonal(dim1=1, dim2=2).sum(1), torch.ones(2).double())
        assert found.min() > -1e-12


def test_the_word_of_a_sentence_of_one_is_its_root():
    for scores in (0.0, 90.0, -90.0):
        assert tree_marginals(torch.full((1, 1, 1), scores), torch.ones(1, 1, dtype=torch.bool)).item() == 1


@pytest.mark.parametrize("marginals", [tree_marginals, flat_marginals])
def test_padding_changes_nothing_and_has_no_heads(marginals):
    scores, mask = scores_of(5), torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    found = marginals(scores, mask)
    torch.testing.assert_close(found[1:, :3, :3], marginals(scores[1:, :3, :3], mask[1:, :3]))
    assert not found[1, 3:].any()
    assert not found[1, :, 3:].any()
    torch.testing.assert_close(found[:1], marginals(scores[:1], mask[:1]))


@pytest.mark.parametrize("shift", [-700.0, 700.0])
def test_scores_may_be_large(shift):
    scores = scores_of(4)
    torch.testing.assert_close(tree_marginals(scores + shift, all_of(scores)), tree_marginals(scores, all_of(scores)))
    columns = scores + shift * torch.arange(4)
    torch.testing.assert_close(tree_marginals(columns, all_of(scores)), tree_marginals(scores, all_of(scores)))


@pytest.mark.parametrize("spread", [100.0, 1000.0])
def test_where_one_tree_is_nearly_certain_the_marginals_are_still_probabilities_with_a_gradient(spread):
    scores = scores_of(7, spread, sentences=50).float().requires_grad_()
    found = tree_marginals(scores, all_of(scores))
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.sum(1), torch.ones(50, 7), rtol=0, atol=1e-2)
    found.square().sum().backward()
    assert torch.isfinite(scores.grad).all()


def test_words_that_all_would_be_the_root_share_the_root():
    scores = torch.full((1, 3, 3), -1000.0).double()
    scores[0].fill_diagonal_(0)
    found = tree_marginals(scores, all_of(scores))[0]
    torch.testing.assert_close(found, torch.full((3, 3), 1 / 3).double())


def test_gradients_of_the_marginals_are_those_of_finite_differences():
    scores, mask = scores_of(4).requires_grad_(), torch.tensor([[True] * 4, [True] * 2 + [False] * 2])
    assert torch.autograd.gradcheck(lambda x: tree_marginals(x, mask), scores)
    assert torch.autograd.gradcheck(lambda x: flat_marginals(x, mask), scores)


@pytest.mark.parametrize("kind", ["flat", "tree", "hard"])
def test_annotations_are_the_formula_of_the_paper_word_by_word(kind):
    torch.manual_seed(1)
    selection, states = HeadSelection(D, kind).double(), torch.randn(2, 5, D, dtype=torch.float64)
    mask = torch.tensor([[True] * 5, [True] * 4 + [False]])
    found = selection(states, mask)
    for sentence, words in enumerate((5, 4)):
        s = states[sentence, :words]
        q, k, v = (s @ part.weight.T for part in (selection.query, selection.key, selection.value))
        phi = torch.tensor([[(q[i] @ k[j]).item() / D**0.5 for j in range(words)] for i in range(words)]).double()
        beta = phi.softmax(0) if kind == "flat" else enumerated(phi)
        if kind == "hard":
            beta = (beta == beta.max(0).values).double()
        for j in range(words):
            torch.testing.assert_close(
                found[sentence, j], sum(beta[i, j] * v[i] for i in range(words)), atol=1e-6, rtol=0
            )


def test_the_hard_choice_has_the_gradient_of_the_marginals():
    torch.manual_seed(2)
    hard, states = HeadSelection(D, "hard").double(), torch.randn(1, 4, D, dtype=torch.float64)
    tree = HeadSelection(D, "tree").double()
    tree.load_state_dict(hard.state_dict())
    mask, weights = torch.ones(1, 4, dtype=torch.bool), torch.randn(4, 4, dtype=torch.float64)
    for one in (hard, tree):
        (one.heads(states, mask).probs * weights).sum().backward()
    torch.testing.assert_close(hard.query.weight.grad, tree.query.weight.grad)
    assert np.isin(hard.heads(states, mask).probs.detach(), [0, 1]).all()


def test_the_gate_is_between_nothing_and_all_of_what_is_read():
    selection = HeadSelection(D, "tree").double()
    read, h = torch.randn(2, D, dtype=torch.float64), torch.randn(2, D, dtype=torch.float64)
    expected = read / (1 + torch.exp(-(h @ selection.gate.weight.T)))
    torch.testing.assert_close(selection.gated(read, h), expected)
