"""The translations behind a table's scores, of every seed: a verdict takes in sentences as well as seeds."""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from nmtlab.analysis.access.translations import text_digest
from nmtlab.errors import NmtlabError
from nmtlab.experiments.measures.quality import OfSentences
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.running.cells import Cell
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.files import replacing
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

KEYS = ["row", "column", "seed", "split", "measure", "text"]
COLUMNS = [*KEYS, "line", "translation"]
_ORDER = ["row", "split", "text", "line", "measure", "column", "seed"]
"""Translations of the same line are similar: side by side, they take a fifth to a half less room."""


def hypotheses(table: Table, scale: Scale, workspace: Workspace) -> pd.DataFrame:
    """Return the stored translations of every finished cell of a table.

    Returns:
        A row for each sentence of each cell and each text that the table scores: `row`, `column`, `seed`; `split`;
        `measure`, the score whose search made it, empty for the recipe's search, which several scores share; `text`,
        the digest of the sources; `line`, its place among them, from 0; `translation`.
    """
    made = (
        (cell, runs[cell.run], corpus)
        for cells, corpus, runs in made_rows(table, scale, workspace)
        for cell in cells
        if cell.run in runs
    )
    return hypotheses_of(made, table)


def hypotheses_of(made: Iterable[tuple[Cell, Run, ParallelCorpus]], table: Table) -> pd.DataFrame:
    """Return the stored translations of cells, as `hypotheses`, from their runs, of the texts they are scored on."""
    scores = {(one.split, one.made_by): one for one in table.measures if isinstance(one, OfSentences)}
    frames = [_of_cell(score, cell, run, corpus) for cell, run, corpus in made for score in scores.values()]
    return pd.concat(frames or [pd.DataFrame(columns=COLUMNS)], ignore_index=True)


def _of_cell(score: OfSentences, cell: Cell, run: Run, corpus: ParallelCorpus) -> pd.DataFrame:
    """Return the translations of a cell that a score is of, without rows if it has not made them."""
    lines = score.stored(run, corpus)
    if lines is None:
        return pd.DataFrame(columns=COLUMNS)
    text = score.text(corpus, run)
    about = {"row": cell.row, "column": cell.column, "seed": cell.seed or 0, "split": score.split}
    frame = pd.DataFrame({"line": range(len(lines)), "translation": lines})
    return frame.assign(**about, measure=score.made_by, text=text_digest(text.sources))[COLUMNS]


def save_hypotheses(path: Path, found: pd.DataFrame) -> None:
    """Write translations, with those in the file of cells that have none here.

    Raises:
        NmtlabError: the file is damaged.
    """
    _write(path, _joined(found, read_hypotheses(path) if path.exists() else found[:0]))


def with_packed(path: Path, packed: pd.DataFrame) -> pd.DataFrame:
    """Return the translations in a file, which need not exist, and those of packed runs that it lacks.

    Raises:
        NmtlabError: the file is damaged.
    """
    return _joined(read_hypotheses(path), packed) if path.exists() else packed


def of_cells(translations: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the translations of those cells that have a value: a packed run may have more than was measured.

    Args:
        translations: as of `hypotheses`.
        cells: lines of `nmtlab.experiments.results.collected.results`.
    """
    measured = cells.dropna(subset="value")
    keys = measured[["row", "column", "seed"]].assign(seed=measured["seed"].fillna(0).astype(int)).drop_duplicates()
    return translations.merge(keys, on=["row", "column", "seed"])


def drop_hypotheses(path: Path, kept_elsewhere: pd.DataFrame) -> None:
    """Remove the translations from a file that are kept elsewhere, and the file if none are left.

    Raises:
        NmtlabError: the file is damaged.
    """
    stored = read_hypotheses(path)
    elsewhere = pd.MultiIndex.from_frame(kept_elsewhere[COLUMNS].astype(str))
    left = stored[~pd.MultiIndex.from_frame(stored.astype(str)).isin(elsewhere)]
    if left.empty:
        path.unlink()
    elif len(left) < len(stored):
        _write(path, left)


def _joined(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([first, second], ignore_index=True).drop_duplicates([*KEYS, "line"], ignore_index=True)


def _write(path: Path, whole: pd.DataFrame) -> None:
    whole = whole.sort_values(_ORDER, kind="stable", ignore_index=True)
    with replacing(path) as temporary:
        whole.to_parquet(temporary, compression="zstd", compression_level=19, use_dictionary=False, index=False)


def read_hypotheses(path: Path) -> pd.DataFrame:
    """Return the translations in a file; those of version 0.1 are all by the recipe's search.

    Raises:
        NmtlabError: it cannot be read, or is something else.
    """
    try:
        found = pd.read_parquet(path)
        return (found if "measure" in found else found.assign(measure=""))[COLUMNS]
    except (OSError, ValueError, KeyError) as error:
        raise NmtlabError(
            f"{path}: not a file of translations ({error})", "remove it, and save the table again"
        ) from error
