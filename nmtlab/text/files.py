"""Lines of text in files: plain, gzip or xz, streamed in and written whole."""

import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nmtlab.errors import CorpusError
from nmtlab.files import temporary_folder, writing

COMPRESSIONS = (".gz", ".xz")
MAX_WORDS = 10_000
"""Most white-space words in a line."""
MAX_CHARACTERS = 1_000_000
"""Most characters in a line."""

_MAX_BYTES = 4 * MAX_CHARACTERS + 2  # four bytes are the longest character of UTF-8; two for the line break


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of `path` without their line break, streaming; `.gz` and `.xz` are decompressed.

    Lines end at a line feed (with or without a carriage return before it) and at nothing else: U+2028, U+0085 and
    the like stay in their line, so that line n of one file always belongs to line n of the other.

    Raises:
        CorpusError: the file cannot be read or is damaged; or, with the line's number, a line is not UTF-8, has a NUL
            byte, or more than `MAX_WORDS` words or `MAX_CHARACTERS` characters.
    """
    try:
        with _opened(path) as file:
            yield from lines_of(file, str(path))
    except FileNotFoundError:
        raise CorpusError(f"{path}: not found", "check the name") from None
    except OSError as error:
        raise _unreadable(str(path), error) from None


def lines_of(file: BinaryIO | gzip.GzipFile | lzma.LZMAFile, name: str) -> Iterator[str]:
    """Yield the lines of an open file as `read_lines` does; errors call it `name`."""
    number = 0
    try:
        while raw := file.readline(_MAX_BYTES + 1):
            number += 1
            yield _decoded(raw, name, number)
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        raise CorpusError(
            f"{name}, after line {number}: the compressed file is damaged ({error})", "get it again"
        ) from None
    except OSError as error:
        raise _unreadable(name, error) from None


def write_lines(path: Path, lines: Iterable[str]) -> int:
    """Write `lines` to `path`, compressed if its name ends in `.gz` or `.xz`, as `nmtlab.files.writing` does.

    Returns:
        The number of lines.

    Raises:
        CorpusError: a line would not come back as it is: it has a line break or a NUL inside.
    """
    number = 0
    with _writing(path) as write:
        for number, line in enumerate(lines, start=1):
            write(number, line)
    return number


def write_pairs(source: Path, target: Path, pairs: Iterable[tuple[str, str]]) -> int:
    """Write `pairs` to two aligned files as `write_lines` does, streaming, and return their number."""
    number = 0
    with _writing(source) as write_source, _writing(target) as write_target:
        for number, pair in enumerate(pairs, start=1):
            write_source(number, pair[0])
            write_target(number, pair[1])
    return number


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `folder`, which is renamed to it when the block ends well, else removed.

    Raises:
        CorpusError: `folder` is there already.
    """
    if folder.exists():
        raise CorpusError(f"{folder}: there is one already", "choose another name, or remove it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder) as outer:
        temporary = outer / folder.name
        temporary.mkdir()
        yield temporary
        os.rename(temporary, folder)


@contextmanager
def _writing(path: Path) -> Iterator[Callable[[int, str], None]]:
    with writing(path) as place, place.open("wb") as plain, _compressing(plain, path.suffix) as file:

        def write(number: int, line: str) -> None:
            if "\n" in line or "\0" in line or line.endswith("\r"):
                raise CorpusError(f"{path}, line {number}: a line break or NUL inside", "replace it by a space")
            file.write(line.encode() + b"\n")

        yield write


def _opened(path: Path) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def _compressing(file: BinaryIO, suffix: str) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    if suffix == ".gz":
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)  # the same text, the same bytes
    if suffix == ".xz":
        return lzma.open(file, "wb")
    return file


def _decoded(raw: bytes, name: str, number: int) -> str:
    if len(raw) > _MAX_BYTES:
        raise _too_long(name, number)
    try:
        line = (raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")).decode()
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{name}, line {number}: not UTF-8 (byte {error.start + 1} of the line is {raw[error.start]:#04x})",
            "convert the file, for example with iconv -f LATIN1 -t UTF-8",
        ) from None
    if "\0" in line:
        raise CorpusError(f"{name}, line {number}: a NUL byte", "give plain UTF-8 text (is it UTF-16, or no text?)")
    if len(line) > MAX_CHARACTERS:
        raise _too_long(name, number)
    # n words have at least 2n - 1 characters: most lines need no counting.
    if len(line) >= 2 * MAX_WORDS and (words := len(line.split())) > MAX_WORDS:
        raise CorpusError(
            f"{name}, line {number}: {words:,} words, more than {MAX_WORDS:,}", "put one sentence on each line"
        )
    return line


def _unreadable(name: str, error: OSError) -> CorpusError:
    return CorpusError(f"{name}: cannot be read ({error.strerror})", "check that it is a file you may read")


def _too_long(name: str, number: int) -> CorpusError:
    return CorpusError(
        f"{name}, line {number}: more than {MAX_CHARACTERS:,} characters", "put one sentence on each line"
    )
