"""Do systems that plan lengths only learn more slowly? Dev BLEU as the trainings of `length-planning` go on.

    python data/results/length_planning_curves.py

Needs the runs of `nmtlab reproduce length-planning --scale small`; writes `length-planning.curves.csv`.
"""

import pandas as pd

from nmtlab.analysis.dynamics.curves import dev_curve
from nmtlab.experiments.results.stored import RESULTS, read_cells
from nmtlab.runs.listing import open_run
from nmtlab.workspace import Workspace


def main() -> None:
    workspace = Workspace.find()
    cells = read_cells(RESULTS / "length-planning.small.csv").drop_duplicates("run")
    curves = pd.concat(
        dev_curve(open_run(cell.run, workspace)).assign(row=cell.row, column=cell.column, seed=cell.seed)
        for cell in cells.itertuples()
    )
    curves = curves.rename(columns={"step": "update", "bleu": "dev BLEU"})
    kept = curves[["row", "column", "seed", "update", "dev BLEU"]].round({"dev BLEU": 2})
    kept.to_csv(RESULTS / "length-planning.curves.csv", index=False)
    print(kept.pivot_table(index=["row", "column"], columns="update", values="dev BLEU").round(1).to_string())


if __name__ == "__main__":
    main()
