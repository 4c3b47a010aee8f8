"""The shares of Table 3.3, counted by hand."""

import shutil

import pytest

from nmtlab.analysis.access.needs import PARENT as PARENT_HERE
from nmtlab.analysis.access.needs import parent_of, unmet
from nmtlab.analysis.languages.shared_words import TYPES_OF_PARENT, shared_types
from nmtlab.errors import RunError
from nmtlab.runs.listing import open_run
from nmtlab.runs.pack import pack, unpack
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

PARENT = ["aa bb", "aa cc", "bb cc", "dd aa"]
CHILD = ["aa xx", "bb yy", "xx yy", "aa yy", "aa aa"]
DEV = ["aa zz", "cc bb xx"]


def corpus(folder, code, lines, dev):
    folder.mkdir(parents=True)
    for split, sentences in (("train", lines), ("dev", dev)):
        (folder / f"{split}.{code}").write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8")
        english = "".join(f"{line.upper()} {code}{number}\n" for number, line in enumerate(sentences))
        (folder / f"{split}.en").write_text(english, encoding="utf-8")
    return ParallelCorpus.open(folder, code, "en")


@pytest.fixture(scope="module")
def runs(tmp_path_factory, tiny_recipe):
    workspace = Workspace(tmp_path_factory.mktemp("types"))
    parent = corpus(workspace.data / "corpora/parent", "xx", PARENT, ["dd dd"])
    child = corpus(workspace.data / "corpora/child", "yy", CHILD, DEV)
    words = {"text.joint": False, "model.shared_embeddings": False, "training.max_evaluations": 1}
    recipe = tiny_recipe.with_changes({**words, "training.validate_every": 1, "text.min_frequency": 1})
    train("parent", recipe, parent, workspace)
    changes = {"transfer.parent": "parent", "transfer.source_types": "random"}
    return train("child", recipe.with_changes(changes), child, workspace), child


def test_types_and_tokens_of_words_are_those_counted_by_hand(runs):
    run, child = runs
    table = shared_types(run, child, parent_of(run)).set_index("split")
    # The child's words are aa (4), bb (1), xx (2), yy (3); the parent has aa and bb.
    assert table.loc["train"].tolist() == [4, 2, 2 / 4, 10, 5, 5 / 10]
    # In dev: aa, zz, cc, bb, xx; the parent has aa, cc and bb.
    assert table.loc["dev"].tolist() == [5, 3, 3 / 5, 5, 3, 3 / 5]


def test_without_a_parent_or_when_it_is_gone_there_is_a_reason(runs, tmp_path):
    run, _ = runs
    with pytest.raises(RunError, match="run 'parent': has no parent; choose a run trained with --parent"):
        parent_of(parent_of(run))
    shutil.copytree(run.folder, tmp_path / "child")
    with pytest.raises(RunError, match="its parent 'parent' is not here"):
        parent_of(Run(tmp_path / "child"))


def test_a_packed_child_finds_its_packed_parent(runs, tmp_path):
    workspace = Workspace(tmp_path)
    for run in (runs[0], parent_of(runs[0])):
        pack(run, workspace.evidence / f"runs/{run.name}.tar.xz")
    child = open_run("child", workspace)
    assert parent_of(child).name == "parent"
    assert unmet(child, [PARENT_HERE]) is PARENT_HERE  # packed without weights


def test_a_packed_child_finds_a_parent_that_was_trained_wherever_the_workspace_is(runs, tmp_path):
    workspace = Workspace(tmp_path / "packed")
    parent = parent_of(runs[0])
    shutil.copytree(parent.folder, workspace.runs / parent.name)
    pack(runs[0], workspace.evidence / "runs/child.tar.xz")
    for child in (open_run("child", workspace), unpack(workspace.evidence / "runs/child.tar.xz", workspace, "sent")):
        assert parent_of(child).folder == workspace.runs / "parent"
        assert unmet(child, [PARENT_HERE]) is None
    shutil.rmtree(workspace.runs / "parent")
    assert unmet(open_run("sent", workspace), [PARENT_HERE]) is PARENT_HERE


def test_a_child_whose_parent_is_gone_has_its_stored_shares_for_the_same_text(runs, tmp_path):
    run, child = runs
    counted = TYPES_OF_PARENT.of(run, corpus=child)
    assert counted.equals(shared_types(run, child, parent_of(run)))
    shutil.copytree(run.folder, tmp_path / "child")
    assert TYPES_OF_PARENT.of(Run(tmp_path / "child"), corpus=child).equals(counted)
    other = corpus(tmp_path / "other", "yy", CHILD[:3], DEV)
    with pytest.raises(RunError, match="its parent 'parent' is not here"):
        TYPES_OF_PARENT.of(Run(tmp_path / "child"), corpus=other)
