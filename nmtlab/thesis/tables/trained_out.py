"""Systems at the two ends of training: before the first update, and once dev BLEU has stopped rising."""

from dataclasses import replace
from itertools import product

from nmtlab.grids.declared.corpora import Corpus
from nmtlab.grids.declared.declaration import (
    NOT_PUBLISHED,
    SEEDS,
    Changes,
    Column,
    Row,
    Scale,
    Setup,
    Table,
    language_pair,
)
from nmtlab.grids.declared.whole_corpora import ConcatenatedCorpus
from nmtlab.thesis.tables.lexical_choice import SMALL_QAA, TINY_QAA
from nmtlab.thesis.tables.normalisation import DE_EN, DEEP_SIZES, EN_VI, POST_LAYER, QAA_EN, SIZES, SMALL_DE, TABLE_3_13

# Batches, vocabulary and rate are those of the recipes; dev BLEU has to rise within 20 evaluations, as in the thesis.
ENOUGH: dict[Scale, Changes] = {
    **SIZES,
    "small": {"training.max_evaluations": 25, "training.patience": 20, "machine.precision": "bf16"},
}


def _of_text(row: Row, text: Corpus) -> Row:
    """Return a row of the same text under another name: a run is named by its text, and others are shorter."""
    return replace(row, at={**row.at, "small": Setup(text)})


_DE_EN = _of_text(DE_EN, replace(SMALL_DE, name="long-de-en"))
_QAA_EN = _of_text(QAA_EN, replace(SMALL_QAA, name="long-qaa-en"))

TRAINED_OUT = Table(
    name="table-3.13-trained-out",
    short=TABLE_3_13,
    title="Placement and type of normalisation, trained until dev BLEU stops rising (at most 5,000 updates)",
    subject="normalisation",
    rows=(EN_VI, _DE_EN, _QAA_EN),
    columns=TABLE_3_13.columns,
    metrics=("tokenized-test-bleu",),
    baseline=POST_LAYER.name,
    changes=ENOUGH,
    seeds={**SEEDS, "small": (1, 2, 3, 4, 5)},
    published=False,
)

DECODED_AGAIN = (EN_VI, replace(_DE_EN, seeds=(3, 4, 5)), _QAA_EN)
"""Rows of further tables of these systems: on de-en, seeds 1 and 2 were packed without the models that they need."""

_FEW_DE = ConcatenatedCorpus(
    "untrained-de-en", "de", "en", ("multi30k-de-en",), train=10_000, dev=64, test=64, title="Multi30k"
)

# A run needs one update to have a checkpoint; what is measured are its weights before it.
_ONE_UPDATE: Changes = {"training.validate_every": 1, "training.max_evaluations": 1}
_INITS, _PLACEMENTS = {"xavier": "Xavier", "small": "SmallInit"}, {"postnorm": "PostNorm", "prenorm": "PreNorm"}


def _untrained(init: str, recipe: str, layers: int) -> Column:
    name = f"{_INITS[init]} {_PLACEMENTS[recipe]}, {layers} layers"
    depth: Changes = {"model.encoder_layers": layers, "model.decoder_layers": layers}
    return Column(name, recipe, {"model.init": init, **depth, **_ONE_UPDATE})


UNTRAINED_GRADIENTS = Table(
    name="untrained-gradients",
    title="Before the first update: the gradient at the first norm of each side, relative to the last",
    subject="normalisation",
    rows=(
        EN_VI,
        language_pair("de-en", NOT_PUBLISHED, _FEW_DE),
        language_pair("qaa-en", NOT_PUBLISHED, "real text, as de-en", TINY_QAA),
    ),
    columns=tuple(_untrained(*form) for form in product(_INITS, _PLACEMENTS, (2, 4, 6))),
    metrics=("gradient-ratio-encoder-untrained", "gradient-ratio-decoder-untrained"),
    changes=DEEP_SIZES,
    seeds={**SEEDS, "small": tuple(range(1, 11))},
    published=False,
)
