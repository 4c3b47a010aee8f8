"""Vectors move from where the training began, exactly."""

import shutil

import numpy as np
import pandas as pd
import pytest
import torch

from nmtlab.analysis.languages.movement import MOVEMENT, movement, movement_by_kind
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.training.setup import train
from nmtlab.training.transfer import child_at_start


def test_without_a_step_nothing_has_moved(family):
    still = {
        "transfer.parent": "parent",
        "training.schedule": "constant",
        "training.learning_rate": 1e-30,
        "training.min_learning_rate": 0,
    }
    recipe = family.recipe.with_changes({**still, "training.max_evaluations": 1})
    run = train("still", recipe, family.child, family.workspace)
    start = child_at_start(run, family.parent_run).state_dict()
    for name, value in run.checkpoints.weights()[0].items():
        torch.testing.assert_close(value, start[name], rtol=0, atol=1e-25)
    moved = movement(run, family.parent_run)
    assert moved["angle"].max() < 1e-4
    assert moved["distance"].max() < 1e-6
    assert (moved["length"] == moved["length_before"]).all()


def test_shared_vectors_begin_as_the_parents_and_angles_are_those_of_the_vectors(family):
    moved = movement(family.child_run, family.parent_run).set_index("word")
    assert set(moved["kind"]) == {"shared", "new"}
    assert (moved["parent_count"] > 0).equals(moved["kind"] == "shared")
    assert (moved["count"] > 0).all()
    word = moved.index[moved["kind"] == "shared"][0]
    number = family.child_run.pipeline.source.vocabulary.types.index(word)
    before = family.parent_run.checkpoints.weights()[0]["source_embedding.weight"][number].double().numpy()
    after = family.child_run.checkpoints.weights()[0]["source_embedding.weight"][number].double().numpy()
    cosine = before @ after / np.sqrt((before @ before) * (after @ after))
    assert moved.loc[word, "angle"] == pytest.approx(np.degrees(np.arccos(cosine)))
    assert moved.loc[word, "length"] / moved.loc[word, "length_before"] == pytest.approx(
        np.linalg.norm(after) / np.linalg.norm(before)
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("changes", "kinds"),
    [({"transfer.source_types": "random"}, {"given"}), ({"transfer.source_embedding": "reset"}, {"new"})],
)
def test_vectors_at_random_are_given_and_those_drawn_anew_are_new(family, changes, kinds):
    recipe = family.recipe.with_changes({"transfer.parent": "parent", "training.max_evaluations": 1, **changes})
    run = train(f"child-{next(iter(kinds))}", recipe, family.child, family.workspace)
    assert set(movement(run, family.parent_run)["kind"]) == kinds


def test_frozen_vectors_have_not_moved_at_all(family):
    changes = {"transfer.parent": "parent", "training.max_evaluations": 1, "transfer.source_embedding": "freeze"}
    run = train("frozen", family.recipe.with_changes(changes), family.child, family.workspace)
    assert (movement(run, family.parent_run)["distance"] == 0).all()


def test_medians_are_by_kind_and_frequency(family):
    moved = movement(family.child_run, family.parent_run)
    table = movement_by_kind(moved)
    assert table["words"].sum() == len(moved)
    rare = moved[(moved["kind"] == "shared") & (moved["count"] < 10)]
    row = table[(table["kind"] == "shared") & (table["frequency"] == "1-9")].iloc[0]
    assert row["words"] == len(rare)
    assert row["angle"] == rare["angle"].median()


def test_the_answer_is_kept_with_the_child_for_when_the_parent_is_gone(family):
    asked = MOVEMENT.of(family.child_run, parent=family.parent_run)
    (kept,) = MOVEMENT.answers(family.child_run)
    assert kept.frame().equals(asked)
    assert kept.question.about["parent"] == "parent"


def test_the_parent_beside_a_child_need_not_be_named_nor_be_there_for_a_stored_answer(family, tmp_path):
    new = shutil.ignore_patterns("measures")
    for run in (family.parent_run, family.child_run):
        shutil.copytree(run.folder, tmp_path / run.name, ignore=new)
    child = Run(tmp_path / family.child_run.name)
    view = MOVEMENT.view(child)
    pd.testing.assert_frame_equal(view.frame, movement_by_kind(movement(child, family.parent_run)))
    shutil.rmtree(tmp_path / "parent")
    assert MOVEMENT.view(child).frame.equals(view.frame)
    assert MOVEMENT.any_stored(child, side="target") is None
    with pytest.raises(RunError, match="its parent 'parent' is not here"):
        MOVEMENT.of(child, side="target")


def test_a_run_that_did_not_start_from_the_parent_is_refused(family):
    with pytest.raises(RunError, match="'parent': did not start from a parent; choose a run trained with --parent"):
        movement(family.parent_run, family.parent_run)
    with pytest.raises(RunError, match="did not start from the weights of 'child'; choose its parent, 'parent'"):
        movement(family.child_run, family.child_run)
