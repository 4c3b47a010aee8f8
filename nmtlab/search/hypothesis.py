"""What a search returns."""

from dataclasses import dataclass, field

import numpy as np

from nmtlab.search.tree import TreeStep


@dataclass(frozen=True)
class Hypothesis:
    """A translation found by a search.

    Args:
        tokens: ids without EOS, as the model writes them.
        log_prob: log p(y | x), EOS included if it is finished.
        score: the score that the search maximised.
        finished: whether it ended with EOS; otherwise it was cut off at the length limit.
        attention: weights on the source of each token, EOS included: (layers, heads, |y|, S), if recorded.
        length_log_prob: log-probability of the planned length, part of `log_prob`; 0 if none was planned.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    finished: bool
    attention: np.ndarray | None = None
    length_log_prob: float = 0.0


@dataclass(frozen=True)
class SearchResult:
    """The outcome of searching for one sentence's translation.

    Args:
        hypotheses: best first, samples in the order of drawing; never empty.
        tree: every slot of every step, if recorded.
    """

    hypotheses: list[Hypothesis]
    tree: list[TreeStep] = field(default_factory=list)
