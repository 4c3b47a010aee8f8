"""Runs on related languages, trained for seconds."""

import shutil
from typing import NamedTuple

import pytest
from support.family import Family, make_family

from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="session")
def family(tmp_path_factory, tiny_recipe) -> Family:
    return make_family(Workspace(tmp_path_factory.mktemp("family")), tiny_recipe)


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
