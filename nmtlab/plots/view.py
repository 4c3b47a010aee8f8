"""A figure with its numbers: what a notebook shows, and what a test of the notebook reads."""

from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

_MAX_ROWS = 20


@dataclass(frozen=True)
class View:
    """A chart to a person, a rounded table to a test.

    Args:
        frame: the numbers, few enough to be read.
        figure: that shows them.
        digits: decimals of the table: as many as are the same on every machine.
    """

    frame: pd.DataFrame
    figure: go.Figure
    digits: int = 2

    def __repr__(self) -> str:
        shown = self.frame.round(self.digits).head(_MAX_ROWS).to_string(index=False)
        more = len(self.frame) - _MAX_ROWS
        return shown + (f"\n… {more:,} rows more" if more > 0 else "")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        return {"text/plain": repr(self), **self.figure._repr_mimebundle_(include, exclude)}
