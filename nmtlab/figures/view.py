"""A figure with its numbers: a notebook shows both, a test of the notebook reads the numbers."""

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go


@dataclass(frozen=True)
class Numbers:
    """A rounded table: HTML for the reader, text for tests.

    Args:
        frame: the numbers; its index is not shown.
        digits: decimals, few enough to be the same on every machine.
        rows: the most that are shown.
    """

    frame: pd.DataFrame
    digits: int = 2
    rows: int = 20

    def __repr__(self) -> str:
        return "\n".join([self._shown.to_string(index=False), *self._more])

    def _repr_html_(self) -> str:
        table = self._shown.to_html(index=False, border=0, na_rep="")
        lines = [line.strip() for line in table.splitlines()]  # notebooks keep it: no indentation
        return "".join([*lines, *(f"<p>{line}</p>" for line in self._more)])

    @property
    def _shown(self) -> pd.DataFrame:
        return self.frame.round(self.digits).head(self.rows)

    @property
    def _more(self) -> list[str]:
        more = len(self.frame) - self.rows
        return [f"… {more:,} more rows"] if more > 0 else []


@dataclass(frozen=True)
class View:
    """A chart for the reader, a rounded table for tests.

    Args:
        frame: the numbers, few enough to read.
        figure: that shows them.
        digits: decimals in the table, few enough to be the same on every machine.
    """

    frame: pd.DataFrame
    figure: go.Figure
    digits: int = 2

    @property
    def table(self) -> Numbers:
        """The numbers as a table to show above or below the figure."""
        return Numbers(self.frame, self.digits)

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        return {"text/plain": repr(self), **self.figure._repr_mimebundle_(include, exclude)}
