"""Cells of several transitions (Miceli Barone et al. 2017), against torch's and by hand."""

import math

import pytest
import torch
from torch import Tensor

from nmtlab.nn.recurrent import FusedLayer, RnnCell, SteppedLayer, Transition, TransitionGruCell

WIDTH = INPUT = 3


def drawn(transitions: int, layer_norm: bool = False) -> TransitionGruCell:
    torch.manual_seed(transitions)
    cell = TransitionGruCell(INPUT, WIDTH, layer_norm, transitions).double()
    for parameter in cell.parameters():
        torch.nn.init.normal_(parameter)
    return cell


def torchs(cell: TransitionGruCell) -> list[torch.nn.GRUCell]:
    """Return torch's units with the same weights; those for a word that is 0 are any."""
    units = [torch.nn.GRUCell(INPUT, WIDTH, dtype=torch.float64) for _ in range(1 + len(cell.transitions))]
    units[0].load_state_dict(
        {
            "weight_ih": cell.input.weight,
            "bias_ih": cell.input.bias,
            "weight_hh": cell.recurrent.weight,
            "bias_hh": cell.recurrent.bias,
        }
    )
    with torch.no_grad():
        for unit, transition in zip(units[1:], cell.transitions, strict=True):
            unit.bias_ih.copy_(transition.bias)
            unit.weight_hh.copy_(transition.recurrent.weight)
            unit.bias_hh.copy_(transition.recurrent.bias)
    return units


@pytest.mark.parametrize("transitions", [2, 4])
def test_a_sentence_is_read_as_by_the_unrolled_loop_of_the_paper(transitions):
    cell = drawn(transitions)
    units, x = torchs(cell), torch.randn(2, 5, INPUT, dtype=torch.float64)
    lengths = torch.tensor([5, 3])
    outputs, (last,) = SteppedLayer(cell, 0.0)(x, lengths)
    for row, length in enumerate(lengths.tolist()):
        h = torch.zeros(WIDTH, dtype=torch.float64)
        for j in range(length):
            h = units[0](x[row, j], h)
            for unit in units[1:]:
                h = unit(torch.zeros(INPUT, dtype=torch.float64), h)
            torch.testing.assert_close(outputs[row, j], h)
        torch.testing.assert_close(last[row], h)


def test_a_unit_without_input_by_hand():
    unit = Transition(1, layer_norm=False).double()
    with torch.no_grad():
        unit.bias.copy_(torch.tensor([0.1, -0.2, 0.3]))
        unit.recurrent.weight.copy_(torch.tensor([[0.5], [-0.4], [0.7]]))
        unit.recurrent.bias.copy_(torch.tensor([0.05, 0.15, -0.25]))

    def sigmoid(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    h = 0.6
    reset, update = sigmoid(0.1 + 0.5 * h + 0.05), sigmoid(-0.2 - 0.4 * h + 0.15)
    new = math.tanh(0.3 + reset * (0.7 * h - 0.25))
    assert unit(torch.tensor([h], dtype=torch.float64)).item() == pytest.approx((1 - update) * new + update * h)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_gradient_of_a_step_is_that_of_finite_differences(layer_norm):
    cell = drawn(3, layer_norm)
    names, values = zip(*cell.named_parameters(), strict=True)

    def step(x: Tensor, h: Tensor, *parameters: Tensor) -> Tensor:
        mask = torch.tensor([2.0, 0.0, 2.0], dtype=torch.float64)
        projected = torch.nn.functional.linear(x, *parameters[:2])
        return torch.func.functional_call(cell, dict(zip(names, parameters, strict=True)), (projected, (h,), mask))[0]

    x, h = (torch.randn(1, width, dtype=torch.float64, requires_grad=True) for width in (INPUT, WIDTH))
    assert names[:2] == ("input.weight", "input.bias")
    assert torch.autograd.gradcheck(step, (x, h, *values))


def test_a_dropped_unit_of_h_enters_no_transition():
    cell, seen = drawn(3), []
    for linear in (cell.recurrent, *(one.recurrent for one in cell.transitions)):
        linear.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    x, h = torch.randn(2, INPUT, dtype=torch.float64), torch.randn(2, WIDTH, dtype=torch.float64)
    cell(cell.project(x), (h,), torch.tensor([0.0, 2.0, 2.0], dtype=torch.float64))
    assert [(one[:, 0] == 0).all().item() and (one[:, 1:] != 0).all().item() for one in seen] == [True] * 3


def test_a_cell_without_gates_is_torchs_step_by_step_and_over_a_whole_sentence():
    torch.manual_seed(1)
    cell = RnnCell(WIDTH, WIDTH).double()
    parts = {
        "weight_ih_l0": cell.input.weight, "weight_hh_l0": cell.recurrent.weight,
        "bias_ih_l0": cell.input.bias, "bias_hh_l0": cell.recurrent.bias,
    }  # fmt: skip
    theirs = torch.nn.RNN(WIDTH, WIDTH, batch_first=True).double()
    theirs.load_state_dict(parts)
    fused = FusedLayer("rnn", WIDTH).double()
    fused.loop.load_state_dict(parts)
    x, lengths = torch.randn(2, 5, WIDTH, dtype=torch.float64), torch.tensor([5, 3])
    outputs, last = theirs(x)
    for layer in (SteppedLayer(cell, 0.0), fused):
        found, (state,) = layer(x, lengths)
        torch.testing.assert_close(found[0], outputs[0])
        torch.testing.assert_close(found[1, :3], outputs[1, :3])
        torch.testing.assert_close(state, torch.stack((last[0, 0], outputs[1, 2])))
    h = torch.zeros(2, WIDTH, dtype=torch.float64)
    for word in x.unbind(1):
        h = torch.tanh(word @ cell.input.weight.T + h @ cell.recurrent.weight.T + cell.input.bias + cell.recurrent.bias)
    torch.testing.assert_close(h, last[0])


def test_the_gradient_of_a_cell_without_gates_is_that_of_finite_differences():
    torch.manual_seed(2)
    cell = RnnCell(WIDTH, WIDTH, layer_norm=True).double()
    x, h = (torch.randn(2, WIDTH, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert torch.autograd.gradcheck(lambda one, two: cell(cell.project(one), (two,))[0], (x, h))
