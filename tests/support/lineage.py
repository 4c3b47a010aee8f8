"""A run and one that went on from it on another text, trained for seconds."""

import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from conftest import WORDS
from torch import Tensor

from nmtlab.recipe import Recipe, named_recipe
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import save_tensors
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.training.setup import train
from nmtlab.training.transfer import continued_recipe
from nmtlab.workspace import Workspace

SHORT = {
    "training.validate_every": 10, "training.max_evaluations": 2, "training.batch_tokens": 400,
    "training.learning_rate": 3e-3, "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip

_NOTES = shutil.ignore_patterns("measures", "translations")


class Lineage(NamedTuple):
    """Two corpora, `old` and `new`, and the runs `parent` and `child`."""

    workspace: Workspace
    old: ParallelCorpus
    new: ParallelCorpus
    parent: Run
    child: Run

    def trained(self, name: str, recipe: str) -> Run:
        """Return another run that went on from the parent."""
        return train(
            name, continued_recipe(self.parent, named_recipe(recipe)).with_changes(SHORT), self.new, self.workspace
        )

    def with_weights(self, name: str, weights: Mapping[str, Tensor]) -> Run:
        """Return a copy of the child with other weights."""
        run = Run(shutil.copytree(self.child.folder, self.workspace.runs / name, ignore=_NOTES))
        save_tensors(run.checkpoints.path("best"), dict(weights), self.child.checkpoints.weights()[1])
        return Run(run.folder)


def make_lineage(data: Path, recipe: Recipe) -> Lineage:
    """Train a parent on one text and go on with it on another."""
    workspace, texts = Workspace(data), {}
    for number, name in enumerate(("old", "new")):
        folder = data / "corpora" / name
        folder.mkdir(parents=True)
        generator = random.Random(number)
        for split, count in (("train", 300), ("dev", 30), ("test", 40)):
            lines = [
                generator.choices(list(WORDS), k=generator.randint(6, 8)) for _ in range(count)
            ]  # none of them twice
            write_lines(folder / f"{split}.de", [" ".join(words) for words in lines])
            write_lines(folder / f"{split}.en", [" ".join(WORDS[word] for word in words) for words in lines])
        texts[name] = ParallelCorpus.open(folder)
    parent = train("parent", recipe, texts["old"], workspace)
    changes = continued_recipe(parent, named_recipe("fine-tune")).with_changes(SHORT)
    return Lineage(workspace, *texts.values(), parent, train("child", changes, texts["new"], workspace))
