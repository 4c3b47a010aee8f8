"""Length planning against length normalisation and word reward (proposed in thesis 4.1, not measured there)."""

from dataclasses import replace

from nmtlab.grids.declared.declaration import Column, Table
from nmtlab.thesis.tables.normalisation import DE_EN, GL_EN, QAA_EN, SIZES
from nmtlab.thesis.tables.trained_out import DECODED_AGAIN, ENOUGH

ORDINARY = Column("ordinary", "prenorm-fixnorm-scalenorm")
PLANNED = Column("planned", "planned")
PLANNED_DETACHED = Column("planned (detached length model)", "planned", {"model.length_gradient": False})


# Widest beam: of a sample of the text.
_BEAMS = (1, 4, 12, 100)

# The ordinary runs are those of Table 3.13.
LENGTH_PLANNING = Table(
    name="length-planning",
    title="Length planning against length normalisation and word reward",
    subject="search",
    rows=(DE_EN, GL_EN, QAA_EN),
    columns=(ORDINARY, PLANNED, PLANNED_DETACHED),
    metrics=(
        *(f"bleu-log-prob-{beam}" for beam in _BEAMS),
        "bleu-length-normalised-4", "bleu-length-normalised-12", "bleu-word-reward-4", "bleu-word-reward-12",
        "bleu-log-prob-4-one-length", "bleu-word-reward-4-one-length",
        *(f"length-log-prob-{beam}" for beam in _BEAMS),
        "length-log-prob-4-one-length",
        *(f"empty-log-prob-{beam}" for beam in _BEAMS),
        "repeated-log-prob-4",
        "length-model-mae", "length-model-top-5", "length-model-loss",
        "linear-length-mae", "kernel-length-mae", "kernel-length-top-5", "kernel-length-loss", "oracle-length-bleu",
        "loss-last-token", "loss-two-before-last", "loss-other-tokens",
    ),
    baseline=ORDINARY.name,
    changes=SIZES,
    published=False,
)  # fmt: skip

# The ordinary runs are those of Table 3.13 trained out.
LENGTH_PLANNING_TRAINED_OUT = replace(
    LENGTH_PLANNING,
    name="length-planning-trained-out",
    short=LENGTH_PLANNING,
    title="Length planning, trained until dev BLEU stops rising (at most 5,000 updates)",
    subject="search",
    rows=DECODED_AGAIN,
    columns=(ORDINARY, PLANNED),
    changes=ENOUGH,
)

SHORT = 16
"""Tokens of the longest targets in training and dev: about 12 words."""

_SHORT = {"text.max_target_tokens": SHORT}

# The thesis hopes that positions that count down generalise to lengths unseen in training.
UNSEEN_LENGTHS = Table(
    name="unseen-lengths",
    title=f"Trained on targets of up to {SHORT} tokens: loss and BLEU on longer ones",
    subject="search",
    rows=(DE_EN, GL_EN, QAA_EN),
    columns=(Column(ORDINARY.name, ORDINARY.recipe, _SHORT), Column(PLANNED.name, PLANNED.recipe, _SHORT)),
    metrics=(
        "loss-seen-lengths", "loss-unseen-lengths", "loss-rise", "bleu-unseen-lengths", "bleu-unseen-lengths-oracle",
        "unseen-sentences",
    ),
    baseline=ORDINARY.name,
    changes=SIZES,
    published=False,
)  # fmt: skip
