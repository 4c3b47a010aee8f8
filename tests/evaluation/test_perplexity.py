import math

import pytest

from nmtlab.errors import CorpusError
from nmtlab.evaluation import perplexity


@pytest.mark.parametrize("types", [1, 2, 50, 8000])
def test_guessing_evenly_among_n_types_has_perplexity_n(types):
    assert perplexity(-7 * math.log(1 / types), 7) == pytest.approx(types)


def test_a_perplexity_that_no_float_can_hold_is_infinite():
    assert perplexity(1e6, 1) == math.inf
    assert perplexity(math.inf, 1) == math.inf


def test_a_diverged_model_has_no_perplexity():
    assert math.isnan(perplexity(math.nan, 3))


def test_no_tokens_are_refused():
    with pytest.raises(CorpusError, match="over 0 tokens: undefined; score at least one sentence"):
        perplexity(1.0, 0)
