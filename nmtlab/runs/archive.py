"""Write folders as a `.tar.xz` file, and read such a file from an untrusted source."""

import io
import lzma
import re
import tarfile
from collections.abc import Iterable
from pathlib import Path

from nmtlab.errors import RunError
from nmtlab.files import replacing
from nmtlab.runs.xz import decompressed

ENDING = ".tar.xz"
MAX_BYTES = 64 << 20
"""Largest total size of the files in an archive, in bytes."""

_MAX_FILES = 10_000
_DIGEST = re.compile(r"[0-9a-f]{10,}")
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]
"""Those for text, as xz has it: most of a packed run is text."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}")
_REMEDY = "do not trust it: no packed run is like this"


def write_archive(folders: Iterable[Path], path: Path) -> None:
    """Write the files of folders, with the folders' names, to an archive; the same files give the same bytes."""
    files = [
        (file.relative_to(folder).as_posix(), folder.name, file)
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file()
    ]
    with (
        replacing(path) as temporary,
        lzma.open(temporary, "wb", filters=_FILTERS) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        # Files of a kind side by side: vocabularies that runs share then take no room, and translations little.
        for relative, name, file in sorted(files, key=lambda one: (_DIGEST.sub("", one[0]), one[1], one[0])):
            # Without owner and time, which identify the machine and change the bytes.
            member = tarfile.TarInfo(f"{name}/{relative}")
            member.size = file.stat().st_size
            with file.open("rb") as content:
                archive.addfile(member, content)


def read_archive(path: Path) -> dict[str, dict[str, bytes]]:
    """Return the files of each folder in an archive, name -> relative path -> content; writes nothing to disk.

    Raises:
        RunError: the archive is damaged; or contains links, devices, paths that leave the folders, unusual names, or
            more or larger files than any packed runs.
    """
    if not path.is_file():
        raise RunError(f"{path}: not found", "give the path of a packed run")
    plain = io.BytesIO(decompressed(path, MAX_BYTES))
    try:
        with tarfile.open(fileobj=plain, mode="r:") as archive:
            files = _files(archive, path)
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise RunError(f"{path}: damaged ({error})", "get a fresh copy") from error
    folders: dict[str, dict[str, bytes]] = {}
    for name, content in files.items():
        folder, _, relative = name.partition("/")
        folders.setdefault(folder, {})[relative] = content
    return folders


def _files(archive: tarfile.TarFile, path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for member in archive:
        if not member.isdir():
            _check(member, f"{path}: member {member.name!r}")
            files[member.name] = archive.extractfile(member).read()
        if len(files) > _MAX_FILES:
            raise RunError(f"{path}: more than {_MAX_FILES:,} files", _REMEDY)
    return files


def _check(member: tarfile.TarInfo, where: str) -> None:
    if not member.isreg() or member.issparse():
        raise RunError(f"{where} is a link, a device or a sparse file", _REMEDY)
    folders = member.name.split("/")
    if len(folders) < 2 or not all(_NAME.fullmatch(name) for name in folders):
        raise RunError(f"{where} is not a path inside a folder", _REMEDY)
