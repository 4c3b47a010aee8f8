"""What is kept of the trainings behind a table: without anything to look at, its lines carry no verdict."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nmtlab.experiments.measures.quality import Measure, OfSentences
from nmtlab.experiments.results.hypotheses import read_hypotheses
from nmtlab.runs.listing import run_names
from nmtlab.workspace import Workspace

_CELL = ["row", "column", "seed"]


@dataclass(frozen=True)
class Kept:
    """What is kept of the trainings behind a table.

    Args:
        runs: names of the runs in the workspace and the gallery.
        translated: row, column, seed (0 for a system without seeds) and split of each cell whose translations are
            stored beside the table.
    """

    runs: frozenset[str]
    translated: frozenset[tuple[str, str, int, str]]

    @classmethod
    def of(cls, path: Path, workspace: Workspace) -> "Kept":
        """Return what is kept for a stored table.

        Args:
            path: file of its cells, whose folder stands beside the gallery that came with it.
            workspace: contains more runs.

        Raises:
            NmtlabError: the file of its translations is damaged.
        """
        translations = path.with_suffix(".translations.parquet")
        stored = read_hypotheses(translations) if translations.is_file() else pd.DataFrame(columns=[*_CELL, "split"])
        cells = stored[[*_CELL, "split"]].drop_duplicates().itertuples(index=False, name=None)
        beside = Workspace(path.parents[1]) if len(path.parents) > 1 else workspace
        names = run_names(workspace) | run_names(beside) | _left_out(beside.gallery)
        return cls(frozenset(names), frozenset(cells))

    def has(self, measure: Measure, cells: pd.DataFrame) -> bool:
        """Return whether the trainings of all cells are kept.

        A training is kept if its run is in the workspace or the gallery, packed or not; for a score of translations,
        also if these are stored beside the table, so that the score can be computed again and its sentences read.

        Args:
            measure: the number that was measured.
            cells: lines of `nmtlab.experiments.results.collected.results` with a value.
        """
        lost = cells[~cells["run"].map(self.runs.__contains__).astype(bool)]
        if not isinstance(measure, OfSentences):
            return lost.empty
        keys = lost[_CELL].assign(seed=lost["seed"].fillna(0).astype(int)).itertuples(index=False, name=None)
        return all((*key, measure.split) in self.translated for key in keys)


def _left_out(gallery: Path) -> set[str]:
    """Return the names of the runs that the gallery of the repository has and that of an installed package has not."""
    listed = gallery / "left_out.txt"
    return set(listed.read_text(encoding="utf-8").split()) if listed.is_file() else set()
