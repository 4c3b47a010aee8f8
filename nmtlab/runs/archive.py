"""Write a folder as a `.tar.xz` file; read such a file, or any `.xz` file, from an untrusted source."""

import io
import lzma
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

from nmtlab.errors import RunError
from nmtlab.files import replacing

ENDING = ".tar.xz"
MAX_BYTES = 64 << 20
"""Largest total size of the files in an archive, in bytes."""

_MAX_FILES = 10_000
_START_BYTES = 1 << 16
_MAX_MEMORY = 128 << 20  # for the dictionary: a file may ask for 4 GiB
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0}]
"""Those for text, as xz has it: most of a packed run is text."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}")
_REMEDY = "do not trust it: no packed run is like this"


def archives(folder: Path) -> dict[str, Path]:
    """Return the archives in a folder, by name."""
    found = sorted(folder.glob(f"[!.]*{ENDING}"), key=lambda path: path.name)  # paths take long to compare
    return {path.name.removesuffix(ENDING): path for path in found}


def write_archive(folder: Path, path: Path, first: Sequence[str] = ()) -> None:
    """Write the files of a folder, with the folder's name, to an archive; the same files give the same bytes.

    Args:
        folder: what to write.
        path: of the archive.
        first: relative paths of files to put first, where `read_first` finds them.
    """
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    ordered = [*(name for name in first if name in files), *sorted(files.keys() - set(first))]
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        replacing(path) as temporary,
        lzma.open(temporary, "wb", filters=_FILTERS) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as archive,
    ):
        for name in ordered:
            # Without owner and time, which identify the machine and change the bytes.
            member = tarfile.TarInfo(f"{folder.name}/{name}")
            member.size = files[name].stat().st_size
            with files[name].open("rb") as content:
                archive.addfile(member, content)


def read_archive(path: Path) -> dict[str, dict[str, bytes]]:
    """Return the files of each folder in an archive, name -> relative path -> content; writes nothing to disk.

    Raises:
        RunError: the archive is damaged; or contains links, devices, paths that leave the folders, unusual names, or
            more or larger files than any packed runs.
    """
    plain = io.BytesIO(decompressed(_existing(path), MAX_BYTES))
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


def read_first(path: Path, relative: str) -> bytes:
    """Return one of the first files in an archive without decompressing the rest.

    Raises:
        RunError: the archive is damaged, or the file is not within its first 64 KiB.
    """
    start = io.BytesIO(_decompress(_decompressor(), _existing(path), _START_BYTES))
    try:
        with tarfile.open(fileobj=start, mode="r:") as archive:
            for member in archive:
                if member.name.partition("/")[2] == relative and member.isreg():
                    return _content(archive, member)
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise RunError(f"{path}: damaged ({error})", "get a fresh copy") from error
    raise RunError(f"{path}: does not begin with {relative}", "have it packed again")


def decompressed(path: Path, most: int) -> bytes:
    """Return the content of an `.xz` file.

    Args:
        path: of the file.
        most: largest decompressed size in bytes; no more than that is held in memory.

    Raises:
        RunError: the file is damaged or truncated, or its content is larger.
    """
    decompressor = _decompressor()
    content = _decompress(decompressor, path, most + 1)
    if len(content) > most:
        raise RunError(f"{path}: larger than {most >> 20} MiB when decompressed", "do not trust it")
    if not decompressor.eof:
        raise RunError(f"{path}: truncated", "get a fresh copy")
    return content


def _decompressor() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY)


def _decompress(decompressor: lzma.LZMADecompressor, path: Path, size: int) -> bytes:
    """Return at most the first `size` bytes of the content of an `.xz` file."""
    try:
        with path.open("rb") as file:
            return decompressor.decompress(file.read(size), max_length=size)
    except lzma.LZMAError as error:
        raise RunError(f"{path}: damaged ({error})", "get a fresh copy") from error


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise RunError(f"{path}: not found", "give the path of a packed run")
    return path


def _files(archive: tarfile.TarFile, path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for member in archive:
        if not member.isdir():
            _check(member, f"{path}: member {member.name!r}")
            files[member.name] = _content(archive, member)
        if len(files) > _MAX_FILES:
            raise RunError(f"{path}: more than {_MAX_FILES:,} files", _REMEDY)
    return files


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def _check(member: tarfile.TarInfo, where: str) -> None:
    if not member.isreg() or member.issparse():
        raise RunError(f"{where} is a link, a device or a sparse file", _REMEDY)
    folders = member.name.split("/")
    if len(folders) < 2 or not all(_NAME.fullmatch(name) for name in folders):
        raise RunError(f"{where} is not a path inside a folder", _REMEDY)
