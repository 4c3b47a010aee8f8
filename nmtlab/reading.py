"""Reading of untrusted files: their content is valid, or the error is one line."""

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
"""Largest file that is read as text, in bytes."""


@contextmanager
def reading(path: Path, remedy: str) -> Iterator[None]:
    """Turn any exception from reading a missing, unreadable or damaged file into a `RunError` that names the file.

    The libraries that read tensors, tables, arrays and subword models report damage with a dozen kinds of exception.

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
    """Check that a folder contains, at any depth, only regular files and folders.

    A link could lead out of the folder, and a pipe or a device has no end.

    Raises:
        RunError: it contains anything else, which the message names.
        OSError: a folder cannot be read.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                check_plain(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False) and os.path.lexists(entry.path):
                kind = "a link" if entry.is_symlink() else "a pipe or a device"
                raise RunError(f"{entry.path}: {kind}", "replace it with the file or folder itself")


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file of at most `limit` bytes.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not a regular file, or is larger.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if status.st_size > limit:
            raise ValueError(f"larger than {limit >> 20} MiB")
        return file.read()


def read_json(path: Path, kind: type, remedy: str, limit: int = MAX_BYTES) -> Any:
    """Return the content of a JSON file, checked against a type.

    Args:
        path: of the file.
        kind: a type that pydantic can validate, such as a `TypedDict`; fields that it does not name are kept.
        remedy: what to do if the file is missing or its content invalid.
        limit: its largest size, in bytes.

    Raises:
        RunError: the file is missing or damaged, or its content is of another type.
    """
    with reading(path, remedy):
        return parsed(read_bytes(path, limit), kind)


def parsed(content: bytes | str, kind: type) -> Any:
    """Return parsed JSON, unchanged, if it matches a type; otherwise raise an exception that `reading` explains."""
    value = json.loads(content)
    _adapter(kind).validate_python(value)
    return value


@cache
def _adapter(kind: type) -> TypeAdapter:
    return TypeAdapter(kind)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # otherwise opening a pipe waits for a writer


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'content'}: {first['msg']}"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 100 else f"{text[:99]}…"
