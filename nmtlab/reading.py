"""Files that may come from anyone, read so that whatever is in them ends in one line or is right."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from nmtlab.errors import NmtlabError, RunError

MAX_BYTES = 128 << 20
"""Most bytes of a file that is read as text."""


@contextmanager
def reading(path: Path, remedy: str) -> Iterator[None]:
    """Turn whatever ends the reading of a missing, unreadable or damaged file into a `RunError` that names it.

    The libraries that read tensors, tables, arrays and subword models report damage by exceptions of a dozen kinds.

    Args:
        path: of the file.
        remedy: what to do about it.
    """
    try:
        yield
    except (NmtlabError, MemoryError):
        raise
    except FileNotFoundError as error:
        raise RunError(f"{path}: missing", remedy) from error
    except Exception as error:
        if isinstance(error, OSError) and error.strerror:
            raise RunError(f"{path}: cannot be read ({error.strerror})", remedy) from error
        raise RunError(f"{path}: damaged or truncated ({_reason(error)})", remedy) from error


def check_plain(folder: Path) -> None:
    """Check that below a folder there are plain files and folders alone.

    A link would lead out of the folder, and a pipe or a device has no end.

    Raises:
        RunError: anything else is there; it is named.
        OSError: a folder cannot be read.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                check_plain(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False) and os.path.lexists(entry.path):
                kind = "a link" if entry.is_symlink() else "a pipe or a device"
                raise RunError(f"{entry.path}: {kind}", "put the file or folder itself there")


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a plain file of at most `limit` bytes.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no plain file, or larger.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a plain file")
        if status.st_size > limit:
            raise ValueError(f"larger than {limit >> 20} MiB")
        return file.read()


def read_json(path: Path, kind: type, remedy: str) -> Any:
    """Return what a JSON file holds, of a given type.

    Args:
        path: of the file.
        kind: a type that pydantic knows, such as a `TypedDict`; fields that it does not name are kept.
        remedy: what to do if that is not what is there.

    Raises:
        RunError: the file is missing, damaged, or holds something else.
    """
    with reading(path, remedy):
        return parsed(read_bytes(path), kind)


def parsed(content: bytes | str, kind: type) -> Any:
    """Return JSON as it stands if it is of a given type; any other ends in an exception that `reading` explains."""
    value = json.loads(content)
    _adapter(kind).validate_python(value)
    return value


@cache
def _adapter(kind: type) -> TypeAdapter:
    return TypeAdapter(kind)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # else a pipe waits for somebody to write


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'content'}: {first['msg']}"
    if isinstance(error, RecursionError):
        return "nested too deep"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 100 else f"{text[:99]}…"
