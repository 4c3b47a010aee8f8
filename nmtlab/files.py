"""Files and folders written atomically."""

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nmtlab.locks import try_lock

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.nmtlab")

_LEFT_BEHIND = 600.0
"""Seconds without a change after which an unlocked temporary file counts as abandoned: on some shared disks, locks are
invisible to other machines."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it when the block succeeds.

    A crash, an error or a full disk leaves `path` unchanged. A link at `path` is replaced, not followed; for a path
    that the user has named see `writing`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_file(path) as temporary, _naming(path, temporary):
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yield the path to write to for an output `path` that the user has named.

    A regular file, or one that a link points to, is replaced; a device or a pipe is written in place.
    """
    if path.exists() and not path.is_file():
        with _naming(path):
            yield path
    else:
        with replacing(Path(os.path.realpath(path))) as temporary:
            yield temporary


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def temporary_file(path: Path) -> Iterator[Path]:
    """Yield an empty temporary file beside `path`, removed at the end if it still exists.

    Temporary files and folders that killed processes left beside `path` are removed first.
    """
    _remove_left_behind(path.parent)
    temporary = _beside(path)
    with _naming(path, temporary):
        file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with _locked(file):
            yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `path`, removed at the end; otherwise as `temporary_file`."""
    _remove_left_behind(path.parent)
    temporary = _beside(path)
    with _naming(path, temporary):
        temporary.mkdir()
    try:
        with _locked(os.open(temporary, os.O_RDONLY)), _naming(path, temporary):
            yield temporary
    finally:
        shutil.rmtree(temporary)


def replace_folder(folder: Path, old: Path) -> None:
    """Rename `folder` to `old`, whose content is removed; if that fails, the old folder is back in its place."""
    aside = old.rename(_beside(old))
    try:
        folder.rename(old)
    except OSError:
        aside.rename(old)
        raise
    if aside.is_symlink():
        aside.unlink()
    else:
        shutil.rmtree(aside)


def remove_folder(folder: Path) -> None:
    """Remove a folder so that it vanishes at once; if the process is killed midway, the rest is removed later."""
    shutil.rmtree(folder.rename(_beside(folder)))


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.nmtlab")


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Hold a lock on an open file and close it at the end; if this process dies, the system releases the lock."""
    try:
        try_lock(file)  # not every file system has locks
        yield
    finally:
        os.close(file)


@contextmanager
def _naming(path: Path, temporary: Path | None = None) -> Iterator[None]:
    """Make errors name `path`: a full disk names no file, and the temporary file's name means nothing to the user."""
    try:
        yield
    except OSError as error:
        if error.filename is None or (temporary and os.fsdecode(error.filename).startswith(str(temporary))):
            error.filename = str(path)
        raise


def _remove_left_behind(folder: Path) -> None:
    """Remove abandoned temporary files and folders."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _TEMPORARY.fullmatch(entry.name):
                with suppress(OSError):  # owned by another user, or just removed by another process
                    _remove_if_left_behind(Path(entry.path))


def _remove_if_left_behind(path: Path) -> None:
    is_folder = path.is_dir() and not path.is_symlink()
    inside = path.rglob("*") if is_folder else ()
    if time.time() - max(each.lstat().st_mtime for each in (path, *inside)) < _LEFT_BEHIND:
        return
    file = os.open(path, (os.O_RDONLY if is_folder else os.O_RDWR) | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if try_lock(file):
            shutil.rmtree(path) if is_folder else path.unlink()
    finally:
        os.close(file)
