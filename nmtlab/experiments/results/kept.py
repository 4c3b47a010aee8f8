"""What is kept of the trainings behind a table: without anything to look at, its lines carry no verdict."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from nmtlab.experiments.measures.quality import Measure, OfSentences
from nmtlab.experiments.results.hypotheses import read_hypotheses
from nmtlab.runs.listing import machines_of_runs
from nmtlab.workspace import Workspace

_CELL = ["row", "column", "seed"]


@dataclass(frozen=True)
class Kept:
    """What is kept of the trainings behind a table.

    Args:
        runs: name of each run in the workspace and the gallery, and the machine it was trained on; empty if unknown.
        translated: row, column, seed (0 for a system without seeds) and split of each cell whose translations are
            stored beside the table.
    """

    runs: frozenset[tuple[str, str]]
    translated: frozenset[tuple[str, str, int, str]]

    @classmethod
    def of(cls, path: Path, runs: frozenset[tuple[str, str]]) -> "Kept":
        """Return what is kept for a stored table.

        Args:
            path: file of its cells.
            runs: of `kept_runs`.

        Raises:
            NmtlabError: the file of its translations is damaged.
        """
        translations = path.with_suffix(".translations.parquet")
        stored = read_hypotheses(translations) if translations.is_file() else pd.DataFrame(columns=[*_CELL, "split"])
        cells = stored[[*_CELL, "split"]].drop_duplicates().itertuples(index=False, name=None)
        return cls(runs, frozenset(cells))

    def has(self, measure: Measure, cells: pd.DataFrame) -> bool:
        """Return whether the trainings of all cells are kept.

        A training is kept if its run is in the workspace or the gallery, packed or not. A run of that name from another
        machine is another training: processors round differently. For a score of translations, it is enough that these
        are stored beside the table, so that the score can be computed again and its sentences read.

        Args:
            measure: the number that was measured.
            cells: lines of `nmtlab.experiments.results.collected.results` with a value.
        """
        columns = (cells[name].tolist() for name in ("run", "machine", *_CELL))
        return all(
            {(run, machine), (run, "")} & self.runs
            or (isinstance(measure, OfSentences) and (*_key(*cell), measure.split) in self.translated)
            for run, machine, *cell in zip(*columns, strict=True)
        )


def kept_runs(folder: Path, workspace: Workspace) -> frozenset[tuple[str, str]]:
    """Return the runs that are kept and their machines, as `Kept` has them.

    Args:
        folder: of the cells of tables, which stands beside the gallery that came with it.
        workspace: contains more runs.
    """
    beside = Workspace(folder.parent)
    return frozenset(machines_of_runs(workspace) | machines_of_runs(beside) | _left_out(beside.gallery))


def _key(row: str, column: str, seed: Any) -> tuple[str, str, int]:
    return row, column, 0 if pd.isna(seed) else int(seed)


def _left_out(gallery: Path) -> set[tuple[str, str]]:
    """Return the runs that the gallery of the repository has and that of an installed package has not."""
    listed = gallery / "left_out.txt"
    return {(name, "") for name in listed.read_text(encoding="utf-8").split()} if listed.is_file() else set()
