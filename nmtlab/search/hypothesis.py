"""What a search returns."""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Hypothesis:
    """A translation found by a search.

    Args:
        tokens: ids without EOS.
        log_prob: log p(y | x), EOS included where it ended.
        score: the searched score.
        finished: whether it ended with EOS; otherwise it was cut off at the length limit.
        attention: weights on the source of each token, EOS included: (layers, heads, |y|, S), where recorded.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    finished: bool
    attention: np.ndarray | None = None


@dataclass(frozen=True)
class TreeStep:
    """The slots of a beam after one step, best first.

    Args:
        parent: (K,) the slot of the step before that each continues.
        token: (K,) the id added; PAD where a finished hypothesis keeps its slot.
        log_prob, score: (K,) of the hypothesis so far; -inf for a slot that holds nothing.
        finished: (K,) whether it has ended.
        attention: (layers, K, heads, S) weights on the source while this step's token was chosen.
    """

    parent: np.ndarray
    token: np.ndarray
    log_prob: np.ndarray
    score: np.ndarray
    finished: np.ndarray
    attention: np.ndarray


@dataclass(frozen=True)
class SearchResult:
    """The outcome of searching for one sentence's translation.

    Args:
        hypotheses: best first; never empty.
        tree: every slot of every step, where recorded.
    """

    hypotheses: list[Hypothesis]
    tree: list[TreeStep] = field(default_factory=list)
