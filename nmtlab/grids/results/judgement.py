"""Lines of a table, judged by one rule: does a system differ from another one, or from a number?

lines = [answered(question, cells, table.converging, spread) for question, cells, spread in asked]
print(judged(lines))
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from nmtlab.analysis.access.metric import Metric
from nmtlab.evaluation.intervals import LEVEL
from nmtlab.grids.declared.declaration import Table
from nmtlab.grids.results.collected import printed_number, published
from nmtlab.grids.results.kept import Kept
from nmtlab.grids.results.schemas import CELLS
from nmtlab.grids.results.shares import difference_of_runs, runs_needed, share_of_runs, share_of_sentences
from nmtlab.grids.results.statistics import (
    DECIDED,
    ENOUGH_SEEDS,
    HALF_BLEU,
    ONE_BLEU,
    TENTH,
    Estimate,
    NotKept,
    Spread,
    adjusted_ps,
    compare,
    values_by_system,
    verdict,
)
from nmtlab.grids.running.cells import NEED_DIVERGED, NOT_RUN
from nmtlab.workspace import RESULTS

RULE = (
    "A difference counts if its 95 % interval leaves out the tested value and it survives a false discovery rate of "
    "5 % over the lines of the table (q). The interval is that of new seeds, which vary in each system by "
    "itself (Welch), and of new test sentences where the translations are stored. Equivalent are systems whose 90 % "
    "interval lies within half a point of BLEU, or a tenth of the effect that is asked about, if two one-sided tests "
    "survive the same rate. With fewer than three seeds, a missing cell, or two systems below a usable score nothing "
    "is decided; underpowered is what could have missed the effect of the thesis (or, of BLEU, of one point). A line "
    "whose runs are not kept has no verdict."
)

GRID_RULE = RULE.replace("the effect of the thesis (or, of BLEU, of one point)", "a difference of one point of BLEU")
"""The same in words for a person's grid, which has no published effects."""

_DECIMALS = 6
"""Differences of printed numbers have no more; differences of floats do."""

(NOT_KEPT,) = get_args(NotKept)
SEEDS_ALONE, AND_SENTENCES, NOTHING = "seeds alone", "seeds and sentences", "nothing: counted"

COLUMNS = [
    "seeds", "effect", "low", "high", "p", "pooled_p", "q", "detectable", "bound", "seeds_needed", "interval",
    "verdict", "reason", "runs",
]  # fmt: skip


@dataclass(frozen=True)
class Question:
    """What is asked of a line.

    Args:
        measure: the number that is compared.
        system: a column of the table.
        than: another column, or a number.
        expects: the expected side of the difference.
        null: the difference that is tested: 0, or minus or plus a tolerance.
        aim: the distance from `null` that should be detectable; NaN if none is known.
        bound: systems that differ by less are equivalent; NaN if none is known, or if a tolerance is tested.
        absolute: compare absolute values.
    """

    measure: Metric
    system: str
    than: str | float
    expects: Literal["higher", "lower"]
    null: float = 0.0
    aim: float = math.nan
    bound: float = math.nan
    absolute: bool = False

    @property
    def compared(self) -> list[str]:
        """Names of the one or two systems."""
        return [name for name in (self.system, self.than) if isinstance(name, str)]


@dataclass(frozen=True)
class Answer:
    """The measured difference of a question, not judged yet.

    Args:
        question: the question.
        seeds: number of seeds; of two systems with seeds, the smaller one.
        hindrance: why nothing can be decided; empty if something can.
        runs: names of the runs with a value.
        kept: whether these runs, or what the number was computed from, are still there.
        estimate: the difference and its interval.
        interval: what the interval covers.
        pooled_p: p with the variance of the seeds pooled over systems; NaN for shares and counted numbers.
        equivalence_p: p of the tests that the difference is within the bound; NaN if there is none.
        seeds_needed: seeds per system with which the aim would be detected; None if there is no aim or no such number.
    """

    question: Question
    seeds: int
    hindrance: str
    runs: tuple[str, ...]
    kept: bool
    estimate: Estimate
    interval: str
    pooled_p: float = math.nan
    equivalence_p: float = math.nan
    seeds_needed: int | None = None


def is_begun(question: Question, cells: pd.DataFrame) -> bool:
    """Return whether any of the compared systems has a run.

    Args:
        question: the question.
        cells: lines of `CELLS` of one row and metric.
    """
    return bool((cells["column"].isin(question.compared) & (cells["status"] != NOT_RUN)).any())


def answered(
    question: Question,
    cells: pd.DataFrame,
    converging: Collection[str],
    sentences: Spread | None = None,
    kept: Kept | None = None,
) -> Answer:
    """Compare two systems, or a system with a number.

    Args:
        question: the question.
        cells: lines of `CELLS` of one row and metric, of all systems.
        converging: names of the systems over which the variance of a seed is pooled for `pooled_p`, if their mean
            score is usable.
        sentences: of `spread_of`, if known.
        kept: what is kept of the table's trainings; if not given, everything is.
    """
    measured = cells[cells["column"].isin(question.compared) & cells["value"].notna()]
    is_kept = kept is None or kept.has(measured)
    if question.absolute:
        cells = cells.assign(value=cells["value"].abs())
    compared = [cell for cell in _cells(cells) if cell.column in question.compared]
    known = [cell for cell in compared if cell.value == cell.value]
    counts = [len({cell.seed for cell in known if cell.column == name}) for name in _with_seeds(question, compared)]
    seeds, runs = min(counts, default=0), tuple(dict.fromkeys(cell.run for cell in known))
    common = (question, seeds, _hindrance(question, compared, seeds), runs, is_kept)
    if question.measure.kind == "outcome":
        line, needed = _of_runs(question, known)
        return Answer(*common, line, SEEDS_ALONE, seeds_needed=needed)
    if question.measure.kind == "count":
        return Answer(*common, _counted(question, known), NOTHING)
    if question.measure.kind == "proportion" and not isinstance(question.than, str) and sentences and known:
        return Answer(*common, _of_share(question.than, question.null, known, sentences), AND_SENTENCES)
    found = compare(cells, question.system, question.than, _usable(question, cells) & {*converging}, sentences)
    line = found.welch.estimate(question.null)
    known_aim = math.isfinite(line.detectable) and question.aim > 0
    return Answer(
        *common,
        line,
        SEEDS_ALONE if sentences is None else AND_SENTENCES,
        pooled_p=found.pooled.estimate(question.null).p,
        equivalence_p=found.welch.equivalence_p(question.bound),
        seeds_needed=found.welch.seeds_needed(question.aim) if known_aim else None,
    )


def judged(answers: Sequence[Answer]) -> pd.DataFrame:
    """Judge the lines of a table together.

    Args:
        answers: all that are asked of the table.

    Returns:
        A row for each: `seeds`; `effect`, the mean of the system minus the other, and its 95 % interval from `low` to
        `high`; `p` of Welch's test, and `pooled_p` with pooled variances; `q`, p adjusted for false discoveries among
        all lines that can be decided; `detectable`, the smallest distance from the tested effect that is detected in
        four of five repetitions; `bound`, below which systems are equivalent; where nothing is decided, the
        `seeds_needed` to detect the effect aimed for; what the `interval` covers; `verdict`; `reason`, why nothing is
        decided; `runs`, a list of names. A line whose runs are not kept has no verdict, and no part in the false
        discovery rate.
    """
    open_ones = [answer.kept and not answer.hindrance for answer in answers]
    runs = [frozenset(answer.runs) for answer in answers]
    qs, equivalence_qs = (
        adjusted_ps([p if is_open else math.nan for p, is_open in zip(ps, open_ones, strict=True)], runs)
        for ps in ([answer.estimate.p for answer in answers], [answer.equivalence_p for answer in answers])
    )
    frame = pd.DataFrame([_judged(*one) for one in zip(answers, qs, equivalence_qs, strict=True)], columns=COLUMNS)
    return frame.astype({"seeds_needed": "Int64"})


def with_aim(question: Question, table: Table, row: str, but: Collection[str] = ()) -> Question:
    """Return a question with the distance from the tested effect that its line should be able to detect, and a bound.

    The distance is that of the published difference of the row; else the smallest published one of any row; else one
    point of BLEU; else, of the share of converged runs, the largest possible one; else unknown. Below the bound systems
    are equivalent: it is a tenth of that published difference, or of the gain that the table takes apart, and of BLEU
    at least half a point. A claim with a tolerance has no other bound.

    Args:
        question: the question.
        table: its declaration.
        row: a row of the table.
        but: rows whose published differences do not count.
    """
    metric, is_of_runs = question.measure.key, question.measure.kind == "outcome"
    effect, of_bleu = _published_distance(question, table, row, but), question.measure.unit == "BLEU"
    most = 1.0 if isinstance(question.than, str) else max(question.than, 1 - question.than)
    usual = most if is_of_runs else ONE_BLEU if of_bleu else math.nan
    asked_about = np.fmax(effect, measured_gain(table, row, metric))
    bound = float(np.fmax(TENTH * asked_about, HALF_BLEU if of_bleu else math.nan))
    return replace(
        question,
        aim=usual if math.isnan(effect) else effect,
        bound=math.nan if question.null or is_of_runs else bound,
    )


def measured_gain(table: Table, row: str, metric: str) -> float:
    """Return the gain that a table takes apart, as measured in the evidence; NaN if there is none.

    Args:
        table: its declaration.
        row: a row of the table.
        metric: key of a metric.
    """
    if table.gain is None:
        return math.nan
    cells = CELLS.read(RESULTS / f"{table.gain.table.name}.small{CELLS.ending}")
    means = cells[(cells["row"] == row) & (cells["metric"] == metric)].groupby("column")["value"].mean()
    return float(means.get(table.gain.system, math.nan) - means.get(table.gain.than, math.nan))


def _published_distance(question: Question, table: Table, row: str, but: Collection[str]) -> float:
    """Return the distance of the published difference of the row, else the smallest of any; NaN if there is none."""
    numbers = _published_numbers(table.name, question.measure.key)
    if not {*question.compared} <= {*numbers.columns}:
        return math.nan
    values = numbers.abs() if question.absolute else numbers
    other = values[question.than] if isinstance(question.than, str) else question.than
    distances = (values[question.system] - other - question.null).abs().dropna().round(_DECIMALS)
    distances = distances[distances > 0].drop(but, errors="ignore")
    return float(distances.get(row, distances.min())) if len(distances) else math.nan


def _judged(answer: Answer, q: float, equivalence_q: float) -> tuple[object, ...]:
    line, question = answer.estimate, answer.question
    judged = verdict(line, q, question.expects, question.aim, equivalence_q, usable=not answer.hindrance)
    said = judged if answer.kept else NOT_KEPT
    numbers = (line.effect, line.low, line.high, line.p, answer.pooled_p, float(q), line.detectable, question.bound)
    reason = answer.hindrance or _reason(answer, q, said)
    seeds_needed = None if said in (*DECIDED, NOT_KEPT) else answer.seeds_needed
    return (answer.seeds, *numbers, seeds_needed, answer.interval, said, reason, list(answer.runs))


def _reason(answer: Answer, q: float, said: str) -> str:
    """Return why nothing is decided on a line that could be; empty if something is."""
    line, aim = answer.estimate, answer.question.aim
    if said in (*DECIDED, NOT_KEPT):
        return ""
    if not math.isfinite(line.p):
        return "the seeds show no variance"
    tested = f"{line.null:g}"
    covers = line.low <= line.null <= line.high
    reasons = [f"the interval covers {tested}" if covers else f"q = {q:.2g} is above {LEVEL:g}"]
    if said == "underpowered":
        reasons.append(f"{answer.seeds} seeds can detect {line.detectable:.3g}; the effect asked about is {aim:.3g}")
    return "; ".join(reasons)


class _Cell(NamedTuple):
    column: str
    seed: int | None
    value: float
    status: str
    run: str


def _cells(cells: pd.DataFrame) -> list[_Cell]:
    return [_Cell(*one) for one in zip(*(cells[name].tolist() for name in _Cell._fields), strict=True)]


def _usable(question: Question, cells: pd.DataFrame) -> set[str]:
    """Return the systems whose mean score is usable: of others it is unknown whether they have converged."""
    return {name for name, some in values_by_system(cells).items() if np.mean(some) >= question.measure.usable}


def _counted(question: Question, known: Sequence[_Cell]) -> Estimate:
    """Return a difference of numbers that nothing varies."""
    means = [fmean(cell.value for cell in known if cell.column == name) for name in question.compared]
    effect = means[0] - (means[1] if isinstance(question.than, str) else question.than)
    return Estimate(effect, effect, effect, question.null, float(effect == question.null), 0.0)


def _hindrance(question: Question, compared: Sequence[_Cell], seeds: int) -> str:
    """Return why nothing can be decided: a cell is missing, or there are too few seeds, or no score is usable."""
    if missing := list(_missing(question, compared)):
        return "; ".join(missing)
    if seeds < ENOUGH_SEEDS:
        return f"fewer than {ENOUGH_SEEDS} seeds"
    usable = question.measure.usable
    means = [fmean(cell.value for cell in compared if cell.column == name) for name in question.compared]
    return "" if max(means) >= usable else f"neither system reaches {question.measure.label} {usable:g}"


def _missing(question: Question, compared: Sequence[_Cell]) -> Iterator[str]:
    """Yield what is known of the cells without a value, by system and kind."""
    for name in question.compared:
        cells = [cell for cell in compared if cell.column == name]
        without = [cell for cell in cells if cell.value != cell.value]
        if not cells:
            yield f"{name}: {NOT_RUN}"
        for status in dict.fromkeys(cell.status for cell in without):
            seeds = [cell.seed for cell in without if cell.status == status]
            yield f"{name}: {_kind(status, question.measure)}{_seeds(seeds, len(cells))}"


def _kind(status: str, measure: Metric) -> str:
    if status == "finished":
        return "too early to tell" if measure.kind == "outcome" else "no such number"
    said = {NOT_RUN: NOT_RUN, "diverged": "diverged without a score", NEED_DIVERGED: "what it needs diverged"}
    return said.get(status, "not finished")


def _seeds(seeds: Sequence[int | None], cells: int) -> str:
    """Return which seeds, unless it is all of them."""
    names = [str(seed) for seed in seeds]
    return "" if len(names) == cells else f" with seed{'s' * (len(names) > 1)} {', '.join(names)}"


def _with_seeds(question: Question, compared: Sequence[_Cell]) -> list[str]:
    """Return the names of the compared systems whose cells have seeds, or that have no cells."""
    without = {cell.column for cell in compared if pd.isna(cell.seed)}
    return [name for name in question.compared if name not in without]


def _of_runs(question: Question, known: Sequence[_Cell]) -> tuple[Estimate, int | None]:
    """Return the difference of shares of runs, which is counted and not averaged, and the runs that it needs."""
    outcomes = [[cell.value for cell in known if cell.column == name] for name in question.compared]
    counts = [(int(sum(some)), len(some)) for some in outcomes]
    if not all(runs for _, runs in counts):
        return Estimate(math.nan, math.nan, math.nan, 0.0, math.nan, math.nan), None
    than = None if isinstance(question.than, str) else question.than
    line = difference_of_runs(*counts) if than is None else share_of_runs(*counts[0], than)
    return line, runs_needed(than, question.aim)


def _of_share(than: float, null: float, known: Sequence[_Cell], sentences: Spread) -> Estimate:
    """Return how much larger than a number a percentage of sentences is."""
    line = share_of_sentences([cell.value for cell in known], sentences, than + null)
    effect, low, high = (null + one for one in (line.effect, line.low, line.high))
    return Estimate(effect, low, high, null, line.p, line.detectable)


@cache
def _published_numbers(table: str, metric: str) -> pd.DataFrame:
    """Return the published values of a measure, by row and column."""
    printed = published(table)
    printed = printed[printed["metric"] == metric]
    numbers = printed.assign(number=printed["value"].map(printed_number))
    return numbers.pivot(index="row", columns="column", values="number")
