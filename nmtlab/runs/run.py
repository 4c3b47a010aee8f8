"""One training's folder."""

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from torch import Tensor

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import NmtlabError, RunError
from nmtlab.files import replacing, write_text
from nmtlab.recipe import Recipe, load_recipe
from nmtlab.runs.checkpoint import load_facts, load_tensors, save_tensors
from nmtlab.runs.log import append_lines, cut_back, read_log
from nmtlab.runs.measures import stored_measures
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.files import new_folder
from nmtlab.text.pipeline import Pipeline
from nmtlab.workspace import Workspace

Which = Literal["best", "last"]
Status = Literal["training", "interrupted", "finished", "stopped", "diverged"]

PACKED = "packed.json"
TABLE = "translation_table.safetensors"
LOGS = ("metrics.jsonl", "probes/gradient_norm.jsonl", "probes/g.jsonl")


class Run:
    """The folder of one training: recipe, vocabulary, checkpoints, metrics, probes and translations.

    Nothing is read before it is asked for, and loading executes nothing.

    Args:
        folder: an existing run's folder.

    Raises:
        RunError: it is not a run's folder.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "recipe.toml").is_file():
            raise RunError(f"run {folder.name!r}: not found", "'nmtlab runs list' shows what there is")
        self.folder = folder

    @classmethod
    def create(cls, folder: Path, recipe: Recipe, environment: Mapping[str, Any], pipeline: Pipeline) -> "Run":
        """Make a new run's folder, whole or not at all.

        Raises:
            RunError: there is one already.
        """
        if folder.exists():
            raise RunError(f"run {folder.name!r}: there is one already", "choose another --name, or --resume it")
        with new_folder(folder) as unfinished:
            recipe.save(unfinished / "recipe.toml")
            write_text(unfinished / "environment.json", json.dumps(environment, indent=1) + "\n")
            pipeline.save(unfinished / "vocabulary")
        return cls(folder)

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def recipe(self) -> Recipe:
        return load_recipe(self.folder / "recipe.toml")

    @cached_property
    def environment(self) -> dict[str, Any]:
        return self._read_json("environment.json")

    @cached_property
    def pipeline(self) -> Pipeline:
        return Pipeline.load(self.folder / "vocabulary")

    @property
    def translation_table(self) -> LexicalTable | None:
        """p(target | source) from word alignment, where the model has such a table."""
        path = self.folder / TABLE
        return LexicalTable.load(path) if path.exists() else None

    @property
    def status(self) -> Status:
        """How far the training has come."""
        lines = read_log(self.folder / "metrics.jsonl")
        if lines and lines[-1]["kind"] == "end":
            return lines[-1]["status"]
        return "training" if self._is_locked() else "interrupted"

    @cached_property
    def packed(self) -> dict[str, Any] | None:
        """What was noted when the run was packed, among it the step of its best checkpoint; None of any other run."""
        return self._read_json(PACKED) if (self.folder / PACKED).exists() else None

    @property
    def lacks(self) -> str:
        """What a packed run cannot show, in a sentence without its full stop; empty of any other run."""
        if not self.packed:
            return ""
        if self.has_weights():
            return "packed with weights in half precision, it cannot be trained any further"
        answers = sorted({measure.question.analysis for measure in stored_measures(self.folder)})
        return (
            "packed without its model, it can neither translate nor answer new questions; it has its logs, its "
            f"vocabulary and {'answers to ' + ', '.join(answers) if answers else 'no stored answers'}"
        )

    @property
    def best_step(self) -> int | None:
        """Step of the best checkpoint, also where it was left out of a packed run; None if there was none."""
        if self.packed:
            return self.packed.get("best_step")
        return load_facts(self._checkpoint("best"))["step"] if self.has_weights() else None

    @property
    def last_step(self) -> int | None:
        """Step of the last checkpoint, which a packed run has no more; None if there was none."""
        if self.packed:
            end = self.metrics("end")
            return int(end["step"].iloc[-1]) if len(end) else None
        return load_facts(self._checkpoint("last"))["step"] if self.has_weights("last") else None

    @property
    def sentences(self) -> ParallelCorpus | None:
        """The dev sentences that were packed with the run, if any: a corpus with nothing but dev."""
        folder, languages = self.folder / "sentences", self.recipe.corpus
        return ParallelCorpus(folder, languages.source, languages.target) if folder.is_dir() else None

    def metrics(self, kind: Literal["train", "validation", "end"]) -> pd.DataFrame:
        """Return what was logged while training.

        Args:
            kind: `train` (loss, perplexity, tokens per second, gradient norm, rate), `validation` (BLEU,
                perplexity) or `end`; every line has `step` and `seconds`.
        """
        lines = read_log(self.folder / "metrics.jsonl")
        return pd.DataFrame([line for line in lines if line["kind"] == kind]).drop(columns="kind", errors="ignore")

    def gradient_norms(self) -> pd.DataFrame:
        """Return the gradient's global norm before clipping at every update: `step`, `norm`."""
        return pd.DataFrame(read_log(self.folder / "probes/gradient_norm.jsonl"), columns=["step", "norm"])

    def g_values(self) -> pd.DataFrame:
        """Return g of every sublayer at every validation: `step`, `name`, `side`, `kind`, `depth`, `g`."""
        columns = ["step", "name", "side", "kind", "depth", "g"]
        return pd.DataFrame(read_log(self.folder / "probes/g.jsonl"), columns=columns)

    def embedding_norms(self) -> dict[int, dict[str, np.ndarray]]:
        """Return the length of every word vector, (types,), by use, at every validated step."""
        files = sorted((self.folder / "probes/embedding_norms").glob("*.npz"))
        return {int(file.stem): _read_arrays(file) for file in files}

    def weights(self, which: Which = "best") -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return named weights and facts (step, BLEU) of a checkpoint.

        Raises:
            RunError: there is no such checkpoint, it is damaged, or the run was packed without it.
        """
        self.check_model()
        return load_tensors(self._checkpoint(which))

    def check_model(self) -> None:
        """Raise `RunError`, saying what there is instead, if the run was packed without its model."""
        if self.packed and not self.has_weights():
            raise RunError(f"run {self.name!r}: {self.lacks}", "ask for one of these, or train its recipe again")

    def has_weights(self, which: Which = "best") -> bool:
        return self._checkpoint(which).exists()

    def optimiser(self, step: int) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Return what training needs beside the weights to go on from the last checkpoint."""
        return load_tensors(self._optimiser(step))

    # What follows is for the one process that trains.

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the run for writing.

        Raises:
            RunError: another process holds it, or it is packed.
        """
        if self.packed:
            raise RunError(f"run {self.name!r}: packed, it cannot be trained any further", "train a new run")
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunError(f"run {self.name!r}: another process is training it", "wait for it to end") from error
            yield

    def save_best(self, weights: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        save_tensors(self._checkpoint("best"), weights, facts)

    def save_last(
        self, weights: Mapping[str, Tensor], optimiser: Mapping[str, Tensor], facts: Mapping[str, Any]
    ) -> None:
        """Save weights and the optimiser's state as one: the weights come last and say which state is theirs."""
        step = facts["step"]
        save_tensors(self._optimiser(step), optimiser, facts)
        save_tensors(self._checkpoint("last"), weights, facts)
        for file in (self.folder / "checkpoints").glob("last.optimiser-*.safetensors"):
            if file != self._optimiser(step):
                file.unlink()

    def log(self, kind: Literal["train", "validation", "end"], step: int, **values: Any) -> None:
        append_lines(self.folder / "metrics.jsonl", [{"kind": kind, "step": step, **values}])

    def log_gradient_norms(self, norms: Mapping[int, float]) -> None:
        lines = ({"step": step, "norm": norm} for step, norm in norms.items())
        append_lines(self.folder / "probes/gradient_norm.jsonl", lines)

    def log_g(self, step: int, values: list[dict[str, Any]]) -> None:
        append_lines(self.folder / "probes/g.jsonl", ({"step": step, **value} for value in values))

    def save_embedding_norms(self, step: int, norms: Mapping[str, np.ndarray]) -> None:
        path = self.folder / f"probes/embedding_norms/{step:07d}.npz"
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, **norms)

    def save_translation_table(self, table: LexicalTable) -> None:
        table.save(self.folder / TABLE)

    def save_translation(self, name: str, lines: list[str]) -> Path:
        """Write translations, a line a sentence, and return where."""
        path = self.folder / "translations" / name
        write_text(path, "".join(line.replace("\n", " ") + "\n" for line in lines))
        return path

    def cut_back(self, step: int) -> None:
        """Forget what was logged after `step`, so that a resumed training does not log it twice."""
        for log in LOGS:
            cut_back(self.folder / log, step)
        for file in (self.folder / "probes/embedding_norms").glob("*.npz"):
            if int(file.stem) > step:
                file.unlink()

    def _read_json(self, name: str) -> dict[str, Any]:
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"run {self.name!r}: {name} is missing or damaged", "train it again") from error

    def _checkpoint(self, which: Which) -> Path:
        return self.folder / "checkpoints" / f"{which}.safetensors"

    def _optimiser(self, step: int) -> Path:
        return self.folder / "checkpoints" / f"last.optimiser-{step:07d}.safetensors"

    def _is_locked(self) -> bool:
        lock = self.folder / ".lock"
        if not lock.exists():
            return False
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                return True
        return False


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except (OSError, EOFError, ValueError, BadZipFile) as error:
        raise RunError(f"{path}: damaged", "remove that file; the others are whole") from error


def open_run(name: str, workspace: Workspace) -> Run:
    """Return the run of that name: of the workspace's own runs or, if it is none of them, of the gallery.

    Raises:
        RunError: there is none, or the name is not allowed.
    """
    own = workspace.run_folder(name)
    packed = workspace.gallery / name
    return Run(packed if packed.is_dir() and not own.exists() else own)


def list_runs(workspace: Workspace) -> tuple[list[Run], list[str]]:
    """Return the runs and the names of folders that are not whole runs.

    The workspace's own come first, the newest first; then those of the gallery by name, except where a run of one's
    own has the name.
    """
    own = sorted(_folders(workspace.runs), key=lambda f: (f.stat().st_mtime, f.name), reverse=True)
    names = {folder.name for folder in own}
    gallery = sorted(folder for folder in _folders(workspace.gallery) if folder.name not in names)
    runs, broken = [], []
    for folder in (*own, *gallery):
        try:
            run = Run(folder)
            _ = run.recipe, run.environment, run.status, run.packed
            runs.append(run)
        except NmtlabError:
            broken.append(folder.name)
    return runs, broken


def _folders(parent: Path) -> list[Path]:
    return [folder for folder in parent.glob("[!.]*") if folder.is_dir()]
