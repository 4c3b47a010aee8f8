"""Does a parent help words with a cognate in its language more than others?

    python data/results/cognate_recall.py

Needs the artificial children of `nmtlab reproduce child-size --scale small`; writes `cognate-recall.csv`: the recall of
the words of the test text by whether the distant relative has a cognate of them, and by how often the child saw them.
"""

import pandas as pd

from nmtlab.analysis.access.measure import measure
from nmtlab.analysis.languages.cognates import cognate_recall
from nmtlab.experiments.results.stored import RESULTS
from nmtlab.experiments.results.summary import interval
from nmtlab.experiments.running.cells import cells_of, made_run
from nmtlab.experiments.tables.listing import find_table
from nmtlab.experiments.tables.related_text import COUSIN, NARI
from nmtlab.workspace import Workspace


def main() -> None:
    workspace = Workspace.find()
    relative = NARI[COUSIN].corpus.open(workspace)
    frames = []
    for cell in (cell for cell in cells_of(find_table("child-size"), "small") if cell.row.startswith("qab-en")):
        corpus = cell.corpus.open(workspace)
        run = made_run(cell, corpus, workspace)
        if run and run.status == "finished":
            found = measure(run, cognate_recall, corpus=corpus, parent=relative)
            frames.append(found.assign(row=cell.row, system=cell.column, seed=cell.seed))
    recall = pd.concat(frames)[["row", "system", "seed", "kind", "seen", "words", "right", "recall"]]
    recall.round(4).to_csv(RESULTS / "cognate-recall.csv", index=False)
    print("Recall by how often the child saw the concept, with 95 % intervals of the seeds\n")
    groups = recall.groupby(["row", "seen", "kind", "system"], sort=False)["recall"]
    print(groups.agg(lambda seeds: "{:.3f} ± {:.3f}".format(*interval(seeds.tolist()))).unstack("system").to_string())


if __name__ == "__main__":
    main()
