"""Claims of the thesis and others about numbers in tables, one per line of `data/evidence/published/claims.csv`."""

import csv
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.metrics import find_metrics
from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.declaration import SCALES, Row, Scale, Table
from nmtlab.grids.declared.labels import system_labels
from nmtlab.grids.results.judgement import Question
from nmtlab.grids.results.schemas import CELLS, SENTENCES
from nmtlab.thesis.claims.settings import change
from nmtlab.thesis.tables.listing import TABLES
from nmtlab.workspace import PUBLISHED

FILE = PUBLISHED / "claims.csv"
COLUMNS = (
    "table", "metric", "column", "expected", "than", "except", "absolute", "tolerance", "scale", "origin", "source",
    "claim",
)  # fmt: skip

Origin = Literal["claimed", "proposed", "quoted", "asked here"]

ORIGINS: Mapping[Origin, str] = {
    "claimed": "claimed by the thesis",
    "proposed": "proposed or expected by the thesis",
    "quoted": "quoted from other work",
    "asked here": "asked here",
}
"""Whose claim it is, in words. What the thesis claims, it claims from its results; what it proposes, expects or
conjectures, it did not measure; what is asked here, it leaves open."""


@dataclass(frozen=True)
class Claim:
    """A claim that a number is higher or lower than that of another system or setting, or than a constant.

    Args:
        text: the claim, as a sentence.
        source: where it is made.
        table: where it was measured.
        metric: the number; one of the table's metrics.
        system: a column of the table.
        expects: the claimed direction.
        than: another column; or a number; or another metric of the same system, such as BLEU at another beam, with
            which it is compared seed by seed.
        but: rows of the table that the claim excludes.
        absolute: compare absolute values.
        tolerance: the largest difference that still counts as none, in points of the metric, for claims that a system
            is at least as good.
        scale: scale of the table.
        origin: whose claim it is.
    """

    text: str
    source: str
    table: Table
    metric: Metric
    system: str
    expects: Literal["higher", "lower"]
    than: str | float | Metric
    but: tuple[Row, ...] = ()
    absolute: bool = False
    tolerance: float = 0.0
    scale: Scale = "small"
    origin: Origin = "claimed"

    @property
    def question(self) -> Question:
        """What is asked of each row of the table."""
        null = -self.tolerance if self.expects == "higher" else self.tolerance
        metric, than = self.metric, self.than
        if isinstance(than, Metric):
            metric, than = change(metric, than), 0.0
        return Question(metric, self.system, than, self.expects, null or 0.0, absolute=self.absolute)

    @property
    def direction(self) -> str:
        """The difference that is the effect, and the side of 0 on which the claim expects it."""
        difference = self.difference
        if self.expects == "higher":
            return f"{difference}, expected above {f'−{self.tolerance:g}' if self.tolerance else '0'}"
        return f"{difference}, expected below {self.tolerance:g}"

    @property
    def difference(self) -> str:
        """The difference that is the effect, by the labels of what is compared."""
        labels = system_labels(self.table)
        if isinstance(self.than, Metric):
            return f"{labels[self.system]}: {self.metric.label} − {self.than.label}"
        system, than = (
            f"|{name}|" if self.absolute else f"{name}"
            for name in (labels.get(name, name) for name in (self.system, str(self.than)))
        )
        return system if self.than == 0.0 else f"{system} − {than}"

    @property
    def stored(self) -> str:
        """Table and scale, as in `Results.name`."""
        return f"{self.table.name}.{self.scale}"

    @property
    def sentences(self) -> str:
        """Name of the file, beside the cells of its table, with the part that sentences have in differences."""
        return f"{self.stored}{SENTENCES.ending}"

    @property
    def evidence(self) -> str:
        """Name of the file with the measured cells of its table."""
        return f"{self.stored}{CELLS.ending}"


@cache
def declared_claims(path: Path = FILE) -> tuple[Claim, ...]:
    """Return the claims in a file; empty if the file does not exist.

    Raises:
        NmtlabError: a line is not a valid claim about a declared table; the message names the line.
    """
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise NmtlabError(f"{path}: not the columns of claims", f"make line 1 {','.join(COLUMNS)}")
        return tuple(_claim(line, f"{path}, line {number}") for number, line in enumerate(lines, start=2))


def questions_about(table: Table) -> list[Question]:
    """Return what the declared claims ask of a table."""
    return [claim.question for claim in declared_claims() if claim.table.name == table.name]


def _claim(line: Mapping[str, str], where: str) -> Claim:
    _check(line["table"], "table", _TABLES, where)
    table = _TABLES[line["table"]]
    metrics = {metric.key: metric for metric in find_metrics(table.metrics)}
    rows = {row.name: row for row in table.rows}
    columns = [system.name for system in table.columns]
    but = [name for name in line["except"].split(";") if name]
    for field, known in (
        ("metric", metrics), ("column", columns), ("scale", SCALES), ("expected", _EXPECTED), ("origin", ORIGINS)
    ):  # fmt: skip
        _check(line[field], field, known, where)
    for name in but:
        _check(name, "except", rows, where)
    _check(line["absolute"], "absolute", ("", "yes"), where)
    return Claim(
        text=line["claim"],
        source=line["source"],
        table=table,
        metric=metrics[line["metric"]],
        system=line["column"],
        expects=line["expected"],  # type: ignore[arg-type]
        than=_than(line["than"], columns, metrics, where),
        but=tuple(rows[name] for name in but),
        absolute=line["absolute"] == "yes",
        tolerance=_number(line["tolerance"] or "0", "tolerance", where),
        scale=line["scale"],  # type: ignore[arg-type]
        origin=line["origin"],  # type: ignore[arg-type]
    )


def _than(text: str, columns: Collection[str], metrics: Mapping[str, Metric], where: str) -> str | float | Metric:
    if text in columns:
        return text
    return metrics[text] if text in metrics else _number(text, "than", where)


_TABLES: Mapping[str, Table] = {table.name: table for table in TABLES}
_EXPECTED = ("higher", "lower")


def _check(value: str, field: str, known: Iterable[str], where: str) -> None:
    if value not in known:
        raise NmtlabError(f"{where}: {field} is {value!r}", f"choose one of {', '.join(map(repr, known))}")


def _number(text: str, field: str, where: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        mend = "give a column of the table, one of its measures, or a number"
        raise NmtlabError(f"{where}: {field} is {text!r}", mend) from error
