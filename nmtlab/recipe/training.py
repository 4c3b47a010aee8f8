"""How a model is trained."""

from typing import Literal

from pydantic import Field, model_validator

from nmtlab.recipe.section import Section


class TrainingSettings(Section):
    """Loss, optimiser, schedule and stopping (thesis 3.3.2.4, 3.3.3.1)."""

    seed: int = Field(1, ge=0, lt=2**64)
    """Single seed of initial weights, dropout and data order."""

    batch_tokens: int = Field(4096, ge=1)
    """Maximum padded tokens in a batch: sentences times the longer side."""

    batch_sentences: int = Field(0, ge=0)
    """Maximum sentences in a batch (0: as many as batch_tokens allows; 32 in thesis 3.2)."""

    sampling_exponent: float = Field(0.7, ge=0, le=1)
    """Corpora are sampled in proportion to (number of pairs)^this, 1 / temperature: 1 proportional, 0 uniform."""

    segmentations: int = Field(1, ge=1, le=1000)
    """Segmentations of the text into subwords, drawn at random, which epochs read in turn (1: the likeliest alone)."""

    segmentation_alpha: float = Field(0.1, ge=0, le=1)
    """Of drawn segmentations: share of BPE's merges left out; of a unigram model, exponent of their probabilities."""

    curriculum: Literal["none", "length", "rarity"] = "none"
    """Easier pairs first, by the length of the source or the rarity of its tokens."""

    curriculum_passes: int = Field(5, ge=1)
    """Passes over the text until all pairs are read; before that only the easier ones are."""

    accumulate: int = Field(1, ge=1, le=100_000)
    """Batches whose gradients are accumulated per update; the last update of a pass over the text may have fewer."""

    loss_reduction: Literal["mean", "sum"] = "mean"
    """Reduction over an update's target tokens; with sum, clipping sees the sum's gradient (thesis 3.2.5.3)."""

    label_smoothing: float = Field(0.1, ge=0, lt=1)
    """Probability spread uniformly over the allowed types, including the correct one."""

    teacher: str = Field("", max_length=255)
    """Run whose distributions are learned besides the text; empty: the continued parent, if teacher_weight > 0."""

    teacher_weight: float = Field(0.0, ge=0, le=1)
    """Weight α of the cross-entropy with the teacher's distributions; that of the text has 1 - α."""

    teacher_temperature: float = Field(1.0, ge=0.01, le=100)
    """τ, by which the logits of both are divided for that cross-entropy, which counts τ² times; above 1 flattens."""

    risk: Literal["none", "bleu", "chrf", "gleu", "hit-gleu"] = "none"
    """Score of samples whose expected shortfall from 1 is minimised; hit-gleu: half GLEU, half suggestions used."""

    risk_form: Literal["expected", "self-critical"] = "expected"
    """Over the distinct samples, or by each sample's advantage over the greedy translation (Rennie et al. 2017)."""

    risk_samples: int = Field(16, ge=1, le=10_000)
    """Translations that are sampled of each sentence for its risk; one is enough if it is self-critical."""

    risk_alpha: float = Field(0.005, gt=0)
    """Sharpness α of the distribution over the distinct samples, p^α divided by its sum."""

    risk_reference: bool = False
    """Whether the reference is among the samples."""

    likelihood_weight: float = Field(0.001, ge=0)
    """Weight λ of the cross-entropy in the loss of an update, risk + λ cross-entropy; without a risk, it is 1."""

    guided_attention: float = Field(0.0, ge=0)
    """Weight λ of -log of the last attention's weight on linked words (Chen et al. 2016); of heads, the first."""

    word_dropout: float = Field(0.0, ge=0, lt=1)
    """Share of input words randomly replaced by UNK (0.1 in thesis 3.3.3.1)."""

    optimiser: Literal["adam", "adamw", "adadelta", "sgd", "nesterov"] = "adam"
    """Adam, AdamW (Loshchilov and Hutter 2019), Adadelta (thesis 3.2.5.3), SGD, or with Nesterov's momentum of 0.99."""

    adam_beta1: float = Field(0.9, ge=0, lt=1)
    """Decay β1 of Adam's and AdamW's mean of gradients."""

    adam_beta2: float = Field(0.999, ge=0, lt=1)
    """Decay β2 of Adam's and AdamW's mean of squared gradients; 0.98 in fairseq's recipes."""

    weight_decay: float = Field(0.0, ge=0, lt=1)
    """AdamW's decay of all weights, biases and embeddings included, times the learning rate; 0.01 is usual."""

    clip_norm: float = Field(1.0, gt=0)
    """Maximum global norm of the gradient; a larger one is scaled down to this."""

    schedule: Literal["inverse-sqrt", "validation-decay", "no-warmup", "constant"] = "inverse-sqrt"
    """InvSqrtDecay (eq 3.8), ValDecay after the same warm-up, NoWarmup with ValDecay's decay, or a constant rate."""

    warmup_updates: int = Field(8000, ge=1)
    """Updates of linear warm-up."""

    lr_scale: float = Field(1.0, gt=0)
    """Factor λ of eq 3.8 (2 for '2×LR')."""

    learning_rate: float = Field(3e-4, gt=0)
    """Initial learning rate of NoWarmup, or the rate of the constant schedule."""

    decay_factor: float = Field(0.8, gt=0, lt=1)
    """Factor applied to the rate when the dev score, as of select_by, has not improved (ValDecay, NoWarmup)."""

    decay_patience: int = Field(3, ge=1)
    """Evaluations without improvement before the rate decays."""

    validate_every: int = Field(1000, ge=0)
    """Updates between evaluations (the thesis' 'epoch', Table 3.11); 0: at the end of every pass over the text."""

    select_by: Literal["bleu", "chrf", "perplexity"] = "bleu"
    """Dev score for best checkpoint, patience and decay; perplexity decides where scores are equal or both below 1."""

    keep_checkpoints: int = Field(0, ge=0, le=1000)
    """Last evaluated checkpoints kept besides the best and the last, for 'nmtlab runs average'."""

    average: float = Field(0.0, ge=0, lt=1)
    """Weight τ of an update in a moving average of the weights, which is evaluated and kept as best (0: none)."""

    save_minutes: float = Field(15.0, ge=0)
    """Minutes between additional saves that training can be resumed from (0: save only at evaluations)."""

    validation_beam_size: int = Field(1, ge=1)
    """Beam size of the decoding that dev BLEU and chrF are measured on; 1 (greedy) is the fastest."""

    max_evaluations: int = Field(200, ge=1)
    """Training ends after this many evaluations."""

    patience: int = Field(20, ge=1)
    """Training ends after this many evaluations without improvement."""

    min_learning_rate: float = Field(1e-6, ge=0)
    """Training ends when the rate has decayed below this."""

    @model_validator(mode="after")
    def _check(self) -> "TrainingSettings":
        for field, optimisers in _OPTIMISERS_WITH.items():
            if getattr(self, field) != type(self).model_fields[field].default and self.optimiser not in optimisers:
                raise ValueError(
                    f"{field} is of {' and '.join(optimisers)}, not of optimiser {self.optimiser!r}; leave it out"
                )
        if self.segmentations == 1 and self.segmentation_alpha != type(self).model_fields["segmentation_alpha"].default:
            raise ValueError("segmentation_alpha is set, but segmentations is 1; set that to 10, or leave it out")
        if self.curriculum == "none" and self.curriculum_passes != type(self).model_fields["curriculum_passes"].default:
            raise ValueError("curriculum_passes is set, but curriculum is none; set that to length or rarity")
        return self


_OPTIMISERS_WITH = {"adam_beta1": ("adam", "adamw"), "adam_beta2": ("adam", "adamw"), "weight_decay": ("adamw",)}
"""Fields that only some optimisers have."""
