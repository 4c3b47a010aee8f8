"""Lines of text in plain, gzip or xz files, streamed in and written atomically."""

import gzip
import lzma
import os
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from nmtlab.errors import CorpusError
from nmtlab.files import temporary_folder, writing

COMPRESSIONS = (".gz", ".xz")
MAX_WORDS = 10_000
"""Maximum white-space words in a line."""
MAX_CHARACTERS = 1_000_000
"""Maximum characters in a line."""
MARK = "\ufeff"
"""Byte order mark, with which some editors begin a file."""

_CONTROL = re.compile(r"[\0-\x20]+")
_MAX_BYTES = 4 * MAX_CHARACTERS + 2  # a UTF-8 character has up to four bytes, the line break two


def read_lines(path: Path | str) -> Iterator[str]:
    """Yield the lines of `path` without line breaks, streaming; `.gz` and `.xz` are decompressed.

    Lines end only at a line feed, with or without a carriage return before it: U+2028, U+0085 and the like are part of
    their line, so that line n of one file always belongs to line n of the other. A byte order mark is not part of
    line 1.

    Raises:
        CorpusError: the file cannot be read, is damaged, or has carriage returns and no line feed; or a line, given by
            number, is not UTF-8, has a NUL byte, or has more than `MAX_WORDS` words or `MAX_CHARACTERS` characters.
    """
    try:
        with opened(Path(path)) as file:
            yield from lines_of(file, str(path))
    except FileNotFoundError:
        raise CorpusError(f"{path}: not found", "check the name") from None
    except OSError as error:
        raise _unreadable(str(path), error) from None


def count_lines(path: Path) -> int:
    """Return the number of lines of a readable file without decoding them, so fast."""
    lines, last = 0, b"\n"
    with opened(path) as file:
        while block := file.read(1 << 20):
            lines, last = lines + block.count(b"\n"), block
    return lines + (not last.endswith(b"\n"))


def lines_of(file: BinaryIO | gzip.GzipFile | lzma.LZMAFile, name: str) -> Iterator[str]:
    """Yield the lines of an open file as `read_lines` does; error messages use `name`."""
    number = 0
    try:
        while raw := file.readline(_MAX_BYTES + 1):
            number += 1
            if number == 1 and b"\r" in raw and b"\n" not in raw:
                raise CorpusError(
                    f"{name}: lines end in carriage returns, without line feeds",
                    "convert it: tr '\\r' '\\n' < OLD > NEW",
                )
            line = _decoded(raw, name, number)
            yield line.removeprefix(MARK) if number == 1 else line
    except (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError) as error:
        raise CorpusError(
            f"{name}, after line {number}: the compressed file is damaged ({error})", "download or copy it again"
        ) from None
    except OSError as error:
        raise _unreadable(name, error) from None


def begins_with_mark(path: Path) -> bool:
    """Return whether a readable text file begins with a byte order mark."""
    with opened(path) as file:
        return file.read(len(MARK.encode())) == MARK.encode()


def write_lines(path: Path | str, lines: Iterable[str]) -> int:
    """Write `lines` to `path`, compressed if its name ends in `.gz` or `.xz`, as `nmtlab.files.writing` does.

    Reading them gives the same lines: if line 1 begins with U+FEFF, a byte order mark is written before it.

    Returns:
        The number of lines.

    Raises:
        CorpusError: a line contains a line break or NUL, and could not be read back.
    """
    number = 0
    with _writing(Path(path)) as write:
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
def new_folder(folder: Path | str) -> Iterator[Path]:
    """Yield a temporary folder, renamed to `folder` if the block succeeds, removed otherwise.

    Raises:
        CorpusError: `folder` already exists.
    """
    folder = Path(folder)
    exists = CorpusError(f"{folder}: already exists", "choose another name, or remove it")
    if folder.exists():
        raise exists
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder) as outer:
        temporary = outer / folder.name
        temporary.mkdir()
        yield temporary
        try:
            os.rename(temporary, folder)
        except OSError as error:
            if folder.exists():  # made by another process in the meantime
                raise exists from error
            raise


@contextmanager
def _writing(path: Path) -> Iterator[Callable[[int, str], None]]:
    with writing(path) as temporary, temporary.open("wb") as plain, _compressing(plain, path.suffix) as file:

        def write(number: int, line: str) -> None:
            if "\n" in line or "\0" in line or line.endswith("\r"):
                raise CorpusError(f"{path}, line {number}: contains a line break or NUL", "replace it by a space")
            if number == 1 and line.startswith(MARK):
                line = MARK + line
            file.write(line.encode() + b"\n")

        yield write


def opened(path: Path) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    """Open a file to read bytes; `.gz` and `.xz` are decompressed."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return path.open("rb")


def _compressing(file: BinaryIO, suffix: str) -> BinaryIO | gzip.GzipFile | lzma.LZMAFile:
    if suffix == ".gz":
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)  # reproducible bytes
    if suffix == ".xz":
        return lzma.open(file, "wb")
    return file


def one_line(text: str) -> str:
    """Return text with each run of control characters, line breaks and spaces as one space."""
    return _CONTROL.sub(" ", text).strip()


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
        raise CorpusError(f"{name}, line {number}: a NUL byte", "give plain UTF-8 text (is the file UTF-16 or binary?)")
    if len(line) > MAX_CHARACTERS:
        raise _too_long(name, number)
    # n words have at least 2n - 1 characters, so most lines need no counting.
    if len(line) >= 2 * MAX_WORDS and (words := len(line.split())) > MAX_WORDS:
        raise CorpusError(
            f"{name}, line {number}: {words:,} words, more than {MAX_WORDS:,}", "put one sentence on each line"
        )
    return line


def _unreadable(name: str, error: OSError) -> CorpusError:
    return CorpusError(f"{name}: cannot be read ({error.strerror})", "check that it is a readable file")


def _too_long(name: str, number: int) -> CorpusError:
    return CorpusError(
        f"{name}, line {number}: more than {MAX_CHARACTERS:,} characters", "put one sentence on each line"
    )


SPACE = "▁"
"""SentencePiece's marker of white space before a word; in text, it is white space."""


def is_blank(text: str) -> bool:
    """Return whether `text` has only white space, `SPACE` and format characters (category Cf), such as U+200B."""
    return all(sign.isspace() or sign == SPACE or unicodedata.category(sign) == "Cf" for sign in text)
