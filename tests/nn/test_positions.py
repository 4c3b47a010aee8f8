import math

import pytest
import torch

from nmtlab.nn.positions import LearnedPositions, RelativePositions, sinusoids


@pytest.mark.parametrize("d_model", [2, 6, 16])
def test_positions_are_the_published_formula(d_model):
    found = sinusoids(torch.arange(50), d_model)
    for position in (0, 1, 7, 49):
        for i in range(d_model // 2):
            angle = position / 10_000 ** (2 * i / d_model)
            assert found[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert found[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_position_zero_is_sines_of_nought_at_even_units_and_cosines_at_odd_ones():
    assert sinusoids(torch.tensor(0), 6).tolist() == [0, 1, 0, 1, 0, 1]


def test_the_shape_of_the_positions_is_kept_and_any_position_can_be_asked_for():
    positions = torch.tensor([[3, 900], [0, 3]])
    found = sinusoids(positions, 8)
    assert found.shape == (2, 2, 8)
    assert torch.equal(found[0, 0], found[1, 1])
    torch.testing.assert_close(found[0, 1], sinusoids(torch.arange(901), 8)[900])


@pytest.mark.parametrize("d_model", [4, 6, 16])
def test_marian_has_all_sines_before_all_cosines(d_model):
    alternating = sinusoids(torch.arange(50), d_model)
    halves = sinusoids(torch.arange(50), d_model, "halves")
    assert torch.equal(halves, torch.cat((alternating[:, 0::2], alternating[:, 1::2]), dim=1))


@pytest.mark.parametrize("d_model", [4, 6, 16])
def test_fairseq_counts_from_two_and_spreads_its_frequencies_to_ten_thousand(d_model):
    found = sinusoids(torch.arange(50), d_model, "fairseq")
    half = d_model // 2
    for position in (0, 1, 7, 49):
        for i in range(half):
            angle = (position + 2) / 10_000 ** (i / (half - 1))
            assert found[position, i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert found[position, half + i].item() == pytest.approx(math.cos(angle), abs=1e-5)


def test_learned_positions_are_the_rows_of_an_embedding_and_end_with_the_last():
    torch.manual_seed(0)
    ours, theirs = LearnedPositions(5, 4), torch.nn.Embedding(5, 4)
    ours.load_state_dict(theirs.state_dict())
    where = torch.tensor([[0, 3, 3], [4, 1, 0]])
    for module in (ours, theirs):
        module(where).square().sum().backward()
    assert torch.equal(ours(where), theirs(where))
    assert torch.equal(ours.weight.grad, theirs.weight.grad)
    assert torch.equal(ours(torch.tensor(9)), theirs.weight[4])


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 23), (23, 23), (2, 5)])
def test_relative_positions_are_those_of_a_double_loop_with_queries_at_the_end(queries, keys):
    torch.manual_seed(0)
    relative = RelativePositions(3).double()
    torch.nn.init.normal_(relative.weight)
    q = torch.randn(2, 2, queries, 3, dtype=torch.float64, requires_grad=True)
    found = relative(q, keys)
    for row in range(queries):
        for j in range(keys):
            distance = max(-8, min(8, j - (keys - queries + row)))
            torch.testing.assert_close(found[..., row, j], q[..., row, :] @ relative.weight[distance + 8])


def test_the_gradient_of_relative_positions_is_that_of_finite_differences():
    relative = RelativePositions(2).double()
    weight = torch.randn(17, 2, dtype=torch.float64, requires_grad=True)
    queries = torch.randn(1, 2, 3, 2, dtype=torch.float64, requires_grad=True)

    def products(queries: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(relative, {"weight": weight}, (queries, 12))

    assert torch.autograd.gradcheck(products, (queries, weight))
