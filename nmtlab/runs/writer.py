"""What a training writes into the folder of its run: checkpoints, logs and probes."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from nmtlab.alignment.table import LexicalTable
from nmtlab.errors import RunError
from nmtlab.files import replacing, write_text
from nmtlab.locks import lock
from nmtlab.reading import reading
from nmtlab.runs.lock import LOCK
from nmtlab.runs.log import append_lines, keep_lines
from nmtlab.runs.run import INHERITANCE, TABLE, Run
from nmtlab.runs.schemas import GLine, GradientNormLine, MetricsLine
from nmtlab.runs.tensors import save_tensors
from nmtlab.runs.training_log import G_VALUES, GRADIENT_NORMS, METRICS

if TYPE_CHECKING:
    from torch import Tensor


class RunWriter:
    """Writes a run's checkpoints, logs and probes, for the one process that trains it.

    Args:
        run: held by `writing`.
    """

    def __init__(self, run: Run) -> None:
        self.run = run

    def save_best(self, weights: "Mapping[str, Tensor]", facts: Mapping[str, Any]) -> None:
        """Save the best checkpoint so far: named weights, and facts about them (step, BLEU)."""
        _save(self.run.checkpoints.path("best"), weights, facts)

    def save_kept(self, weights: "Mapping[str, Tensor]", facts: Mapping[str, Any], number: int) -> None:
        """Save an evaluated checkpoint, and remove all but the last `number` of them; arguments as of `save_best`."""
        if number:
            _save(self.run.checkpoints.kept_path(facts["step"]), weights, facts)
            for path in list(self.run.checkpoints.kept.values())[:-number]:
                path.unlink()

    def save_last(
        self, weights: "Mapping[str, Tensor]", optimiser: "Mapping[str, Tensor]", facts: Mapping[str, Any]
    ) -> None:
        """Save weights and optimiser state together: the weights are written last and identify their state."""
        step = facts["step"]
        _save(self.run.checkpoints.optimiser_path(step), optimiser, facts)
        _save(self.run.checkpoints.path("last"), weights, facts)
        for file in (self.run.folder / "checkpoints").glob("last.optimiser-*.safetensors"):
            if file != self.run.checkpoints.optimiser_path(step):
                file.unlink()

    def save_anchor(self, tensors: "Mapping[str, Tensor]") -> None:
        """Save what holds the weights near those of the parent; see `Checkpoints.anchor`."""
        _save(self.run.checkpoints.anchor_path, tensors, {})

    def log(self, kind: Literal["train", "validation", "end"], step: int, **values: Any) -> None:
        """Add a line to the training log; see `TrainingLog.metrics`."""
        append_lines(self.run.folder / METRICS, [{"kind": kind, "step": step, **values}])

    def log_gradient_norms(self, norms: Mapping[int, float]) -> None:
        """Add the gradient's norm at updates; see `TrainingLog.gradient_norms`."""
        lines = ({"step": step, "norm": norm} for step, norm in norms.items())
        append_lines(self.run.folder / GRADIENT_NORMS, lines)

    def log_g(self, step: int, values: list[dict[str, Any]]) -> None:
        """Add the values of g at an update; see `TrainingLog.g_values`."""
        append_lines(self.run.folder / G_VALUES, ({"step": step, **value} for value in values))

    def save_embedding_norms(self, step: int, norms: Mapping[str, np.ndarray]) -> None:
        """Save the norms of word vectors, (types,), by use; see `TrainingLog.embedding_norms`."""
        path = self.run.folder / f"probes/embedding_norms/{step:07d}.npz"
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **norms)

    def save_translation_table(self, table: LexicalTable) -> None:
        """Save p(target | source) from word alignment."""
        table.save(self.run.folder / TABLE)

    def save_inheritance(self, inheritance: Mapping[str, Any]) -> None:
        """Save what a child has from its parent; see `Run.inheritance`."""
        write_text(self.run.folder / INHERITANCE, json.dumps(inheritance, indent=1) + "\n")

    def truncate_after(self, step: int, reported: int | None = None) -> None:
        """Remove what was logged after `step`, so that a resumed training does not log it twice.

        Args:
            step: of the checkpoint that training resumes from.
            reported: last update of the last full line of the log; a line of fewer updates, which a stop leaves, is
                removed with its gradient norms. `step` if not given.
        """
        line = step if reported is None else reported
        limits = {"train": line, "validation": step, "end": -1}
        keep_lines(self.run.folder / METRICS, MetricsLine, lambda logged: logged["step"] <= limits[logged["kind"]])
        keep_lines(self.run.folder / GRADIENT_NORMS, GradientNormLine, lambda logged: logged["step"] <= line)
        keep_lines(self.run.folder / G_VALUES, GLine, lambda logged: logged["step"] <= step)
        norms = {int(file.stem): file for file in self.run.log.embedding_norm_files}
        for files in (norms, self.run.checkpoints.kept):
            for file in (file for made, file in files.items() if made > step):
                file.unlink()


def _save(path: Path, tensors: "Mapping[str, Tensor]", facts: Mapping[str, Any]) -> None:
    try:
        save_tensors(path, tensors, facts)
    except OSError as error:
        raise RunError(
            f"{path.name}: could not be written ({error.strerror})",
            "free some space and continue the training with --resume; the previous checkpoint is intact",
        ) from error


@contextmanager
def writing(run: Run) -> Iterator[None]:
    """Hold a run for writing.

    Raises:
        RunError: another process holds it, or it is packed or imported.
    """
    run.origin.check_trainable()
    with held(run.folder):
        yield


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a run's folder, so that no other process trains or removes it."""
    with reading(folder / LOCK, "remove it, and try again"):
        held = lock(folder / LOCK)
    if held is None:
        raise RunError(f"run {folder.name!r}: another process is training it", "wait for it to end, or stop it")
    with held:
        yield
