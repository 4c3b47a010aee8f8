"""Importing monolingual text: lines in one language, of one file or several."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.cleaning import BLANK_LINE, DUPLICATE, TOO_LONG, Marks, digest, is_too_long
from nmtlab.text.corpora.concatenation import SURPLUS
from nmtlab.text.corpora.corpus_builder import MONOLINGUAL, ImportReport, as_named, why_nothing
from nmtlab.text.corpora.lines import is_blank, new_folder, read_lines, write_lines
from nmtlab.text.corpora.monolingual import sampled


def import_mono(
    folder: Path | str, files: Sequence[Path | str], language: str, max_words: int = 100, limit: int = 0, seed: int = 1
) -> ImportReport:
    """Make the monolingual corpus `folder` from lines of text, in their order.

    Dropped are blank lines, those with too many words, and those seen before.

    Args:
        folder: must not exist.
        files: one or more, each plain, `.gz` or `.xz`, one sentence per line.
        language: code of the language.
        max_words: maximum white-space words in a line, at least 1.
        limit: maximum number of lines, drawn at random from those that are left; 0 for all.
        seed: of the draw; with the same seed, a smaller draw is part of a larger one.

    Raises:
        CorpusError: `folder` exists, no line is left, or a file cannot be read.
    """
    report = ImportReport(MONOLINGUAL, {"files": [as_named(path) for path in files]}, language, "")
    report.options = {"max_words": max_words, "limit": limit, "seed": seed}
    dropped = report.dropped["train"]
    with new_folder(folder) as temporary:
        path = temporary / f"train.{language}"
        kept = write_lines(path, _clean(chain.from_iterable(map(read_lines, files)), max_words, dropped))
        if not kept:
            raise CorpusError(f"{Path(folder).name}: {why_nothing(report, 'lines')}", "give more text")
        if limit and kept > limit:
            dropped[SURPLUS] += kept - limit
            kept = write_lines(path, sampled(read_lines(path), kept, limit, seed))
        report.kept = {"train": kept}
        report.save(temporary)
    return report


def _clean(lines: Iterable[str], max_words: int, dropped: Counter[str]) -> Iterator[str]:
    """Yield the lines that are not dropped, each once; count the others by reason."""
    with Marks() as seen:
        for line in lines:
            reason = _rejection_reason(line, max_words) or DUPLICATE * (not seen.add(digest(line)))
            if reason:
                dropped[reason] += 1
            else:
                yield line


def _rejection_reason(line: str, max_words: int) -> str:
    if is_blank(line):
        return BLANK_LINE
    return TOO_LONG * is_too_long(line, max_words)
