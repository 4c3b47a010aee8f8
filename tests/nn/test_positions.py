import math

import pytest
import torch

from nmtlab.nn.positions import sinusoids


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
