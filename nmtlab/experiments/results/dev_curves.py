"""Dev scores over the training of a table's cells, of every seed: was a run still rising, and does an effect last?"""

import pandas as pd

from nmtlab.experiments.results.kept import Kept
from nmtlab.experiments.results.stored import Stored, read_cells
from nmtlab.experiments.running.cells import NOT_RUN
from nmtlab.experiments.tables.declaration import Setup
from nmtlab.recipe import find_recipe
from nmtlab.runs.listing import open_run_of
from nmtlab.workspace import Workspace

COLUMNS = ["row", "column", "seed", "step", "bleu", "perplexity", "seconds"]
_CELL = ["row", "column", "seed", "run", "machine"]


def dev_curves(stored: Stored, workspace: Workspace) -> pd.DataFrame:
    """Return the evaluations of every cell of a measured table whose run is in the workspace or the evidence.

    Returns:
        A row for each evaluation of a neural system: `row`, `column`, `seed`; `step`, the number of updates; `bleu` of
        the dev text in the row's direction, or, if the run was not trained in it, the mean over its directions;
        `perplexity` of all its dev text; `seconds` of training until then.

    Raises:
        NmtlabError: a file is damaged.
    """
    ways = _directions(stored)
    frames = []
    for cell in _trained(stored).itertuples():
        run = open_run_of(cell.run, cell.machine, workspace)
        evaluations = run.metrics("validation") if run else ()
        if len(evaluations):
            about = {"row": cell.row, "column": cell.column, "seed": cell.seed}
            frames.append(_in_direction(evaluations, ways.get(cell.row, "")).assign(**about)[COLUMNS])
    whole = pd.concat(frames) if frames else pd.DataFrame(columns=COLUMNS)
    return whole.sort_values(COLUMNS[:4], kind="stable", ignore_index=True)


def with_dev_curves(stored: Stored, kept: Kept) -> dict[str, list[str]]:
    """Return the systems of each row of a measured table that have `dev_curves`, without reading them."""
    cells = _trained(stored)
    known = [(run, machine) in kept.runs for run, machine in zip(cells["run"], cells["machine"], strict=True)]
    return {str(row): sorted(set(some["column"])) for row, some in cells[known].groupby("row", sort=False)}


def _trained(stored: Stored) -> pd.DataFrame:
    """Return the cells of neural systems that have a run, each once."""
    neural = [one.name for one in stored.table.systems if find_recipe(one.recipe).model.neural]
    cells = read_cells(stored.path)
    cells = cells[cells["column"].isin(neural) & (cells["status"] != NOT_RUN)]
    return cells.assign(seed=cells["seed"].fillna(0).astype(int))[_CELL].drop_duplicates(ignore_index=True)


def _directions(stored: Stored) -> dict[str, str]:
    """Return the direction of the text that each row is scored on, such as `gl-en`."""
    setups = {row.name: row.at[stored.scale] for row in stored.table.rows}
    texts = {name: one.tested or one.corpus for name, one in setups.items() if isinstance(one, Setup)}
    return {name: f"{text.source}-{text.target}" for name, text in texts.items()}


def _in_direction(evaluations: pd.DataFrame, way: str) -> pd.DataFrame:
    if "directions" not in evaluations:
        return evaluations
    scores = zip(evaluations["directions"], evaluations["bleu"], strict=True)
    return evaluations.assign(bleu=[directions.get(way, mean) for directions, mean in scores])
