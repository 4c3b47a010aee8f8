"""How a model is trained."""

from typing import Literal

from pydantic import Field

from nmtlab.recipe.section import Section


class TrainingSettings(Section):
    """Loss, optimiser, schedule and stopping (thesis 3.3.2.4, 3.3.3.1)."""

    seed: int = Field(1, ge=0, lt=2**64)
    """The one seed of initial weights, dropout and the order of the data."""

    batch_tokens: int = Field(4096, ge=1)
    """Padded tokens in a batch: sentences times the longer side."""

    batch_sentences: int = Field(0, ge=0)
    """Most sentences in a batch (0: as many as its tokens allow; 32 in thesis 3.2)."""

    accumulate: int = Field(1, ge=1, le=100_000)
    """Batches whose gradients are added up to one update; the last update of a pass over the text may have fewer."""

    loss_reduction: Literal["mean", "sum"] = "mean"
    """Over the target tokens of an update; with sum, the gradient is clipped as the sum's (thesis 3.2.5.3)."""

    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability spread evenly over the allowed types, the right one included."""

    word_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of input words replaced by UNK at random (0.1 in thesis 3.3.3.1)."""

    optimiser: Literal["adam", "adadelta"] = "adam"
    """Adam with betas 0.9 and 0.999, or Adadelta with rho 0.95 (thesis 3.2.5.3)."""

    clip_norm: float = Field(1.0, gt=0)
    """The gradient's global norm is scaled down to this."""

    schedule: Literal["inverse-sqrt", "validation-decay", "no-warmup", "constant"] = "inverse-sqrt"
    """InvSqrtDecay (eq 3.8), ValDecay after the same warm-up, NoWarmup with ValDecay's decay, or no change at all."""

    warmup_updates: int = Field(8000, ge=1)
    """Updates of linear warm-up."""

    lr_scale: float = Field(1.0, gt=0)
    """Factor λ of eq 3.8 (2 for '2×LR')."""

    learning_rate: float = Field(3e-4, gt=0)
    """Learning rate where NoWarmup begins, or always if the schedule is constant."""

    decay_factor: float = Field(0.8, gt=0, lt=1)
    """Factor on the rate when dev BLEU has not improved (ValDecay, NoWarmup)."""

    decay_patience: int = Field(3, ge=1)
    """Evaluations without improvement before the rate decays."""

    validate_every: int = Field(1000, ge=0)
    """Updates between evaluations (the thesis' 'epoch', Table 3.11); 0: at the end of every pass over the text."""

    save_minutes: float = Field(15.0, ge=0)
    """Minutes after which the training is saved between evaluations too, so that it can be resumed (0: never)."""

    validation_beam_size: int = Field(1, ge=1)
    """Beam of the decoding that dev BLEU is measured on; 1, greedy, is the quickest."""

    max_evaluations: int = Field(200, ge=1)
    """Training ends after this many evaluations."""

    patience: int = Field(20, ge=1)
    """Training ends after this many evaluations without improvement."""

    min_learning_rate: float = Field(1e-6, ge=0)
    """Training ends when the rate has decayed below this."""
