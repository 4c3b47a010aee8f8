"""Two settings of one system, such as two beams: the change from the one to the other, seed by seed."""

from statistics import fmean

import pandas as pd

from nmtlab.analysis.access.metric import Metric

_CELL = ["row", "column", "seed"]


def change(metric: Metric, than: Metric) -> Metric:
    """Return how far a number of a run is above another one of the same run, as a metric.

    Seeds are paired, so that what a seed adds to both numbers does not count.
    """
    return Metric(f"{metric.key} − {than.key}", f"{metric.label} − {than.label}", unit=metric.unit, split="")


def changes(metric: Metric, than: Metric, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of one number, with the differences to the other one as values.

    Args:
        metric: the number.
        than: the other one.
        cells: lines of `nmtlab.grids.results.collected.results`.
    """
    own, other = (cells[cells["metric"] == one.key] for one in (metric, than))
    both = own[_CELL].merge(other[[*_CELL, "value"]], "left", _CELL)
    return own.assign(value=own["value"].to_numpy() - both["value"].to_numpy())


def hindrance(metric: Metric, than: Metric, cells: pd.DataFrame) -> str:
    """Return why a change means nothing: at neither setting is the score usable; empty if it is at one.

    Args:
        metric, than: the two numbers.
        cells: lines of one row and system.
    """
    for one in (metric, than):
        values = cells.loc[cells["metric"] == one.key, "value"].dropna()
        if len(values) and fmean(values) >= one.usable:
            return ""
    return f"neither setting reaches {metric.label} {metric.usable:g}"
