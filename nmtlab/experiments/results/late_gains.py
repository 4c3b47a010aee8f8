"""How much dev BLEU the trainings behind the tables still gained in their last fifth."""

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

from nmtlab.runs.environment import provenance
from nmtlab.runs.packed import packed_runs
from nmtlab.workspace import RESULTS, Workspace

FILE = RESULTS / "late-gains.csv"
"""One line per run of the evidence with dev scores, written by `tests/oracles/late_gains.py`."""

COLUMNS = ["run", "machine", "gain"]

STILL_RISING = 1.0
"""More BLEU than this in the last fifth of a training: it was ended too early for small differences to mean much."""

_FIFTH = 0.2


def late_gain(evaluations: pd.DataFrame) -> float:
    """Return by how much the best dev BLEU rose in the last fifth of the updates; NaN if nothing came before it.

    Args:
        evaluations: of a training, with `step` and `bleu`.
    """
    before = evaluations.loc[evaluations["step"] <= (1 - _FIFTH) * evaluations["step"].max(), "bleu"]
    return float(evaluations["bleu"].max() - before.max()) if len(before) else np.nan


def packed_late_gains(workspace: Workspace) -> pd.DataFrame:
    """Return the late gain of each packed run that a workspace shows and that has dev scores: `COLUMNS`."""
    runs, _ = packed_runs(workspace)
    scored = {name: run.metrics("validation") for name, run in runs.items()}
    lines = [
        (name, provenance(runs[name].environment)["machine"], round(late_gain(evaluations), 3))
        for name, evaluations in scored.items()
        if len(evaluations)
    ]
    return pd.DataFrame(lines, columns=COLUMNS).dropna(ignore_index=True)


def largest_late_gain(cells: pd.DataFrame) -> float:
    """Return the largest late gain of any system, as a mean over its seeds; NaN if no dev scores are stored.

    Args:
        cells: lines of `nmtlab.experiments.results.collected.results`.
    """
    known = _known()
    gains = [known.get(key, np.nan) for key in zip(cells["run"], cells["machine"], strict=True)]
    return float(pd.Series(gains, dtype=float).groupby(cells["column"].to_numpy()).mean().max())


@cache
def _known() -> Mapping[tuple[str, str], float]:
    lines = pd.read_csv(FILE) if FILE.is_file() else pd.DataFrame(columns=COLUMNS)
    return {(run, machine): gain for run, machine, gain in lines[COLUMNS].itertuples(index=False)}
