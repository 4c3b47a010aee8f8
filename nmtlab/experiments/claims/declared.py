"""What the seeds claim: of which number in which table. They are data, `data/published/claims.csv`, a line a claim."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from nmtlab.errors import NmtlabError
from nmtlab.experiments.measures.quality import (
    ALIVE,
    DEV_BLEU,
    G_SLOPES,
    GRADIENT_LEFT,
    GRADIENT_NOISE,
    GRADIENT_NORM,
    LATE_G,
    LEFT_SHIFT,
    LEXICON_PRECISION,
    NORM_FREQUENCY,
    OUTPUT_G,
    RARE_RECALL,
    RIGHT_COPIES,
    TEST_BLEU,
    TOKENIZED_TEST_BLEU,
    TRAIN_PERPLEXITY,
    Measure,
)
from nmtlab.experiments.measures.search import EMPTY_FAVOURITES, LENGTH_OF_BEST
from nmtlab.experiments.results.published import CHECKOUT
from nmtlab.experiments.tables.declaration import SCALES, Row, Scale, Table
from nmtlab.experiments.tables.length_planning import BY_LENGTH, BY_LOG_PROB, BY_REWARD, LIKELIEST_ALONE, RISE
from nmtlab.experiments.tables.listing import TABLES

FILE = CHECKOUT / "claims.csv"
COLUMNS = (
    "table", "metric", "column", "expected", "than", "except", "absolute", "tolerance", "scale", "source", "claim"
)  # fmt: skip

_SHOWN_BY: Mapping[str, tuple[Measure, ...]] = {
    "dynamics": (DEV_BLEU, TRAIN_PERPLEXITY, ALIVE, GRADIENT_NORM, GRADIENT_NOISE, *GRADIENT_LEFT),
    "translate": (TEST_BLEU, TOKENIZED_TEST_BLEU),
    "norms": (NORM_FREQUENCY, RARE_RECALL),
    "attention": (LEFT_SHIFT, RIGHT_COPIES),
    "lexicon": (LEXICON_PRECISION,),
    "depth": (*G_SLOPES, LATE_G, OUTPUT_G),
    "search": (EMPTY_FAVOURITES, LENGTH_OF_BEST, *BY_LOG_PROB, *BY_LENGTH, *BY_REWARD, *LIKELIEST_ALONE, RISE),
}
"""The page of the dashboards, by name, on which one sees in single runs what a measure is about."""


@dataclass(frozen=True)
class Claim:
    """That a number of a system is higher, or lower, than that of another, or than a given number.

    Args:
        text: the claim, in a sentence.
        source: where it is made.
        table: where it was measured.
        measure: the number; one of the table's.
        system: a column of the table.
        expects: which way the claim has it.
        than: another column, or a number.
        but: rows of the table of which it is not claimed.
        absolute: compare the numbers without their signs.
        tolerance: a difference that still counts as none, in points of the measure, where it is claimed that a system
            is at least as good.
        scale: of the table.
    """

    text: str
    source: str
    table: Table
    measure: Measure
    system: str
    expects: Literal["higher", "lower"]
    than: str | float
    but: tuple[Row, ...] = ()
    absolute: bool = False
    tolerance: float = 0.0
    scale: Scale = "small"

    @property
    def page(self) -> str:
        """Name of the page of the dashboards that shows runs with a view to the claim."""
        return next(page for page, measures in _SHOWN_BY.items() if self.measure in measures)

    @property
    def direction(self) -> str:
        """What the effect is the difference of, and on which side of 0 the claim has it."""
        system, than = (f"|{name}|" if self.absolute else f"{name}" for name in (self.system, self.than))
        difference = system if self.than == 0.0 else f"{system} − {than}"
        if self.expects == "higher":
            return f"{difference}, expected above {f'−{self.tolerance:g}' if self.tolerance else '0'}"
        return f"{difference}, expected below {self.tolerance:g}"

    @property
    def stored(self) -> str:
        """Table and scale, as `Stored.name` has them."""
        return f"{self.table.name}.{self.scale}"

    @property
    def bootstrap(self) -> str:
        """Name of the file in `data/results` that has p of the paired bootstrap."""
        return f"{self.stored}.bootstrap.csv"

    @property
    def evidence(self) -> str:
        """Name of the file in `data/results` that has the measured cells."""
        return f"{self.stored}.csv"


@cache
def declared_claims(path: Path = FILE) -> tuple[Claim, ...]:
    """Return the claims of a file, none if it is not there.

    Raises:
        NmtlabError: a line is not a claim about a table that is declared; it is named.
    """
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise NmtlabError(f"{path}: its columns are not those of claims", f"begin with {','.join(COLUMNS)}")
        return tuple(_claim(line, f"{path}, line {number}") for number, line in enumerate(lines, start=2))


def _claim(line: Mapping[str, str], where: str) -> Claim:
    _check(line["table"], "table", _TABLES, where)
    table = _TABLES[line["table"]]
    measures = {measure.name: measure for measure in table.measures}
    rows = {row.name: row for row in table.rows}
    columns = [system.name for system in table.systems]
    but = [name for name in line["except"].split(";") if name]
    than = line["than"] if line["than"] in columns else _number(line["than"], "than", where)
    for field, known in (("metric", measures), ("column", columns), ("scale", SCALES), ("expected", _EXPECTED)):
        _check(line[field], field, known, where)
    for name in but:
        _check(name, "except", rows, where)
    _check(line["absolute"], "absolute", ("", "yes"), where)
    return Claim(
        text=line["claim"],
        source=line["source"],
        table=table,
        measure=measures[line["metric"]],
        system=line["column"],
        expects=line["expected"],  # type: ignore[arg-type]
        than=than,
        but=tuple(rows[name] for name in but),
        absolute=line["absolute"] == "yes",
        tolerance=_number(line["tolerance"] or "0", "tolerance", where),
        scale=line["scale"],  # type: ignore[arg-type]
    )


_TABLES: Mapping[str, Table] = {table.name: table for table in TABLES}
_EXPECTED = ("higher", "lower")


def _check(value: str, field: str, known: Iterable[str], where: str) -> None:
    if value not in known:
        raise NmtlabError(f"{where}: {field} is {value!r}", f"choose one of {', '.join(map(repr, known))}")


def _number(text: str, field: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise NmtlabError(f"{where}: {field} is {text!r}", "give a column of the table, or a number") from error
