"""When a training has learned what it will learn."""

import math
from dataclasses import dataclass

from nmtlab.recipe.training import TrainingSettings


@dataclass
class EarlyStopping:
    """Evaluations on dev text so far, and whether another one is worth training for.

    Args:
        settings: the recipe's training section.
        best: best dev BLEU so far.
        since_best: evaluations since then.
        evaluations: how many there have been.
    """

    settings: TrainingSettings
    best: float = -math.inf
    since_best: int = 0
    evaluations: int = 0

    def evaluated(self, bleu: float) -> bool:
        """Take note of a dev BLEU, and return whether it is the best so far."""
        improved = bleu > self.best
        self.evaluations += 1
        self.since_best = 0 if improved else self.since_best + 1
        self.best = max(self.best, bleu)
        return improved

    @property
    def ended(self) -> bool:
        """Whether there have been enough evaluations, or none has been better for long."""
        return self.evaluations >= self.settings.max_evaluations or self.since_best >= self.settings.patience
