"""Perplexity per token."""

import math

from nmtlab.errors import CorpusError


def perplexity(negative_log_likelihood: float, tokens: int) -> float:
    """Return exp(negative log-likelihood / tokens), infinite where a float cannot hold it.

    Args:
        negative_log_likelihood: in nats, summed over the tokens, without label smoothing.
        tokens: how many tokens were scored, EOS included if it was; at least 1.

    Raises:
        CorpusError: no tokens.
    """
    if tokens < 1:
        raise CorpusError(f"perplexity over {tokens} tokens: not defined", "score at least one sentence")
    try:
        return math.exp(negative_log_likelihood / tokens)
    except OverflowError:
        return math.inf
