"""Small and fast: students of a teacher (Kim and Rush 2016), and decoders that average (Zhang et al. 2018; survey 16).

What does distillation do to the search: to the gap between greedy search and a beam, to the beam's errors, and to the
share of empty global bests? A student of half the width is small; one with a single decoder layer is fast, since its
encoder reads a whole sentence at once. The teacher is the system of Table 3.13.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from nmtlab.grids.declared.declaration import Changes, Column, Distillation, Scale, Table
from nmtlab.thesis.tables.normalisation import GL_EN, PRE_FIX_SCALE, QAA_EN, SIZES
from nmtlab.thesis.tables.trained_out import ENOUGH, TRAINED_OUT

TEACHER = replace(PRE_FIX_SCALE, name="teacher")


def _smaller(width: int) -> Changes:
    return {"model.d_model": width, "model.d_ff": 4 * width, "model.decoder_layers": 1}


def _shallow(encoder_layers: int) -> Changes:
    return {"model.encoder_layers": encoder_layers, "model.decoder_layers": 1}


STUDENTS: Mapping[str, Mapping[Scale, Changes]] = {
    "half width": {"tiny": _smaller(16), "small": _smaller(64), "thesis": _smaller(256)},
    "one decoder layer": {"tiny": _shallow(2), "small": _shallow(4), "thesis": _shallow(12)},
}
"""Students, each with a single decoder layer: of half the teacher's width, or with twice its encoder layers."""


def _taught(name: str, at: Mapping[Scale, Changes]) -> list[Column]:
    """Return a student that learns from the references, and the same for what it can learn of its teacher."""
    direct = Column(f"{name}, direct", TEACHER.recipe, at=at)
    kinds: tuple[Distillation, ...] = get_args(Distillation)
    return [
        direct,
        *(replace(direct, name=f"{name}, {kind}", teacher=TEACHER, distillation=kind) for kind in kinds),
    ]


_ROWS = (GL_EN, QAA_EN)

DISTILLED = Table(
    name="students",
    title="Students of a teacher: what distillation gains, and what it does to the search",
    rows=_ROWS,
    columns=(TEACHER, *(column for name, at in STUDENTS.items() for column in _taught(name, at))),
    metrics=("test-bleu", "bleu-log-prob-1", "length-log-prob-1", "empty-global-best", "search-errors"),
    baseline=TEACHER.name,
    changes=SIZES,
    published=False,
)

_TAUGHT = tuple(one for one in DISTILLED.columns if one.teacher is None or one.distillation == "sequence")
_BY_ENSEMBLE = tuple(
    replace(one, name=f"{one.name.partition(',')[0]}, ensemble", ensemble=True) for one in _TAUGHT if one.teacher
)

DISTILLED_TRAINED_OUT = Table(
    name="students-trained-out",
    short=DISTILLED,
    title="Students of a teacher, all trained until dev BLEU stops rising (at most 5,000 updates)",
    rows=TRAINED_OUT.rows,
    columns=_TAUGHT + _BY_ENSEMBLE,
    metrics=DISTILLED.metrics,
    baseline=TEACHER.name,
    changes=ENOUGH,
    published=False,
)


def _averaging(name: str, **fields: bool) -> Column:
    changes = {f"model.{field}": value for field, value in fields.items()}
    return Column(name, PRE_FIX_SCALE.recipe, {"model.decoder_history": "average", **changes})


ATTENTION = replace(PRE_FIX_SCALE, name="attention")

AVERAGING = Table(
    name="averaging-network",
    title="A decoder that averages the words so far, against one that attends to them",
    rows=_ROWS,
    columns=(
        ATTENTION,
        _averaging("average"),
        _averaging("average, no network", average_ffn=False),
        _averaging("average, no network or gates", average_ffn=False, average_gate=False),
    ),
    metrics=("test-bleu", "bleu-log-prob-1", "length-log-prob-1"),
    baseline=ATTENTION.name,
    changes=SIZES,
    published=False,
)
