"""The metrics of a table: those that are computed here, and scores of sentences from elsewhere, such as COMET's."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.comparison.files import segment_scores
from nmtlab.analysis.metrics import find_metrics
from nmtlab.grids.declared.declaration import Scale, Scores, Table
from nmtlab.grids.results.collected import made_rows
from nmtlab.grids.running.cells import can_translate
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.workspace import Workspace


def measures_of(table: Table) -> dict[str, Metric]:
    """Return the metrics of a table by key; that of scores from elsewhere is their name."""
    given = (Metric(one.name, one.name, "ratio", better=one.better) for one in table.given)
    return {one.key: one for one in (*find_metrics(table.metrics), *given)}


def given_sums(scores: Scores, row: str, corpus: ParallelCorpus, runs: Mapping[str, Run]) -> dict[str, np.ndarray]:
    """Return the scores of the test sentences of a row, (sentences, 2), each with a 1 beside it, by name of the run.

    Args:
        row: name of the row; there are none if it has no file.
        corpus: its text.
        runs: by name; those that translate need scores.

    Raises:
        CorpusError: the file lacks a run or a score, or has a line too many.
        OSError: it cannot be read.
    """
    names, path = [name for name, run in runs.items() if can_translate(run)], scores.files.get(row)
    if path is None or not names:
        return {}
    files = [f"{name}.txt" for name in names]
    with Path(path).open("rb") as opened:
        found = segment_scores(scores.name, opened, path, files, corpus.count("test"))
    columns = (np.array(found.of[file][0], dtype=float) for file in files)
    return {name: np.stack([one, np.ones_like(one)], axis=1) for name, one in zip(names, columns, strict=True)}


def with_given(table: Table, scale: Scale, workspace: Workspace, cells: pd.DataFrame) -> pd.DataFrame:
    """Return lines of `collected_cells`, and those of scores from elsewhere, their means; errors as `given_sums`."""
    parts, first = [cells], cells[cells["metric"] == table.metrics[0]]
    for row, corpus, runs in ((some[0].row, corpus, runs) for some, corpus, runs in made_rows(table, scale, workspace)):
        for scores in table.given:
            means = {name: sums[:, 0].mean() for name, sums in given_sums(scores, row, corpus, runs).items()}
            of_row = first[first["row"] == row] if means else first.iloc[:0]
            parts.append(of_row.assign(metric=scores.name, value=of_row["run"].map(means).astype(float)))
    return pd.concat(parts, ignore_index=True) if table.given else cells


def write_translations(table: Table, scale: Scale, workspace: Workspace, folder: Path) -> list[Path]:
    """Write what a metric from elsewhere needs, and return the files.

    Each row has a folder of its name, with the `source` and `reference` of the test text, which end in their languages,
    and the stored translations of each run, in a file of its name that ends in `.txt`.
    """
    written = []
    for cells, corpus, runs in made_rows(table, scale, workspace):
        found = {f"{name}.txt": stored_translations(run, corpus, "test") for name, run in runs.items()}
        made = {name: lines for name, lines in found.items() if lines is not None}
        if made:
            made[f"source.{corpus.source}"] = list(corpus.lines("test", corpus.source))
            made[f"reference.{corpus.target}"] = list(corpus.references("test")[0])
        for name, lines in made.items():
            path = folder / cells[0].row / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_lines(path, lines)
            written.append(path)
    return written
