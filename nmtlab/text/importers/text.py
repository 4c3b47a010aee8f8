"""Importing two aligned text files: line n of one translates line n of the other."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from nmtlab.text.corpora.cleaning import Limits
from nmtlab.text.corpora.corpus import Pair, aligned
from nmtlab.text.corpora.corpus_builder import ImportReport, as_named, build
from nmtlab.text.corpora.lines import read_lines
from nmtlab.text.corpora.shift import warn_if_shifted
from nmtlab.text.corpora.splitting import HoldOut

Files = tuple[Path | str, Path | str]
"""A source file and a target file."""


def import_text(
    folder: Path | str,
    files: Files,
    source: str,
    target: str,
    limits: Limits = Limits(),
    hold_out: HoldOut = HoldOut(),
    published: Mapping[str, Files] | None = None,
    allow_overlap: bool = False,
) -> ImportReport:
    """Make the corpus `folder` from two aligned text files.

    Args:
        files: the text to train on, or to split; each plain, `.gz` or `.xz`.
        source, target: language codes.
        folder, limits, hold_out, allow_overlap: as of `build`.
        published: files of dev and test.

    Raises:
        CorpusError: a file cannot be read, or two files are not aligned; or as `build`.

    Warns if lines seem to be shifted against each other (see `find_shift`).
    """
    published = published or {}
    origin = {split: [as_named(path) for path in both] for split, both in {"text": files, **published}.items()}
    report = ImportReport("text", origin, source, target)
    sets = {split: _pairs(both) for split, both in published.items()}
    return build(folder, report, _pairs(files), limits, hold_out, sets, allow_overlap)


def _pairs(files: Files) -> Iterator[Pair]:
    source, target = files
    pairs = aligned(read_lines(source), read_lines(target), str(source), str(target))
    return warn_if_shifted(pairs, f"{source} and {target}")
