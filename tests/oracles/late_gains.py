"""Writes `late-gains.csv`: how much dev BLEU each run of the evidence still gained in the last fifth of its training.

python tests/oracles/late_gains.py
"""

import pandas as pd

from nmtlab.grids.results.kept import GAINS, LATE_GAINS, late_gain
from nmtlab.runs.environment import provenance
from nmtlab.runs.packed import packed_runs
from nmtlab.workspace import Workspace


def main() -> None:
    found = packed_late_gains(Workspace(LATE_GAINS.parents[2]))
    found.to_csv(LATE_GAINS, index=False, lineterminator="\n")
    print(f"{len(found)} runs, {(found['gain'] > 1).sum()} of them still rising by more than a point of BLEU")


def packed_late_gains(workspace: Workspace) -> pd.DataFrame:
    """Return run, machine and late `gain` of each packed run that a workspace shows and that has dev scores."""
    runs, _ = packed_runs(workspace)
    scored = {name: run.log.metrics("validation") for name, run in runs.items()}
    lines = [
        (name, provenance(runs[name].environment)["machine"], round(late_gain(evaluations), 3))
        for name, evaluations in scored.items()
        if len(evaluations)
    ]
    return GAINS.frame(lines).dropna(ignore_index=True)


if __name__ == "__main__":
    main()
