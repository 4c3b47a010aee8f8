"""Learning rate schedules (thesis 3.3.2.4)."""

import math
from dataclasses import dataclass

from nmtlab.recipe.training import TrainingSettings


@dataclass
class Schedule:
    """The learning rate of every update, and how evaluations change it; `factor` is the product of all decays."""

    settings: TrainingSettings
    d_model: int
    factor: float = 1.0

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

    def evaluated(self, update: int, since_best: int) -> None:
        """Decay the rate if enough evaluations, `since_best`, have passed without improvement."""
        s = self.settings
        decays = s.schedule == "no-warmup" or (s.schedule == "validation-decay" and update >= s.warmup_updates)
        if decays and since_best >= s.decay_patience:
            self.factor *= s.decay_factor

    def exhausted(self, update: int) -> bool:
        """Return whether the rate has decayed below its minimum."""
        s = self.settings
        warming = s.schedule not in ("no-warmup", "constant") and update < s.warmup_updates
        return not warming and self.rate(update) < s.min_learning_rate
