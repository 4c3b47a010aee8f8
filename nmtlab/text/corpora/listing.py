"""The corpora of a workspace at a glance."""

import lzma
import zlib
from pathlib import Path
from typing import NamedTuple

from nmtlab.text.corpora.corpus import FILE, SPLITS
from nmtlab.text.corpora.lines import count_lines


class Listed(NamedTuple):
    """A corpus in a list.

    Args:
        folder: of the corpus.
        languages: codes of its languages.
        lines: split -> number of lines of its first file, None if that cannot be read.
    """

    folder: Path
    languages: tuple[str, ...]
    lines: dict[str, int | None]


def listed(folder: Path) -> Listed:
    """Return what a list shows of the corpus in `folder`; its text is neither decoded nor checked."""
    found = [(match, path) for path in sorted(folder.iterdir()) if (match := FILE.fullmatch(path.name))]
    files = {match["split"]: path for match, path in reversed(found)}
    languages = tuple(sorted({match["language"] for match, _ in found}))
    return Listed(folder, languages, {split: _lines(files[split]) for split in SPLITS if split in files})


def _lines(path: Path) -> int | None:
    try:
        return count_lines(path)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        return None
