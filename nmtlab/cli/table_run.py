"""Running a declared table, and what is printed of it: the same for tables of the thesis and for a person's grid."""

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from nmtlab.cli.answer import Answer, print_answer
from nmtlab.cli.options import interrupted
from nmtlab.cli.tables import print_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from nmtlab.grids.declared.declaration import Scale, Table
    from nmtlab.grids.results.judgement import Question
    from nmtlab.grids.results.results import Results
    from nmtlab.grids.running.engines import Engine
    from nmtlab.workspace import Workspace

EngineName = Literal["local", "ray", "slurm"]
Estimate = Annotated[bool, typer.Option("--estimate", help="Estimate the remaining work, and do nothing.")]
Workers = Annotated[
    int, typer.Option(min=1, help="Cells trained and measured at once, each in a separate process with one thread.")
]
ChosenEngine = Annotated[
    EngineName,
    typer.Option(
        help="ray: on the cluster that RAY_ADDRESS names, or that runs here, or else a new one of --workers "
        "processes; needs the library ray. slurm: a job for each cell; needs the library submitit. Both need the "
        "workspace under the same path on every machine."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object; progress goes to standard error.")]


class LineAnswer(Answer):
    """A text, a system and a metric: means over seeds, with 95 % intervals, and the comparison with the baseline."""

    text: str
    system: str
    metric: str
    seeds: int
    diverged: int
    unfinished: int
    mean: float | None
    mean_low: float | None
    mean_high: float | None
    difference: float | None
    low: float | None
    high: float | None
    q: float | None
    detectable: float | None
    seeds_needed: int | None
    verdict: str | None
    published: str


class TableAnswer(Answer):
    """A table as it was run: `decisions` has a sentence for each comparison with the baseline."""

    name: str
    scale: str
    title: str
    baseline: str | None
    lines: list[LineAnswer]
    decisions: list[str]
    notes: list[str]
    files: list[str]
    problems: list[str]
    complete: bool


class CellEstimate(Answer):
    """What a training will still take."""

    run: str
    text: str
    system: str
    seed: int | None
    status: str
    minutes: float | None
    disk_mib: float | None


class EstimateAnswer(Answer):
    """What a table will still take: the sums over cells whose text is available."""

    name: str
    scale: str
    cells: list[CellEstimate]
    minutes: float
    disk_mib: float


class Made(NamedTuple):
    """A table as far as it was run: what there is, what failed, and whether somebody stopped it."""

    results: "Results"
    problems: Sequence[str] = ()
    stopped: bool = False


def make_table(
    table: "Table",
    scale: "Scale",
    workspace: "Workspace",
    label: str,
    workers: int,
    engine: EngineName,
    as_json: bool,
    asked: "Sequence[Question]" = (),
) -> Made:
    """Run the cells of a table that are not complete, with a bar, and collect what there is.

    Args:
        table, scale, workspace: what to run, and where.
        label: of the bar.
        workers, engine: see the options of the same names.
        as_json: whether standard output is kept for an answer in JSON.
        asked: as for `Results.collect`.
    """
    from nmtlab.cli.grid_bar import GridBar  # these load torch
    from nmtlab.grids.results.results import Results
    from nmtlab.grids.running.cells import cells_of
    from nmtlab.grids.running.grid import run_grid

    bar, should_stop = GridBar(label, workers, sys.stderr if as_json else sys.stdout), interrupted()
    problems = run_grid(cells_of(table, scale), workspace, _engine(engine, workers), bar, should_stop)
    bar.close()
    results = Results.collect(table, scale, workspace, asked, bar.left_out)
    return Made(results, [one.problem for one in problems], should_stop())


def print_estimate(table: "Table", scale: "Scale", workspace: "Workspace", as_json: bool) -> None:
    """Print what a table will still take."""
    from nmtlab.grids.results.sheets import estimate_sheet
    from nmtlab.grids.running.cells import cells_of
    from nmtlab.grids.running.estimate import estimate_grid

    found = estimate_grid(cells_of(table, scale), workspace)
    if as_json:
        print_answer(_estimated(table, scale, found))
    else:
        print_table(*estimate_sheet(table, scale, found))


def report(made: Made, files: Sequence[object], as_json: bool, notes: Sequence[str] = ()) -> None:
    """Print a table, or its answer in JSON, and end the command with exit code 1 if something failed or was stopped.

    Args:
        made: the table.
        files: that were written.
        as_json: whether to print JSON.
        notes: lines under the table.
    """
    if as_json:
        print_answer(_answer(made, files))
    else:
        print_table(*made.results.sheet)
        written = [f"written to {path}" for path in files]
        failed = [f"failed: {problem}" for problem in made.problems]
        stopped = ["interrupted; the same command resumes it"] if made.stopped else []
        print("".join(f"{line}\n" for line in (*notes, *written, *failed, *stopped)), end="")
    if made.problems or made.stopped:
        raise typer.Exit(1)


def _answer(made: Made, files: Sequence[object]) -> TableAnswer:
    results, table = made.results, made.results.table
    lines = results.summary()
    without = [f"{row}: {why}" for row, why in results.left_out.items()]
    return TableAnswer(
        name=table.name,
        scale=results.scale,
        title=table.title,
        baseline=table.baseline or None,
        lines=[_line(line, table.baseline) for line in lines.to_dict("records")],
        decisions=results.decisions,
        notes=[note.strip() for note in results.sheet.notes],
        files=[str(path) for path in files],
        problems=[*made.problems, *without],
        complete=not (made.problems or made.stopped or without or lines["missing"].any()),
        missing={} if table.baseline else {"baseline": "the table compares nothing"},
    )


def _engine(name: EngineName, workers: int) -> "Engine":
    from nmtlab.grids.running.engines import in_processes, one_by_one
    from nmtlab.grids.running.ray_engine import on_ray
    from nmtlab.grids.running.slurm_engine import on_slurm

    if name == "local":
        return one_by_one if workers == 1 else in_processes(workers)
    return on_ray(workers) if name == "ray" else on_slurm()


def _line(line: dict[str, Any], baseline: str) -> LineAnswer:
    """Return a line of `summary`; what is not known has its reason."""
    alone = "it is the baseline" if line["column"] == baseline else "there is no baseline with this metric"
    compared = (line["reason"] or "the seeds do not tell") if line["verdict"] else alone
    one = "one seed, or seeds that do not vary"
    decided = "decided, or no number of seeds is known" if line["verdict"] else alone
    reasons = {
        "mean": "no seed has a value",
        "mean_low": one,
        "mean_high": one,
        "seeds_needed": decided,
        **dict.fromkeys(("difference", "low", "high", "q", "detectable", "verdict"), compared),
    }
    known = {name: _known(line[name]) for name in reasons}
    return LineAnswer(
        text=line["row"],
        system=line["column"],
        metric=line["metric"],
        seeds=line["seeds"],
        diverged=line["diverged"],
        unfinished=line["missing"],
        published=line["published"],
        missing={name: why for name, why in reasons.items() if known[name] is None},
        **known,
    )


def _estimated(table: "Table", scale: "Scale", cells: "DataFrame") -> EstimateAnswer:
    lines = []
    for line in cells.rename(columns={"row": "text", "column": "system"}).to_dict("records"):
        why = {"seed": "a training without randomness", "minutes": line["problem"], "disk_mib": line.pop("problem")}
        known = {name: _known(value) for name, value in line.items()}
        lines.append(CellEstimate(**known, missing={name: why[name] for name in why if known[name] is None}))
    sums = cells[["minutes", "disk_mib"]].sum().astype(float)
    return EstimateAnswer(name=table.name, scale=scale, cells=lines, minutes=sums["minutes"], disk_mib=sums["disk_mib"])


def _known(value: Any) -> Any:
    """Return a value of a frame, None for one that is missing, empty or infinite."""
    if isinstance(value, str):
        return value or None
    return value if isinstance(value, int | float) and math.isfinite(value) else None  # pandas.NA is neither
