"""A run of a system that has really learned something: its BLEU is neither 0 nor 100."""

from pathlib import Path

from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

LEARNED = {
    "model.d_model": 32, "model.d_ff": 64, "model.dropout": 0.0, "training.batch_tokens": 400,
    "training.lr_scale": 1.5, "training.warmup_updates": 40, "training.validate_every": 30,
    "training.max_evaluations": 4,
}  # fmt: skip


def learned_run(folder: Path, corpus: ParallelCorpus, recipe: Recipe) -> Run:
    """Train the run `whole` in a workspace at `folder`, in a second or two."""
    return train("whole", recipe.with_changes(LEARNED), corpus, Workspace(folder))
