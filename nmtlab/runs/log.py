"""Lines of JSON, appended while a run is written and cut back when it resumes."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from nmtlab.errors import RunError
from nmtlab.files import write_text


def append_lines(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """Append JSON objects, a line each.

    Raises:
        RunError: the disk is full or cannot be written to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
    except OSError as error:
        raise RunError(
            f"{path.name}: could not be written ({error.strerror})",
            "free some space and continue the training with --resume",
        ) from error


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log; a last line that was cut off by a crash does not count.

    Raises:
        RunError: any other line is damaged.
    """
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [_read_line(line, f"{path}, line {number}") for number, line in enumerate(whole.splitlines(), start=1)]


def cut_back(path: Path, step: int) -> None:
    """Remove the lines after `step`, and the end of a run."""
    kept = [line for line in read_log(path) if line["step"] <= step and line.get("kind") != "end"]
    write_text(path, "".join(json.dumps(line) + "\n" for line in kept))


def _read_line(line: bytes, where: str) -> dict[str, Any]:
    try:
        return json.loads(line)
    except ValueError as error:
        raise RunError(f"{where}: damaged", "take that line out; the others are whole") from error
