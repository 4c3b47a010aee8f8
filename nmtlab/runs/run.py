"""The folder of one training."""

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import NmtlabError, RunError, did_you_mean
from nmtlab.files import write_text
from nmtlab.reading import check_plain, read_json, reading
from nmtlab.recipe import CorpusSettings, Recipe, load_recipe
from nmtlab.runs.checkpoints import Checkpoints
from nmtlab.runs.lock import going_on
from nmtlab.runs.notes import Notes
from nmtlab.runs.origin import REMEDY, Origin
from nmtlab.runs.schemas import Environment, InheritanceFacts, Status
from nmtlab.runs.training_log import TrainingLog
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.text.corpora.lines import new_folder
from nmtlab.text.segmentation.pipeline import Pipeline

ENVIRONMENT = "environment.json"
TABLE = "translation_table.safetensors"
MODELS = "phrase"  # folder of the models of a phrase-based system
INHERITANCE = "inheritance.json"


class Run:
    """The folder of one training: recipe and vocabulary, `log`, `checkpoints`, `notes` taken since, and `origin`.

    Files are read when needed, and loading executes nothing. A run trained in several directions is opened in the one
    of its first corpus; `directed` gives a view of it in another.

    Args:
        folder: an existing run's folder.
        notes: a folder for new answers and translations if the run's folder must not change, as a packed run's.

    Raises:
        RunError: it is not a run's folder, or contains a link, a pipe or a device.
    """

    def __init__(self, folder: Path | str, notes: Path | None = None) -> None:
        folder = Path(folder)
        with reading(folder, "check that you may read all its files"):
            if not (folder / "recipe.toml").is_file():
                raise not_found(folder.name, (path.parent.name for path in folder.parent.glob("*/recipe.toml")))
            check_plain(folder)
        self.folder = folder
        self.log = TrainingLog(folder)
        self.origin = Origin(folder, notes)
        self.checkpoints = Checkpoints(folder, self.log, self.origin)
        self.notes = Notes(folder, notes, self.checkpoints)
        self._direction: Direction | None = None  # None for the default
        self._label = ""

    def __repr__(self) -> str:
        try:
            best = self.checkpoints.best_bleu
            bleu = "not evaluated" if best is None else f"dev BLEU {best:.2f}"
            return f"Run {self.name!r}: {self.recipe.corpus.name} {'-'.join(self.direction)}, {self.status}, {bleu}"
        except NmtlabError as error:
            return f"Run {self.name!r}: {error.problem}"

    @classmethod
    def create(
        cls,
        folder: Path,
        recipe: Recipe,
        environment: Mapping[str, Any],
        pipeline: Pipeline,
        fill: Callable[[Path], None] = lambda unfinished: None,
    ) -> "Run":
        """Create a new run's folder, atomically.

        Args:
            folder: to be made.
            recipe, environment, pipeline: what every run has.
            fill: writes further files into the folder before it appears.

        Raises:
            RunError: the folder already exists.
        """
        if folder.exists():
            raise RunError(f"run {folder.name!r}: already exists", "choose another --name")
        with new_folder(folder) as unfinished:
            recipe.save(unfinished / "recipe.toml")
            write_text(unfinished / ENVIRONMENT, json.dumps(environment, indent=1) + "\n")
            pipeline.save(unfinished / "vocabulary")
            fill(unfinished)
        return cls(folder)

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def label(self) -> str:
        """What figures and tables call it: its name, unless `labelled` gives it another."""
        return self._label or self.name

    def labelled(self, label: str) -> "Run":
        """Return a view of the same run with another label."""
        view = copy.copy(self)
        view._label = label
        return view

    @cached_property
    def recipe(self) -> Recipe:
        return load_recipe(self.folder / "recipe.toml")

    @cached_property
    def environment(self) -> dict[str, Any]:
        return self._read_json(ENVIRONMENT, Environment)

    @property
    def checksums(self) -> list[str]:
        """Checksums of the training corpora, in the order of `recipe.corpora`."""
        return [self.environment.get("corpus_checksum", ""), *self.environment.get("more_checksums", [])]

    @property
    def trained_on(self) -> list[tuple[CorpusSettings, str]]:
        """The corpora that it was trained on, as its recipe has them, with their checksums; none if it was imported."""
        known = [] if self.origin.imported else zip(self.recipe.corpora, self.checksums, strict=True)
        return [(corpus, checksum) for corpus, checksum in known if not corpus.vocabulary_only]

    @property
    def directions(self) -> list[Direction]:
        """The directions that it was trained in, in the order of its corpora; the first is the default."""
        return list(dict.fromkeys((corpus.source, corpus.target) for corpus in self.recipe.trained_corpora))

    @property
    def direction(self) -> Direction:
        """The direction in which it is opened."""
        return self._direction or self.directions[0]

    @property
    def other_direction(self) -> str:
        """The direction, such as `en-gl`, if it is not the default: part of what identifies a stored answer."""
        return "-".join(self._direction or ())

    def translates(self, source: str, target: str) -> bool:
        """Return whether it translates from `source` to `target`: it was trained on both, if not on the direction."""
        sources, targets = zip(*self.directions, strict=True)
        return source in sources and target in targets

    def directed(self, source: str, target: str) -> "Run":
        """Return a view of the same run in another direction, trained or not.

        Args:
            source, target: language codes; an empty one is that of the first trained direction with the other.

        Raises:
            RunError: it was not trained on one of the languages.
        """
        fitting = (way for way in self.directions if source in ("", way[0]) and target in ("", way[1]))
        first = next(fitting, self.directions[0])
        source, target = source or first[0], target or first[1]
        if not self.translates(source, target):
            known = ", ".join("-".join(direction) for direction in self.directions)
            raise RunError(f"run {self.name!r}: does not translate {source} to {target}", f"choose from {known}")
        if (source, target) == self.direction:
            return self
        view = copy.copy(self)
        view.__dict__.pop("pipeline", None)
        view._direction = None if (source, target) == self.directions[0] else (source, target)
        return view

    def as_read(self, corpus: ParallelCorpus) -> ParallelCorpus:
        """Return a corpus with its sources as the run reads them: in context, or alone."""
        return replace(corpus, context=bool(self.recipe.text.context))

    @cached_property
    def pipeline(self) -> Pipeline:
        """The text pipeline, in use for the run's direction."""
        saved = self._saved_pipeline
        return saved.directed(*self.direction) if all(self.direction) else saved

    @cached_property
    def _saved_pipeline(self) -> Pipeline:
        return Pipeline.load(self.folder / "vocabulary")

    @property
    def inheritance(self) -> dict[str, Any] | None:
        """What a child has from its parent: `parent`, `weights`, `parameters`; None of a run without a parent."""
        path = self.folder / INHERITANCE
        return self._read_json(INHERITANCE, InheritanceFacts) if path.exists() else None

    @property
    def translation_table(self) -> LexicalTable | None:
        """p(target | source) from word alignment; None unless the model needed it, or the run was aligned later."""
        path = self.notes.path(TABLE)
        if not path.exists():
            return None
        needed = self.recipe.model.lexical_table
        remedy = REMEDY if needed else f"remove it, and align again: nmtlab runs align {self.name}"
        table = LexicalTable.load(path, remedy)
        if not table.fits(self.pipeline.source.size, self.pipeline.target.size):
            raise RunError(f"{path}: belongs to another vocabulary", remedy)
        return table

    @property
    def model_table(self) -> LexicalTable | None:
        """The translation table that the model needs; None of other models, aligned or not."""
        return self.translation_table if self.recipe.model.lexical_table else None

    @property
    def status(self) -> Status:
        """How the training ended, or whether it is running or was interrupted; an imported model has none."""
        if self.origin.imported:
            return "imported"
        last = self.log.last
        if last and last["kind"] == "end":
            return last["status"]
        return going_on(self.folder)

    @property
    def overlap(self) -> str:
        """How much of dev and test also occurs in the training text, as a sentence without its full stop; or empty."""
        shared = self.environment.get("overlap", {})
        counted = " and ".join(f"{pairs:,} pairs of {split}" for split, pairs in shared.items())
        return f"{counted} also occur in its training text: its scores on them are too high" if counted else ""

    @property
    def sentences(self) -> ParallelCorpus | None:
        """The dev sentences that were packed with the run, if any: a corpus with only a dev split."""
        folder, languages = self.folder / "sentences", self.recipe.corpus
        return ParallelCorpus(folder, languages.source, languages.target) if folder.is_dir() else None

    def _read_json(self, name: str, kind: type) -> dict[str, Any]:
        return read_json(self.folder / name, kind, REMEDY)


def not_found(name: str, known: Iterable[str]) -> RunError:
    """Return the error that there is no run `name`; it suggests the one of the `known` names that is most like it."""
    remedy = f"{did_you_mean(name, known)}'nmtlab runs list --packed' lists all runs"
    return RunError(f"run {name!r}: not found", remedy)
