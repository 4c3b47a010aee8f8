"""Is a planned length as often right as the system is sure of it? And how far from the reference's is it?

    python tests/oracles/length_calibration.py

Needs the runs of `nmtlab reproduce length-planning --scale small`; writes `length-calibration.csv`.
"""

import pandas as pd

from nmtlab.analysis.search.planned_lengths import PLANNED_LENGTHS, length_calibration, length_errors
from nmtlab.evaluation.intervals import interval
from nmtlab.grids.results.schemas import CELLS
from nmtlab.runs.listing import open_run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import RESULTS, Workspace


def main() -> None:
    workspace = Workspace.find()
    cells = CELLS.read(RESULTS / "length-planning.small.csv").drop_duplicates("run")
    calibration, errors = [], []
    for cell in cells[cells["column"] != "ordinary"].itertuples():
        run = open_run(cell.run, workspace)
        own = run.recipe.corpus
        corpus = ParallelCorpus.open(workspace.corpus_folder(own.name), own.source, own.target)
        found = PLANNED_LENGTHS.of(run, corpus=corpus)
        which = {"row": cell.row, "column": cell.column, "seed": cell.seed}
        calibration.append(length_calibration(found).rename_axis("bin").reset_index().assign(**which))
        errors.append({**which, **length_errors(found)})
    bins = pd.concat(calibration)[["row", "column", "seed", "bin", "sentences", "probability", "right"]]
    bins.round(4).to_csv(workspace.results / "length-calibration.csv", index=False)
    print("Five bins of as many sentences, by how sure the system is of the likeliest length; means over the seeds\n")
    print(bins.groupby(["row", "column", "bin"])[["probability", "right"]].mean().unstack("bin").round(3).to_string())
    over = bins.assign(over=bins["probability"] - bins["right"]).groupby(["row", "column", "bin"])["over"]
    print("\nToo sure by: the probability less what is right, with 95 % intervals of the seeds\n")
    print(over.agg(lambda seeds: "{:+.3f} ± {:.3f}".format(*interval(seeds.tolist()))).unstack("bin").to_string())
    print("\nThe likeliest length against the reference's, in tokens; nats; means over the seeds\n")
    print(pd.DataFrame(errors).groupby(["row", "column"]).mean().drop(columns="seed").round(3).to_string())


if __name__ == "__main__":
    main()
