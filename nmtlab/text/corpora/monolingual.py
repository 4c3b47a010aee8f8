"""Monolingual text: lines in one language, without translations."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TypeVar

import numpy as np

from nmtlab.errors import CorpusError
from nmtlab.languages import CODE
from nmtlab.text.corpora.corpus import languages_in, side_file, text_checksum
from nmtlab.text.corpora.lines import read_lines
from nmtlab.workspace import Workspace

T = TypeVar("T")
_NAMED = re.compile(rf"(?P<name>.+):(?P<language>{CODE})")


@dataclass(frozen=True)
class MonolingualCorpus:
    """The file `train.LANG` of a folder (plain, `.gz` or `.xz`), one sentence per line, read as text of one language.

    The folder may have other languages too: either side of a parallel corpus is text in its language.

    Args:
        folder: folder of the file.
        language: code of the language.

    Raises:
        CorpusError: there is no such file.
    """

    folder: Path
    language: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))
        self._file()

    def __repr__(self) -> str:
        return f"MonolingualCorpus {self.name!r}: {self.language}"

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    def lines(self) -> Iterator[str]:
        """Yield the lines, streaming; raise `CorpusError` if one is not readable text (see `read_lines`)."""
        return read_lines(self._file())

    def count(self) -> int:
        """Return the number of lines; raises as `lines`, or `CorpusError` if there is none."""
        if not (number := sum(1 for _ in self.lines())):
            raise CorpusError(f"{self._file()}: empty", "add its text")
        return number

    def checksum(self) -> str:
        """Return the SHA-256 of the text, independent of compression."""
        return text_checksum([(f"train.{self.language}", self._file())])

    def _file(self) -> Path:
        path = side_file(self.folder, "train", self.language)
        if path is None:
            problem, found = f"{self.folder}: no train.{self.language}", languages_in(self.folder)
            if self.language in found:
                raise CorpusError(f"{problem}, but other splits", "choose a corpus with training text")
            raise CorpusError(problem, f"choose a language from {', '.join(found)}")
        return path


def open_monolingual(named: str, workspace: Workspace | None = None) -> MonolingualCorpus:
    """Open monolingual text, given as a corpus in one language or as one side of a parallel corpus.

    Args:
        named: `NAME` or `NAME:xx`, the name of a corpus or a path with a slash, and a language.
        workspace: where to look; `Workspace.find()` if not given.

    Raises:
        CorpusError: there is no such corpus, it lacks the language, or it has several and none is named.
    """
    found = _NAMED.fullmatch(named)
    name, language = (found["name"], found["language"]) if found else (named, "")
    folder = (workspace or Workspace.find()).corpus_folder(name)
    languages = languages_in(folder)
    if not language and len(languages) > 1:
        raise CorpusError(
            f"corpus {name!r}: has text in {', '.join(languages)}", f"name one of them, as {name}:{languages[0]}"
        )
    return MonolingualCorpus(folder, language or languages[0])


def is_monolingual(named: str, workspace: Workspace) -> bool:
    """Return whether what `open_monolingual` would open is all that is named: a corpus in one language, or `NAME:xx`.

    Raises:
        CorpusError: there is no such corpus.
    """
    return bool(_NAMED.fullmatch(named)) or len(languages_in(workspace.corpus_folder(named))) == 1


def sampled(lines: Iterable[T], total: int, size: int, seed: int, part: int = 0) -> Iterator[T]:
    """Return a random sample of lines in their order; with the same seed, a smaller sample is part of a larger one.

    Args:
        lines: read once; or their numbers.
        total: number of lines.
        size: number of lines to draw; all if there are no more.
        seed: of the draw.
        part: number of the sample, from 0: of samples of one size, none has a line of another until all are used up.
    """
    chosen, size = np.zeros(total, dtype=bool), min(size, total)
    order = np.random.default_rng(seed).permutation(total)
    chosen[order.take(np.arange(part * size, (part + 1) * size), mode="wrap")] = True
    return compress(lines, chosen)
