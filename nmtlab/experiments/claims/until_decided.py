"""Seeds are added to all systems of a table's rows until what is compared there is decided.

table, problems = run_until_decided(find_table("table-3.6"), "small", workspace, planned_looks(10))
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.experiments.claims.declared import Claim, declared_claims
from nmtlab.experiments.claims.verdicts import judged_claims
from nmtlab.experiments.results.collected import results
from nmtlab.experiments.results.hypotheses import hypotheses
from nmtlab.experiments.results.looks import Looks, save_looks
from nmtlab.experiments.results.sentences import sentence_spreads
from nmtlab.experiments.results.stored import saved_table
from nmtlab.experiments.results.summary import summary
from nmtlab.experiments.running.cells import cells_of
from nmtlab.experiments.running.engines import Engine, one_by_one
from nmtlab.experiments.running.events import CellEnded, OnGridEvent, ignore
from nmtlab.experiments.running.grid import run_grid
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.workspace import Workspace

_DECIDED = {"better", "worse", "reproduced here", "contradicted here"}


class Look(NamedTuple):
    """What was found at a number of seeds.

    Args:
        seeds: of each system of the rows that were not decided before.
        undecided: for each row with compared lines, how many of them are undecided, and how many there are.
    """

    seeds: int
    undecided: dict[str, tuple[int, int]]


def run_until_decided(
    table: Table,
    scale: Scale,
    workspace: Workspace,
    looks: tuple[int, ...],
    engine: Engine = one_by_one,
    on_event: OnGridEvent = ignore,
    on_look: Callable[[Look], object] = lambda look: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> tuple[Table, list[CellEnded]]:
    """Make the cells of a table with as many seeds as it takes to decide every line, up to the last look.

    A line is a difference to the table's baseline, or of a claim about the table. At each look, all rows with an
    undecided line get as many seeds. The lines are judged as they are printed: with p adjusted for all planned looks
    (`nmtlab.experiments.results.sequential`), and for false discoveries. The former holds for any rule of stopping.
    That a row was looked at is stored in the workspace's results, whether or not its cells are.

    Args:
        table: its declaration.
        scale: the scale at which to run it.
        workspace: contains corpora, runs and caches.
        looks: the numbers of seeds to look at, of `planned_looks`.
        engine: makes the cells.
        on_event: called with progress events.
        on_look: called after each look.
        should_stop: polled often; the same call goes on later.

    Returns:
        The table with the seeds that each row has now, and the cells with a problem, after which no further look is
        taken.

    Raises:
        NmtlabError: nothing is compared in this table; or as of `run_grid`.
    """
    claims = [claim for claim in declared_claims() if claim.stored == f"{table.name}.{scale}"]
    if not table.baseline and not claims:
        raise NmtlabError(f"{table.name}: nothing is compared in it", "choose the number of seeds with --seeds")
    undecided, problems = [row.name for row in table.rows], []
    for seeds in looks:
        table = table.with_seeds(undecided, seeds)
        problems = run_grid(cells_of(table.only(undecided), scale), workspace, engine, on_event, should_stop)
        if problems or should_stop():
            break
        cells = results(table, scale, workspace)
        sentences = sentence_spreads(table, scale, workspace, hypotheses(table, scale, workspace))
        planned = save_looks(saved_table(table, scale, workspace).looks, dict.fromkeys(cells["row"], looks))
        look = Look(seeds, counted(table, claims, cells, sentences, planned))
        on_look(look)
        undecided = [row for row, (left, _) in look.undecided.items() if left]
        if not undecided:
            break
    return table, problems


def counted(
    table: Table, claims: Sequence[Claim], cells: pd.DataFrame, sentences: pd.DataFrame, looks: Looks
) -> dict[str, tuple[int, int]]:
    """Return how many compared lines of each row are undecided, and how many there are.

    Args:
        table: its declaration.
        claims: those about it.
        cells: lines of `results`.
        sentences: lines of `sentence_spreads`.
        looks: the planned ones, by row.
    """
    lines = summary(cells, table, sentences, looks)
    compared = lines.loc[lines["verdict"] != "", ["row", "verdict"]]
    claimed = judged_claims(claims, cells, sentences, looks).rename(columns={"pair": "row"})[["row", "verdict"]]
    both = pd.concat([compared, claimed])
    return {
        str(row): (int((~some.isin(_DECIDED)).sum()), len(some))
        for row, some in both.groupby("row", sort=False)["verdict"]
    }
