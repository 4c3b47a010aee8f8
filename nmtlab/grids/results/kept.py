"""The trainings behind a table: what is kept of them, and how much they still gained in their last fifth.

Without anything to look at, the lines of a table carry no verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from nmtlab.grids.results.schemas import Schema
from nmtlab.runs.listing import machines_of_runs
from nmtlab.runs.packed import machines_in
from nmtlab.workspace import EVIDENCE, RESULTS, Workspace

GAINS = Schema("late-gains.csv", "table of late gains", ("run", "machine", "gain"), {"gain": float})

LATE_GAINS = RESULTS / GAINS.ending
"""One line per run of the evidence with dev scores, written by `tests/oracles/late_gains.py`."""

STILL_RISING = 1.0
"""More BLEU than this in the last fifth of a training: it was ended too early for small differences to mean much."""

_FIFTH = 0.2


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
            cells: lines of `CELLS` with a value.
        """
        kept: dict[tuple[str, object], bool] = {}
        made = zip(*(cells[name].tolist() for name in ("column", "seed", "run", "machine")), strict=True)
        for column, seed, run, machine in made:
            training = column, None if pd.isna(seed) else seed
            kept[training] = kept.get(training, False) or not self.runs.isdisjoint({(run, machine), (run, "")})
        return all(kept.values())


def late_gain(evaluations: pd.DataFrame) -> float:
    """Return by how much the best dev BLEU rose in the last fifth of the updates; NaN if nothing came before it.

    Args:
        evaluations: of a training, with `step` and `bleu`.
    """
    before = evaluations.loc[evaluations["step"] <= (1 - _FIFTH) * evaluations["step"].max(), "bleu"]
    return float(evaluations["bleu"].max() - before.max()) if len(before) else np.nan


def largest_late_gain(cells: pd.DataFrame) -> float:
    """Return the largest late gain of any system, as a mean over its seeds; NaN if no dev scores are stored.

    Args:
        cells: lines of `CELLS`.
    """
    known = _late_gains()
    gains = [known.get(key, np.nan) for key in zip(cells["run"], cells["machine"], strict=True)]
    return float(pd.Series(gains, dtype=float).groupby(cells["column"].to_numpy()).mean().max())


@cache
def _late_gains() -> Mapping[tuple[str, str], float]:
    lines = GAINS.read(LATE_GAINS).itertuples(index=False)
    return {(run, machine): gain for run, machine, gain in lines}
