"""Many languages in one model: shared and private units against what they have to beat (thesis 4.2)."""

from collections.abc import Sequence
from dataclasses import replace

from nmtlab.grids.declared.corpora import Corpus
from nmtlab.grids.declared.declaration import (
    NOT_TINY,
    SCALES,
    Changes,
    Column,
    Row,
    Scale,
    Setup,
    Table,
    Texts,
)
from nmtlab.thesis.tables.many_text import ARTIFICIAL, IBERIAN, TED, TINY, TURKIC, ManyTexts
from nmtlab.thesis.tables.normalisation import SIZES as TRANSFORMER

TO_ONE, FROM_ONE, TO_MANY = "many-to-one", "one-to-many", "many-to-many"

# Models of many languages have the same number of updates, and none stops early. Precision bf16 is a third faster here.
SIZES: dict[Scale, Changes] = {
    "tiny": {**TRANSFORMER["tiny"], "model.heads": 4},
    "small": {
        "text.vocabulary_size": 4000, "training.batch_tokens": 1024, "training.validate_every": 300,
        "training.max_evaluations": 10, "training.patience": 10, "machine.precision": "bf16",
    },
    "thesis": TRANSFORMER["thesis"],
}  # fmt: skip


def sets_of(texts: ManyTexts) -> dict[str, Texts]:
    """Return the sets of texts that a model is trained on, by name."""
    corpora = {TO_ONE: texts.into_english, FROM_ONE: texts.from_english, TO_MANY: texts.both_ways}
    return {name: Texts(f"{texts.name}.{name}", some) for name, some in corpora.items()}


def _setup(corpus: Corpus, texts: ManyTexts) -> Setup:
    """Return the setup of a direction, with the sets of texts that contain it; a zero-shot one is scored only."""
    sets = sets_of(texts)
    trained = {name: one for name, one in sets.items() if corpus in one.corpora}
    return Setup(corpus, texts=trained or {TO_MANY: sets[TO_MANY]})


def _rows(texts: ManyTexts, corpora: Sequence[Corpus]) -> tuple[Row, ...]:
    return tuple(
        Row(
            f"{corpus.source}-{corpus.target}",
            {
                "thesis": _alike(corpus, TED, "the talks that stand in have other languages"),
                "small": _setup(corpus, texts),
                "tiny": _alike(corpus, TINY, NOT_TINY),
            },
        )
        for corpus in corpora
    )


def _alike(corpus: Corpus, others: ManyTexts, otherwise: str) -> Setup | str:
    """Return the setup of the same direction with other texts, or why there is none."""
    directions = (*others.both_ways, *others.zero_shot)
    same = (one for one in directions if (one.source, one.target) == (corpus.source, corpus.target))
    found = next(same, None)
    return otherwise if found is None else _setup(found, others)


IBERIAN_ROWS = _rows(IBERIAN, IBERIAN.both_ways)
ARTIFICIAL_ROWS = _rows(ARTIFICIAL, ARTIFICIAL.both_ways)
IBERIAN_ZERO_SHOT = _rows(IBERIAN, IBERIAN.zero_shot)
ARTIFICIAL_ZERO_SHOT = _rows(ARTIFICIAL, ARTIFICIAL.zero_shot)
TURKIC_ZERO_SHOT = _rows(TURKIC, TURKIC.zero_shot)

# A model of one direction, whose text is small, stops once it no longer improves; its best checkpoint is kept.
SEPARATE = Column("separate", "many-shared", kind="separate", at={"small": {"training.patience": 4}})


_FROZEN = "adapters on a frozen model"


def _half_as_long(system: Column) -> Column:
    """Return a system with half of the evaluations, and so of the updates."""
    return replace(system, at={"tiny": {"training.max_evaluations": 1}, "small": {"training.max_evaluations": 5}})


def _on(texts: str, kind: str, recipe: str) -> Column:
    """Return a system of a kind that is trained on a set of texts."""
    return Column(f"{kind}, {texts}", recipe, texts=texts, kind=kind)


def _with(texts: str) -> tuple[Column, ...]:
    """Return the systems that are compared on a set of texts."""
    shared = _on(texts, "shared", "many-shared")
    frozen = _on(texts, _FROZEN, "many-adapters-frozen")
    return (
        shared,
        _on(texts, "wider", "many-shared"),
        _on(texts, "adapters", "many-adapters"),
        replace(_half_as_long(frozen), base=_half_as_long(shared)),
        _on(texts, "half private", "many-shared-private"),
    )


def _half_private(component: str) -> Column:
    half = _on(TO_MANY, f"half of the {component.replace('_', '-')} private", "many-shared")
    return replace(half, changes={f"model.{component}_share": 0.5})


ABLATIONS = (
    _on(TO_MANY, "all private", "many-private"),
    *map(_half_private, ("embedding", "attention", "feed_forward")),
)
_TO_ONE, _FROM_ONE, _TO_MANY = _with(TO_ONE), _with(FROM_ONE), _with(TO_MANY)
_FROM = {system.name for system in _FROM_ONE}


def _of_one_side(*kinds: str) -> list[str]:
    """Return the names of the systems of some kinds that have English on the same side always."""
    return [system.name for system in (*_TO_ONE, *_FROM_ONE) if system.kind in kinds]


_LEFT_OUT = {
    **{
        (row.name, name): "with all directions only"
        for rows, kinds in ((ARTIFICIAL_ROWS, ("adapters", _FROZEN)), (IBERIAN_ROWS, (_FROZEN,)))
        for row in rows
        for name in _of_one_side(*kinds)
    },
    **{
        (row.name, name): "on the artificial family only"
        for row in IBERIAN_ROWS
        for name in (*sorted(_FROM), *(system.name for system in ABLATIONS))
    },
}

WIDTHS = {
    (IBERIAN.name, TO_ONE): 168,
    (IBERIAN.name, TO_MANY): 208,
    (ARTIFICIAL.name, TO_ONE): 168,
    (ARTIFICIAL.name, FROM_ONE): 176,
    (ARTIFICIAL.name, TO_MANY): 216,
}
"""Width d, divisible by the heads, of the wider model on each set of texts.

It has within 2 % as many trained parameters as the model with half of its units private; they differ because d is a
multiple of 4. Trained are all parameters but the rows of types that do not occur in the text of the table's languages.
"""

ADAPTER_WIDTHS = {(IBERIAN.name, TO_ONE): 396, (IBERIAN.name, TO_MANY): 438, (ARTIFICIAL.name, TO_MANY): 392}
"""Width of the adapters with which the shared model has as many trained parameters."""


def _as_large(
    rows: Sequence[Row], texts: ManyTexts, sets: Sequence[str] = (TO_ONE, FROM_ONE, TO_MANY)
) -> dict[tuple[str, str], Changes]:
    """Return the exceptions that give models the parameters of one with half of its units private."""
    wider = {
        (row.name, f"wider, {name}"): {"model.d_model": width, "model.d_ff": 4 * width}
        for row in rows
        for (of, name), width in WIDTHS.items()
        if of == texts.name and name in sets
    }
    adapted = {
        (row.name, f"{system}, {name}"): {"model.adapter_width": width}
        for row in rows
        for system in ("adapters", _FROZEN)
        for (of, name), width in ADAPTER_WIDTHS.items()
        if of == texts.name and name in sets
    }
    return {**wider, **adapted}


def _at_its_rate(system: Column) -> Column:
    """Return a system with the learning rate that was best in `many-languages-tuning`, for every system."""
    small = {"training.lr_scale": 0.35, **system.at.get("small", {})}
    return replace(system, at={**system.at, "small": small}, base=system.base and _at_its_rate(system.base))


MANY_LANGUAGES = Table(
    name="many-languages",
    title="Many languages in one model: what is shared, what is private, and what it has to beat",
    subject="many languages",
    rows=(*IBERIAN_ROWS, *ARTIFICIAL_ROWS),
    columns=tuple(map(_at_its_rate, (SEPARATE, *_TO_ONE, *_FROM_ONE, *_TO_MANY, *ABLATIONS))),
    metrics=("detokenized-test-bleu", "test-chrf"),
    baseline=SEPARATE.name,
    changes=SIZES,
    exceptions={**_as_large(IBERIAN_ROWS, IBERIAN), **_as_large(ARTIFICIAL_ROWS, ARTIFICIAL)},
    left_out=_LEFT_OUT,
    published=False,
)


def _artificial_only_tiny(reason: str) -> tuple[Row, ...]:
    """Return the artificial rows without their small scale, for this reason."""
    return tuple(replace(row, at={**row.at, "small": reason}) for row in ARTIFICIAL_ROWS)


def _as_long_as_separate(system: Column, directions: int) -> Column:
    """Return a system with the updates, evaluations and patience of a separate model in each of its directions."""
    small = {**system.at["small"], **SEPARATE.at["small"], "training.validate_every": 300 * directions}
    return replace(system, at={**system.at, "small": small})


_EQUALLY_LONG = (
    *(_as_long_as_separate(_at_its_rate(system), 3) for system in (_TO_ONE[0], _TO_ONE[-1])),
    *(_as_long_as_separate(_at_its_rate(system), 6) for system in (_TO_MANY[0], _TO_MANY[-1])),
)
"""Shared models and half private ones, into English and in all directions."""

MANY_LANGUAGES_TRAINED_OUT = Table(
    name="many-languages-trained-out",
    short=MANY_LANGUAGES,
    title="Many languages in one model, with as many updates in each direction as a separate model (at most 3,000)",
    subject="many languages",
    rows=(*IBERIAN_ROWS, *_artificial_only_tiny("trained as long on the Iberian texts alone")),
    columns=(_at_its_rate(SEPARATE), *_EQUALLY_LONG),
    metrics=("detokenized-test-bleu", "test-chrf"),
    baseline=SEPARATE.name,
    changes=SIZES,
    published=False,
)

_ANECDOTE = [one for one in _TO_MANY if one.kind in ("shared", "half private")]

ZERO_SHOT = Table(
    name="zero-shot",
    title="Directions never trained: translated at once, and through English",
    subject="many languages",
    rows=(*IBERIAN_ZERO_SHOT, *ARTIFICIAL_ZERO_SHOT, *TURKIC_ZERO_SHOT),
    columns=tuple(map(_at_its_rate, (*_TO_MANY, *ABLATIONS))),
    metrics=("detokenized-test-bleu", "pivot-bleu", "off-target"),
    baseline=_TO_MANY[0].name,
    changes=SIZES,
    exceptions={
        **_as_large(IBERIAN_ZERO_SHOT, IBERIAN, (TO_MANY,)),
        **_as_large(ARTIFICIAL_ZERO_SHOT, ARTIFICIAL, (TO_MANY,)),
    },
    left_out={
        **{(row.name, one.name): "on the artificial family only" for row in IBERIAN_ZERO_SHOT for one in ABLATIONS},
        **{
            (row.name, one.name): "63 lines are an anecdote: two systems are enough"
            for row in TURKIC_ZERO_SHOT
            for one in (*_TO_MANY, *ABLATIONS)
            if one not in _ANECDOTE
        },
    },
    published=False,
)

_LEARNING: list[Changes] = [
    {"training.lr_scale": rate, "model.dropout": dropout}
    for rate, dropout in ((0.175, 0.1), (0.35, 0.1), (0.7, 0.1), (0.35, 0.2))
]
"""Learning rates and dropout that are tried with every system; 0.7 and 0.1 are the recipe's, 1.4 is too fast."""


def _tried(system: Column, changes: Changes) -> Column:
    name = f"{system.name}, rate × {changes['training.lr_scale']:g}, dropout {changes['model.dropout']:g}"
    return replace(system, name=name, changes={**system.changes, **changes})


_TUNED = tuple(_half_as_long(system) for system in _TO_MANY if system.base is None)
MANY_LANGUAGES_TUNING = Table(
    name="many-languages-tuning",
    title="Learning rate and dropout of every system, on dev text after half of the updates",
    subject="many languages",
    rows=(*IBERIAN_ROWS, *_artificial_only_tiny("learning is tuned on the Iberian texts")),
    columns=tuple(_tried(system, changes) for system in _TUNED for changes in _LEARNING),
    metrics=("dev-bleu",),
    changes=SIZES,
    exceptions={
        (row, _tried(system, changes).name): width
        for (row, name), width in _as_large(IBERIAN_ROWS, IBERIAN).items()
        for system in _TUNED
        if system.name == name
        for changes in _LEARNING
    },
    seeds=dict.fromkeys(SCALES, (1,)),
    published=False,
)
