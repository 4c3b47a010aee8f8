"""Learning rates (thesis 3.3.2.4)."""

import math
from dataclasses import dataclass

from nmtlab.recipe.training import TrainingSettings


@dataclass
class Schedule:
    """The learning rate of every update, and how evaluations change it.

    Args:
        settings: the recipe's training section.
        d_model: width of the model, in eq 3.8.
        factor: product of the decays so far.
        best: best dev BLEU so far.
        since_best: evaluations since then.
        evaluations: how many there have been.
    """

    settings: TrainingSettings
    d_model: int
    factor: float = 1.0
    best: float = -math.inf
    since_best: int = 0
    evaluations: int = 0

    def rate(self, update: int) -> float:
        """Return the rate of an update, counted from 1 (eq 3.8 and its variants)."""
        s = self.settings
        if s.schedule in ("no-warmup", "constant"):
            return s.learning_rate * self.factor
        scale = s.lr_scale / math.sqrt(self.d_model)
        rising = update / s.warmup_updates**1.5
        if s.schedule == "inverse-sqrt":
            return scale * min(1 / math.sqrt(update), rising)
        return scale * min(1 / math.sqrt(s.warmup_updates), rising) * self.factor

    def evaluated(self, update: int, bleu: float) -> None:
        """Take note of a dev BLEU; decay the rate where it has not improved for long enough."""
        s = self.settings
        self.evaluations += 1
        self.since_best = 0 if bleu > self.best else self.since_best + 1
        self.best = max(self.best, bleu)
        decays = s.schedule == "no-warmup" or (s.schedule == "validation-decay" and update >= s.warmup_updates)
        if decays and self.since_best >= s.decay_patience:
            self.factor *= s.decay_factor

    def exhausted(self, update: int) -> bool:
        """Return whether training should end: no improvement for long, or a rate that has decayed away."""
        s = self.settings
        warming = s.schedule not in ("no-warmup", "constant") and update < s.warmup_updates
        return self.since_best >= s.patience or (not warming and self.rate(update) < s.min_learning_rate)
