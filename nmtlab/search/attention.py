"""From recorded attention to attention on words."""

from collections.abc import Sequence

import numpy as np


def word_attention(attention: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Return the attention of each target position to each source word, (|y|, words).

    It is the mean over the heads of the last layer, summed over the pieces of a word; EOS is left out.

    Args:
        attention: (layers, heads, |y|, S), as recorded.
        places: index of each source piece's word, as from `Pipeline.source_words`; shorter than S.
    """
    weights = attention[-1].mean(0)[:, : len(places)]
    return weights @ pieces_of_words(places)


def pieces_of_words(places: Sequence[int]) -> np.ndarray:
    """Return which piece belongs to which word, (pieces, words) bool, given the index of each piece's word."""
    return np.asarray(places, dtype=int)[:, None] == np.arange(max(places, default=-1) + 1)
