"""How each training of a table translated the sentences that its scores are of."""

from collections.abc import Iterator

import pandas as pd

from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.translations import text_digest
from nmtlab.analysis.metrics import find_metrics, scored_text, stored_lines
from nmtlab.grids.declared.declaration import Scale, Table
from nmtlab.grids.results.collected import rows_with_text
from nmtlab.grids.running.cells import ENDED, Cell, is_the_training, made_run
from nmtlab.runs.packed import open_evidence, open_packed
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

COLUMNS = ["row", "column", "seed", "split", "measure", "text", "line", "translation"]


def hypotheses(table: Table, scale: Scale, workspace: Workspace, cells: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the stored translations of a table's cells, from runs in the workspace and, of the others, packed ones.

    Args:
        table: its declaration.
        scale: the scale at which it was run.
        workspace: contains the text; rows without it are left out.
        cells: lines of `CELLS`, to leave out those without a value.

    Returns:
        A row for each sentence of each cell and each text that the table scores: `row`, `column`, `seed`; `split`;
        `measure`, the score whose search made it, empty for the recipe's search, which several scores share; `text`,
        the digest of the sources; `line`, its place among them, from 0; `translation`.

    Raises:
        RunError: a run with a cell's name is a different training, or an archive is damaged.
    """
    made = list(_made(table, scale, workspace))
    if cells is not None:
        wanted = set(cells.dropna(subset="value")[["row", "run"]].itertuples(index=False, name=None))
        made = [one for one in made if (one[0].row, one[0].run) in wanted]
    frames = [_of_cell(score, cell, run, corpus) for cell, run, corpus in made for score in scores_of(table)]
    return pd.concat(frames or [pd.DataFrame(columns=COLUMNS)], ignore_index=True)


def scores_of(table: Table) -> list[Metric]:
    """Return a score for each kind of translations that a table scores."""
    scores = (one for one in find_metrics(table.metrics) if one.kind == "score")
    return list({(one.split, one.scored.made_by): one for one in scores}.values())


def _made(table: Table, scale: Scale, workspace: Workspace) -> Iterator[tuple[Cell, Run, ParallelCorpus]]:
    """Yield the cells whose text is available and whose training has ended, with run and text."""
    for text, trained in rows_with_text(table, scale, workspace):
        for cell, corpus in trained:
            if run := _run(cell, corpus, workspace):
                yield cell, run, text


def _run(cell: Cell, corpus: ParallelCorpus, workspace: Workspace) -> Run | None:
    if made := made_run(cell, corpus, workspace):
        return made if made.status in ENDED else None
    packed = open_packed(cell.run, workspace) or open_evidence(cell.run, workspace)
    return packed if packed and is_the_training(cell, packed, corpus) else None


def _of_cell(score: Metric, cell: Cell, run: Run, corpus: ParallelCorpus) -> pd.DataFrame:
    """Return the translations of a cell that a score is of, without rows if it has not made them."""
    lines = stored_lines(score, run, corpus)
    if lines is None:
        return pd.DataFrame(columns=COLUMNS)
    text = scored_text(score, corpus, run)
    about = {"row": cell.row, "column": cell.column, "seed": cell.seed or 0, "split": score.split}
    frame = pd.DataFrame({"line": range(len(lines)), "translation": lines})
    return frame.assign(**about, measure=score.scored.made_by, text=text_digest(text.sources))[COLUMNS]
