"""Is a system better than the baseline, over seeds? Means, intervals, verdicts."""

import math
from decimal import Decimal
from typing import Literal

import pandas as pd

from nmtlab.analysis.access.metric import Metric
from nmtlab.evaluation.intervals import interval
from nmtlab.grids.declared.declaration import Table
from nmtlab.grids.results.collected import published
from nmtlab.grids.results.judgement import NOT_KEPT, Answer, Question, answered, judged, with_aim
from nmtlab.grids.results.kept import Kept
from nmtlab.grids.results.measures import measures_of
from nmtlab.grids.results.schemas import SENTENCES
from nmtlab.grids.results.sentences import spread_of
from nmtlab.grids.results.shares import share_of_sentences, wilson
from nmtlab.grids.results.statistics import NotKept, Spread
from nmtlab.grids.running.cells import NEED_DIVERGED

Comparison = Literal["better", "worse", "equivalent", "underpowered", "inconclusive", NotKept]

_IN_WORDS: dict[str, Comparison] = {
    "reproduced here": "better",
    "contradicted here": "worse",
    "equivalent": "equivalent",
    "underpowered": "underpowered",
    "inconclusive": "inconclusive",
    NOT_KEPT: NOT_KEPT,
}


def summary(
    results: pd.DataFrame,
    table: Table,
    sentences: pd.DataFrame | None = None,
    kept: Kept | None = None,
) -> pd.DataFrame:
    """Summarise the cells of a table over their seeds.

    Args:
        results: lines of `CELLS`, of all measures: the differences of a table are judged together.
        table: its declaration.
        sentences: lines of `SENTENCES`, if there are any.
        kept: what is kept of the table's trainings; if not given, everything is.

    Returns:
        One line per row, column and metric, in the table's order: `row`, `column`, `metric`; `seeds`, how many have
        a value; `mean` over them, its `margin` (95 %, Student's t; NaN for shares), and its interval from
        `mean_low` to `mean_high`; `difference` to the baseline (of absolute values, if the best value is 0), with
        `low`, `high`, `p`, `pooled_p`, `q`, `detectable`, `bound`, `seeds_needed`, `interval` and `reason` as of
        `nmtlab.grids.results.judgement.judged`; `verdict`: better, worse, equivalent, underpowered or
        inconclusive, or that the runs are not kept; empty for the baseline, and if the baseline does not have the
        measure; `diverged`, how many seeds diverged, or a training that they need; `missing`, how many are not
        finished; `published` and `published_mark` as printed, and `published_difference`, computed if it was not
        printed.
    """
    measures = measures_of(table)
    sentences = SENTENCES.empty if sentences is None else sentences
    known = results[results["metric"].isin(list(measures))]
    lines: list[dict[str, object]] = []
    answers: dict[int, Answer] = {}
    for (row, metric), cells in known.groupby(["row", "metric"], sort=False):
        measure, baseline = measures[metric], cells[cells["column"] == table.baseline]
        # A finished run without a value can never have one: an ordinary system has no length model.
        has = (baseline["value"].notna() | (baseline["status"] != "finished")).any()
        for column, of_system in cells.groupby("column", sort=False):
            if has and column != table.baseline:
                answers[len(lines)] = _answer(measure, str(row), str(column), cells, table, sentences, kept)
            is_share = measure.kind == "proportion"
            alone = spread_of(sentences, str(row), measure, str(column), 0.0) if is_share else None
            lines.append({"row": row, "column": column, "metric": metric, **_line(of_system, measure, alone)})
    found = pd.DataFrame(lines, columns=["row", "column", "metric", *_OF_CELLS])
    compared = judged(list(answers.values())).rename(columns={"effect": "difference"}).set_index(pd.Index([*answers]))
    compared = compared.assign(verdict=compared["verdict"].map(_IN_WORDS)).reindex(found.index)
    compared = compared.fillna({"verdict": "", "interval": "", "reason": ""})
    return _published_compared(found.join(compared[_COMPARED])[_COLUMNS], table.baseline)


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
    added = added.assign(seeds=0, diverged=0, missing=0, verdict="", interval="", reason="").reindex(columns=_COLUMNS)
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


def in_words(low: float, high: float) -> str:
    """Return an interval for display, such as "0.35 to 2.10": two decimals, or three digits; empty if it is unknown."""
    if math.isnan(low):
        return ""
    largest = max((abs(end) for end in (low, high) if math.isfinite(end)), default=0)
    decimals = max(2, _decimals(largest, 3)) if largest else 0
    return " to ".join(f"{end:.{decimals}f}".replace("-", "−") for end in (low, high))


def _rounded(value: float, decimals: int, digits: int) -> float:
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, max(decimals, _decimals(value, digits)))


def _decimals(value: float, digits: int) -> int:
    """Return how many decimals a number other than 0 needs for some significant digits."""
    return digits - 1 - math.floor(math.log10(abs(value)))


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


_OF_CELLS = [
    "seeds", "mean", "margin", "mean_low", "mean_high", "diverged", "missing", "published", "published_difference",
    "published_mark",
]  # fmt: skip
_COMPARED = [
    "difference", "low", "high", "p", "pooled_p", "q", "detectable", "bound", "seeds_needed", "interval", "verdict",
    "reason",
]  # fmt: skip
_COLUMNS = ["row", "column", "metric", *_OF_CELLS[:5], *_COMPARED, *_OF_CELLS[5:]]


def _answer(
    measure: Metric,
    row: str,
    column: str,
    cells: pd.DataFrame,
    table: Table,
    sentences: pd.DataFrame,
    kept: Kept | None,
) -> Answer:
    expects: Literal["higher", "lower"] = "higher" if measure.better == "higher" else "lower"
    asked = Question(measure, column, table.baseline, expects, absolute=measure.better == "zero")
    spread = spread_of(sentences, row, measure, column, table.baseline, asked.absolute)
    return answered(with_aim(asked, table, row), cells, table.converging, spread, kept)


def _line(cells: pd.DataFrame, measure: Metric, sentences: Spread | None) -> dict[str, object]:
    values = cells.groupby("seed", dropna=False)["value"].mean().dropna().tolist()
    mean, margin = interval(values)
    low, high = mean - margin, mean + margin
    if measure.kind == "outcome" and values:
        margin, (low, high) = math.nan, wilson(mean, len(values))
    elif sentences and values:
        share = share_of_sentences(values, sentences, 0.0)
        margin, low, high = math.nan, share.low, share.high
    return {
        "seeds": len(values),
        "mean": mean,
        "margin": margin,
        "mean_low": low,
        "mean_high": high,
        "diverged": int(cells["status"].isin(["diverged", NEED_DIVERGED]).sum()),
        "missing": int((~cells["status"].isin(["finished", "diverged", NEED_DIVERGED])).sum()),
        **cells[["published", "published_difference", "published_mark"]].iloc[0].to_dict(),
    }
