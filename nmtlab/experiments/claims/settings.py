"""Two settings of one system, such as two beams: the change from the one to the other, seed by seed."""

from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

import pandas as pd

from nmtlab.experiments.measures.quality import Measure, OfSeedsAlone
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

_CELL = ["row", "column", "seed"]


@dataclass(frozen=True)
class Change(OfSeedsAlone):
    """How far a number of a run is above another one of the same run.

    Seeds are paired, so that what a seed adds to both numbers does not count.

    Args:
        measure: the number.
        than: the other one.
    """

    measure: Measure
    than: Measure
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Names of both numbers."""
        return f"{self.measure.name} − {self.than.name}"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the difference."""
        return self.measure.value(run, corpus) - self.than.value(run, corpus)

    def among(self, cells: pd.DataFrame) -> pd.DataFrame:
        """Return the cells of the one number, with the differences as values.

        Args:
            cells: lines of `CELLS`.
        """
        own, other = (cells[cells["metric"] == one.name] for one in (self.measure, self.than))
        both = own[_CELL].merge(other[[*_CELL, "value"]], "left", _CELL)
        return own.assign(value=own["value"].to_numpy() - both["value"].to_numpy())

    def hindrance(self, cells: pd.DataFrame) -> str:
        """Return why the change means nothing: at neither setting is the score usable; empty if it is at one.

        Args:
            cells: lines of one row and system.
        """
        for one in (self.measure, self.than):
            values = cells.loc[cells["metric"] == one.name, "value"].dropna()
            if len(values) and fmean(values) >= one.usable:
                return ""
        return f"neither setting reaches {self.measure.name} {self.measure.usable:g}"
