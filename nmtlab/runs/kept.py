"""What is kept in the cache until nmtlab itself or some files change."""

import json
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from nmtlab.files import write_text

Trace = list[list[int]]
"""Modification times and sizes of files, as JSON keeps them."""

_CODE = Path(__file__).parents[1]


def trace(paths: Iterable[Path]) -> Trace:
    """Return the modification times, in ns, and sizes of files and folders; zeros for one that does not exist."""
    return [_time(path) for path in paths]


def read_kept(file: Path) -> dict[str, Any]:
    """Return what `write_kept` wrote; nothing if the file is missing or damaged, or nmtlab has changed since."""
    try:
        seal, _, content = file.read_text(encoding="utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return {}
    return json.loads(content) if seal == _seal(content) else {}


def write_kept(file: Path, values: dict[str, Any]) -> None:
    """Keep values that JSON can hold, if the folder can be written to."""
    content = json.dumps(values)
    with suppress(OSError):
        write_text(file, f"{_seal(content)}\n{content}")


def _seal(content: str) -> str:
    """Return the digest of some content and of the code that it comes from."""
    return sha256(json.dumps([_traced(_CODE), content]).encode()).hexdigest()


@cache
def _traced(code: Path) -> list[object]:
    """Return the files of the code with their trace, as this process found them: later ones are not what it runs."""
    files = sorted(path for ending in ("py", "toml", "js", "css") for path in code.rglob(f"*.{ending}"))
    return [*map(str, files), trace(files)]


def _time(path: Path) -> list[int]:
    try:
        stat = path.stat()
    except OSError:
        return [0, 0]
    return [stat.st_mtime_ns, stat.st_size]
