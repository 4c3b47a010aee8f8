"""Does a parent help words with a cognate in its language more than others, and do cognates become neighbours?

    python tests/oracles/cognates.py

Needs the artificial children of `nmtlab reproduce child-size --scale small` and of `transfer-transformer`. Writes
`cognate-recall.csv`, the recall of the words of the test text by whether a relative has a cognate of them and by how
often the child saw them, and `cognate-neighbours.csv`, how often the nearest word of the sister's language is the
translation.
"""

import pandas as pd

from nmtlab.analysis.languages.cognates import COGNATE_NEIGHBOURS, COGNATE_RECALL
from nmtlab.evaluation.intervals import interval
from nmtlab.grids.running.cells import Cell, cells_of, made_run
from nmtlab.grids.running.grid import unpack_table
from nmtlab.runs.run import Run
from nmtlab.thesis.tables.listing import find_table
from nmtlab.thesis.tables.related_text import COUSIN, NARI, RELATED
from nmtlab.workspace import Workspace


def main() -> None:
    workspace = Workspace.find()
    for table in ("child-size", "transfer-transformer"):
        unpack_table(find_table(table), "small", workspace)
    measured = (("child-size", COUSIN), ("child-size", RELATED), ("transfer-transformer", RELATED))
    recall = pd.concat([_recall(table, relative, workspace) for table, relative in measured])
    recall.round(4).to_csv(workspace.results / "cognate-recall.csv", index=False)
    print("Recall by how often the child saw the concept, with 95 % intervals of the seeds\n")
    groups = recall.groupby(["table", "row", "relative", "seen", "kind", "system"], sort=False)["recall"]
    print(groups.agg(lambda seeds: "{:.3f} ± {:.3f}".format(*interval(seeds.tolist()))).to_string())
    neighbours = _neighbours("transfer-transformer", workspace)
    neighbours.round(4).to_csv(workspace.results / "cognate-neighbours.csv", index=False)
    print("\nPrecision at 1 of the nearest word of the sister's language\n")
    print(neighbours.to_string(index=False))


def _recall(table: str, relative: str, workspace: Workspace) -> pd.DataFrame:
    """Return the recall of a table's children, by whether a relative has a cognate of a word."""
    parent, frames = NARI[relative].corpus.open(workspace), []
    for cell, run in _children(table, workspace):
        found = COGNATE_RECALL.of(run, corpus=cell.corpus.open(workspace), parent=parent)
        frames.append(found.assign(table=table, row=cell.row, relative=relative, system=cell.column, seed=cell.seed))
    whole = pd.concat(frames)
    return whole[["table", "row", "relative", "system", "seed", "kind", "seen", "words", "right", "recall"]]


def _neighbours(table: str, workspace: Workspace) -> pd.DataFrame:
    frames = []
    for cell, run in _children(table, workspace):
        if not cell.needs or not run.checkpoints.has_weights():
            continue
        needed = cell.needs[0].cell
        parent_corpus = needed.corpus.open(workspace)
        parent = made_run(needed, parent_corpus, workspace)
        corpora = {"corpus": cell.corpus.open(workspace), "parent_corpus": parent_corpus}
        found = COGNATE_NEIGHBOURS.of(run, parent=parent, **corpora)
        frames.append(found.assign(table=table, row=cell.row, system=cell.column, seed=cell.seed))
    return pd.concat(frames)[["table", "row", "system", "seed", "kind", "vectors", "words", "right", "precision"]]


def _children(table: str, workspace: Workspace) -> list[tuple[Cell, Run]]:
    """Return the artificial children of a table whose trainings have finished."""
    cells = [cell for cell in cells_of(find_table(table), "small") if cell.row.startswith("qab-en")]
    runs = [(cell, made_run(cell, cell.corpus.open(workspace), workspace)) for cell in cells]
    return [(cell, run) for cell, run in runs if run and run.status == "finished"]


if __name__ == "__main__":
    main()
