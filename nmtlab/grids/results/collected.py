"""The measured values of a table's cells, beside the published ones."""

import math
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from nmtlab.analysis.metrics import find_metrics, value_of
from nmtlab.errors import CorpusError
from nmtlab.grids.declared.corpora import planned
from nmtlab.grids.declared.declaration import Scale, Table
from nmtlab.grids.results.schemas import CELL, CELLS, Schema
from nmtlab.grids.running.cells import ENDED, NOT_RUN, Cell, can_translate, cells_of, made_run, status_of
from nmtlab.runs.environment import provenance
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import PUBLISHED, Workspace

_PUBLISHED = Schema(
    ".csv",
    "table of published values",
    ("table", "row", "column", "metric", "value", "difference", "mark", "source"),
    key=("row", "column", "metric"),
    remedy="correct it",
)

_NOT_PRINTED = {"published": "", "published_difference": "", "published_mark": ""}


def collected_cells(table: Table, scale: Scale, workspace: Workspace) -> pd.DataFrame:
    """Return the values of a table's cells whose training has ended, without the rows whose text is not available.

    Returns:
        One line per cell and metric: `table`, `scale`, `row`, `column`, `metric`; `seed`, missing for a system without
        randomness; `value`, missing if there is none (a training that diverged before its first checkpoint has
        BLEU 0); `status` of the run, or `not run`, or `need diverged`; `published`, `published_difference` and
        `published_mark` as printed; `corpus`; `recipe`, with the changes to it; `run`; `minutes` and `updates` of
        training; `commit` of nmtlab (+ if there were uncommitted changes); `machine`.

    Raises:
        RunError: a run with a cell's name is a different training.
    """
    printed = _printed(table.name)
    lines = []
    for cells, corpus, runs in made_rows(table, scale, workspace):
        for measure in find_metrics(table.metrics):
            values = {name: value_of(measure, run, corpus) for name, run in runs.items() if can_translate(run)}
            lost = [name for name, run in runs.items() if run.status == "diverged" and name not in values]
            values |= dict.fromkeys(lost, measure.if_diverged)
            for cell in cells:
                run = runs.get(cell.run)
                line = _about(cell) | {"status": status_of(cell, run, workspace)} | (_made(run) if run else {})
                line |= {"table": table.name, "scale": scale, "metric": measure.key}
                line["value"] = values.get(cell.run)
                lines.append(line | printed.get((cell.row, cell.column, measure.key), _NOT_PRINTED))
    return CELLS.frame(lines)


def made_rows(
    table: Table, scale: Scale, workspace: Workspace
) -> Iterator[tuple[list[Cell], ParallelCorpus, dict[str, Run]]]:
    """Yield the cells of each row whose text is available, that text, and the runs by name whose training has ended.

    Raises:
        RunError: a run with a cell's name is a different training.
    """
    for text, trained in rows_with_text(table, scale, workspace):
        found = ((cell.run, made_run(cell, corpus, workspace)) for cell, corpus in trained)
        runs = {name: run for name, run in found if run and run.status in ENDED}
        yield [cell for cell, _ in trained], text, runs


def rows_with_text(
    table: Table, scale: Scale, workspace: Workspace
) -> Iterator[tuple[ParallelCorpus, list[tuple[Cell, ParallelCorpus]]]]:
    """Yield, for each row whose text is available, that text, and its cells with the text they are trained on.

    A text that is yet to be translated for its cell is stood for by the untranslated one.
    """
    for _, group in groupby(cells_of(table, scale), key=lambda cell: cell.row):
        cells = list(group)
        trained = {}
        with suppress(CorpusError):
            text = cells[0].texts[0].open(workspace)
            for corpus in dict.fromkeys(cell.corpus for cell in cells):
                with suppress(CorpusError):
                    trained[corpus] = planned(corpus, workspace).open(workspace)
            yield text, [(cell, trained[cell.corpus]) for cell in cells if cell.corpus in trained]


def with_kept(measured: pd.DataFrame, kept: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Return the cells of a table, completed with earlier measurements of cells that have no run here.

    An earlier value from another machine stands beside the one from here, which comes first.

    Args:
        measured: lines of `collected_cells`.
        kept: likewise, from another time or machine; cells that are no longer in the table are dropped.
        table: its declaration.
    """
    orders = {
        "row": [row.name for row in table.rows],
        "metric": list(table.metrics),
        "column": [system.name for system in table.columns],
    }
    run = [lines[lines["status"] != NOT_RUN] for lines in (measured, kept)]
    cells = pd.concat([*run, measured, kept], ignore_index=True)
    first = ~cells.duplicated(CELL)
    cells = cells[first | (cells["value"].notna() & ~cells.duplicated(CELLS.key))]
    for name, order in orders.items():
        cells = cells[cells[name].isin(order)]
    places = {name: {one: place for place, one in enumerate(order)} for name, order in orders.items()}
    return cells.sort_values(
        [*orders, "seed"], key=lambda some: some.map(places[some.name]) if some.name in places else some,
        kind="stable", ignore_index=True,
    )  # fmt: skip


def _printed(table: str) -> dict[Any, dict[Any, str]]:
    """Return the published values by row, column and metric."""
    names = {"value": "published", "difference": "published_difference", "mark": "published_mark"}
    return published(table).set_index(["row", "column", "metric"])[[*names]].rename(columns=names).to_dict("index")


def _about(cell: Cell) -> dict[str, Any]:
    about = {"row": cell.row, "column": cell.column, "seed": cell.seed, "run": cell.run}
    return about | {"corpus": cell.texts[0].name, "recipe": cell.label}


def _made(run: Run) -> dict[str, Any]:
    """Return the cost and provenance of a run."""
    end = run.log.metrics("end")
    return {
        "minutes": end["seconds"].iloc[-1] / 60 if len(end) else math.nan,
        "updates": end["step"].iloc[-1] if len(end) else None,
        **provenance(run.environment),
    }


def published(table: str, folder: Path = PUBLISHED) -> pd.DataFrame:
    """Return the published values of a table; empty if its file does not exist.

    Args:
        table: its name, such as table-3.6.
        folder: contains the files.

    Returns:
        `table`; `row` (a language pair), `column` (a system) and `metric`, as in its declaration; `value` and
        `difference` (to the baseline, if printed), verbatim; `mark` († for differences called insignificant);
        `source`.
    """
    return _PUBLISHED.read(folder / f"{table}{_PUBLISHED.ending}")


def printed_number(printed: str) -> float:
    """Return a published entry as a number: 0 for a failure, NaN for none."""
    return 0.0 if printed.startswith("fail") else float(printed or math.nan)
