"""Magnitude pruning against torch's, which marks the same values where none are equal."""

from itertools import pairwise

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from nmtlab.nn.pruning import kept_rank, pruned, share_of_zeros, share_stored, truncated


def drawn(dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    weights = {"a.weight": torch.randn(7, 11), "a.bias": torch.randn(7), "b.weight": 5 * torch.randn(3, 4, 2)}
    return {name: one.to(dtype) for name, one in weights.items()}


def layers(weights: dict[str, torch.Tensor]) -> list[tuple[nn.Module, str]]:
    found = []
    for name in ("a.weight", "b.weight"):
        module = nn.Module()
        module.weight = nn.Parameter(weights[name].clone())
        found.append((module, "weight"))
    return found


@pytest.mark.parametrize("share", [0.0, 0.1, 0.4, 0.9, 1.0])
def test_each_matrix_loses_what_torch_prunes_from_it(share):
    weights = drawn()
    found = pruned(weights, share)
    for (module, of), name in zip(layers(weights), ("a.weight", "b.weight"), strict=True):
        prune.l1_unstructured(module, of, amount=share)
        assert torch.equal(found[name], module.weight)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.9])
def test_all_matrices_together_lose_what_torch_prunes_globally(share):
    weights, parts = drawn(), layers(drawn())
    prune.global_unstructured(parts, prune.L1Unstructured, amount=share)
    found = pruned(weights, share, blind=True)
    assert all(
        torch.equal(found[name], module.weight)
        for (module, _), name in zip(parts, ("a.weight", "b.weight"), strict=True)
    )
    assert share_of_zeros(found) == pytest.approx(share, abs=0.5 / 101)


def test_vectors_and_what_is_not_among_the_names_stay_and_nothing_is_changed_in_place():
    weights = drawn()
    before = {name: one.clone() for name, one in weights.items()}
    found = pruned(weights, 0.5, among=["b.weight"])
    assert torch.equal(found["a.weight"], before["a.weight"])
    assert torch.equal(found["a.bias"], before["a.bias"])
    assert (found["b.weight"] == 0).sum() == 12
    assert all(torch.equal(weights[name], before[name]) for name in weights)


def test_of_equal_values_the_first_go_and_a_larger_share_takes_those_of_a_smaller_one():
    assert pruned({"w": torch.full((2, 2), -1.0)}, 0.5)["w"].tolist() == [[0, 0], [-1, -1]]
    weights = drawn(torch.bfloat16)
    zeros = [pruned(weights, share)["a.weight"] == 0 for share in (0.2, 0.5, 0.8)]
    assert all((more | less).equal(more) for less, more in pairwise(zeros))
    assert pruned(weights, 0.2)["a.weight"].dtype == torch.bfloat16


def test_the_share_of_zeros_is_of_matrices_alone():
    assert share_of_zeros({"w": torch.tensor([[0.0, 1.0]]), "b": torch.zeros(5)}) == 0.5
    assert share_of_zeros({"b": torch.zeros(5)}) != share_of_zeros({"b": torch.zeros(5)})


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_lower_rank_is_the_nearest_there_is(share):
    weights = {name: one.double() for name, one in drawn().items()}
    found = truncated(weights, share)
    for name in ("a.weight", "b.weight"):
        whole, lower = weights[name].flatten(1), found[name].flatten(1)
        rank = max(1, round(share * min(whole.shape)))
        values = torch.linalg.svdvals(whole)
        assert torch.linalg.matrix_rank(lower) == rank == kept_rank(weights[name], share)
        assert torch.dist(whole, lower).item() == pytest.approx(values[rank:].square().sum().sqrt().item(), abs=1e-12)
    assert torch.equal(found["a.bias"], weights["a.bias"])


def test_all_singular_values_are_the_weights_themselves_and_others_than_the_named_ones_stay():
    weights = drawn(torch.bfloat16)
    assert all(torch.equal(one, weights[name]) for name, one in truncated(weights, 1.0).items())
    found = truncated(weights, 0.5, among=["b.weight"])
    assert torch.equal(found["a.weight"], weights["a.weight"])
    assert not torch.equal(found["b.weight"], weights["b.weight"])
    assert found["b.weight"].dtype == torch.bfloat16


def test_factors_take_fewer_numbers_only_at_a_low_rank():
    weights = {"w": torch.zeros(10, 40), "v": torch.zeros(4, 4), "b": torch.zeros(9)}
    assert share_stored(weights, 1.0) == 1
    assert share_stored(weights, 0.5) == (5 * (10 + 40) + 16) / 416
    assert share_stored(weights, 0.5, among=["v"]) == 1
    assert share_stored(weights, 0.25, among=["v"]) == (400 + 8) / 416
