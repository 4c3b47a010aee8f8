"""Running a declared table, and what is printed of it: the same for tables of the thesis and for a person's grid."""

import math
import sys
from collections.abc import Callable, Sequence
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


class LineAnswer(Answer):
    """A text, a system and a metric of a table: the mean over seeds, and the comparison with the baseline."""

    text: str
    """Name of the row."""
    system: str
    """Name of the column."""
    metric: str
    """Key of the metric."""
    seeds: int
    """Seeds with a value."""
    diverged: int
    """Seeds that diverged, or a training that they need."""
    unfinished: int
    """Seeds that are not finished."""
    mean: float | None
    """Over the seeds."""
    mean_low: float | None
    """Lower end of its 95 % interval."""
    mean_high: float | None
    """Upper end of its 95 % interval."""
    difference: float | None
    """The system minus the baseline."""
    low: float | None
    """Lower end of the difference's 95 % interval."""
    high: float | None
    """Upper end of the difference's 95 % interval."""
    q: float | None
    """p of no difference, adjusted for false discoveries over the lines of the table."""
    detectable: float | None
    """Smallest difference that would be detected in four of five repetitions."""
    seeds_needed: int | None
    """Seeds that would probably decide an undecided line."""
    verdict: str | None
    """better, worse, equivalent, underpowered or inconclusive, or that the runs are not kept."""
    published: str
    """Published value as printed; empty if there is none."""


class TableAnswer(Answer):
    """What `nmtlab grid --json` and `nmtlab reproduce --json` print."""

    name: str
    """Of the table, or of the file without its ending."""
    scale: str
    """Scale at which a table of the thesis was run, or `grid`."""
    title: str
    """What it shows."""
    baseline: str | None
    """The system that the others are compared with."""
    lines: list[LineAnswer]
    """Row by row."""
    decisions: list[str]
    """A sentence for each comparison with the baseline: how it was decided, or why it is not."""
    notes: list[str]
    """What stands under the printed table: signatures, the rule of judgement, counts of verdicts."""
    files: list[str]
    """Files that were written."""
    problems: list[str]
    """Trainings that failed and texts that are not available, with what to do."""
    complete: bool
    """Whether all trainings have ended."""


class CellEstimate(Answer):
    """What a training of a table will still take."""

    run: str
    """Name of the run."""
    text: str
    """Name of the row."""
    system: str
    """Name of the column."""
    seed: int | None
    """Of the training."""
    status: str
    """Of the run, or `not run`."""
    minutes: float | None
    """That it will still take, within a factor of two; 0 if it has ended."""
    disk_mib: float | None
    """MiB that it will still take."""


class EstimateAnswer(Answer):
    """What `--estimate --json` of `nmtlab grid` and `nmtlab reproduce` prints."""

    name: str
    """Of the table, or of the file without its ending."""
    scale: str
    """Scale of a table of the thesis, or `grid`."""
    cells: list[CellEstimate]
    """Each training once, needs first."""
    minutes: float
    """Of all cells whose text is available, one by one."""
    disk_mib: float
    """MiB of all cells whose text is available."""


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
    trained: "Callable[[], None]" = lambda: None,
) -> Made:
    """Run the cells of a table that are not complete, with a bar, and collect what there is.

    Args:
        table, scale, workspace: what to run, and where.
        label: of the bar.
        workers, engine: see the options of the same names.
        as_json: whether standard output is kept for an answer in JSON.
        asked: as for `Results.collect`.
        trained: called after the trainings, before their results are collected.
    """
    from nmtlab.cli.grid_bar import GridBar  # these load torch
    from nmtlab.grids.results.results import Results
    from nmtlab.grids.running.cells import cells_of
    from nmtlab.grids.running.grid import run_grid

    bar, should_stop = GridBar(label, workers, sys.stderr if as_json else sys.stdout), interrupted()
    problems = run_grid(cells_of(table, scale), workspace, _engine(engine, workers), bar, should_stop)
    bar.close()
    trained()
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
    return TableAnswer.of(
        {"baseline": "the table compares nothing"},
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
    return LineAnswer.of(
        reasons,
        text=line["row"],
        system=line["column"],
        metric=line["metric"],
        seeds=line["seeds"],
        diverged=line["diverged"],
        unfinished=line["missing"],
        published=line["published"],
        **{name: _known(line[name]) for name in reasons},
    )


def _estimated(table: "Table", scale: "Scale", cells: "DataFrame") -> EstimateAnswer:
    lines = []
    for line in cells.rename(columns={"row": "text", "column": "system"}).to_dict("records"):
        why = {"seed": "a training without randomness", "minutes": line["problem"], "disk_mib": line.pop("problem")}
        lines.append(CellEstimate.of(why, **{name: _known(value) for name, value in line.items()}))
    sums = cells[["minutes", "disk_mib"]].sum().astype(float)
    return EstimateAnswer(name=table.name, scale=scale, cells=lines, minutes=sums["minutes"], disk_mib=sums["disk_mib"])


def _known(value: Any) -> Any:
    """Return a value of a frame, None for one that is missing, empty or infinite."""
    if isinstance(value, str):
        return value or None
    return value if isinstance(value, int | float) and math.isfinite(value) else None  # pandas.NA is neither
