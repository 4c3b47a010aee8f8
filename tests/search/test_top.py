import torch
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.search.top import stable_topk


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


def test_impossible_values_are_last_and_by_id_too():
    values = torch.tensor([[float("-inf"), 1.0, float("-inf"), float("-inf")]])
    assert stable_topk(values, 3)[1].tolist() == [[1, 0, 2]]
