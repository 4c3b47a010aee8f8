"""Early stopping."""

import math
from dataclasses import dataclass
from typing import NamedTuple

from nmtlab.recipe.training import TrainingSettings

NOISE_BLEU = 1.0
"""Dev BLEUs up to this count as equal: below it, they differ by a few n-grams found by chance."""


class DevScore(NamedTuple):
    """The scores of one evaluation that decide whether it is the best: dev BLEU (0 to 100) and dev perplexity."""

    bleu: float = -math.inf
    perplexity: float = math.inf

    def is_better_than(self, other: "DevScore") -> bool:
        """Return whether its BLEU is higher, or is as high, or as good as zero too, with a lower perplexity."""
        bleu, other_bleu = max(self.bleu, NOISE_BLEU), max(other.bleu, NOISE_BLEU)
        return bleu > other_bleu if bleu != other_bleu else self.perplexity < other.perplexity


@dataclass
class EarlyStopping:
    """The dev evaluations so far, and whether training should end.

    Args:
        settings: the recipe's training section.
        best: the best evaluation so far.
        since_best: evaluations since the best one.
        evaluations: number of evaluations so far.
    """

    settings: TrainingSettings
    best: DevScore = DevScore()
    since_best: int = 0
    evaluations: int = 0

    def evaluated(self, score: DevScore) -> bool:
        """Record an evaluation, and return whether it is the best so far; the first is, whatever its scores."""
        improved = not self.evaluations or score.is_better_than(self.best)
        self.evaluations += 1
        self.since_best = 0 if improved else self.since_best + 1
        self.best = score if improved else self.best
        return improved

    @property
    def ended(self) -> bool:
        """Whether the maximal number of evaluations is reached, or too many have passed without improvement."""
        return self.evaluations >= self.settings.max_evaluations or self.since_best >= self.settings.patience
