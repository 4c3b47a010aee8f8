"""A figure with its numbers: a notebook shows the figure, a test of the notebook reads the numbers."""

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

_MAX_ROWS = 20


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

    def __repr__(self) -> str:
        shown = self.frame.round(self.digits).head(_MAX_ROWS).to_string(index=False)
        more = len(self.frame) - _MAX_ROWS
        return shown + (f"\n… {more:,} more rows" if more > 0 else "")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        return {"text/plain": repr(self), **self.figure._repr_mimebundle_(include, exclude)}
