"""The translations behind a table's scores, of every seed: a verdict takes in sentences as well as seeds."""

from pathlib import Path

import pandas as pd

from nmtlab.analysis.access.translations import source_digest, stored_translations
from nmtlab.errors import NmtlabError
from nmtlab.experiments.measures.quality import OfSentences
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.files import replacing
from nmtlab.workspace import Workspace

KEYS = ["row", "column", "seed", "split", "text"]
COLUMNS = [*KEYS, "line", "translation"]


def hypotheses(table: Table, scale: Scale, workspace: Workspace) -> pd.DataFrame:
    """Return the stored translations of every finished cell of a table.

    Returns:
        A row for each sentence of each cell and each split that the table scores: `row`, `column`, `seed`; `split`;
        `text`, the digest of its source side; `line`, from 0; `translation`.
    """
    splits = dict.fromkeys(measure.split for measure in table.measures if isinstance(measure, OfSentences))
    frames = []
    for cells, corpus, runs in made_rows(table, scale, workspace):
        for cell in (cell for cell in cells if cell.run in runs):
            for split in splits:
                lines = stored_translations(runs[cell.run], corpus, split)
                if lines is not None:
                    frame = pd.DataFrame({"line": range(len(lines)), "translation": lines})
                    about = {"row": cell.row, "column": cell.column, "seed": cell.seed or 0}
                    frames.append(frame.assign(**about, split=split, text=source_digest(corpus, split))[COLUMNS])
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def save_hypotheses(path: Path, found: pd.DataFrame) -> None:
    """Write translations, with those in the file of cells that have none here.

    Raises:
        NmtlabError: the file is damaged.
    """
    kept = read_hypotheses(path) if path.exists() else found[:0]
    whole = pd.concat([found, kept], ignore_index=True).drop_duplicates([*KEYS, "line"])
    whole = whole.sort_values([*KEYS, "line"], kind="stable", ignore_index=True)
    with replacing(path) as temporary:
        whole.to_parquet(temporary, compression="zstd", index=False)


def read_hypotheses(path: Path) -> pd.DataFrame:
    """Return the translations in a file.

    Raises:
        NmtlabError: it cannot be read, or is something else.
    """
    try:
        return pd.read_parquet(path, columns=COLUMNS)
    except (OSError, ValueError) as error:
        raise NmtlabError(
            f"{path}: not a file of translations ({error})", "remove it, and save the table again"
        ) from error
