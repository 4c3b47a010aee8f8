"""A parallel corpus: a folder of aligned plain text, one sentence per line."""

import hashlib
import lzma
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from nmtlab.errors import CorpusError
from nmtlab.languages import CODE, is_english
from nmtlab.text.corpora.context import in_context
from nmtlab.text.corpora.lines import COMPRESSIONS, begins_with_mark, count_lines, is_blank, read_lines
from nmtlab.text.corpora.shift import warn_if_shifted
from nmtlab.workspace import Workspace

Pair = tuple[str, str]
"""A source sentence and a target sentence."""

Row = tuple[str, ...]
"""A sentence of each source, in their order, and the target sentence; a `Pair` if there is one source."""

Direction = tuple[str, str]
"""Codes of source and target language."""

SPLITS = ("train", "dev", "test")

_SETTLED = 2.0  # seconds after which rewriting a file is sure to change its modification time
_Files = tuple[tuple[str, Path], ...]  # `SPLIT.LANGUAGE` and its path

FILE = re.compile(rf"(?P<split>{'|'.join(SPLITS)})\.(?P<language>{CODE})(?:\.gz|\.xz)?")
"""A regular expression for the name of a side's file, without further references."""


def check_language(code: str) -> None:
    """Raise `CorpusError` if `code` is not a valid language code in file names (BCP-47-like: uz, pt-BR)."""
    if not re.fullmatch(CODE, code):
        raise CorpusError(f"language {code!r}: not a language code", "use one like uz, pt-BR or uz-Cyrl")


def aligned(sources: Iterator[str], targets: Iterator[str], source_name: str, target_name: str) -> Iterator[Pair]:
    """Yield aligned lines as pairs, streaming; the names are for error messages.

    Raises:
        CorpusError: the sides differ in number of lines (the message has both), or are empty.
    """
    number = 0
    for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
        if source is None or target is None:
            longer = number + sum(1 for _ in (targets if source is None else sources))
            counts = (number - 1, longer) if source is None else (longer, number - 1)
            raise CorpusError(
                f"{source_name} has {counts[0]:,} lines, {target_name} has {counts[1]:,}",
                "line n of one must translate line n of the other",
            )
        yield source, target
    if not number:
        raise CorpusError(f"{source_name} and {target_name}: empty", "add sentences, or remove the files")


@dataclass(frozen=True)
class ParallelCorpus:
    """Files `train.LANG`, `dev.LANG` and `test.LANG` of a folder, read as translations from `source` to `target`.

    Each file may be plain or end in `.gz` or `.xz`; further references of a dev or test set are `dev.LANG.1`,
    `dev.LANG.2` ... `SPLIT.documents` may have the id of the document that each line is from. Blank lines are allowed:
    a corpus is read as is.

    Args:
        folder: folder of the files.
        source: code of the source language.
        target: code of the target language.
        weight: weight of each pair in training, above 0.
        origin: kind of text, with which source sentences are tagged; empty for no tag.
        also: codes of further languages that are translated together with the source, in their order; a blank line of
            a source is a missing one.
        blank: whether every source is read as blank; the source side then need not be there.
        context: whether every source is read after the sentence before it in its document (`in_context`).
    """

    folder: Path
    source: str
    target: str
    weight: float = 1.0
    origin: str = ""
    also: tuple[str, ...] = ()
    blank: bool = False
    context: bool = False

    @classmethod
    def open(
        cls,
        folder: Path | str,
        source: str = "",
        target: str = "",
        weight: float = 1.0,
        origin: str = "",
        blank: bool = False,
    ) -> "ParallelCorpus":
        """Open the corpus in `folder`; missing languages are inferred if it has exactly two.

        If neither is given, English is the target, under any of its codes; without English, the languages are taken in
        alphabetical order. If sources are blank and both languages are given, the folder need not have the source's.

        Raises:
            CorpusError: no such folder, no corpus in it, a language is missing, or no split has both.
        """
        folder = Path(folder)
        way = (source, target) if blank and source and target in languages_in(folder) else None
        corpus = cls(folder, *(way or _direction(folder, source, target)), weight, origin, blank=blank)
        if not corpus.splits:
            raise CorpusError(
                f"{folder}: no split has both {corpus.source} and {corpus.target}",
                f"put aligned files there, for example dev.{corpus.source} and dev.{corpus.target}",
            )
        return corpus

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def __repr__(self) -> str:
        return f"ParallelCorpus {self.name!r}: {self.source}-{self.target}, {', '.join(self.splits) or 'empty'}"

    def __bool__(self) -> bool:
        return True  # without reading the text, as its length would

    def __len__(self) -> int:
        """Return the number of training pairs; of a corpus without train, those of its first split."""
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Pair]:
        """Yield the pairs that `len` counts, streaming."""
        return self.pairs(self.splits[0])

    def __getitem__(self, index: int) -> Pair:
        """Return one of the pairs that `len` counts, from 0; a negative index counts from the end."""
        pairs = list(self) if index < 0 else list(islice(self, index + 1))
        return pairs[index]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits with both sides, in the order train, dev, test."""
        return tuple(split for split in SPLITS if all(self._file(split, language) for language in self._read))

    @property
    def begun_splits(self) -> tuple[str, ...]:
        """The splits with at least one side, in the order train, dev, test."""
        return tuple(split for split in SPLITS if any(self._file(split, language) for language in self._read))

    @property
    def _read(self) -> tuple[str, ...]:
        """Codes of the languages of the sides that are read."""
        return (self.target,) if self.blank else self.direction

    @property
    def sources(self) -> tuple[str, ...]:
        """Codes of the languages that are translated together: one, or several."""
        return self.source, *self.also

    @property
    def direction(self) -> Direction:
        """Codes of source and target language."""
        return self.source, self.target

    def lines(self, split: str, language: str) -> Iterator[str]:
        """Yield the lines of one side, streaming.

        Raises:
            CorpusError: the split has no such side, or a line is not readable text (see `read_lines`).
        """
        if self.blank and language == self.source:
            return ("" for _ in self.lines(split, self.target))
        path = self._file(split, language)
        if path is None:
            splits = ", ".join(self.splits) or "no split with both sides"
            raise CorpusError(f"{self.folder}: no {split}.{language}", f"add it; the corpus has {splits}")
        lines = read_lines(path)
        return in_context(lines, self.documents(split)) if self.context and language == self.source else lines

    def pairs(self, split: str) -> Iterator[Pair]:
        """Yield the sentence pairs of `split`, streaming.

        Raises:
            CorpusError: the split is missing or empty, its sides differ in length, or a line is not readable text.
        """
        sources, targets = (self.lines(split, language) for language in (self.source, self.target))
        return aligned(sources, targets, f"{self.folder}: {split}.{self.source}", f"{split}.{self.target}")

    def rows(self, split: str) -> Iterator[Row]:
        """Yield the sentences of all sources with the target sentence, streaming; raises as `pairs`."""
        further = [(line for line, _ in replace(self, source=language, also=()).pairs(split)) for language in self.also]
        for (source, target), *more in zip(self.pairs(split), *further, strict=True):
            yield source, *more, target

    def count(self, split: str) -> int:
        """Return the number of pairs of `split`; raises as `pairs`."""
        return sum(1 for _ in self.pairs(split))

    def references(self, split: str) -> list[list[str]]:
        """Return all references of `split`, the target side first, each with one line per pair.

        Raises:
            CorpusError: as `pairs`, or a further reference differs in number of lines.
        """
        first = [target for _, target in self.pairs(split)]
        return [first, *(self._reference(path, split, len(first)) for path in self._further(split))]

    @property
    def alone(self) -> "ParallelCorpus":
        """The corpus with each source sentence alone, not in its context."""
        return replace(self, context=False)

    def has_documents(self, split: str) -> bool:
        """Return whether it is known which document each line of a split is from."""
        return self._documents(split).is_file()

    def documents(self, split: str) -> list[str]:
        """Return the id of the document that each line of a split is from, as `SPLIT.documents` has it.

        Raises:
            CorpusError: there is no such file, it has not one id for each line, or an id is blank; or as `pairs`.
        """
        path = self._documents(split)
        if not self.has_documents(split):
            remedy = f"add it, with the id of a document for each line of {split}"
            instead = "; a run with text.context = 0 needs none" if self.context else ""
            raise CorpusError(f"{self.folder}: no {path.name}", remedy + instead)
        ids, pairs = list(read_lines(path)), self.alone.count(split)
        if len(ids) != pairs:
            raise CorpusError(
                f"{path}: {len(ids):,} ids, but {split} has {pairs:,} pairs", "give the id of a document for each pair"
            )
        for line, name in enumerate(ids, start=1):
            if is_blank(name):
                raise CorpusError(f"{path}, line {line}: blank", "give the id of the line's document")
        return ids

    def files(self, split: str) -> list[Path]:
        """Return the files of a split: all sides, then further references."""
        sides = (self._file(split, language) for language in (*self.sources, self.target))
        return [*(path for path in sides if path), *self._further(split)]

    def checksum(self) -> str:
        """Return the SHA-256 of the text of all splits, independent of direction and compression."""
        sides = [(split, language) for split in self.splits for language in sorted((*self.sources, self.target))]
        found = ((f"{split}.{language}", self._file(split, language)) for split, language in sides)
        return text_checksum([(name, path) for name, path in found if path])

    def documents_checksum(self) -> str:
        """Return the SHA-256 of the ids of documents of all splits; raises as `documents`."""
        named = [(split, self.documents(split)) for split in self.splits if self.has_documents(split)]
        return hashlib.sha256(repr(named).encode()).hexdigest()

    def marked_files(self) -> list[str]:
        """Return the names of its files that begin with a byte order mark, which is not read as text."""
        files = (self._file(split, language) for split in SPLITS for language in self.direction)
        return [path.name for path in files if path and begins_with_mark(path)]

    def check(self) -> dict[str, int]:
        """Read everything once and return the number of pairs of each split; raises as `checked_pairs`."""
        return {split: sum(1 for _ in self.checked_pairs(split)) for split in self.begun_splits}

    def checked_pairs(self, split: str) -> Iterator[Pair]:
        """Yield the pairs of `split`; at the end, check that neither side is all blank, and warn if lines are shifted.

        Raises:
            CorpusError: the first problem found: a side is missing, empty or all blank, sides or references differ in
                number of lines, a line is not readable text, or as `documents`.
        """
        pairs = sources = targets = 0
        names = f"{self.folder}: {split}.{self.source} and {split}.{self.target}"
        for source, target in warn_if_shifted(self.pairs(split), names):
            yield source, target
            pairs += 1
            sources += not is_blank(source)
            targets += not is_blank(target)
        for language, written in ((self.source, sources), (self.target, targets)):
            if not written and language in self._read:
                raise CorpusError(f"{self.folder}: every line of {split}.{language} is blank", "add its text")
        for path in self._further(split):
            self._reference(path, split, pairs)
        for language in self.also:
            replace(self, source=language, also=()).count(split)
        if self.has_documents(split):
            self.documents(split)

    def _documents(self, split: str) -> Path:
        return self.folder / f"{split}.documents"

    def _further(self, split: str) -> Iterator[Path]:
        for number in count(1):
            path = self._file(split, self.target, f".{number}")
            if path is None:
                return
            yield path

    def _reference(self, path: Path, split: str, pairs: int) -> list[str]:
        lines = list(read_lines(path))
        if len(lines) != pairs:
            raise CorpusError(
                f"{path}: {len(lines):,} lines, but {split} has {pairs:,} pairs",
                "give every reference one line per pair",
            )
        return lines

    def _file(self, split: str, language: str, reference: str = "") -> Path | None:
        return side_file(self.folder, split, language, reference)


def side_file(folder: Path, split: str, language: str, reference: str = "") -> Path | None:
    """Return the file of one side of a split, plain or compressed, if there is one; `reference` is such as `.1`.

    Raises:
        CorpusError: there are two.
    """
    plain = folder / f"{split}.{language}{reference}"
    paths = (plain, *(plain.with_name(plain.name + suffix) for suffix in COMPRESSIONS))
    found = [path for path in paths if path.is_file()]
    if len(found) > 1:
        raise CorpusError(f"{folder}: both {found[0].name} and {found[1].name}", "remove one of them")
    return found[0] if found else None


def open_corpus(name: str, workspace: Workspace | None = None, source: str = "", target: str = "") -> ParallelCorpus:
    """Open a corpus by its name, or by a path with a slash, such as `./text`.

    Args:
        name: of a corpus in the workspace, or in the folders that `NMTLAB_CORPORA` names.
        workspace: where to look; `Workspace.find()` if not given.
        source, target: language codes, inferred as by `ParallelCorpus.open` if not given.

    Raises:
        CorpusError: there is no such corpus; or as `ParallelCorpus.open`.
    """
    return ParallelCorpus.open((workspace or Workspace.find()).corpus_folder(name), source, target)


def text_checksum(files: Sequence[tuple[str, Path]]) -> str:
    """Return the SHA-256 of files with their names, `SPLIT.LANGUAGE`; it is computed again only if they changed."""
    status = [path.stat() for _, path in files]
    if time.time() - max((one.st_mtime for one in status), default=0.0) < _SETTLED:
        return _checksum(tuple(files))  # a file just written may be rewritten within one clock tick
    return _known_checksum(tuple(files), tuple((one.st_size, one.st_mtime_ns, one.st_ino) for one in status))


def _checksum(files: _Files) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(f"\0{name}\0".encode())
        for line in read_lines(path):
            digest.update(line.encode() + b"\n")
    return digest.hexdigest()


@lru_cache(maxsize=64)
def _known_checksum(files: _Files, status: tuple[tuple[int, int, int], ...]) -> str:
    """Return the checksum of files with this status, cached because it is needed repeatedly."""
    return _checksum(files)


def _direction(folder: Path, source: str, target: str) -> tuple[str, str]:
    languages = languages_in(folder)
    available = ", ".join(languages)
    if len(languages) == 1:
        raise CorpusError(
            f"{folder}: monolingual text in {available}, but sentence pairs are needed",
            "translate it with 'nmtlab corpus translate', or add the files of the other language",
        )
    if unknown := [code for code in (source, target) if code and code not in languages]:
        raise CorpusError(f"{folder}: no language {unknown[0]!r}", f"choose from {available}")
    if source and source == target:
        raise CorpusError(f"{folder}: {source!r} is both source and target", f"choose two of {available}")
    if source and target:
        return source, target
    if len(languages) > 2:
        raise CorpusError(f"{folder}: has {len(languages)} languages ({available})", "give both source and target")
    if source or target:
        other = next(code for code in languages if code not in (source, target))
        return source or other, target or other
    first, second = sorted(languages, key=lambda code: (is_english(code), code))
    return first, second


def languages_in(folder: Path) -> list[str]:
    """Return the codes of the languages of a corpus, sorted; raise `CorpusError` if the folder is none."""
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder", "give the folder of a corpus")
    matches = [FILE.fullmatch(path.name) for path in sorted(folder.iterdir())]
    languages = sorted({match["language"] for match in matches if match})
    if not languages:
        raise CorpusError(
            f"{folder}: not a corpus", "name its files train.LANG, dev.LANG and test.LANG, for example train.uz"
        )
    return languages


class Listed(NamedTuple):
    """A corpus in a list.

    Args:
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
