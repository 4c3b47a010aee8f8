"""Lines of JSON, appended while a run is written and cut back when it resumes."""

import json
import lzma
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nmtlab.errors import RunError
from nmtlab.files import write_text
from nmtlab.runs.xz import decompressed

_MOST_BYTES = 128 << 20


def append_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append JSON objects, a line each.

    Raises:
        RunError: the disk is full or cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(_text(lines))
    except OSError as error:
        raise RunError(
            f"{path.name}: could not be written ({error.strerror})",
            "free some space and go on from there, with --resume if it is a training",
        ) from error


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log; a last line that was cut off by a crash does not count.

    Raises:
        RunError: any other line is damaged.
    """
    whole = _content(path).rpartition(b"\n")[0]
    return [_read_line(line, f"{path}, line {number}") for number, line in enumerate(whole.splitlines(), start=1)]


def cut_back(path: Path, step: int) -> None:
    """Remove the lines after `step`, and the end of a run."""
    write_text(path, _text(line for line in read_log(path) if line["step"] <= step and line.get("kind") != "end"))


def pack_log(path: Path, target: Path) -> None:
    """Write a log compressed where `read_log` finds it under the name `target`; there is none of an empty log."""
    if lines := read_log(path):
        packed = _packed(target)
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(lzma.compress(_text(lines).encode()))


def _packed(path: Path) -> Path:
    return path.with_name(f"{path.name}.xz")


def _content(path: Path) -> bytes:
    if path.exists():
        return path.read_bytes()
    return decompressed(_packed(path), _MOST_BYTES) if _packed(path).exists() else b""


def _text(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def _read_line(line: bytes, where: str) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError as error:
        raise RunError(f"{where}: damaged", "take that line out; the others are whole") from error
