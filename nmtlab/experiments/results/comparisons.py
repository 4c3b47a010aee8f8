"""The paired bootstrap behind a claim: a system against the one that it is compared with, seed by seed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.experiments.claims.declared import Claim, declared_claims
from nmtlab.experiments.measures.quality import Measure
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.running.cells import Cell, can_translate
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

COLUMNS = ["row", "metric", "system", "than", "seed", "p"]

Compared = tuple[Measure, str, str]
"""A measure, a system, and the system that it is compared with."""


def comparisons(
    table: Table, scale: Scale, workspace: Workspace, claims: Sequence[Claim] | None = None
) -> pd.DataFrame:
    """Return p of the paired bootstrap for what is claimed of a table, where sentences can be drawn.

    Args:
        table: with the rows that are wanted.
        scale: at which it was run.
        workspace: with the runs and their text.
        claims: those of other tables do not count; all that are declared if not given.

    Returns:
        A line for each row, metric, pair of systems and seed that both have (a system without seeds stands for each):
        `row`, `metric`, `system`, `than`, `seed`, `p`.

    Raises:
        RunError: a run of a cell's name is another training.
    """
    claims = declared_claims() if claims is None else claims
    own = [claim for claim in claims if claim.table.name == table.name and isinstance(claim.than, str)]
    wanted = dict.fromkeys((claim.measure, claim.system, str(claim.than)) for claim in own)
    lines = []
    for cells, corpus, runs in made_rows(table, scale, workspace):
        made = [(cell, runs[cell.run]) for cell in cells if cell.run in runs and can_translate(runs[cell.run])]
        lines += [(cells[0].row, *line) for compared in wanted for line in _drawn(compared, made, corpus)]
    return pd.DataFrame(lines, columns=COLUMNS)


def _drawn(
    compared: Compared, runs: Sequence[tuple[Cell, Run]], corpus: ParallelCorpus
) -> Iterator[tuple[str, str, str, int, float]]:
    measure, system, than = compared
    for cell, run in runs:
        for other, base in runs:
            seeds = {cell.seed, other.seed} - {None}
            if (cell.column, other.column) == (system, than) and len(seeds) == 1:
                ps = measure.significance([run], base, corpus)
                yield from ((measure.name, system, than, *seeds, p) for p in ps.values())


def read_comparisons(path: Path) -> pd.DataFrame:
    """Return what `comparisons` found, without a row if the file is not there.

    Raises:
        NmtlabError: the file is damaged.
    """
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        return pd.read_csv(path)[COLUMNS].astype({"seed": int, "p": float})
    except (ValueError, KeyError, OSError) as error:
        raise NmtlabError(
            f"{path}: not a table of bootstraps ({error})", "write it anew with 'nmtlab reproduce --save'"
        ) from error


def ps_of(claim: Claim, drawn: pd.DataFrame) -> dict[str, list[float]]:
    """Return p of each seed by row of the claim's table.

    Args:
        claim: that a system is better than another.
        drawn: rows of `comparisons`.
    """
    own = drawn.query("metric == @claim.measure.name and system == @claim.system and than == @claim.than")
    return {str(row): some["p"].tolist() for row, some in own.groupby("row")}
