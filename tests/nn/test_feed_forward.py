import torch

from nmtlab.nn.dropout import Dropout
from nmtlab.nn.feed_forward import FeedForward


def test_it_is_two_linear_layers_with_a_relu_between():
    feed_forward = FeedForward(4, 10, dropout=0.0)
    x = torch.randn(3, 5, 4)
    inner = (x @ feed_forward.inner.weight.T + feed_forward.inner.bias).clamp_min(0)
    torch.testing.assert_close(feed_forward(x), inner @ feed_forward.outer.weight.T + feed_forward.outer.bias)


def test_dropout_falls_on_the_output_of_the_relu():
    feed_forward = FeedForward(4, 10, dropout=0.5)
    x = torch.randn(3, 5, 4)
    torch.manual_seed(1)
    found = feed_forward(x)
    torch.manual_seed(1)
    torch.testing.assert_close(found, feed_forward.outer(Dropout(0.5)(feed_forward.inner(x).relu())))
    assert not torch.allclose(found, feed_forward.eval()(x))


def test_the_input_is_not_written_to():
    x = torch.randn(3, 4)
    kept = x.clone()
    FeedForward(4, 10, dropout=0.0)(x)
    assert torch.equal(x, kept)


def test_swish_is_x_times_its_sigmoid():
    feed_forward = FeedForward(4, 10, dropout=0.0, activation="swish")
    x = torch.randn(3, 4, requires_grad=True)
    inner = feed_forward.inner(x)
    torch.testing.assert_close(feed_forward(x), feed_forward.outer(inner * inner.sigmoid()))
    feed_forward(x).sum().backward()
    assert x.grad.abs().sum() > 0
