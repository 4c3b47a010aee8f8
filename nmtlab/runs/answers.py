"""Answers of analyses, stored with the run: one table each, with the question it answers in the file's metadata."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from nmtlab.errors import RunError
from nmtlab.files import replacing
from nmtlab.locks import lock
from nmtlab.reading import parsed, read_bytes, reading
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.migrate import SCHEMA, migrate_section
from nmtlab.runs.tensors import checkpoint_path

Row = dict[str, Any]
"""A row of a table: plain values by column."""

_METADATA = b"nmtlab"
_MAX_CELLS = 50_000_000  # per table: a few bytes may encode many equal values
_MAX_TABLE_BYTES = 1 << 30  # when decompressed
_REMEDY_OF_LOG = "remove that file; measuring then starts again at the first sentence"
_REMEDY = "remove that file; a run that has its weights is then measured again"


class _Line(BaseModel):
    rows: list[Row]


@dataclass(frozen=True)
class AnswerKey:
    """What a stored answer depends on.

    Args:
        analysis: name of the analysis.
        arguments: its arguments that differ from their defaults, as JSON values; a text is represented by its
            languages, split and checksum, a section of a recipe by the fields that differ from their defaults.
        checkpoint: step of the run's best checkpoint; None if it has none.
        weights: digest of the analysed weights; None if not recorded, as by version 0.1, or if the run has no weights.
        version: of the analysis.
        direction: of translation, such as `en-gl`; empty for the run's default direction.
        about: describes the answer but does not identify it: names of corpora, version of nmtlab.
    """

    analysis: str
    arguments: Mapping[str, Any]
    checkpoint: int | None
    weights: str | None = None
    version: int = 1
    direction: str = ""
    about: Mapping[str, str] = field(default_factory=dict, compare=False)

    def path(self, folder: Path) -> Path:
        """Return where the answer is stored in a run's folder."""
        direction = [self.direction] if self.direction else []
        return _path(folder, self.analysis, [self.version, self.arguments, self.checkpoint, self.weights, *direction])


@dataclass(frozen=True)
class StoredAnswer:
    """A stored answer.

    Args:
        question: what it answers.
        path: the file it is in.
    """

    question: AnswerKey
    path: Path

    @property
    def columns(self) -> frozenset[str]:
        """Names of the answer's columns."""
        with reading(self.path, _REMEDY):
            return frozenset(pq.read_schema(self.path).names)

    def frame(self) -> pd.DataFrame:
        """Return the answer.

        Raises:
            RunError: the file is damaged.
        """
        with reading(self.path, _REMEDY):
            _check_size(self.path)
            return pq.read_table(self.path, page_checksum_verification=True).to_pandas()


def stored_answers(folder: Path, analysis: str = "") -> list[StoredAnswer]:
    """Return the answers stored in a run's folder, of one analysis or of all.

    Raises:
        RunError: a file is damaged.
    """
    paths = sorted((folder / "measures").glob(f"{analysis}-*.parquet" if analysis else "[!.]*.parquet"))
    return [StoredAnswer(_read_question(path), path) for path in paths]


def store_answer(folder: Path, question: AnswerKey, frame: pd.DataFrame) -> StoredAnswer:
    """Store an answer in a run's folder, atomically.

    Raises:
        RunError: the disk is full or not writable.
    """
    table = pa.Table.from_pandas(frame)
    metadata = {"schema": SCHEMA, **asdict(question)}
    if not question.direction:  # as it was stored before there were several
        del metadata["direction"]
    table = table.replace_schema_metadata({**table.schema.metadata, _METADATA: json.dumps(metadata)})
    path = question.path(folder)
    try:
        with replacing(path) as temporary:
            pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)
    except OSError as error:
        raise RunError(f"{path}: could not be written ({error})", "free some space and measure again") from error
    return StoredAnswer(question, path)


def as_stored(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as `store_answer` would store it."""
    return pa.Table.from_pandas(frame).to_pandas()


def notes_folder(run: Path, elsewhere: Path | None) -> Path:
    """Return where new answers and translations are stored.

    Args:
        run: its folder, which is returned if there is no `elsewhere`.
        elsewhere: parent of a folder specific to the run's name and weights; for a packed run, which is not written to.
    """
    if elsewhere is None:
        return run
    weights = checkpoint_path(run, "best")
    content = weights.read_bytes() if weights.exists() else b""
    return elsewhere / f"{run.name}-{hashlib.sha256(content).hexdigest()[:12]}"


def can_write(folder: Path) -> bool:
    """Return whether files can be written to a folder, which need not exist yet."""
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK)


@contextmanager
def growing(path: Path) -> Iterator[list[list[Row]]]:
    """Hold the log of an answer in progress, and yield the rows of each sentence that it already has.

    A line that was cut off by a crash is removed, so that the next one can be appended.

    Raises:
        RunError: another process holds it, or it is damaged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    held = lock(path)
    if held is None:
        raise RunError(f"{path}: another process is measuring this", "wait for it to end")
    with held:
        with reading(path, _REMEDY_OF_LOG):
            whole, end, _ = read_bytes(path).rpartition(b"\n")
            rows = [parsed(line, _Line)["rows"] for line in whole.splitlines()]
        held.truncate(len(whole + end))
        yield rows


def _read_question(path: Path) -> AnswerKey:
    with reading(path, _REMEDY):
        return _question(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4096)
def _question(path: Path, changed: int) -> AnswerKey:
    """Return the question that a file answers, cached until its time of modification, `changed`, differs."""
    metadata = json.loads((pq.read_schema(path).metadata or {})[_METADATA])
    schema, folder = metadata.pop("schema", 1), path.parents[1]
    question = AnswerKey(**metadata)
    first = _path(folder, question.analysis, [question.arguments, question.checkpoint])
    if path != (question.path(folder) if schema > 1 else first):
        raise ValueError("another question's answer")
    return replace(question, arguments=_migrated(question.arguments, schema))


def _path(folder: Path, analysis: str, decisive: list[Any]) -> Path:
    key = json.dumps([analysis, *decisive], sort_keys=True)
    return folder / "measures" / f"{analysis}-{hashlib.sha256(key.encode()).hexdigest()[:12]}.parquet"


def _migrated(arguments: Mapping[str, Any], schema: int) -> dict[str, Any]:
    """Return arguments migrated to the current schema; search is the only section of a recipe among them."""
    if schema >= SCHEMA or not isinstance(search := arguments.get("search"), dict):
        return dict(arguments)
    return {**arguments, "search": SearchSettings(**migrate_section("search", search, schema)).decisive()}


def _check_size(path: Path) -> None:
    metadata = pq.read_metadata(path)
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    if size > _MAX_TABLE_BYTES or metadata.num_rows * max(1, metadata.num_columns) > _MAX_CELLS:
        raise ValueError("larger than any answer")
