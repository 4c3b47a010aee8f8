"""All dependency trees of a few words, and sums over them."""

import itertools

import torch
from torch import Tensor


def is_tree(heads: tuple[int, ...]) -> bool:
    """Return whether there is one root, which is its own head, and all words lead to it."""
    if sum(head == word for word, head in enumerate(heads)) != 1:
        return False
    for word in range(len(heads)):
        for _ in heads:
            word = heads[word]
        if heads[word] != word:
            return False
    return True


def trees(words: int) -> list[tuple[int, ...]]:
    return [heads for heads in itertools.product(range(words), repeat=words) if is_tree(heads)]


def enumerated(scores: Tensor) -> Tensor:
    """Return the marginals of one sentence, (S, S), summed over its trees."""
    words = len(scores)
    sums = torch.stack([scores[list(heads), range(words)].sum() for heads in trees(words)])
    marginals = torch.zeros_like(scores)
    for heads, share in zip(trees(words), sums.softmax(0), strict=True):
        marginals[list(heads), range(words)] += share
    return marginals
