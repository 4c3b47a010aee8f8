"""What a message of the thesis is: claims that bear on it, and what stored results show of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import plotly.graph_objects as go

from nmtlab.errors import NmtlabError
from nmtlab.evaluation.intervals import interval
from nmtlab.grids.declared.declaration import Row, Scale
from nmtlab.grids.declared.labels import pair_label
from nmtlab.grids.results.results import Results
from nmtlab.thesis.claims.declared import Claim, declared_claims
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import RESULTS, Workspace

SCALE: Scale = "small"
"""Scale of the results that messages are about."""


class Asked(NamedTuple):
    """Claims about one number of a table.

    Args:
        about: what they claim, in a few words.
        table, metric: the table's name and the number's key.
        system: a column of the table.
        than: that it is compared with, a column, a number or the key of another number; any if not given.
    """

    about: str
    table: str
    metric: str
    system: str
    than: str | float | None = None

    @property
    def claims(self) -> list[Claim]:
        """Those that are declared."""
        key = (self.table, self.metric, self.system)
        same = [one for one in declared_claims() if (one.table.name, one.metric.key, one.system) == key]
        return [one for one in same if self.than in (None, getattr(one.than, "key", one.than))]


class Shown(NamedTuple):
    """What was found of a message.

    Args:
        figure: a small one, without a title.
        finding: what it shows, in a sentence or two.
        seeds: the fewest and the most seeds behind a number in it.
    """

    figure: go.Figure
    finding: str
    seeds: tuple[int, int]


@dataclass(frozen=True)
class Stored:
    """The stored results that messages are about.

    Args:
        found: of `measured_claims`.
        folder: contains the cells of the tables.
    """

    found: pd.DataFrame
    folder: Path = RESULTS

    def of(self, asked: Asked) -> pd.DataFrame:
        """Return the measured lines of some claims.

        Raises:
            NmtlabError: there are none.
        """
        lines = self.lines(asked).dropna(subset="effect")
        if lines.empty:
            raise not_measured(asked.table)
        rows = _rows(asked.table)
        names = {
            "place": [pair_label(rows[pair], SCALE) for pair in lines["pair"]],
            "series": "",
            "mean": lines["effect"],
        }
        return lines.assign(**names)

    def lines(self, asked: Asked) -> pd.DataFrame:
        """Return the lines of some claims, measured or not; there may be none."""
        return self.found[self.found["claim"].isin([claim.text for claim in asked.claims])]

    def means(self, table: str, metric: str, columns: Iterable[str]) -> pd.DataFrame:
        """Return means over seeds with their 95 % intervals, of the texts that have any.

        Raises:
            NmtlabError: one of the columns was not measured, or the file is damaged.
        """
        cells, rows = self.cells(table, metric), _rows(table)
        made = []
        for (row, column), some in cells.groupby(["row", "column"], sort=False):
            if column in columns:
                mean, margin = interval(values := some["value"].tolist())
                made.append(
                    (row, pair_label(rows[row], SCALE), column, len(values), mean, mean - margin, mean + margin)
                )
        if {column for _, _, column, *_ in made} != {*columns}:
            raise not_measured(table)
        return pd.DataFrame(made, columns=["row", "place", "series", "seeds", "mean", "low", "high"])

    def results(self, table: str) -> Results:
        """Return what is stored of a table."""
        return Results(find_table(table), SCALE, Workspace.find(), self.folder)

    def cells(self, table: str, metric: str) -> pd.DataFrame:
        """Return the cells with a value.

        Raises:
            NmtlabError: there are none, or the file is damaged.
        """
        results = self.results(table)
        cells = results.of_metric(metric).dropna(subset="value") if results.exists else pd.DataFrame()
        if cells.empty:
            raise not_measured(table)
        return cells


@dataclass(frozen=True)
class Message:
    """A message of the thesis.

    Args:
        key: its name.
        title: what the thesis says, in a few words.
        asked: the claims that bear on it; those of the first are what its figure shows.
        show: from results to what was found; it raises NmtlabError if that was not measured or a file is damaged.
        page: name of the page that shows more of it.
        chapter: of the book that does, in `docs/results`.
    """

    key: str
    title: str
    asked: tuple[Asked, ...]
    show: Callable[[Stored], Shown]
    page: str
    chapter: str


def _rows(table: str) -> dict[str, Row]:
    return {row.name: row for row in find_table(table).rows}


def not_measured(table: str) -> NmtlabError:
    """Return the error of a table whose numbers a message needs."""
    return NmtlabError(f"{table}: not measured", f"run 'nmtlab reproduce {table} --scale {SCALE} --save'")
