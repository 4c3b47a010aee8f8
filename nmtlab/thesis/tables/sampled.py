"""Tables `sampled-sources` and `self-training`: back-translations that are drawn from the model, not searched for.

In `sampled-sources` (Imamura et al. 2018), each line of monolingual text has several sources. In `self-training`
(Imamura and Sumita 2018), the targets of the pairs themselves are translated back, so that no further text is needed:
of eight samples of each line, epochs read one in turn. Texts are those of table `monolingual`.
"""

from collections.abc import Callable
from dataclasses import replace

from nmtlab.grids.declared.declaration import Made, Row, Setup, Texts
from nmtlab.thesis.tables.monolingual import BACK_EQUAL, MONOLINGUAL, PAIRS, ROWS

SAMPLES = (1, 2, 4, 8)
"""Sources that are drawn of each line."""
REAL_EQUAL = "real pairs, 1:1"

ONE_BEST = "own targets, searched"
SHARPNESS = (1.0, 1.2, 1.5)
"""Exponents of the probabilities that sources are drawn by: the inverse of the temperature."""
_TURNS = 8


def sampled(number: int) -> str:
    """Return the name of the system with some sources of each line."""
    return f"{number} sample{'s' * (number > 1)}"


def own(sharpness: float) -> str:
    """Return the name of the system that trains on sources drawn of its own targets."""
    return f"own targets, drawn ({sharpness:g})"


def _of_each_line(setup: Setup) -> dict[str, Texts]:
    """Return the texts of `sampled-sources`; that of the searched sources is the one of table `monolingual`."""
    (made,), name = setup.texts[BACK_EQUAL].made, setup.corpus.name
    drawn = {sampled(number): Made(PAIRS, made.of, samples=number) for number in SAMPLES}
    return {
        BACK_EQUAL: setup.texts[BACK_EQUAL],
        **{
            system: Texts(f"{name}.{system.replace(' ', '-')}", (setup.corpus,), (one,))
            for system, one in drawn.items()
        },
        REAL_EQUAL: Texts(f"{name}.real-pairs-1", (setup.corpus, made.of)),
    }


def _of_itself(setup: Setup) -> dict[str, Texts]:
    """Return the texts of `self-training`."""
    pairs = setup.corpus
    made = {ONE_BEST: Made(PAIRS, pairs)} | {
        own(sharpness): Made(PAIRS, pairs, samples=1, temperature=round(1 / sharpness, 3), turns=_TURNS)
        for sharpness in SHARPNESS
    }
    names = ("searched", *(f"drawn-{sharpness:g}" for sharpness in SHARPNESS))
    return {
        system: Texts(f"{pairs.name}.self-{name}", (pairs,), (one,))
        for name, (system, one) in zip(names, made.items(), strict=True)
    }


def _rows(texts: Callable[[Setup], dict[str, Texts]]) -> tuple[Row, ...]:
    """Return the rows of table `monolingual` that have monolingual text, with other systems."""
    return tuple(
        replace(
            row,
            at={
                scale: replace(setup, texts=texts(setup)) if isinstance(setup, Setup) else setup
                for scale, setup in row.at.items()
            },
        )
        for row in ROWS[::2]
    )


SAMPLED_SOURCES = replace(
    MONOLINGUAL,
    name="sampled-sources",
    title="Back-translation: several sources that are drawn of each line",
    rows=_rows(_of_each_line),
    columns=(
        PAIRS,
        *(replace(PAIRS, name=name, texts=name) for name in (BACK_EQUAL, *map(sampled, SAMPLES), REAL_EQUAL)),
    ),
)

SELF_TRAINING = replace(
    MONOLINGUAL,
    name="self-training",
    title="Self-training: sources that are made of the pairs' own targets",
    rows=_rows(_of_itself),
    columns=(PAIRS, *(replace(PAIRS, name=name, texts=name) for name in (ONE_BEST, *map(own, SHARPNESS)))),
)
