"""What is kept of the trainings behind a table: without anything to look at, its lines carry no verdict."""

from dataclasses import dataclass

import pandas as pd

from nmtlab.runs.listing import machines_of_runs
from nmtlab.runs.packed import machines_in
from nmtlab.workspace import EVIDENCE, Workspace


@dataclass(frozen=True)
class Kept:
    """What is kept of the trainings behind tables.

    Args:
        runs: name of each run in the workspace and the evidence, and the machine it was trained on; empty if unknown.
    """

    runs: frozenset[tuple[str, str]]

    @classmethod
    def of(cls, workspace: Workspace) -> "Kept":
        """Return what is kept in a workspace and in the evidence that comes with nmtlab."""
        return cls(frozenset(machines_of_runs(workspace) | machines_in(EVIDENCE / "runs")))

    def has(self, cells: pd.DataFrame) -> bool:
        """Return whether a training of each system and seed in some cells is kept.

        A training is kept if its run is in the workspace or the evidence. A run of that name from another machine is
        another training: processors round differently. Of a seed that was trained on several, one is enough.

        Args:
            cells: lines of `nmtlab.experiments.results.collected.results` with a value.
        """
        kept: dict[tuple[str, object], bool] = {}
        made = zip(*(cells[name].tolist() for name in ("column", "seed", "run", "machine")), strict=True)
        for column, seed, run, machine in made:
            training = column, None if pd.isna(seed) else seed
            kept[training] = kept.get(training, False) or not self.runs.isdisjoint({(run, machine), (run, "")})
        return all(kept.values())
