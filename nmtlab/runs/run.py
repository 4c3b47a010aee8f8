"""The folder of one training."""

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zipfile import ZipFile

import numpy as np
import pandas as pd

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import NmtlabError, RunError, did_you_mean
from nmtlab.files import write_text
from nmtlab.locks import is_locked
from nmtlab.reading import check_plain, read_json, reading
from nmtlab.recipe import Recipe, load_recipe
from nmtlab.runs.checkpoint import load_digest, load_facts, load_tensors
from nmtlab.runs.facts import (
    BestFacts,
    Environment,
    GLine,
    GradientNormLine,
    Imported,
    InheritanceFacts,
    LastFacts,
    MetricsLine,
    Packed,
    TranslationFacts,
)
from nmtlab.runs.limitations import imported_limitations, packed_limitations
from nmtlab.runs.log import last_line, read_log
from nmtlab.runs.measures import Measure, stored_measures
from nmtlab.text.corpora.corpus import Direction, ParallelCorpus
from nmtlab.text.corpora.lines import new_folder
from nmtlab.text.segmentation.pipeline import Pipeline

if TYPE_CHECKING:
    from torch import Tensor

Which = Literal["best", "last"]
Status = Literal["training", "interrupted", "finished", "stopped", "diverged", "imported"]

ENVIRONMENT, PACKED, IMPORTED = "environment.json", "packed.json", "imported.json"
TABLE = "translation_table.safetensors"
INHERITANCE = "inheritance.json"
METRICS, GRADIENT_NORMS, G_VALUES = "metrics.jsonl", "probes/gradient_norm.jsonl", "probes/g.jsonl"
LOGS = (METRICS, GRADIENT_NORMS, G_VALUES)
_TRAIN_LINE = '{"kind": "train", '

LOCK = ".lock"
_MAX_ARRAY_BYTES = 1 << 28  # of the embedding norms of one validation, decompressed
_OTHER = 3  # rank of weights that are neither the run's original ones, nor unrecorded, nor those stored in its folder
_FACTS = {"best": BestFacts, "last": LastFacts}


class Run:
    """The folder of one training: recipe, vocabulary, checkpoints, metrics, probes and translations.

    Files are read when needed, and loading executes nothing. A run trained in several directions is opened in the one
    of its first corpus; `directed` gives a view of it in another.

    Args:
        folder: an existing run's folder.
        notes: a folder for new answers and translations if the run's folder must not change; see `notes_folder`.

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
        self._notes = notes
        self._direction: Direction | None = None  # None for the default
        self._label = ""

    def __repr__(self) -> str:
        try:
            bleu = "not evaluated" if self.best_bleu is None else f"dev BLEU {self.best_bleu:.2f}"
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
            raise RunError(f"run {folder.name!r}: already exists", "choose another --name, or --resume it")
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
    def directions(self) -> list[Direction]:
        """The directions that it was trained in, in the order of its corpora; the first is the default."""
        trained = (corpus for corpus in self.recipe.corpora if not corpus.vocabulary_only)
        return list(dict.fromkeys((corpus.source, corpus.target) for corpus in trained))

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

    @cached_property
    def pipeline(self) -> Pipeline:
        """The text pipeline, in use for the run's direction."""
        saved = self._saved_pipeline
        return saved.directed(*self._direction) if self._direction else saved

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
        """p(target | source) from word alignment; None if the model has no such table."""
        path = self.folder / TABLE
        if not path.exists():
            return None
        table = LexicalTable.load(path)
        if not table.fits(self.pipeline.source.size, self.pipeline.target.size):
            raise RunError(f"{path}: belongs to another vocabulary", "restore it from a backup, or train the run again")
        return table

    @property
    def status(self) -> Status:
        """How the training ended, or whether it is running or was interrupted; an imported model has none."""
        if self.imported:
            return "imported"
        last = last_line(self.folder / METRICS, MetricsLine)
        if last and last["kind"] == "end":
            return last["status"]
        with reading(self.folder / LOCK, "check that it is a regular file that you may read"):
            return "training" if is_locked(self.folder / LOCK) else "interrupted"

    @cached_property
    def packed(self) -> dict[str, Any] | None:
        """What was recorded when the run was packed, such as the step of its best checkpoint; None if not packed."""
        return self._read_json(PACKED, Packed) if (self.folder / PACKED).exists() else None

    @cached_property
    def imported(self) -> dict[str, Any] | None:
        """What was recorded when the run was imported from another program: `model`, `architecture`, `counted`."""
        return self._read_json(IMPORTED, Imported) if (self.folder / IMPORTED).exists() else None

    @property
    def limitations(self) -> str:
        """What a packed or imported run cannot do, as a sentence without its full stop; empty for any other."""
        facts = [imported_limitations(self.imported)] if self.imported else []
        if self.packed:
            weights = self.has_weights()
            # By the names of the files: a damaged answer must not hide what else the run has.
            stored = [path for folder in self.note_folders for path in (folder / "measures").glob("[!.]*.parquet")]
            analyses = [] if weights else [path.name.rpartition("-")[0] for path in stored]
            facts.append(packed_limitations(self.packed, weights, analyses, self.original_digest))
        return "; ".join(facts)

    @property
    def overlap(self) -> str:
        """How much of dev and test also occurs in the training text, as a sentence without its full stop; or empty."""
        shared = self.environment.get("overlap", {})
        counted = " and ".join(f"{pairs:,} pairs of {split}" for split, pairs in shared.items())
        return f"{counted} also occur in its training text: its scores on them are too high" if counted else ""

    @property
    def logged_step(self) -> int:
        """The last step in the training log, whose other lines are not read; 0 if there is none."""
        last = last_line(self.folder / METRICS, MetricsLine)
        return last["step"] if last else 0

    @property
    def best_bleu(self) -> float | None:
        """Dev BLEU of the best checkpoint; of the log if the checkpoint is not here; None without an evaluation."""
        stored = self._facts("best").get("bleu") if self.has_weights() and self.recipe.model.neural else None
        if stored is not None or not (self.packed or not self.recipe.model.neural):
            return stored
        validations = self.metrics("validation")
        return float(validations["bleu"].max()) if len(validations) else None

    @property
    def best_step(self) -> int | None:
        """Step of the best checkpoint, even if it was not packed; None if there was none."""
        if self.packed:
            return self.packed.get("best_step")
        return self._facts("best")["step"] if self.has_weights() else None

    @property
    def weights_digest(self) -> str | None:
        """Digest of the best checkpoint in the run's folder; None if there is none."""
        return load_digest(self.checkpoint("best")) if self.has_weights() else None

    @property
    def original_digest(self) -> str | None:
        """Digest of the best checkpoint as it was trained: packing halves its precision; None if not recorded."""
        return self.packed.get("weights") if self.packed else self.weights_digest

    @property
    def last_step(self) -> int | None:
        """Step of the last checkpoint; of a packed run, its last logged step; None if there was none."""
        if self.packed:
            end = self.metrics("end")
            return int(end["step"].iloc[-1]) if len(end) else None
        return self._facts("last")["step"] if self.has_weights("last") else None

    @property
    def sentences(self) -> ParallelCorpus | None:
        """The dev sentences that were packed with the run, if any: a corpus with only a dev split."""
        folder, languages = self.folder / "sentences", self.recipe.corpus
        return ParallelCorpus(folder, languages.source, languages.target) if folder.is_dir() else None

    def metrics(self, kind: Literal["train", "validation", "end"]) -> pd.DataFrame:
        """Return one kind of line of the training log.

        Args:
            kind: `train` (loss, perplexity, tokens per second, gradient norm, rate), `validation` (BLEU,
                perplexity; with several directions, BLEU is their mean, and `directions` has that of each) or `end`;
                every line has `step` and `seconds`.
        """
        lines = read_log(self.folder / METRICS, MetricsLine, "" if kind == "train" else _TRAIN_LINE)
        return pd.DataFrame([line for line in lines if line["kind"] == kind]).drop(columns="kind", errors="ignore")

    def gradient_norms(self) -> pd.DataFrame:
        """Return the gradient's global norm before clipping at every update: `step`, `norm`."""
        return pd.DataFrame(read_log(self.folder / GRADIENT_NORMS, GradientNormLine), columns=["step", "norm"])

    def g_values(self) -> pd.DataFrame:
        """Return g of every sublayer at every validation: `step`, `name`, `side`, `kind`, `depth`, `g`."""
        columns = ["step", "name", "side", "kind", "depth", "g"]
        return pd.DataFrame(read_log(self.folder / G_VALUES, GLine), columns=columns)

    def embedding_norms(self) -> dict[int, dict[str, np.ndarray]]:
        """Return the norm of every word vector, (types,), by validated step and use."""
        return {int(file.stem): _read_arrays(file) for file in self.embedding_norm_files}

    def weights(self, which: Which = "best") -> "tuple[dict[str, Tensor], dict[str, Any]]":
        """Return named weights and facts (step, BLEU) of a checkpoint.

        Raises:
            RunError: there is no such checkpoint, it is damaged, or the run was packed without it.
        """
        self.check_model()
        return load_tensors(self.checkpoint(which), _FACTS[which])

    def check_model(self) -> None:
        """Raise `RunError`, naming what it has instead, if the run was packed without its model."""
        if self.packed and not self.has_weights():
            raise RunError(f"run {self.name!r}: {self.limitations}", "use these, or train its recipe again")

    def check_trainable(self) -> None:
        """Raise `RunError` if the run was packed or imported."""
        for kind, facts in (("a packed", self.packed), ("an imported", self.imported)):
            if facts:
                raise RunError(f"run {self.name!r}: {kind} run cannot be trained further", "train a new run")

    def has_weights(self, which: Which = "best") -> bool:
        return self.checkpoint(which).exists()

    def optimiser(self, step: int) -> "tuple[dict[str, Tensor], dict[str, Any]]":
        """Return what training needs, besides the weights, to resume from the last checkpoint."""
        return load_tensors(self.optimiser_state(step), LastFacts)

    @cached_property
    def notes_folder(self) -> Path:
        """Where new answers and translations are stored, in subfolders named as in the run's folder.

        The run's folder; for a packed run, which is not written to, a cache folder for its weights.
        """
        if self._notes is None:
            return self.folder
        weights = self.checkpoint("best")
        content = weights.read_bytes() if weights.exists() else b""
        return self._notes / f"{self.name}-{sha256(content).hexdigest()[:12]}"

    @property
    def note_folders(self) -> tuple[Path, ...]:
        """Where answers and translations are found: the run's folder and, if different, `notes_folder`."""
        return tuple(dict.fromkeys((self.folder, self.notes_folder)))

    def note(self, relative: str | Path) -> Path:
        """Return the path of a file stored with the run: in its folder, else in `notes_folder`, existing or not."""
        path = self.folder / relative
        return path if path.exists() else self.notes_folder / relative

    def measures(self, analysis: str = "") -> list[Measure]:
        """Return the stored answers of one analysis, or of all, from any weights.

        Raises:
            RunError: a file is damaged.
        """
        return [measure for folder in self.note_folders for measure in stored_measures(folder, analysis)]

    def answers(self, analysis: str = "") -> list[Measure]:
        """Return those of `measures` that are from the best checkpoint, those from its original weights first.

        Unrecorded weights count as the original ones of their step; in `notes_folder`, which is specific to the weights
        in the run's folder, as those.
        """
        rank = self._rank_of_weights()
        found = [(rank(m.question.checkpoint, m.question.weights, m.path), m) for m in self.measures(analysis)]
        return [m for order, m in sorted(found, key=itemgetter(0)) if order < _OTHER]

    def translations(self) -> list[tuple[dict[str, Any], Path]]:
        """Return facts and file of each stored translation by the best checkpoint, in the order of `answers`."""
        rank = self._rank_of_weights()
        stored = sorted(path for folder in self.note_folders for path in (folder / "translations").glob("*.json"))
        remedy = "remove that file; its translations are then made again"
        made = [(read_json(path, TranslationFacts, remedy), path.with_suffix(".txt")) for path in stored]
        ranked = [
            (rank(facts["step"], facts.get("weights"), path), facts, path) for facts, path in made if path.exists()
        ]
        return [(facts, path) for order, facts, path in sorted(ranked, key=itemgetter(0)) if order < _OTHER]

    def save_translation(self, name: str, lines: list[str]) -> Path:
        """Write translations, one sentence per line, and return the path."""
        path = self.notes_folder / "translations" / name
        write_text(path, "".join(line.replace("\n", " ") + "\n" for line in lines))
        return path

    @property
    def embedding_norm_files(self) -> list[Path]:
        """The files of `embedding_norms`, named by their step."""
        files = (self.folder / "probes/embedding_norms").glob("*.npz")
        return sorted(file for file in files if file.stem.isascii() and file.stem.isdigit())

    def _read_json(self, name: str, kind: type) -> dict[str, Any]:
        return read_json(self.folder / name, kind, "restore it from a backup, or train the run again")

    def _rank_of_weights(self) -> Callable[[int | None, str | None, Path], int]:
        """Return a function that ranks the weights behind a stored file: `_OTHER` if not the best checkpoint's."""
        step, original = self.best_step, (self.original_digest, None)

        def rank(at: int | None, weights: str | None, path: Path) -> int:
            if at != step:
                return _OTHER
            if weights is None and not path.is_relative_to(self.folder):
                return len(original)
            if weights in original:
                return original.index(weights)
            return len(original) if weights == self.weights_digest else _OTHER

        return rank

    def _facts(self, which: Which) -> dict[str, Any]:
        return load_facts(self.checkpoint(which), _FACTS[which])

    def checkpoint(self, which: Which) -> Path:
        """Return the path of a checkpoint, existing or not."""
        return self.folder / "checkpoints" / f"{which}.safetensors"

    def optimiser_state(self, step: int) -> Path:
        """Return the path of the optimiser's state that belongs to the last checkpoint, existing or not."""
        return self.folder / "checkpoints" / f"last.optimiser-{step:07d}.safetensors"


def not_found(name: str, known: Iterable[str]) -> RunError:
    """Return the error that there is no run `name`; it suggests the one of the `known` names that is most like it."""
    return RunError(f"run {name!r}: not found", f"{did_you_mean(name, known)}'nmtlab runs list' lists all runs")


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    with reading(path, "remove that file; the others are intact"):
        with ZipFile(path) as members:
            if sum(member.file_size for member in members.infolist()) > _MAX_ARRAY_BYTES:
                raise ValueError("larger than any embedding norms")
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
