"""Perplexity per token."""

import math

from nmtlab.errors import CorpusError


def perplexity(negative_log_likelihood: float, tokens: int) -> float:
    """Return exp(negative log-likelihood / tokens), or infinity if that overflows.

    Args:
        negative_log_likelihood: in nats, summed over the tokens, without label smoothing.
        tokens: number of scored tokens, including EOS if scored; at least 1.

    Raises:
        CorpusError: no tokens.
    """
    if tokens < 1:
        raise CorpusError(f"perplexity over {tokens} tokens: undefined", "score at least one sentence")
    try:
        return math.exp(negative_log_likelihood / tokens)
    except OverflowError:
        return math.inf
