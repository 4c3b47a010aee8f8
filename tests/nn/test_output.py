import math

import pytest
import torch

from nmtlab.nn.output import OutputLayer

ALLOWED = torch.tensor([False, False, True, True, True, False, True])
TYPES, D = 7, 4


def layer(allowed: torch.Tensor = ALLOWED, scaled: bool = False, g: float = 1.7) -> OutputLayer:
    made = OutputLayer({"en": allowed}, scaled).double()
    with torch.no_grad():
        made.bias.copy_(torch.randn(TYPES))
        if scaled:
            made.g.fill_(g)
    return made


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(3, D, generator=generator, dtype=torch.float64, requires_grad=True)
    table = torch.randn(TYPES, D, generator=generator, dtype=torch.float64, requires_grad=True)
    return h, table


def test_bias_starts_at_zero_and_g_at_one():
    plain, scaled = (OutputLayer({"en": ALLOWED}, scaled) for scaled in (False, True))
    assert torch.equal(plain.bias, torch.zeros(TYPES))
    assert plain.g is None
    assert scaled.g.item() == 1.0
    assert scaled.g.shape == ()


@pytest.mark.parametrize("scaled", [False, True])
def test_logits_are_g_times_the_product_plus_the_bias(scaled):
    h, table = inputs()
    output = layer(torch.ones(TYPES, dtype=torch.bool), scaled)
    expected = (1.7 if scaled else 1.0) * (h @ table.T) + output.bias
    torch.testing.assert_close(output(h, output.allowed(table), output.allowed(output.bias)), expected)


def test_types_that_are_not_allowed_get_no_column():
    h, table = inputs()
    output = layer()
    assert output.types().tolist() == [2, 3, 4, 6]
    assert output(h, output.allowed(table), output.allowed(output.bias)).shape == (3, 4)


def test_leaving_a_type_out_is_the_same_as_a_logit_of_minus_infinity():
    h, table = inputs()
    output = layer(scaled=True)
    full = (output.g * h @ table.T + output.bias).masked_fill(~ALLOWED, -math.inf).log_softmax(-1)
    torch.testing.assert_close(
        output(h, output.allowed(table), output.allowed(output.bias)).log_softmax(-1), full[:, ALLOWED]
    )


def test_types_that_are_not_allowed_get_no_gradient():
    h, table = inputs()
    output = layer()
    output(h, output.allowed(table), output.allowed(output.bias)).sum().backward()
    assert (table.grad[~ALLOWED] == 0).all()
    assert (output.bias.grad == ALLOWED * 3.0).all()


@pytest.mark.parametrize("scaled", [False, True])
def test_the_parts_add_up_to_the_logits(scaled):
    h, table = inputs()
    output = layer(scaled=scaled)
    parts = output.parts(h, output.allowed(table), output.allowed(output.bias))
    assert list(parts) == ["word", "bias"]
    torch.testing.assert_close(sum(parts.values()), output(h, output.allowed(table), output.allowed(output.bias)))


def test_adjacent_rows_are_not_copied():
    _, table = inputs()
    some = layer(torch.tensor([False, False, True, True, True, True, True]))
    assert some.allowed(table).data_ptr() == table[2:].data_ptr()
    assert torch.equal(some.allowed(table), table[2:])
    assert layer().allowed(table).data_ptr() != table[2:].data_ptr()
