"""Two aligned text files, line n of one the translation of line n of the other."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from nmtlab.text.cleaning import Limits
from nmtlab.text.corpus import Pair, aligned
from nmtlab.text.files import read_lines
from nmtlab.text.importers.build import ImportReport, as_named, build
from nmtlab.text.splitting import HoldOut

Files = tuple[Path, Path]
"""A source file and a target file."""


def import_text(
    folder: Path,
    files: Files,
    source: str,
    target: str,
    limits: Limits,
    hold_out: HoldOut,
    published: Mapping[str, Files] | None = None,
    allow_overlap: bool = False,
) -> ImportReport:
    """Make the corpus `folder` from two aligned text files.

    Args:
        folder: where the corpus goes; must not be there yet.
        files: the text to train on, or to split; each plain, `.gz` or `.xz`.
        source: code of the source files' language.
        target: code of the target files' language.
        limits: lengths allowed.
        hold_out: how much is held out, if nothing is published.
        published: files of dev and test, taken as they are (see `build`).
        allow_overlap: keep the pairs to train on that have a sentence of these.

    Raises:
        CorpusError: a file cannot be read, or two files are not aligned; or as `build`.
    """
    published = published or {}
    origin = {split: [as_named(path) for path in both] for split, both in {"text": files, **published}.items()}
    report = ImportReport("text", origin, source, target)
    sets = {split: _pairs(both) for split, both in published.items()}
    return build(folder, report, _pairs(files), limits, hold_out, sets, allow_overlap)


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file from elsewhere, without the byte order mark that some editors put first."""
    for number, line in enumerate(read_lines(path)):
        yield line if number else line.removeprefix("\ufeff")


def _pairs(files: Files) -> Iterator[Pair]:
    source, target = files
    return aligned(text_lines(source), text_lines(target), str(source), str(target))
