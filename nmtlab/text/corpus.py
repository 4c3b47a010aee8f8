"""A parallel corpus: a folder of aligned plain text, one sentence a line."""

import hashlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, zip_longest
from pathlib import Path

from nmtlab.errors import CorpusError
from nmtlab.languages import CODE
from nmtlab.text.files import COMPRESSIONS, read_lines

Pair = tuple[str, str]
"""A source sentence and a target sentence."""

SPLITS = ("train", "dev", "test")

_SETTLED = 2.0  # seconds after which a file that was written has another time of change if it is written again
_Files = tuple[tuple[str, Path], ...]  # `SPLIT.LANGUAGE`, and where it is

_FILE = re.compile(rf"(?:{'|'.join(SPLITS)})\.(?P<language>{CODE})(?:\.gz|\.xz)?")


def check_language(code: str) -> None:
    """Raise `CorpusError` if `code` cannot be the name of a language in a corpus' files (BCP-47-like: uz, pt-BR)."""
    if not re.fullmatch(CODE, code):
        raise CorpusError(f"language {code!r}: not a code", "use one like uz, pt-BR or uz-Cyrl")


def aligned(sources: Iterator[str], targets: Iterator[str], source_name: str, target_name: str) -> Iterator[Pair]:
    """Yield line n of one with line n of the other, streaming; the names are for errors.

    Raises:
        CorpusError: one has more lines than the other (both numbers are said), or there are none.
    """
    number = 0
    for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
        if source is None or target is None:
            longer = number + sum(1 for _ in (targets if source is None else sources))
            counts = (number - 1, longer) if source is None else (longer, number - 1)
            raise CorpusError(
                f"{source_name} has {counts[0]:,} lines, {target_name} has {counts[1]:,}",
                "line n of one must be the translation of line n of the other",
            )
        yield source, target
    if not number:
        raise CorpusError(f"{source_name} and {target_name}: empty", "give them sentences, or remove them")


@dataclass(frozen=True)
class ParallelCorpus:
    """Files `train.LANG`, `dev.LANG` and `test.LANG` of one folder, read as translations from `source` to `target`.

    Each file may be plain or end in `.gz` or `.xz`; further references of a dev or test set are `dev.LANG.1`,
    `dev.LANG.2` ... Blank lines are allowed: a corpus is read as it stands.

    Args:
        folder: where the files are.
        source: code of the language translated from.
        target: code of the language translated into.
    """

    folder: Path
    source: str
    target: str

    @classmethod
    def open(cls, folder: Path, source: str = "", target: str = "") -> "ParallelCorpus":
        """Find the languages of `folder`; a direction that is not given is filled in where there are just two.

        If neither is given, English is the target, else the languages are taken in alphabetical order.

        Raises:
            CorpusError: there is no such folder, it has no corpus, not the languages asked for, or no split with both.
        """
        corpus = cls(folder, *_direction(folder, source, target))
        if not corpus.splits:
            raise CorpusError(
                f"{folder}: no split has both {corpus.source} and {corpus.target}",
                f"put aligned files there, for example dev.{corpus.source} and dev.{corpus.target}",
            )
        return corpus

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    @property
    def splits(self) -> tuple[str, ...]:
        """Those of train, dev and test that have both sides, in this order."""
        return tuple(split for split in SPLITS if self._file(split, self.source) and self._file(split, self.target))

    def lines(self, split: str, language: str) -> Iterator[str]:
        """Yield the lines of one side, streaming.

        Raises:
            CorpusError: the split has no such side, or a line is not readable text (see `read_lines`).
        """
        path = self._file(split, language)
        if path is None:
            there = ", ".join(self.splits) or "no split with both sides"
            raise CorpusError(f"{self.folder}: no {split}.{language}", f"add it; the corpus has {there}")
        return read_lines(path)

    def pairs(self, split: str) -> Iterator[Pair]:
        """Yield the sentence pairs of `split`, streaming.

        Raises:
            CorpusError: the split is missing or empty, its sides differ in length, or a line is not readable text.
        """
        sources, targets = (self.lines(split, language) for language in (self.source, self.target))
        return aligned(sources, targets, f"{self.folder}: {split}.{self.source}", f"{split}.{self.target}")

    def count(self, split: str) -> int:
        """Return the number of pairs of `split`; the same errors as `pairs`."""
        return sum(1 for _ in self.pairs(split))

    def references(self, split: str) -> list[list[str]]:
        """Return the target side of `split` and its further references, as many as there are, all of one length.

        Raises:
            CorpusError: as `pairs`, or a further reference has another number of lines.
        """
        first = [target for _, target in self.pairs(split)]
        return [first, *(self._reference(path, split, len(first)) for path in self._further(split))]

    def checksum(self) -> str:
        """Return the SHA-256 of the text of every split and both languages, whatever the direction and compression."""
        sides = [(split, language) for split in self.splits for language in sorted((self.source, self.target))]
        files = tuple((f"{split}.{language}", self._file(split, language)) for split, language in sides)
        status = [path.stat() for _, path in files]
        if time.time() - max((one.st_mtime for one in status), default=0.0) < _SETTLED:
            return _checksum(files)  # a file that has just been written may be written again in the same tick
        return _known_checksum(files, tuple((one.st_size, one.st_mtime_ns, one.st_ino) for one in status))

    def check(self) -> dict[str, int]:
        """Read everything once and return the number of pairs of each split; errors as of `inspect`."""
        return self.inspect()[0]

    def inspect(self) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Read everything once: return the number of pairs of each split, and what of dev and test is in train too.

        The second is by split the line numbers, from 1, of the pairs that train has word for word on both sides; dev
        and test are held in memory.

        Raises:
            CorpusError: the first problem found: a side missing, empty or all blank, sides or references of different
                lengths, a line that is not readable text.
        """
        present = [split for split in SPLITS if self._file(split, self.source) or self._file(split, self.target)]
        held_out: dict[Pair, list[tuple[str, int]]] = {}
        counts, found = {}, set()
        for split in present[::-1]:
            for number, pair in enumerate(self._checked(split), start=1):
                counts[split] = number
                if split != "train":
                    held_out.setdefault(pair, []).append((split, number))
                elif pair in held_out:
                    found.add(pair)
        shared = sorted(place for pair in found for place in held_out[pair])
        overlap = {
            split: [number for where, number in shared if where == split] for split in present if split != "train"
        }
        return {split: counts[split] for split in present}, overlap

    def _checked(self, split: str) -> Iterator[Pair]:
        """Yield the pairs of `split`, and check at their end that there is something on both sides."""
        pairs = sources = targets = 0
        for source, target in self.pairs(split):
            yield source, target
            pairs += 1
            sources += bool(source.strip())
            targets += bool(target.strip())
        for language, written in ((self.source, sources), (self.target, targets)):
            if not written:
                raise CorpusError(f"{self.folder}: every line of {split}.{language} is blank", "give it its text")
        for path in self._further(split):
            self._reference(path, split, pairs)

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
                "give every reference a line for each sentence",
            )
        return lines

    def _file(self, split: str, language: str, reference: str = "") -> Path | None:
        plain = self.folder / f"{split}.{language}{reference}"
        paths = (plain, *(plain.with_name(plain.name + suffix) for suffix in COMPRESSIONS))
        found = [path for path in paths if path.is_file()]
        if len(found) > 1:
            raise CorpusError(f"{self.folder}: both {found[0].name} and {found[1].name}", "remove one of them")
        return found[0] if found else None


def _checksum(files: _Files) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        digest.update(f"\0{name}\0".encode())
        for line in read_lines(path):
            digest.update(line.encode() + b"\n")
    return digest.hexdigest()


@lru_cache(maxsize=64)
def _known_checksum(files: _Files, status: tuple[tuple[int, int, int], ...]) -> str:
    """Return the checksum of files whose status is as given: the text of a corpus is asked about again and again."""
    return _checksum(files)


def _direction(folder: Path, source: str, target: str) -> tuple[str, str]:
    languages = _languages(folder)
    there = ", ".join(languages)
    if unknown := [code for code in (source, target) if code and code not in languages]:
        raise CorpusError(f"{folder}: no language {unknown[0]!r}", f"choose from those that are there: {there}")
    if source and source == target:
        raise CorpusError(f"{folder}: {source!r} is both source and target", f"choose two of: {there}")
    if source and target:
        return source, target
    if len(languages) == 1:
        raise CorpusError(f"{folder}: all its files are {there}", "add those of the other language")
    if len(languages) > 2:
        raise CorpusError(f"{folder}: has {len(languages)} languages ({there})", "give both source and target")
    if source or target:
        other = next(code for code in languages if code not in (source, target))
        return source or other, target or other
    first, second = sorted(languages, key=lambda code: (code == "en", code))
    return first, second


def _languages(folder: Path) -> list[str]:
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder", "give the folder of a corpus")
    matches = [_FILE.fullmatch(path.name) for path in sorted(folder.iterdir())]
    languages = sorted({match["language"] for match in matches if match})
    if not languages:
        raise CorpusError(
            f"{folder}: no corpus here", "name its files train.LANG, dev.LANG and test.LANG, for example train.uz"
        )
    return languages
