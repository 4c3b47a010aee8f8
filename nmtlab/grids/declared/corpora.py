"""The text of an experiment, as data: prepared once under its name, and reused afterwards."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from shutil import copyfile
from typing import Any, Literal

from nmtlab.errors import CorpusError
from nmtlab.grids.declared.made_folders import check_report, check_same, folder_of, made_once, read_facts
from nmtlab.grids.declared.whole_corpora import (
    ConcatenatedCorpus,
    ExternalCorpus,
    MultiParallelCorpus,
    SyntheticCorpus,
    SyntheticFamily,
    ToyCorpus,
)
from nmtlab.languages import machine_code
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run
from nmtlab.text.checks.inspection import check_held_out
from nmtlab.text.corpora.cleaning import digest
from nmtlab.text.corpora.corpus import ParallelCorpus, Row
from nmtlab.text.corpora.corpus_builder import ImportReport, copy_text, synthetic_language, translated_from
from nmtlab.text.corpora.lines import new_folder, write_lines, write_pairs
from nmtlab.text.corpora.monolingual import MonolingualCorpus
from nmtlab.text.noise.adding import add_noise, third_text
from nmtlab.text.noise.kinds import Kind
from nmtlab.workspace import Workspace

Side = Literal["source", "target"]

_INCOMPLETE = "incomplete.json"
"""File in the folder of an `IncompleteCorpus`: which text it is, and what it lacks."""

_FIRST = "first.json"
"""File in the folder of `FirstPairs`: what they are the first pairs of."""


class _Derived:
    """A corpus made from another one, `whole`, in its direction."""

    whole: "Corpus"

    @property
    def source(self) -> str:
        """Code of the source language."""
        return self.whole.source

    @property
    def target(self) -> str:
        """Code of the target language."""
        return self.whole.target


@dataclass(frozen=True)
class FirstPairs(_Derived):
    """The first training pairs of a corpus, with all of its dev and test.

    Args:
        whole: the corpus.
        train: number of training pairs.
    """

    whole: "ExternalCorpus | Directed"
    train: int

    @property
    def name(self) -> str:
        """Its name in the workspace, with its direction if that is not the corpus' usual one."""
        direction = f".{self.source}-{self.target}" if isinstance(self.whole, Directed) else ""
        return f"{self.whole.name}-first-{self.train}{direction}"

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: the whole corpus was not found or is too small, or a different corpus has that name.
        """
        folder, whole = folder_of(self.name, workspace), self.whole.open(workspace)
        if not folder.exists():
            self._write(folder, whole)
        check_same(folder, read_facts(folder / _FIRST), self._origin(whole))
        return ParallelCorpus.open(folder, self.source, self.target)

    def _write(self, folder: Path, whole: ParallelCorpus) -> None:
        with new_folder(folder) as temporary:
            source, target = (temporary / f"train.{language}" for language in whole.direction)
            if (found := write_pairs(source, target, islice(whole.pairs("train"), self.train))) < self.train:
                raise CorpusError(f"{whole.folder}: {found:,} training pairs", f"choose at most {found:,}")
            if whole.has_documents("train"):
                write_lines(temporary / "train.documents", whole.documents("train")[: self.train])
            for path in (*whole.folder.glob("dev.*"), *whole.folder.glob("test.*")):
                copyfile(path, temporary / path.name)
            if synthetic_language(whole):
                report = ImportReport("first", self._origin(whole), *whole.direction)
                report.inherit(whole)
                report.kept = {"train": self.train}
                report.save(temporary)
            write_lines(temporary / _FIRST, json.dumps(self._origin(whole), indent=2).splitlines())

    def _origin(self, whole: ParallelCorpus) -> dict[str, Any]:
        return {"of": whole.name, "checksum": whole.checksum(), "train": self.train}


@dataclass(frozen=True)
class TranslatedCorpus(_Derived):
    """One side of the training text of a corpus, with its translations by a run on the other side.

    If the targets are translations, it has dev and test of the corpus, too.

    Args:
        whole: the corpus.
        by: name of the run, which must have ended when the text is made; its recipe has the search.
        nearest: whether to keep of each beam the translation with the best sentence BLEU against the reference.
        side: side that has the translations; source is back-translation, by a run in the other direction.
        samples: translations of each line that are sampled from the model; 0 to search for the best.
        temperature: of sampling.
        turn: number of this text among those that epochs read in turn, and the seed of its samples; 0 if it is alone.
        beside: the pairs that it is trained beside, of whose dev and test it must have no sentence; None if it takes
            the place of the corpus.
        others: names of runs of the same vocabularies that translate with it, as an ensemble.
    """

    whole: "Corpus"
    by: str
    nearest: bool = False
    side: Side = "target"
    samples: int = 0
    temperature: float = 1.0
    turn: int = 0
    beside: "Corpus | None" = None
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name in the workspace; the name of a run on the same corpus begins with that of the corpus.

        It has the direction if that is not the corpus' usual one: a run makes sources of one, and targets of the other.
        """
        by = self.by.removeprefix(f"{self.whole.name}.")
        by += "".join(f"+{other.rpartition('.')[2]}" for other in self.others)
        direction = f".{self.source}-{self.target}" if isinstance(self.whole, Directed) else ""
        drawn = ".sampled" * bool(self.samples) + f"-{self.samples}" * (self.samples > 1)
        drawn += f".at-{self.temperature:g}" * (self.temperature != 1) + f".turn-{self.turn}" * bool(self.turn)
        return f"{self.whole.name}{direction}.by-{by}{'.nearest' * self.nearest}{drawn}"

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: the corpus was not found, a different one has that name, or its text has sentences of dev or
                test of the pairs beside it.
            RunError: there is no such run, or it has no weights.
        """
        folder, whole = folder_of(self.name, workspace), self.whole.open(workspace)
        text = MonolingualCorpus(whole.folder, self.source if self.side == "target" else self.target)
        if not folder.exists():
            self._write(folder, text, workspace)
        corpus = ParallelCorpus.open(folder, self.source, self.target)
        of = {"bitext": whole.checksum()} if self.side == "target" else {"checksum": text.checksum()}
        wanted: dict[str, Any] = {"run": self.by, **of}
        if workspace.run_folder(self.by).exists():
            wanted["weights"] = Run(workspace.run_folder(self.by)).checkpoints.original_digest
        there = [Run(workspace.run_folder(other)) for other in self.others if workspace.run_folder(other).exists()]
        if there and len(there) == len(self.others):
            wanted["with"] = [{"run": one.name, "weights": one.checkpoints.original_digest} for one in there]
        check_same(folder, translated_from(corpus), wanted)
        return corpus

    def _write(self, folder: Path, text: MonolingualCorpus, workspace: Workspace) -> None:
        from nmtlab.synthetic import Synthesis, back_translate  # loads torch

        if self.beside:
            check_held_out(text, [self.beside.open(workspace)])
        run = open_run(self.by, workspace)
        nearest: Literal["bleu"] | None = "bleu" if self.nearest else None
        how = Synthesis(
            self.side, run.recipe.search, self.samples, self.temperature, seed=max(1, self.turn), nearest=nearest
        )
        run = run.directed(*how.directed((self.source, self.target)))
        with made_once(folder):
            others = [open_run(other, workspace) for other in self.others]
            back_translate(run, text, folder, how, run.recipe.machine, others=others)


@dataclass(frozen=True)
class CopiedCorpus(_Derived):
    """The training targets of a corpus on both sides (Currey et al. 2017), without dev and test.

    Args:
        whole: the corpus.
    """

    whole: "Corpus"

    @property
    def name(self) -> str:
        """Its name in the workspace."""
        return f"{self.whole.name}.copied-{self.target}"

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: the corpus was not found, or a different one has that name.
        """
        text = MonolingualCorpus(self.whole.open(workspace).folder, self.target)
        folder, origin = folder_of(self.name, workspace), {"text": text.name, "checksum": text.checksum()}
        if not folder.exists():
            with made_once(folder):
                copy_text(folder, text, self.source)
        check_report(folder, origin)
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class NoisyCorpus(_Derived):
    """The training text of a corpus with bad pairs after it, and dev and test of the corpus.

    Args:
        whole: the clean corpus.
        kind: what is wrong with the bad pairs.
        share: number of bad pairs to each clean one, as of `nmtlab.text.noise.adding.with_noise`.
        seed: that the bad pairs are drawn with.
        third: text whose source side is in a third language, for pairs in the wrong language, and only for them.
    """

    whole: "Corpus"
    kind: Kind
    share: float
    seed: int = 1
    third: "Corpus | None" = None

    @property
    def name(self) -> str:
        """Its name in the workspace, with the share in percent: `little.copied-target-20`."""
        seed = f".noise-{self.seed}" if self.seed != 1 else ""
        return f"{self.whole.name}.{self.kind}-{100 * self.share:g}{seed}"

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: a text was not found, there is not enough noise of this kind, or a different corpus has that
                name.
        """
        folder, whole = folder_of(self.name, workspace), self.whole.open(workspace)
        third = MonolingualCorpus(self.third.open(workspace).folder, self.third.source) if self.third else None
        if not folder.exists():
            with made_once(folder):
                add_noise(folder, whole, self.kind, self.share, self.seed, third)
        wanted = {
            "source": self.source, "target": self.target, "checksum": whole.checksum(), "kind": self.kind,
            "share": self.share, "seed": self.seed, **third_text(third),
        }  # fmt: skip
        check_report(folder, wanted)
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class SelectedCorpus(_Derived):
    """The training pairs of a corpus that are most like those of another one, by their cross-entropy difference.

    Args:
        whole: the corpus to choose from.
        like: pairs of the domain, in the same languages.
        keep: number of pairs.
    """

    whole: "Corpus"
    like: "Corpus"
    keep: int

    @property
    def name(self) -> str:
        """Its name in the workspace."""
        return f"{self.whole.name}.{self.keep}-like-{self.like.name}"

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: a text was not found, has too few pairs, or is too small for a language model; or a different
                corpus has that name.
        """
        folder, whole = folder_of(self.name, workspace), self.whole.open(workspace)
        domain = self.like.open(workspace).folder
        like = [MonolingualCorpus(domain, code) for code in whole.direction]
        if not folder.exists():
            from nmtlab.selection import cross_entropy_differences, select  # loads torch

            with made_once(folder):
                select(folder, whole, cross_entropy_differences(whole, like), self.keep)
        domains = [{"text": one.name, "language": one.language, "checksum": one.checksum()} for one in like]
        check_report(folder, {"checksum": whole.checksum(), "like": domains, "keep": self.keep})
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class IncompleteCorpus(_Derived):
    """A text of several languages in which some training lines lack one source, with its whole dev and test.

    A hash of the target sentence decides which lines, and which source: those of a smaller share are among those of a
    larger one.

    Args:
        whole: the complete text; its target is the language that no line lacks.
        languages: codes of the sources, of which one may be missing.
        share: share of the training lines without one, from 0 to 1.
        only_complete: leave these lines out.
    """

    whole: "MultiParallelCorpus | SyntheticFamily | ExternalCorpus"
    languages: tuple[str, ...]
    share: float
    only_complete: bool = False

    @property
    def name(self) -> str:
        """Its name in the workspace, with the share in percent: `together.missing-60`."""
        return f"{self.whole.name}.{'without' if self.only_complete else 'missing'}-{100 * self.share:g}"

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus, making it first if it does not exist.

        Raises:
            CorpusError: the whole text was not found, or a different corpus has that name.
        """
        folder, whole = folder_of(self.name, workspace), self.whole.open(workspace)
        first, *also = self.languages
        together = replace(whole, source=first, also=tuple(also))
        origin = {
            "of": whole.name,
            "checksum": together.checksum(),
            "share": self.share,
            "complete": self.only_complete,
            "drawn": 2,  # lines, in the second way: the first depended on what a joined text had kept
        }
        if not folder.exists():
            with made_once(folder), new_folder(folder) as temporary:
                rows = list(self._rows(together))
                for language, lines in zip((*together.sources, self.target), zip(*rows, strict=True), strict=True):
                    write_lines(temporary / f"train.{language}", lines)
                    for path in (*whole.folder.glob(f"dev.{language}*"), *whole.folder.glob(f"test.{language}*")):
                        copyfile(path, temporary / path.name)
                write_lines(temporary / _INCOMPLETE, json.dumps(origin, indent=2).splitlines())
        check_same(folder, read_facts(folder / _INCOMPLETE), origin)
        return ParallelCorpus.open(folder, self.source, self.target)

    def _rows(self, together: ParallelCorpus) -> Iterator[Row]:
        for *sources, target in together.rows("train"):
            drawn = digest(target)[8:]  # the first bytes choose the lines of a joined text: all of them may be small
            if int.from_bytes(drawn[:4]) < self.share * 2**32:
                if self.only_complete:
                    continue
                sources[drawn[4] % len(sources)] = ""
            yield *sources, target


@dataclass(frozen=True)
class DamagedTriplets(_Derived):
    """The pairs of a corpus, with references of which a share of the words is damaged as translations to be edited.

    Args:
        whole: the corpus.
        share: of the words, as of `nmtlab.triplets.damaged_triplets`.
    """

    whole: "Corpus"
    share: float

    @property
    def name(self) -> str:
        """Its name in the workspace, with the share in percent: `little.damaged-20`."""
        return f"{self.whole.name}.damaged-{100 * self.share:g}"

    @property
    def machine(self) -> str:
        """Code of the machine translations."""
        return machine_code(self.target)

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the pairs, making the triplets first if they do not exist.

        Raises:
            CorpusError: the corpus was not found, or a different one has that name.
        """
        from nmtlab.triplets import damaged_triplets  # only here: it loads torch

        folder, whole = folder_of(self.name, workspace), self.whole.open(workspace)
        if not folder.exists():
            with made_once(folder):
                damaged_triplets(folder, whole, self.share)
        check_report(folder, {"checksum": whole.checksum(), "damage": self.share, "seed": 1})
        return ParallelCorpus.open(folder, self.source, self.target)


@dataclass(frozen=True)
class SeveralSources(_Derived):
    """Another text with several sources that are translated together: the same folder and name.

    Args:
        whole: the text, from the first source.
        also: codes of the other sources.
    """

    whole: "MultiParallelCorpus | SyntheticFamily | ExternalCorpus | IncompleteCorpus | DamagedTriplets"
    also: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name in the workspace."""
        return self.whole.name

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus with all its sources; errors as of the text itself."""
        return replace(self.whole.open(workspace), also=self.also)


UsualCorpus = (
    ConcatenatedCorpus
    | MultiParallelCorpus
    | SyntheticCorpus
    | SyntheticFamily
    | ToyCorpus
    | ExternalCorpus
    | FirstPairs
    | TranslatedCorpus
    | CopiedCorpus
    | NoisyCorpus
    | SelectedCorpus
    | IncompleteCorpus
    | DamagedTriplets
    | SeveralSources
)
"""A corpus in its usual direction."""


@dataclass(frozen=True)
class Directed:
    """Another corpus, in another direction: the same folder and name.

    Args:
        corpus: the corpus.
        source: code of the source language.
        target: code of the target language.
    """

    corpus: UsualCorpus
    source: str
    target: str

    @property
    def name(self) -> str:
        """The corpus' name in the workspace."""
        return self.corpus.name

    def open(self, workspace: Workspace) -> ParallelCorpus:
        """Return the corpus in this direction, making it first if it does not exist.

        Raises:
            CorpusError: as for the corpus itself, or it has no such language.
        """
        return ParallelCorpus.open(self.corpus.open(workspace).folder, self.source, self.target)


Corpus = UsualCorpus | Directed
"""The text of an experiment."""


def planned(corpus: Corpus, workspace: Workspace) -> Corpus:
    """Return a corpus; or as long as no run has translated it, the corpus that is to be translated."""
    if isinstance(corpus, TranslatedCorpus) and not folder_of(corpus.name, workspace).exists():
        return corpus.whole
    return corpus


def in_direction(corpus: Corpus, source: str, target: str) -> Corpus:
    """Return a corpus in a direction; itself if that is its direction."""
    whole = corpus.corpus if isinstance(corpus, Directed) else corpus
    return whole if (whole.source, whole.target) == (source, target) else Directed(whole, source, target)


def opened_beside(corpus: Corpus, workspace: Workspace, folder: Path) -> ParallelCorpus:
    """Return the text of an experiment, made in a folder outside the workspace if it is not in the workspace yet.

    A text that a run is yet to translate is stood for by the untranslated one.

    Raises:
        CorpusError: it cannot be made: a part is missing.
    """
    corpus = planned(corpus, workspace)
    corpora = workspace.data / "corpora"
    if not (corpora / corpus.name).exists():
        workspace = Workspace(folder, (corpora, *workspace.more_corpora))
    return corpus.open(workspace)


def backwards(corpus: Corpus) -> Corpus:
    """Return a corpus with source and target exchanged."""
    return in_direction(corpus, corpus.target, corpus.source)
