"""Measured tables, as written by `nmtlab reproduce --save`."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pandas as pd

from nmtlab.errors import NmtlabError
from nmtlab.experiments.results.collected import CELL, COLUMNS, NUMBERS
from nmtlab.experiments.tables.declaration import SCALES, Scale, Setup, Table
from nmtlab.experiments.tables.listing import TABLES
from nmtlab.workspace import RESULTS, Workspace

TEST_BLEU = "test BLEU"


@dataclass(frozen=True)
class Stored:
    """A table measured at one scale.

    Args:
        table: its declaration.
        scale: the scale at which it was run.
        path: file of its cells.
    """

    table: Table
    scale: Scale
    path: Path

    @property
    def name(self) -> str:
        """Return table and scale, such as `table-3.6.small`."""
        return self.path.stem

    @property
    def sentences(self) -> Path:
        """File of the part that sentences have in differences, which need not exist."""
        return self.path.with_suffix(".sentences.csv")

    @property
    def signatures(self) -> Path:
        """File of the signatures of its scores, which need not exist."""
        return self.path.with_suffix(".signatures.csv")

    @property
    def text(self) -> Path:
        """File of the table as it is printed."""
        return self.path.with_suffix(".txt")

    @property
    def files(self) -> list[Path]:
        """All its files."""
        return [self.path, self.sentences, self.signatures, self.text]


def stored_tables(folders: Iterable[Path] = (RESULTS,)) -> list[Stored]:
    """Return the tables whose cells are in some folders, in the order of `TABLES`.

    Args:
        folders: contain files such as `table-3.6.small.csv`, or do not exist; the first one with a table is used.
    """
    folders = list(folders)
    found = []
    for table in TABLES:
        for scale in SCALES:
            paths = (folder / f"{table.name}.{scale}.csv" for folder in folders)
            if path := next((path for path in paths if path.is_file()), None):
                found.append(Stored(table, scale, path))
    return found


def saved_table(table: Table, scale: Scale, workspace: Workspace) -> Stored:
    """Return where `nmtlab reproduce --save` stores a table, which need not be there."""
    return Stored(table, scale, workspace.results / f"{table.name}.{scale}.csv")


def read_cells(path: Path) -> pd.DataFrame:
    """Read the cells of a table, as returned by `nmtlab.experiments.results.collected.results`.

    Raises:
        NmtlabError: the file is damaged.
    """
    try:
        return _read(path, version(path)).copy()
    except (ValueError, TypeError, OSError) as error:
        reason = str(error).strip().splitlines()[-1]
        raise NmtlabError(
            f"{path}: not a table of results ({reason})", "remove it, or write it again with 'nmtlab reproduce --save'"
        ) from error


def version(path: Path) -> tuple[int, int] | None:
    """Return what differs once a file has changed; None if it does not exist."""
    try:
        return path.stat().st_mtime_ns, path.stat().st_size
    except FileNotFoundError:
        return None


def measured_table(name: str, scale: Scale) -> Stored:
    """Return a measured table: the one saved in the workspace, else the one that comes with nmtlab.

    Raises:
        NmtlabError: it was not measured at this scale.
    """
    for stored in stored_tables((Workspace.find().results, RESULTS)):
        if stored.name == f"{name}.{scale}":
            return stored
    raise NmtlabError(f"{name}: not measured at the scale {scale}", _remedy(name, scale))


def measured_cells(name: str, scale: Scale, measure: str = "") -> pd.DataFrame:
    """Return the cells of a table (see `measured_table`).

    Args:
        name: of the table.
        scale: the scale at which it was run.
        measure: name of one of its measures; all of them if not given.

    Raises:
        NmtlabError: it was not measured at this scale or with this measure.
    """
    cells = read_cells(measured_table(name, scale).path)
    chosen = cells[cells["metric"] == measure] if measure else cells
    if measure and chosen.empty:
        names = ", ".join(cells["metric"].unique())
        raise NmtlabError(f"{name}: {measure!r} was not measured", f"choose from {names}")
    return chosen


def scores_on_test(workspace: Workspace) -> dict[str, float]:
    """Return the test BLEU of the runs behind the measured tables, by run; damaged tables are left out.

    Of a run in several directions it is the mean of those that were measured. Scores on other texts than those of the
    training, or in directions that were not trained, do not count. If a training was made again for a later table, that
    of the earlier one counts: its run is packed. So does the first one of a table if it has several machines.
    """
    scores: dict[str, float] = {}
    for stored in stored_tables((workspace.results, RESULTS)):
        with suppress(NmtlabError):
            setups = {row.name: row.at[stored.scale] for row in stored.table.rows}
            rows = [name for name, one in setups.items() if isinstance(one, Setup) and one.scores_training_text]
            cells = read_cells(stored.path).drop_duplicates(CELL)
            found = cells[(cells["metric"] == TEST_BLEU) & cells["row"].isin(rows)]
            scores = {**found.dropna(subset="value").groupby("run")["value"].mean(), **scores}
    return scores


def _remedy(name: str, scale: Scale) -> str:
    return f"run 'nmtlab reproduce {name} --scale {scale} --save'"


@lru_cache(maxsize=128)
def _read(path: Path, version: tuple[int, int] | None) -> pd.DataFrame:
    """Return the cells in a version of a file, which all pages read."""
    text = pd.read_csv(path, usecols=COLUMNS, dtype=str, keep_default_na=False)[COLUMNS]
    cells = text.assign(**{name: _numbers(text[name], kind) for name, kind in NUMBERS.items()})
    if cells.duplicated([*CELL, "machine"]).any():
        raise ValueError("a cell appears twice")
    return cells


def _numbers(text: pd.Series, kind: type | str) -> pd.Series:
    """Convert a column of text to numbers; empty text becomes missing."""
    number = int if kind == "Int64" else float
    return pd.Series([number(one) if one else None for one in text], index=text.index, dtype=kind)
