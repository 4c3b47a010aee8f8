"""The scores over the course of training of the runs behind a table."""

import pandas as pd

from nmtlab.grids.declared.declaration import Scale, Setup, Table
from nmtlab.grids.results.kept import Kept
from nmtlab.grids.running.cells import NOT_RUN
from nmtlab.recipe import find_recipe
from nmtlab.runs.listing import open_run_of
from nmtlab.workspace import Workspace

COLUMNS = ["row", "column", "seed", "step", "bleu", "perplexity", "seconds"]
_CELL = ["row", "column", "seed", "run", "machine"]


def dev_curves(table: Table, scale: Scale, cells: pd.DataFrame, workspace: Workspace) -> pd.DataFrame:
    """Return the evaluations of every cell of a table whose run is in the workspace or the evidence.

    Returns:
        A row for each evaluation of a neural system: `row`, `column`, `seed`; `step`, the number of updates; `bleu` of
        the dev text in the row's direction, or, if the run was not trained in it, the mean over its directions;
        `perplexity` of all its dev text; `seconds` of training until then.
    """
    setups = {row.name: row.at[scale] for row in table.rows}
    texts = {name: one.tested or one.corpus for name, one in setups.items() if isinstance(one, Setup)}
    frames = []
    for cell in _trained(table, cells).itertuples():
        run = open_run_of(cell.run, cell.machine, workspace)
        evaluations = run.log.metrics("validation") if run else ()
        if len(evaluations):
            about = {"row": cell.row, "column": cell.column, "seed": cell.seed}
            direction = "-".join((texts[cell.row].source, texts[cell.row].target)) if cell.row in texts else ""
            frames.append(_in_direction(evaluations, direction).assign(**about)[COLUMNS])
    whole = pd.concat(frames) if frames else pd.DataFrame(columns=COLUMNS)
    return whole.sort_values(COLUMNS[:4], kind="stable", ignore_index=True)


def with_dev_curves(table: Table, cells: pd.DataFrame, kept: Kept) -> dict[str, list[str]]:
    """Return the systems of each row of a table that have `dev_curves`, without reading them."""
    cells = _trained(table, cells)
    known = [(run, machine) in kept.runs for run, machine in zip(cells["run"], cells["machine"], strict=True)]
    return {str(row): sorted(set(some["column"])) for row, some in cells[known].groupby("row", sort=False)}


def _trained(table: Table, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of neural systems that have a run, each once."""
    neural = [one.name for one in table.columns if find_recipe(one.recipe).model.neural]
    cells = cells[cells["column"].isin(neural) & (cells["status"] != NOT_RUN)]
    return cells.assign(seed=cells["seed"].fillna(0).astype(int))[_CELL].drop_duplicates(ignore_index=True)


def _in_direction(evaluations: pd.DataFrame, direction: str) -> pd.DataFrame:
    if "directions" not in evaluations:
        return evaluations
    scores = zip(evaluations["directions"], evaluations["bleu"], strict=True)
    return evaluations.assign(bleu=[directions.get(direction, mean) for directions, mean in scores])
