"""The files of a measured table, `TABLE.SCALE.csv` and those beside it: their names, and what their columns hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from lzma import LZMAError
from pathlib import Path

import pandas as pd

from nmtlab.errors import NmtlabError

COMPRESSED = ".xz"
"""Ending of a compressed file: cells repeat what they say of a run on each of its lines."""

CELL = ["row", "column", "metric", "seed"]
"""What a value is of; a table has several of a cell if it was trained on several machines."""


@dataclass(frozen=True, eq=False)
class Schema:
    """A kind of file with lines.

    Args:
        ending: of its name, after table and scale.
        what: what it is, in messages.
        columns: names of its columns.
        numbers: type of each numeric column.
        key: columns that tell its lines apart.
        remedy: for a damaged file.
    """

    ending: str
    what: str
    columns: Sequence[str]
    numbers: Mapping[str, type | str] = field(default_factory=dict)
    key: Sequence[str] = ()
    remedy: str = "remove it, or write it again with 'nmtlab reproduce --save'"

    @property
    def empty(self) -> pd.DataFrame:
        """No lines."""
        return self.frame([])

    def frame(self, lines: Sequence[object]) -> pd.DataFrame:
        """Return lines as a frame with these columns and types."""
        return pd.DataFrame(lines, columns=list(self.columns)).astype(dict(self.numbers))

    def written(self, frame: pd.DataFrame) -> str:
        """Return lines as the text of a file, without columns that it does not have."""
        return frame[list(self.columns)].to_csv(index=False)

    def read(self, path: Path) -> pd.DataFrame:
        """Read a file, unless it was read and has not changed since; no lines if it does not exist.

        Args:
            path: of the file; the evidence may have it compressed (`as_stored`).

        Raises:
            NmtlabError: the file is damaged; the message names it and the column.
        """
        path = as_stored(path)
        if not path.exists():
            return self.empty
        try:
            return _read(self, path, version(path)).copy()
        except (ValueError, TypeError, OSError, EOFError, LZMAError) as error:
            reason = str(error).strip().splitlines()[-1]
            raise NmtlabError(f"{path}: not a {self.what} ({reason})", self.remedy) from error


CELLS = Schema(
    ".csv",
    "table of results",
    (
        "table", "scale", "row", "column", "metric", "seed", "value", "status", "published", "published_difference",
        "published_mark", "corpus", "recipe", "run", "minutes", "updates", "commit", "machine",
    ),
    {"value": float, "minutes": float, "seed": "Int64", "updates": "Int64"},
    (*CELL, "machine"),
)  # fmt: skip
"""A cell and metric a line (`collected.collected_cells`)."""

SENTENCES = Schema(
    ".sentences.csv",
    "table of variances",
    ("row", "metric", "system", "than", "variance", "freedom", "sentences", "signature"),
    {"variance": float, "freedom": float, "sentences": "Int64"},
    ("row", "metric", "system", "than"),
)
"""The part that sentences have in scores and differences (`sentences.sentence_spreads`)."""

SIGNATURES = Schema(".signatures.csv", "table of signatures", ("row", "metric", "language", "signature"))
"""How each score is computed (`signatures.signatures`)."""

DECLARED = Schema(".toml", "declaration", ())
"""A person's grid as it was declared (`stored_grids`)."""

TEXT = Schema(".txt", "printed table", ())
"""The table as it is printed."""


def as_stored(path: Path) -> Path:
    """Return the compressed file that the evidence has in place of a file, or else the file itself."""
    compressed = path.with_name(f"{path.name}{COMPRESSED}")
    return compressed if compressed.is_file() else path


def version(path: Path) -> tuple[int, int] | None:
    """Return what differs once a file has changed; None if it does not exist."""
    try:
        return path.stat().st_mtime_ns, path.stat().st_size
    except FileNotFoundError:
        return None


@lru_cache(maxsize=128)
def _read(schema: Schema, path: Path, version: tuple[int, int] | None) -> pd.DataFrame:
    """Return the lines in a version of a file, which all pages read."""
    text = pd.read_csv(path, dtype=str, keep_default_na=False)
    if missing := [name for name in schema.columns if name not in text]:
        raise ValueError(f"no column {', '.join(missing)}")
    lines = text[list(schema.columns)].assign(
        **{name: _numbers(text[name], kind) for name, kind in schema.numbers.items()}
    )
    if schema.key and lines.duplicated(schema.key).any():
        raise ValueError(f"two lines of one {', '.join(schema.key)}")
    return lines


def _numbers(text: pd.Series, kind: type | str) -> pd.Series:
    """Convert a column of text to numbers, floats to their last bit; empty text becomes missing."""
    number = float if kind is float else int
    try:
        return pd.Series([number(one) if one else None for one in text], index=text.index, dtype=kind)
    except ValueError as error:
        raise ValueError(f"column {text.name}: {error}") from error
