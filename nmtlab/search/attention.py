"""From recorded attention to attention on words."""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.recipe.family import NO_ATTENTION

WeightsT = TypeVar("WeightsT", np.ndarray, Tensor)


def check_attends(attention: np.ndarray | Tensor) -> None:
    """Raise `RunError` if recorded attention, (layers, ...), has no layers, as that of a model that does not attend."""
    if not len(attention):
        raise RunError(f"the model: {NO_ATTENTION[0]}", NO_ATTENTION[1])


def last_layer(attention: WeightsT) -> WeightsT:
    """Return the last layer of recorded attention, (layers, ...).

    Raises:
        RunError: as of `check_attends`.
    """
    check_attends(attention)
    return attention[-1]


def word_attention(attention: np.ndarray, places: Sequence[int]) -> np.ndarray:
    """Return the attention of each target position to each source word, (|y|, words).

    It is the mean over the heads of the last layer, summed over the pieces of a word; EOS is left out.

    Args:
        attention: (layers, heads, |y|, S), as recorded.
        places: index of each source piece's word, as from `Pipeline.source_words`; shorter than S.
    """
    weights = last_layer(attention).mean(0)[:, : len(places)]
    return weights @ pieces_of_words(places)


def pieces_of_words(places: Sequence[int]) -> np.ndarray:
    """Return which piece belongs to which word, (pieces, words) bool, given the index of each piece's word."""
    return np.asarray(places, dtype=int)[:, None] == np.arange(max(places, default=-1) + 1)
