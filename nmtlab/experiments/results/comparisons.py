"""The paired bootstrap behind a claim: a system against the one it is compared with, seed by seed."""

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
"""A measure, a system, and the system it is compared with."""


def comparisons(
    table: Table, scale: Scale, workspace: Workspace, claims: Sequence[Claim] | None = None
) -> pd.DataFrame:
    """Return p of the paired bootstrap for the claims about a table, for measures with sentences to resample.

    Args:
        table: restricted to the wanted rows.
        scale: the scale at which it was run.
        workspace: contains the runs and their text.
        claims: those about other tables are ignored; all declared ones if not given.

    Returns:
        One line per row, metric, pair of systems and seed that both have (a system without seeds is paired with every
        seed): `row`, `metric`, `system`, `than`, `seed`, `p`.

    Raises:
        RunError: a run with a cell's name is a different training.
    """
    claims = declared_claims() if claims is None else claims
    relevant = [claim for claim in claims if claim.table.name == table.name and isinstance(claim.than, str)]
    wanted = dict.fromkeys((claim.measure, claim.system, str(claim.than)) for claim in relevant)
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
    """Return the saved lines of `comparisons`; empty if the file does not exist.

    Raises:
        NmtlabError: the file is damaged.
    """
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        return pd.read_csv(path)[COLUMNS].astype({"seed": int, "p": float})
    except (ValueError, KeyError, OSError) as error:
        raise NmtlabError(
            f"{path}: not a table of bootstrap results ({error})", "write it again with 'nmtlab reproduce --save'"
        ) from error


def ps_of(claim: Claim, drawn: pd.DataFrame) -> dict[str, list[float]]:
    """Return p of each seed, by row of the claim's table.

    Args:
        claim: a claim that compares two systems.
        drawn: lines of `comparisons`.
    """
    relevant = drawn.query("metric == @claim.measure.name and system == @claim.system and than == @claim.than")
    return {str(row): some["p"].tolist() for row, some in relevant.groupby("row")}
