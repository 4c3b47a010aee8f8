"""Trained runs that tests share: each is made once for all processes of a test session, and stays as it was made."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import portalocker

from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace
from support.learned import LEARNED

_PLANNED = {"model.plan_length": True, "model.max_predicted_length": 30, "search.length_candidates": 3}
_TWO_SCALES = {
    "model.norm": "scale", "model.placement": "pre", "model.fixnorm": True, "model.encoder_layers": 2,
    "model.decoder_layers": 2,
}  # fmt: skip

KINDS: Mapping[str, Mapping[str, Any]] = {
    "trained": {},
    "learned": LEARNED,
    "words": {**LEARNED, "text.vocabulary_size": 14, "text.joint": False},
    "pieces": {**LEARNED, "text.segmentation": "bpe", "text.vocabulary_size": 50},
    "scale": {**LEARNED, **_TWO_SCALES},
    "planned": _PLANNED,
    "averaging": {"model.decoder_history": "average"},
    "classified": {**_PLANNED, "model.length_output": "classifier", "search.length_candidates": 1},
}
"""What differs from the tiny recipe, by kind of run."""


class Zoo:
    """Runs on the tiny corpus, trained when they are first asked for.

    Args:
        folder: shared by all processes of the session.
        corpus: the tiny corpus.
        recipe: the tiny recipe.
    """

    def __init__(self, folder: Path, corpus: ParallelCorpus, recipe: Recipe) -> None:
        self.folder, self.corpus, self.recipe = folder, corpus, recipe
        self._made: dict[str, dict[str, int]] = {}

    def __call__(self, kind: str) -> Run:
        """Return the shared run of a kind; tests read it, and whoever writes takes a copy."""
        workspace = self.workspace(kind)
        run = Run(workspace.run_folder("whole"))
        self._made.setdefault(kind, _files(run.folder))
        return run

    def workspace(self, kind: str) -> Workspace:
        """Return the workspace of the shared run of a kind, which is named `whole` in each."""
        made_once(self.folder / kind, lambda folder: self._train(kind, Workspace(folder)))
        return Workspace(self.folder / kind)

    def copy(self, kind: str, workspace: Workspace, name: str = "whole") -> Run:
        """Return a copy of the run of a kind in another workspace."""
        return Run(shutil.copytree(self(kind).folder, workspace.run_folder(name)))

    def check(self) -> None:
        """Fail if a test wrote to a shared run."""
        changed = {
            f"{kind}: {path}"
            for kind, files in self._made.items()
            for path, _ in files.items() ^ _files(self(kind).folder).items()
        }
        assert not changed, f"a test wrote to the runs that all tests share: {', '.join(sorted(changed))}"

    def _train(self, kind: str, workspace: Workspace) -> None:
        train("whole", self.recipe.with_changes(KINDS[kind]), self.corpus, workspace)


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` fills, in one process only; the others wait for it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with portalocker.Lock(folder.with_suffix(".lock"), timeout=600):
        if not folder.exists():
            unfinished = folder.with_suffix(".part")
            make(unfinished)
            unfinished.rename(folder)
    return folder


def _files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
