import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.search.topk import stable_topk


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=40, max_size=40), min_size=1, max_size=4),
    st.integers(1, 40),
)
def test_the_best_are_those_of_a_stable_sort_of_everything(rows, k):
    values = torch.tensor(rows, dtype=torch.float32)
    expected = values.sort(dim=-1, descending=True, stable=True)
    found, indices = stable_topk(values, k)
    assert torch.equal(found, expected.values[:, :k])
    assert torch.equal(indices, expected.indices[:, :k])


@given(
    st.sampled_from(((), (2,), (0,), (2, 3))),
    st.integers(1, 2500),
    st.sampled_from((3, 1000, 10**6)),
    st.integers(1, 3),
    st.integers(0, 2**32),
)
def test_long_rows_are_sorted_too_with_and_without_ties(shape, n, levels, k, seed):
    values = torch.randint(levels, (*shape, n), generator=torch.Generator().manual_seed(seed)).float()
    k = min(k, n)
    expected = values.sort(dim=-1, descending=True, stable=True)
    found, indices = stable_topk(values, k)
    assert torch.equal(found, expected.values[..., :k])
    assert torch.equal(indices, expected.indices[..., :k])


def test_impossible_values_are_last_and_by_id_too():
    values = torch.tensor([[float("-inf"), 1.0, float("-inf"), float("-inf")]])
    assert stable_topk(values, 3)[1].tolist() == [[1, 0, 2]]


def test_rows_with_and_without_ties_are_each_as_sorted():
    values = torch.tensor([[0.5, 2.0, 1.0, -1.0], [1.0, 2.0, 2.0, 1.0]])
    found, indices = stable_topk(values, 3)
    assert found.tolist() == [[2.0, 1.0, 0.5], [2.0, 2.0, 1.0]]
    assert indices.tolist() == [[1, 2, 0], [1, 2, 0]]


def test_a_single_row_has_no_further_dimension():
    values, indices = stable_topk(torch.tensor([1.0, 3.0, 3.0]), 2)
    assert (values.tolist(), indices.tolist()) == ([3.0, 3.0], [1, 2])
