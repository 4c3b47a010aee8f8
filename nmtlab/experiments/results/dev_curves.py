"""Dev scores over the training of a table's cells, of every seed: was a run still rising, and does an effect last?"""

from pathlib import Path

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.files import replacing
from nmtlab.workspace import Workspace

KEYS = ["row", "column", "seed", "step"]
COLUMNS = [*KEYS, "bleu", "perplexity", "seconds"]

ENDING = ".curves.parquet"
"""Of the file of a table's evaluations, beside that of its cells."""


def dev_curves(table: Table, scale: Scale, workspace: Workspace) -> pd.DataFrame:
    """Return the evaluations of every cell of a table that has a run with some.

    Returns:
        A row for each evaluation of a neural system: `row`, `column`, `seed`; `step`, the number of updates; `bleu` of
        the dev text in the row's direction, or, if the run was not trained in it, the mean over its directions;
        `perplexity` of all its dev text; `seconds` of training until then.
    """
    frames = []
    for cells, corpus, runs in made_rows(table, scale, workspace):
        way = "-".join(corpus.direction)
        for cell in (cell for cell in cells if cell.run in runs and cell.recipe.model.neural):
            evaluations = _in_direction(runs[cell.run].metrics("validation"), way)
            about = {"row": cell.row, "column": cell.column, "seed": cell.seed or 0}
            if len(evaluations):
                frames.append(evaluations.assign(**about)[COLUMNS])
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def _in_direction(evaluations: pd.DataFrame, way: str) -> pd.DataFrame:
    if "directions" not in evaluations:
        return evaluations
    scores = zip(evaluations["directions"], evaluations["bleu"], strict=True)
    return evaluations.assign(bleu=[directions.get(way, mean) for directions, mean in scores])


def save_dev_curves(path: Path, found: pd.DataFrame) -> None:
    """Write evaluations, with those in the file of cells that have none here.

    Raises:
        NmtlabError: the file is damaged.
    """
    kept = read_dev_curves(path) if path.exists() else found[:0]
    cell = KEYS[:3]
    old = kept[~kept.set_index(cell).index.isin(found.set_index(cell).index)]
    whole = pd.concat([found, old], ignore_index=True).sort_values(KEYS, kind="stable")
    with replacing(path) as temporary:
        whole.round(4).to_parquet(temporary, compression="zstd", compression_level=19, index=False)


def read_dev_curves(path: Path) -> pd.DataFrame:
    """Return the evaluations in a file.

    Raises:
        NmtlabError: it cannot be read, or is something else.
    """
    try:
        return pd.read_parquet(path, columns=COLUMNS)
    except (OSError, ValueError, KeyError) as error:
        raise NmtlabError(
            f"{path}: not a file of evaluations ({error})", "remove it, and save the table again"
        ) from error
