"""What a model does with its probability: trained for a score, calibrated, sampled, and judged by another (survey 7.5,
7.7, 10.1; thesis 4.1).

Does training for a score make the global best less often empty, or only hide that from the beam? Is the end of a
sentence worse calibrated with less text? Does minimum Bayes risk do without length normalisation? Does the disagreement
of two directions tell which translations are wrong? The systems with all of the text are those of the table
`search-errors`, and of `length-planning`.
"""

from collections.abc import Mapping
from dataclasses import replace

from nmtlab.grids.declared.corpora import Corpus, FirstPairs
from nmtlab.grids.declared.declaration import SEEDS, Changes, Column, Row, Scale, Setup, Table, Texts
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.thesis.tables.empty_translations import NO_SMOOTHING
from nmtlab.thesis.tables.length_planning import PLANNED
from nmtlab.thesis.tables.lexical_choice import SMALL_QAA, TINY_QAA
from nmtlab.thesis.tables.normalisation import DE_EN, GL_EN, PRE_FIX_SCALE, QAA_EN, SIZES, SMALL_GL

CE = PRE_FIX_SCALE
"""Trained by cross-entropy."""

_UPDATES: dict[Scale, Changes] = {
    "tiny": {"training.validate_every": 4, "training.max_evaluations": 1},
    "small": {"training.validate_every": 100, "training.max_evaluations": 4},
    "thesis": {"training.validate_every": 100, "training.max_evaluations": 6},
}
_CONTINUED: Changes = {
    "transfer.continued": True, "training.schedule": "constant", "training.learning_rate": 2e-5,
    "training.batch_sentences": 8, "training.patience": 10,
}  # fmt: skip


def _continued(name: str, **changes: str | float) -> Column:
    """Return a system that goes on from cross-entropy, for as many updates as the others."""
    special = {f"training.{field}": value for field, value in changes.items()}
    return Column(name, CE.recipe, {**_CONTINUED, **special}, base=CE, at=_UPDATES)


CE_CONTINUED = _continued("CE continued as long")
_SELF_CRITICAL: dict[str, str | float] = {"risk_form": "self-critical", "risk_samples": 1, "likelihood_weight": 0.0}

RISK = Table(
    name="risk",
    title="Training for a score: minimum risk and self-critical training against cross-entropy",
    subject="search",
    rows=(GL_EN, QAA_EN),
    columns=(
        CE,
        CE_CONTINUED,
        _continued("MRT-BLEU", risk="bleu"),
        _continued("MRT-chrF", risk="chrf"),
        _continued("self-critical", risk="gleu", **_SELF_CRITICAL),
    ),
    metrics=(
        "test-bleu", "test-chrf", "bleu-log-prob-4", "bleu-log-prob-100", "length-log-prob-4", "empty-log-prob-100",
        "empty-global-best",
    ),
    baseline=CE_CONTINUED.name,
    changes=SIZES,
    published=False,
)  # fmt: skip

_FEW = "few"


def _few(system: Column) -> Column:
    """Return a system that is trained on a part of the text."""
    return replace(system, name=f"{system.name}, few pairs", texts=_FEW)


def _sized(row: Row, few: Mapping[Scale, Corpus]) -> Row:
    """Return a row with a smaller text, too, at each scale that runs it."""
    at = {
        scale: replace(setup, texts={_FEW: Texts(few[scale].name, (few[scale],))})
        for scale, setup in row.at.items()
        if isinstance(setup, Setup)
    }
    return replace(row, at={**row.at, **at})


_FEW_GL: Mapping[Scale, Corpus] = {
    "small": replace(SMALL_GL, name="few-gl-en", train=2000),
    "thesis": FirstPairs(ExternalCorpus("ted-gl-en", "gl", "en", "TED"), 2000),
}
_FEW_QAA: Mapping[Scale, Corpus] = {
    "small": replace(SMALL_QAA, name="few-qaa-en", train=2000),
    "tiny": replace(TINY_QAA, name="tiny-few-qaa-en", train=200),
}
ORDINARY = replace(PRE_FIX_SCALE, name="ordinary")
WITHOUT = replace(NO_SMOOTHING, name="no smoothing")
_SYSTEMS = (ORDINARY, WITHOUT, PLANNED)

# The dev and test parts of a smaller text are those of the whole.
CALIBRATED = Table(
    name="calibration",
    title="Calibration of tokens, and of the end of a sentence, with all of the text and with a part of it",
    subject="search",
    rows=(_sized(GL_EN, _FEW_GL), _sized(QAA_EN, _FEW_QAA)),
    columns=(*_SYSTEMS, *map(_few, _SYSTEMS)),
    metrics=("ece", "eos-ece", "test-bleu"),
    baseline=ORDINARY.name,
    changes=SIZES,
    published=False,
)

MBR = Table(
    name="mbr",
    title="Minimum Bayes risk by its number of samples, against beams",
    subject="search",
    rows=(DE_EN, GL_EN, QAA_EN),
    columns=(PRE_FIX_SCALE, NO_SMOOTHING),
    metrics=(
        "bleu-mbr-4", "bleu-mbr-16", "bleu-mbr-64", "bleu-log-prob-4-sample", "bleu-length-normalised-4-sample",
        "bleu-log-prob-100",
    ),
    changes=SIZES,
    published=False,
)  # fmt: skip

BACKWARDS = replace(PRE_FIX_SCALE, name="right to left", changes={"text.reversed_target": True}, after=PRE_FIX_SCALE)

RIGHT_TO_LEFT = Table(
    name="right-to-left",
    title="A second opinion on translations: from right to left, against another seed",
    subject="search",
    rows=(DE_EN, GL_EN, QAA_EN),
    columns=(PRE_FIX_SCALE, BACKWARDS),
    metrics=(
        "test-bleu", "reranked-alone-bleu", "reranked-by-seed-bleu", "reranked-by-direction-bleu", "rho-log-prob",
        "rho-from-seed", "rho-from-direction",
    ),
    baseline=PRE_FIX_SCALE.name,
    changes=SIZES,
    seeds={**SEEDS, "thesis": (1, 2)},
    published=False,
)  # fmt: skip
