"""The measured tables by name: those saved in the workspace, or else those that come with nmtlab."""

from contextlib import suppress

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.declaration import Scale, Setup
from nmtlab.grids.results.results import Results, stored_results
from nmtlab.grids.results.schemas import CELL
from nmtlab.thesis.tables.listing import TABLES, find_table
from nmtlab.workspace import Workspace


def measured(name: str, scale: Scale = "small") -> Results:
    """Return a measured table.

    Raises:
        NmtlabError: there is no such table, or it was not measured at this scale.
    """
    return Results.measured(find_table(name), scale, Workspace.find())


def all_measured(workspace: Workspace) -> list[Results]:
    """Return all measured tables, in the order of `TABLES`."""
    return stored_results(TABLES, workspace)


def measured_cells(name: str, scale: Scale, metric: str = "") -> pd.DataFrame:
    """Return the cells of a measured table, those of one of its metrics if its key is given.

    Raises:
        NmtlabError: it was not measured at this scale or with this metric.
    """
    found = measured(name, scale)
    return found.of_metric(metric) if metric else found.cells


def described_cells(cells: pd.DataFrame, text: str = "test text") -> str:
    """Return what a figure of some cells is of, for its subtitle: `test text, 3 seeds`."""
    seeds = cells.dropna(subset="value")["seed"].nunique()
    return f"{text}, {seeds} seed{'s' if seeds != 1 else ''}"


_TEST_BLEU = ("test-bleu", "tokenized-test-bleu", "detokenized-test-bleu")


def scores_on_test(workspace: Workspace) -> dict[str, float]:
    """Return the test BLEU of the runs behind the measured tables, by run; damaged tables are left out.

    Of a run in several directions it is the mean of those that were measured. Scores on other texts than those of the
    training, or in directions that were not trained, do not count. If a training was made again for a later table, that
    of the earlier one counts: its run is packed. So does the first one of a table if it has several machines.
    """
    scores: dict[str, float] = {}
    for results in all_measured(workspace):
        with suppress(NmtlabError):
            setups = {row.name: row.at[results.scale] for row in results.table.rows}
            rows = [name for name, one in setups.items() if isinstance(one, Setup) and one.scores_training_text]
            cells = results.cells.drop_duplicates(CELL)
            found = cells[cells["metric"].isin(_TEST_BLEU) & cells["row"].isin(rows)]
            scores = {**found.dropna(subset="value").groupby("run")["value"].mean(), **scores}
    return scores
