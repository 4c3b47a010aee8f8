"""What a training logged: metrics, gradient norms, values of g, and norms of word vectors."""

from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile

import numpy as np
import pandas as pd

from nmtlab.errors import printable
from nmtlab.reading import reading
from nmtlab.runs.log import last_line, read_log
from nmtlab.runs.schemas import GLine, GradientNormLine, MetricsLine

METRICS, GRADIENT_NORMS, G_VALUES = "metrics.jsonl", "probes/gradient_norm.jsonl", "probes/g.jsonl"
LOGS = (METRICS, GRADIENT_NORMS, G_VALUES)
_TRAIN_LINE = '{"kind": "train", '
_MAX_ARRAY_BYTES = 1 << 28  # of the embedding norms of one validation, decompressed


class TrainingLog:
    """The logs and probes in a run's folder, read when needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def metrics(self, kind: Literal["train", "validation", "end"]) -> pd.DataFrame:
        """Return one kind of line of the training log.

        Args:
            kind: `train` (loss, perplexity, tokens per second, gradient norm, rate), `validation` (BLEU, perplexity,
                chrF if it selects the best checkpoint; with several directions, scores are means, and `directions` has
                the BLEU of each) or `end`; every line has `step` and `seconds`.
        """
        lines = read_log(self._folder / METRICS, MetricsLine, "" if kind == "train" else _TRAIN_LINE)
        return pd.DataFrame([line for line in lines if line["kind"] == kind]).drop(columns="kind", errors="ignore")

    @property
    def last(self) -> dict[str, Any] | None:
        """The last line of the training log, whose other lines are not read; None if there is none."""
        return last_line(self._folder / METRICS, MetricsLine)

    @property
    def last_step(self) -> int:
        """The last step in the training log; 0 if there is none."""
        return last["step"] if (last := self.last) else 0

    @property
    def made_of(self) -> str:
        """Whose weights its weights were made of, and how, without a full stop; empty if it was trained."""
        last = self.last or {}
        if made := last.get("mean_of"):
            steps = ", ".join(f"{step:,}" for step in made["steps"])
            return printable(f"the mean of {made['run']} after {steps} updates")
        if made := last.get("pruned"):
            of = "all values of its matrices together" if made["blind"] else "the values of each of its matrices"
            return printable(f"{made['run']} without the smallest {100 * made['share']:g} % of {of}")
        if made := last.get("cut"):
            return printable(f"{made['run']} with {100 * made['share']:g} % of the singular values of each matrix")
        return ""

    def gradient_norms(self) -> pd.DataFrame:
        """Return the gradient's global norm before clipping at every update: `step`, `norm`."""
        return pd.DataFrame(read_log(self._folder / GRADIENT_NORMS, GradientNormLine), columns=["step", "norm"])

    def g_values(self) -> pd.DataFrame:
        """Return g of every sublayer at every validation: `step`, `name`, `side`, `kind`, `depth`, `g`."""
        columns = ["step", "name", "side", "kind", "depth", "g"]
        return pd.DataFrame(read_log(self._folder / G_VALUES, GLine), columns=columns)

    def embedding_norms(self) -> dict[int, dict[str, np.ndarray]]:
        """Return the norm of every word vector, (types,), by validated step and use."""
        return {int(file.stem): _read_arrays(file) for file in self.embedding_norm_files}

    @property
    def embedding_norm_files(self) -> list[Path]:
        """The files of `embedding_norms`, named by their step."""
        files = (self._folder / "probes/embedding_norms").glob("*.npz")
        return sorted(file for file in files if file.stem.isascii() and file.stem.isdigit())


def _read_arrays(path: Path) -> dict[str, np.ndarray]:
    with reading(path, "remove that file; the others are intact"):
        with ZipFile(path) as members:
            if sum(member.file_size for member in members.infolist()) > _MAX_ARRAY_BYTES:
                raise ValueError("larger than any embedding norms")
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
