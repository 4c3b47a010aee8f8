"""Early stopping."""

import math
from dataclasses import dataclass

from nmtlab.recipe.training import TrainingSettings


@dataclass
class EarlyStopping:
    """The dev evaluations so far, and whether training should end.

    Args:
        settings: the recipe's training section.
        best: best dev BLEU so far.
        since_best: evaluations since the best one.
        evaluations: number of evaluations so far.
    """

    settings: TrainingSettings
    best: float = -math.inf
    since_best: int = 0
    evaluations: int = 0

    def evaluated(self, bleu: float) -> bool:
        """Record a dev BLEU, and return whether it is the best so far."""
        improved = bleu > self.best
        self.evaluations += 1
        self.since_best = 0 if improved else self.since_best + 1
        self.best = max(self.best, bleu)
        return improved

    @property
    def ended(self) -> bool:
        """Whether the maximal number of evaluations is reached, or too many have passed without improvement."""
        return self.evaluations >= self.settings.max_evaluations or self.since_best >= self.settings.patience
