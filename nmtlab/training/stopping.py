"""Early stopping."""

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from nmtlab.recipe.training import TrainingSettings

NOISE = 1.0
"""Dev BLEU or chrF up to this count as equal: below it, they differ by a few n-grams found by chance."""


class DevScore(NamedTuple):
    """The scores of one evaluation: dev BLEU (0 to 100), dev perplexity and, if measured, dev chrF (0 to 100)."""

    bleu: float = -math.inf
    perplexity: float = math.inf
    chrf: float = 0.0

    def is_better_than(self, other: "DevScore", by: Literal["bleu", "chrf", "perplexity"] = "bleu") -> bool:
        """Return whether its score is higher, or is as high, or as good as zero too, with a lower perplexity."""
        mine, theirs = (0.0 if by == "perplexity" else max(getattr(one, by), NOISE) for one in (self, other))
        return mine > theirs if mine != theirs else self.perplexity < other.perplexity


@dataclass
class EarlyStopping:
    """The dev evaluations so far, and whether training should end.

    Args:
        unscheduled: the best of those evaluations that a stop called for. They decide which checkpoint is the best,
            but neither the end nor the rate, so that a resumed training goes on as if it had not been stopped.
    """

    settings: TrainingSettings
    best: DevScore = field(default_factory=DevScore)
    since_best: int = 0
    evaluations: int = 0
    unscheduled: DevScore = field(default_factory=DevScore)

    @property
    def kept(self) -> DevScore:
        """The evaluation of the best checkpoint."""
        return self.unscheduled if self._is_better(self.unscheduled, self.best) else self.best

    def evaluated(self, score: DevScore, scheduled: bool = True, counts: bool = True) -> bool:
        """Record an evaluation, and return whether its checkpoint is the best so far.

        Args:
            score: of the checkpoint.
            scheduled: whether no stop called for it.
            counts: whether, without improvement, it counts towards the end and decay.
        """
        improved = not self.evaluations or self._is_better(score, self.best)
        is_best = improved and not self._is_better(self.unscheduled, score)
        if not scheduled:
            self.unscheduled = score if is_best else self.unscheduled
            return is_best
        self.evaluations += 1
        self.since_best = 0 if improved else self.since_best + counts
        self.best = score if improved else self.best
        return is_best

    @property
    def ended(self) -> bool:
        """Whether the maximal number of evaluations is reached, or too many have passed without improvement."""
        return self.evaluations >= self.settings.max_evaluations or self.since_best >= self.settings.patience

    def _is_better(self, score: DevScore, other: DevScore) -> bool:
        return score.is_better_than(other, self.settings.select_by)
