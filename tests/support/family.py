"""A parent and its child in two artificial languages, trained for seconds."""

from typing import NamedTuple

from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

CHANGES = {
    "text.segmentation": "bpe", "text.vocabulary_size": 300, "training.validate_every": 30,
    "training.max_evaluations": 2, "model.shared_embeddings": False,
}  # fmt: skip


class Family(NamedTuple):
    """Two corpora, and the runs on them."""

    workspace: Workspace
    child: ParallelCorpus
    parent: ParallelCorpus
    parent_run: Run
    child_run: Run
    recipe: Recipe


def make_family(workspace: Workspace, tiny_recipe: Recipe) -> Family:
    """Train a parent and its child in a workspace, in seconds."""
    small = {"vocabulary": 100, "names": 3}
    corpora = workspace.data / "corpora"
    for name, code, distance, start in (("parent", "qaa", {"cognates": 0.6}, 0), ("child", "qab", {}, 10_000)):
        settings = ArtificialSettings(**small, **distance)
        write_corpus(corpora / name, [code], settings, train=300, dev=20, test=60, start=start)
    parent, child = (
        ParallelCorpus.open(corpora / name, code, "en") for name, code in (("parent", "qaa"), ("child", "qab"))
    )
    also = {"more_corpora": [{"name": "child", "source": "qab", "target": "en", "vocabulary_only": True}]}
    recipe = tiny_recipe.with_changes(CHANGES)
    parent_run = train("parent", recipe.with_changes(also), parent, workspace)
    child_run = train("child", recipe.with_changes({"transfer.parent": "parent"}), child, workspace)
    return Family(workspace, child, parent, parent_run, child_run, recipe)
