"""Average attention: against a loop over the words, and its gradients against finite differences."""

import pytest
import torch

from nmtlab.models.past import Mean
from nmtlab.nn.average import AverageAttention, running_means
from nmtlab.nn.feed_forward import FeedForward
from nmtlab.nn.private import SharedLinear

D = 6


def average(network: bool = True, gated: bool = True) -> AverageAttention:
    torch.manual_seed(0)
    made = AverageAttention(FeedForward(D, D, 0.0) if network else None, SharedLinear(2 * D, 2 * D) if gated else None)
    return made.double()


@pytest.mark.parametrize(("network", "gated"), [(True, True), (False, True), (True, False), (False, False)])
def test_it_is_the_formula_of_the_paper_word_by_word(network, gated):
    module, words = average(network, gated), torch.randn(2, 5, D, dtype=torch.float64)
    found = module(words, running_means(words))
    for sentence in range(2):
        for t in range(5):
            y, mean = words[sentence, t], sum(words[sentence, : t + 1]) / (t + 1)
            g = mean
            if network:
                inner, outer = module.feed_forward.inner, module.feed_forward.outer
                g = outer.weight @ (inner.weight @ mean + inner.bias).clamp_min(0) + outer.bias
            h = g
            if gated:
                gates = 1 / (1 + (-(module.gate.weight @ torch.cat((y, g)) + module.gate.bias)).exp())
                h = gates[:D] * y + gates[D:] * g
            torch.testing.assert_close(found[sentence, t], h, atol=1e-12, rtol=0)


def test_its_gradients_are_those_of_finite_differences():
    module, words = average(), torch.randn(1, 3, D, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda y: module(y, running_means(y)), (words,))


def test_a_mean_of_words_in_half_precision_is_not_computed_in_it():
    words = torch.ones(1, 300, 1).bfloat16()
    mean = Mean.empty(words[:, 0])
    for word in words.unbind(1):
        mean = mean.longer(word)
    assert mean.value.item() == running_means(words)[0, -1].item() == 1  # a sum in bfloat16 stays at 256
    assert AverageAttention(None, None)(words, running_means(words)).dtype is torch.bfloat16
