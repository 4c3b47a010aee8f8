"""The text of an experiment, as data: prepared once under its name, and found again afterwards."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nmtlab.errors import CorpusError
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.importers.build import REPORT
from nmtlab.text.joining import join
from nmtlab.text.seedlings import SeedlingSettings, write_corpus
from nmtlab.text.seedlings.corpus import ENGLISH
from nmtlab.workspace import Workspace


@dataclass(frozen=True)
class Joined:
    """A corpus joined from several of the same languages (see `nmtlab.text.joining.join`).

    Args:
        name: under which it is kept.
        source: code of the language translated from.
        target: code of the language translated into.
        parts: names of corpora of the workspace.
        train: most pairs (0: all), as are `dev` and `test`.
    """

    name: str
    source: str
    target: str
    parts: tuple[str, ...]
    train: int = 0
    dev: int = 300
    test: int = 500

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, made first if it is not there.

        Raises:
            CorpusError: a part is missing, or there is another corpus of that name.
        """
        folder = _folder(self.name, workspace)
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        if not folder.exists():
            join(folder, [self._part(part, workspace) for part in self.parts], sizes)
        made = _read(folder / REPORT)
        _check_same(folder, made | made.get("origin", {}) | made.get("options", {}), {"parts": self.parts, **sizes})
        return ParallelCorpus.open(folder, self.source, self.target)

    def _part(self, name: str, workspace: Workspace) -> ParallelCorpus:
        try:
            folder = workspace.corpus_folder(name)
        except CorpusError as error:
            raise CorpusError(
                f"corpus {self.name!r}: its part {name!r} is not here",
                "name the folder that part is in with NMTLAB_CORPORA, or import it under that name",
            ) from error
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class Grown:
    """A controlled language (see `nmtlab.text.seedlings`), translated into its English.

    Args:
        name: under which it is kept.
        source: code of the language.
        settings: what it is grown from.
        train: number of pairs, as are `dev` and `test`.
    """

    name: str
    source: str
    settings: SeedlingSettings = field(default_factory=SeedlingSettings)
    train: int = 8000
    dev: int = 300
    test: int = 500
    target: str = field(default=ENGLISH, init=False)

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, made first if it is not there.

        Raises:
            CorpusError: there is another corpus of that name.
        """
        folder = _folder(self.name, workspace)
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        if not folder.exists():
            write_corpus(folder, [self.source], self.settings, **sizes)
        _check_same(folder, _read(folder / "seedlings.json"), {**asdict(self.settings), **sizes})
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class Brought:
    """A corpus that whoever runs the experiment has to bring, ready with train, dev and test.

    Args:
        name: under which it is looked for.
        source: code of the language translated from.
        target: code of the language translated into.
    """

    name: str
    source: str
    target: str

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus.

        Raises:
            CorpusError: it is not there.
        """
        try:
            folder = workspace.corpus_folder(self.name)
        except CorpusError as error:
            raise CorpusError(
                f"corpus {self.name!r}: not here, and this experiment cannot make it",
                f"import it under that name with 'nmtlab corpus import', from {self.source} to {self.target}",
            ) from error
        return ParallelCorpus.open(folder, self.source, self.target)


Corpus = Joined | Grown | Brought
"""The text of an experiment."""


def _folder(name: str, workspace: Workspace) -> Path:
    return workspace.data / "corpora" / name


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CorpusError(
            f"corpus {path.parent.name!r}: its {path.name} is missing or damaged, so it is not known what is in it",
            f"rename or remove {path.parent}: it is then made anew",
        ) from error


def _check_same(folder: Path, made: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name, value in json.loads(json.dumps(wanted)).items():
        if made.get(name) != value:
            raise CorpusError(
                f"corpus {folder.name!r}: made with {name} = {made.get(name)!r}, wanted is {value!r}",
                f"rename or remove {folder}, and the runs on it, to have both made anew",
            )
