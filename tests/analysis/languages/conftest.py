"""A parent and its child in two artificial languages, trained for seconds."""

import shutil
from typing import NamedTuple

import pytest

from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.corpus import ParallelCorpus
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


@pytest.fixture(scope="session")
def family(tmp_path_factory, tiny_recipe) -> Family:
    workspace = Workspace(tmp_path_factory.mktemp("family"))
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


class Copies(NamedTuple):
    """Runs from de and nl, in which every sentence is the same, into en: all units shared, or half of them."""

    workspace: Workspace
    corpora: tuple[ParallelCorpus, ParallelCorpus]
    shared: Run
    halves: Run


@pytest.fixture(scope="session")
def copies(tmp_path_factory, make_corpus, tiny_recipe) -> Copies:
    workspace = Workspace(tmp_path_factory.mktemp("copies"))
    folder = workspace.data / "corpora" / "copies"
    shutil.copytree(make_corpus(), folder)
    for split in ("train", "dev", "test"):
        shutil.copy(folder / f"{split}.de", folder / f"{split}.nl")
    corpora = tuple(ParallelCorpus.open(folder, code, "en") for code in ("de", "nl"))
    changes = {
        "text.segmentation": "bpe", "text.vocabulary_size": 90, "text.joint": True, "training.validate_every": 20,
        "training.max_evaluations": 1, "training.batch_tokens": 400, "model.encoder_layers": 2,
        "more_corpora": [{"name": "copies", "source": "nl", "target": "en"}],
    }  # fmt: skip
    shares = {f"model.{part}_share": 0.5 for part in ("embedding", "attention", "feed_forward")}
    halves = {**shares, "model.fixnorm": False}  # with it, private units change the size of shared ones
    runs = [
        train(name, tiny_recipe.with_changes({**changes, **more}), corpora[0], workspace)
        for name, more in (("shared", {}), ("halves", halves))
    ]
    return Copies(workspace, corpora, *runs)
