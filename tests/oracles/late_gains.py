"""Writes `late-gains.csv`: how much dev BLEU each run of the evidence still gained in the last fifth of its training.

python tests/oracles/late_gains.py
"""

from nmtlab.experiments.results.kept import LATE_GAINS, packed_late_gains
from nmtlab.workspace import Workspace


def main() -> None:
    found = packed_late_gains(Workspace(LATE_GAINS.parents[2]))
    found.to_csv(LATE_GAINS, index=False, lineterminator="\n")
    print(f"{len(found)} runs, {(found['gain'] > 1).sum()} of them still rising by more than a point of BLEU")


if __name__ == "__main__":
    main()
