"""Texts of experiments that are found or invented, not made from another text."""

from dataclasses import asdict, dataclass, field

from nmtlab.errors import CorpusError
from nmtlab.grids.declared.made_folders import check_report, check_same, folder_of, part_of, read_facts
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.artificial.writing import ENGLISH
from nmtlab.text.corpora.concatenation import join
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.multi_parallel import join_languages
from nmtlab.text.toys import SOURCE as TOY_SOURCE
from nmtlab.text.toys import TARGET as TOY_TARGET
from nmtlab.text.toys import TOYS, Lengths, Task, write_toys
from nmtlab.workspace import Workspace


@dataclass(frozen=True)
class ConcatenatedCorpus:
    """A corpus joined from several in the same languages (see `nmtlab.text.corpora.concatenation.join`).

    Args:
        name: its name in the workspace.
        source: code of the source language.
        target: code of the target language.
        parts: names of corpora in the workspace.
        train: largest number of training pairs (0: all); likewise `dev` and `test`.
        among: names of corpora in other source languages; only target sentences that all of them have are kept.
        title: what a person calls the text; its name if empty.
        skip: number of training pairs to leave out: those of the same corpus with `train` of this number. Their
            languages can stand for a small bitext and a large monolingual text, with the other side as an upper bound.
    """

    name: str
    source: str
    target: str
    parts: tuple[str, ...]
    train: int = 0
    dev: int = 300
    test: int = 500
    among: tuple[str, ...] = ()
    title: str = ""
    skip: int = 0

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: a part is missing, or a different corpus has that name.
        """
        folder = folder_of(self.name, workspace)
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        if not folder.exists():
            parts = [part_of(self.name, part, workspace, self.source, self.target) for part in self.parts]
            among = [part_of(self.name, part, workspace, target=self.target) for part in self.among]
            join(folder, parts, sizes, among, self.skip)
        among_parts = {"among": self.among} if self.among else {}
        check_report(folder, {"parts": self.parts, **sizes, "skip": self.skip, **among_parts})
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class MultiParallelCorpus:
    """A corpus joined line by line from several languages (`nmtlab.text.corpora.multi_parallel.join_languages`).

    Args:
        name: its name in the workspace.
        source: code of the source language, of any part or the common one.
        target: code of the target language, likewise.
        parts: names of corpora in the workspace, each of another language and the common one.
        train: largest number of training lines (0: all); likewise `dev` and `test`.
        title: what a person calls the text; its name if empty.
    """

    name: str
    source: str
    target: str
    parts: tuple[str, ...]
    train: int = 0
    dev: int = 0
    test: int = 0
    title: str = ""

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: a part is missing, or a different corpus has that name.
        """
        folder = folder_of(self.name, workspace)
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        if not folder.exists():
            join_languages(folder, [part_of(self.name, part, workspace) for part in self.parts], sizes)
        check_report(folder, {"parts": self.parts, **sizes})
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class SyntheticCorpus:
    """An artificial language (see `nmtlab.text.artificial`), translated into its English.

    Args:
        name: its name in the workspace.
        source: code of the artificial language.
        settings: settings of the language.
        train: number of training pairs; likewise `dev` and `test`.
        start: number of the first sentence; corpora with numbers far apart have different sentences.
        document: number of pairs in each document of dev and test, with new nouns in each; 0 for text without.
    """

    name: str
    source: str
    settings: ArtificialSettings = field(default_factory=ArtificialSettings)
    train: int = 8000
    dev: int = 300
    test: int = 500
    start: int = 0
    document: int = 0
    target: str = field(default=ENGLISH, init=False)

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: a different corpus has that name.
        """
        folder = folder_of(self.name, workspace)
        sizes = {name: getattr(self, name) for name in ("train", "dev", "test", "start", "document")}
        if not folder.exists():
            write_corpus(folder, [self.source], self.settings, **sizes)
        made = asdict(ArtificialSettings()) | {"document": 0} | read_facts(folder / "artificial.json")
        check_same(folder, made, {**asdict(self.settings), **sizes})
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class SyntheticFamily:
    """Artificial languages with the same sentences, and their English.

    Args:
        name: its name in the workspace.
        relatives: code and settings of each language; only their distances from the family may differ.
        train: number of training pairs; likewise `dev` and `test`.
        start: number of the first sentence; corpora with numbers far apart have different sentences.
    """

    name: str
    relatives: tuple[tuple[str, ArtificialSettings], ...]
    train: int = 8000
    dev: int = 300
    test: int = 500
    start: int = 0
    target: str = field(default=ENGLISH, init=False)

    @property
    def source(self) -> str:
        """Code of the first language."""
        return self.relatives[0][0]

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, from its first language to English, making it first if it does not exist.

        Raises:
            CorpusError: a different corpus has that name.
        """
        folder = folder_of(self.name, workspace)
        sizes = {"train": self.train, "dev": self.dev, "test": self.test, "start": self.start, "document": 0}
        settings = dict(self.relatives)
        if not folder.exists():
            write_corpus(
                folder, list(settings), settings, train=self.train, dev=self.dev, test=self.test, start=self.start
            )
        made = {"document": 0} | read_facts(folder / "artificial.json")
        for_all = asdict(ArtificialSettings()) | made
        grown = {code: for_all | made.get("relatives", {}).get(code, {}) for code in made.get("languages", ())}
        check_same(folder, made, {"languages": list(settings), **sizes})
        for code, wanted in settings.items():
            check_same(folder, grown[code], asdict(wanted), f"{code}: ")
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class ToyCorpus:
    """A toy task (see `nmtlab.text.toys`), with test sequences that are longer than those that are trained on, too.

    Args:
        name: its name in the workspace.
        task: what is asked.
        types: number of different words.
        lengths: fewest and most words of the sequences of train and dev.
        test_lengths: those of test.
        train: number of training pairs; likewise `dev` and `test`.
    """

    name: str
    task: Task
    types: int = 20
    lengths: tuple[int, int] = (5, 20)
    test_lengths: tuple[int, int] = (5, 30)
    train: int = 5000
    dev: int = 200
    test: int = 500
    source: str = field(default=TOY_SOURCE, init=False)
    target: str = field(default=TOY_TARGET, init=False)

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: a different corpus has that name.
        """
        folder = folder_of(self.name, workspace)
        lengths = Lengths(*self.lengths), Lengths(*self.test_lengths)
        if not folder.exists():
            write_toys(folder, self.task, self.types, *lengths, train=self.train, dev=self.dev, test=self.test)
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        text = {"task": self.task, "types": self.types, "lengths": self.lengths, "test_lengths": self.test_lengths}
        check_same(folder, read_facts(folder / TOYS), text | sizes)
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class ExternalCorpus:
    """A corpus that the user has to provide, with train, dev and test.

    Args:
        name: its name in the workspace.
        source: code of the source language.
        target: code of the target language.
        title: what a person calls the text; its name if empty.
        folder: where it is; empty if it is found by its name.
    """

    name: str
    source: str
    target: str
    title: str = ""
    folder: str = ""

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus.

        Raises:
            CorpusError: it was not found.
        """
        try:
            folder = workspace.corpus_folder(self.folder or self.name)
        except CorpusError as error:
            raise CorpusError(
                f"corpus {self.name!r}: not found, and this experiment cannot make it",
                f"import it under that name with 'nmtlab corpus import', from {self.source} to {self.target}",
            ) from error
        return ParallelCorpus.open(folder, self.source, self.target)
