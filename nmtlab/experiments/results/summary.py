"""Is a system better than the baseline, over seeds? Means, intervals, verdicts."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from statistics import fmean, median_high, stdev
from typing import Literal, NamedTuple

import pandas as pd

from nmtlab.experiments.results.published import published
from nmtlab.experiments.tables.declaration import Table

Verdict = Literal["better", "worse", "inconclusive"]

SIGNIFICANT = 0.01
"""Significance level of the bootstrap in thesis 3.2."""

ENOUGH_SEEDS = 3
"""With fewer seeds every verdict is inconclusive: an interval from two has one degree of freedom."""

# The 97.5th percentile of Student's t with 1 to 30 degrees of freedom, from the printed tables.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


class Interval(NamedTuple):
    """A mean and the half-width of its 95 % interval, NaN if undefined."""

    mean: float
    margin: float


def interval(values: Sequence[float]) -> Interval:
    """Return mean and 95 % interval by Student's t; the margin is NaN for a single value or with an infinite one."""
    if not values:
        return Interval(math.nan, math.nan)
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return Interval(fmean(values), math.nan)
    return Interval(fmean(values), _T[min(len(values) - 1, len(_T)) - 1] * stdev(values) / math.sqrt(len(values)))


def verdict(differences: Sequence[float], usable: bool, lower_is_better: bool = False) -> Verdict:
    """Judge a system by its differences to the baseline, one per seed.

    Args:
        differences: system minus baseline, in points of the measure.
        usable: whether any system of the row is good enough for differences to be meaningful.
        lower_is_better: whether lower values of the measure are better.

    Returns:
        `inconclusive` if the 95 % interval of the mean difference includes zero or is undefined, or if there are fewer
        than `ENOUGH_SEEDS` differences.
    """
    mean, margin = interval(differences)
    if not usable or len(differences) < ENOUGH_SEEDS or not abs(mean) > margin:
        return "inconclusive"
    return "better" if (mean < 0) == lower_is_better else "worse"


def summary(results: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Summarise the cells of a table over their seeds.

    Args:
        results: lines of `nmtlab.experiments.results.collected.results`.
        table: its declaration.

    Returns:
        One line per row, column and metric, in the table's order: `row`, `column`, `metric`; `seeds`, how many have
        a value; `mean` and `margin` (95 %, Student's t); `difference` to the baseline and its `difference_margin`,
        over the seeds that both have; `p` of the paired bootstrap for the median seed; `significant`, how many seeds
        have p below 0.01; `verdict`, empty for the baseline, and if the baseline does not have the measure;
        `diverged`, how many seeds diverged; `missing`, how many are not finished; `published` and `published_mark` as
        printed, and `published_difference`, computed if it was not printed.
    """
    measures = {measure.name: measure for measure in table.measures}
    lines = []
    for (row, metric), cells in results.groupby(["row", "metric"], sort=False):
        lower = measures[metric].lower_is_better
        usable = bool((cells["value"] >= measures[metric].usable).any())
        baseline = cells[cells["column"] == table.baseline]
        # A finished run without a value can never have one: an ordinary system has no length model.
        answers = (baseline["value"].notna() | (baseline["status"] != "finished")).any()
        for column, of_system in cells.groupby("column", sort=False):
            line = {"row": row, "column": column, "metric": metric, "verdict": "", **_line(of_system)}
            if answers and column != table.baseline:
                differences = _differences(_by_seed(of_system), _by_seed(baseline))
                line |= {"difference": interval(differences).mean, "difference_margin": interval(differences).margin}
                # A seed that diverged without a score cannot be averaged away.
                whole = of_system["value"].notna().all() and baseline["value"].notna().all()
                line["verdict"] = verdict(differences, usable and whole, lower)
            lines.append(line)
    return _published_compared(pd.DataFrame(lines, columns=_COLUMNS), table.baseline)


def with_published(lines: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Return a summary with added lines for published pairs that are not run at its scale.

    Args:
        lines: lines of `summary`.
        table: its declaration.

    Returns:
        The lines, in the table's order of pairs; the added ones have no seeds, none missing, and no measured numbers.
    """
    printed = published(table.name)
    alone = printed[printed["metric"].isin(lines["metric"]) & ~printed["row"].isin(lines["row"])]
    names = {"value": "published", "difference": "published_difference", "mark": "published_mark"}
    added = alone[["row", "column", "metric", *names]].rename(columns=names)
    added = added.assign(seeds=0, significant=0, diverged=0, missing=0, verdict="").reindex(columns=_COLUMNS)
    if added.empty:
        return lines
    order = [row.name for row in table.rows]
    kinds = lines.select_dtypes("number").dtypes
    whole = pd.concat([lines, added.astype(kinds)], ignore_index=True).sort_values(
        "row", key=lambda row: row.map(order.index), kind="stable", ignore_index=True
    )
    return _published_compared(whole, table.baseline)


def rounded(table: pd.DataFrame, decimals: int = 2, digits: int = 3) -> pd.DataFrame:
    """Round a table for display: floats to `decimals`, small ones to at least `digits` significant digits."""
    return table.assign(**{
        name: [_rounded(value, decimals, digits) for value in column]
        for name, column in table.select_dtypes("float").items()
    })  # fmt: skip


def _rounded(value: float, decimals: int, digits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, max(decimals, digits - 1 - math.floor(math.log10(abs(value)))))


def _published_compared(lines: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Compute the published differences that were not printed, if both values are numbers."""
    printed = lines[lines["column"] == baseline].set_index(["row", "metric"])["published"]
    differences = []
    for line in lines.itertuples():
        base = printed.get((line.row, line.metric), "")
        known = line.column != baseline and _is_number(line.published) and _is_number(base)
        computed = f"{Decimal(line.published) - Decimal(base):+}" if known else ""
        differences.append(line.published_difference or computed)
    return lines.assign(published_difference=differences)


def _is_number(printed: str) -> bool:
    return printed.replace(".", "", 1).isdigit()


_COLUMNS = [
    "row", "column", "metric", "seeds", "mean", "margin", "difference", "difference_margin", "p", "significant",
    "verdict", "diverged", "missing", "published", "published_difference", "published_mark",
]  # fmt: skip


def _line(cells: pd.DataFrame) -> dict[str, object]:
    values, ps = cells["value"].dropna().tolist(), cells["p"].dropna().tolist()
    mean, margin = interval(values)
    published = cells[["published", "published_difference", "published_mark"]].iloc[0].to_dict()
    return {
        "seeds": len(values),
        "mean": mean,
        "margin": margin,
        "p": median_high(ps) if ps else math.nan,
        "significant": sum(p < SIGNIFICANT for p in ps),
        "diverged": int((cells["status"] == "diverged").sum()),
        "missing": int((~cells["status"].isin(["finished", "diverged"])).sum()),
        **published,
    }


def _by_seed(cells: pd.DataFrame) -> Mapping[int | None, float]:
    """Return the values by seed; the key is None for a system without seeds."""
    known = cells[cells["value"].notna()]
    seeds = (None if pd.isna(seed) else int(seed) for seed in known["seed"])
    return dict(zip(seeds, known["value"], strict=True))


def _differences(system: Mapping[int | None, float], baseline: Mapping[int | None, float]) -> list[float]:
    """Return system minus baseline for each seed that both have; a value without seeds is paired with every seed."""
    seeds = [seed for seed in (baseline if None in system else system) if seed is not None]
    pairs = [(system.get(seed, system.get(None)), baseline.get(seed, baseline.get(None))) for seed in seeds]
    return [one - other for one, other in pairs if one is not None and other is not None]
