"""Logs of JSON lines, appended during training and truncated on resuming."""

import json
import lzma
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from nmtlab.errors import RunError
from nmtlab.files import write_text
from nmtlab.reading import MAX_BYTES, parsed, read_bytes, reading
from nmtlab.runs.archive import decompressed

_LONGEST_LINES = 1 << 16  # bytes, of the last line and what a crash left of one more
_REMEDY = "restore it from a backup, or remove it and lose what it logged"


def append_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append JSON objects, one per line.

    Raises:
        RunError: the disk is full or not writable.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(_text(lines))
    except OSError as error:
        raise RunError(
            f"{path.name}: could not be written ({error.strerror})",
            "free some space and continue, with --resume for a training",
        ) from error


def read_log(path: Path, kind: type = dict[str, Any], skipped: str = "") -> list[dict[str, Any]]:
    """Return the lines of a log; a last line that was cut off by a crash is ignored.

    Args:
        path: of the log.
        kind: type of each line, which pydantic checks.
        skipped: unless empty, lines that begin with this are left out unread, which is fast where they are many.

    Raises:
        RunError: it cannot be read, or a complete line is damaged or of another type.
    """
    numbered = enumerate(_complete_lines(path), start=1)
    wanted = [(number, line) for number, line in numbered if not (skipped and line.startswith(skipped.encode()))]
    return [_read_line(line, kind, f"{path}, line {number}") for number, line in wanted]


def last_line(path: Path, kind: type = dict[str, Any]) -> dict[str, Any] | None:
    """Return the last complete line of a log, None if there is none; the others are not read. Errors as `read_log`."""
    with reading(path, _REMEDY):
        lines = _tail(path).rpartition(b"\n")[0].splitlines()
    return _read_line(lines[-1], kind, f"{path}, last line") if lines else None


def write_log(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write a log with some lines, replacing any before."""
    write_text(path, _text(lines))


def keep_lines(path: Path, kind: type, kept: Callable[[dict[str, Any]], bool]) -> None:
    """Remove the lines of a log for which `kept` is false; `kind` and errors as of `read_log`."""
    write_log(path, (line for line in read_log(path, kind) if kept(line)))


def pack_log(path: Path, target: Path) -> None:
    """Write a compressed copy of a log, which `read_log` finds as `target`; no file for an empty log."""
    if lines := read_log(path):
        packed = _packed(target)
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(lzma.compress(_text(lines).encode()))


def round_log(path: Path, target: Path, kept: Callable[[dict[str, Any]], bool]) -> None:
    """Write a copy of a log with numbers of four digits, but for lines that are `kept` as they are; none if empty."""
    if lines := read_log(path):
        write_text(target, _text(line if kept(line) else _rounded(line) for line in lines))


def thinned(lines: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    """Return the lines of a training log with about `number` lines of updates, evenly spaced, and all other lines.

    The updates since the last evaluation but one are all kept, after the one before them: their mean is a result.
    """
    updates = [place for place, line in enumerate(lines) if line["kind"] == "train"]
    evaluated = [line["step"] for line in lines if line["kind"] == "validation"]
    late = [place for place in updates if lines[place]["step"] > (evaluated[-2] if len(evaluated) > 1 else 0)]
    every = -(-len(updates) // number) or 1
    kept = {*updates[every - 1 :: every], *late, *(updates[-len(late) - 1 :][:1] if late else ())}
    return [line for place, line in enumerate(lines) if place in kept or line["kind"] != "train"]


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _complete_lines(path: Path) -> list[bytes]:
    with reading(path, _REMEDY):
        return _content(path).rpartition(b"\n")[0].splitlines()


def _tail(path: Path) -> bytes:
    """Return the end of a log, which has its last complete line; all of a packed log."""
    if not path.exists():
        return _content(path)
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, 2) - _LONGEST_LINES))
        return file.read()


def _packed(path: Path) -> Path:
    return path.with_name(f"{path.name}.xz")


def _content(path: Path) -> bytes:
    if path.exists():
        return read_bytes(path)
    return decompressed(_packed(path), MAX_BYTES) if _packed(path).exists() else b""


def _text(lines: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def _read_line(line: bytes, kind: type, where: str) -> dict[str, Any]:
    try:
        return parsed(line, kind)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{where}: damaged", "remove that line") from error
