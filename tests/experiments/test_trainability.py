"""A small map: what converges, what does not, and that points are independent."""

import math

import pytest

from nmtlab.errors import NmtlabError
from nmtlab.experiments.running.trainability import (
    Outcome,
    Point,
    left_to_train,
    points,
    read_map,
    trainability,
    with_outcome,
)
from nmtlab.recipe import find_recipe
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

SIZES = {
    "text.vocabulary_size": 200, "model.d_model": 32, "model.d_ff": 64, "model.heads": 2, "model.norm": "layer",
    "model.fixnorm": False, "model.dropout": 0.0, "training.batch_tokens": 512, "machine.threads": 1,
}  # fmt: skip
LEARNS = Point("pre", "small", 1, 0.005, 1)


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """Return a function from points and updates to their outcomes."""
    folder = tmp_path_factory.mktemp("map")
    write_corpus(folder / "corpus", ["qaa"], ArtificialSettings(vocabulary=100, names=3), train=400, dev=20, test=20)
    corpus, workspace = ParallelCorpus.open(folder / "corpus", "qaa", "en"), Workspace(folder / "data")
    recipe = find_recipe("transformer-small").with_changes(SIZES)
    return lambda wanted, updates: list(trainability(wanted, recipe, corpus, workspace, updates))


def test_what_learns_is_alive_and_what_jumps_about_is_not(judge):
    learns, fails = judge([LEARNS, Point("post", "xavier", 2, 3.0, 1)], 150)
    assert learns.verdict == "converged"
    assert learns.loss < learns.unigram - math.log(2)
    assert learns.updates == 150
    assert learns.first_gradient > 0
    assert fails.verdict in ("plateaued", "diverged")


def test_too_few_updates_leave_a_training_at_the_frequencies_of_words(judge):
    (outcome,) = judge([LEARNS], 10)
    assert outcome.verdict == "plateaued"
    assert outcome.loss > outcome.unigram - math.log(2)


def test_a_loss_that_is_not_finite_is_a_verdict_at_its_update(judge):
    (outcome,) = judge([Point("pre", "small", 1, 1e30, 1)], 50)
    assert outcome.verdict == "diverged"
    assert outcome.updates < 50
    assert math.isnan(outcome.loss)


def test_a_point_comes_out_the_same_wherever_it_stands_on_the_map(judge):
    other = Point("post", "small", 2, 0.002, 2)
    assert judge([LEARNS, other], 20) == judge([other, LEARNS], 20)[::-1]
    first, second = judge([LEARNS, Point("pre", "small", 1, 0.005, 2)], 20)
    assert first.loss != second.loss


def test_a_map_has_every_combination_once():
    grid = points(layers=(1, 4), rates=(1e-3, 1e-2, 1e-1), seeds=(1, 2))
    assert len(grid) == len(set(grid)) == 2 * 2 * 2 * 3 * 2


# The file of a map


def test_what_is_kept_is_read_again_and_not_trained_again(tmp_path):
    made = {"commit": "abc", "machine": "a processor, 2 cores"}
    learns = Outcome(LEARNS, "converged", 50, 1.5, 4.0, 2.0)
    gone = Outcome(Point("post", "xavier", 6, 1e-2, 1), "diverged", 7, math.nan, 4.0, math.inf)
    path = tmp_path / "map.csv"
    with_outcome(with_outcome(read_map(path), learns, "so", made), gone, "so", made).to_csv(path, index=False)
    kept = read_map(path)
    assert kept["verdict"].tolist() == ["converged", "diverged"]
    assert kept["loss"].tolist() == pytest.approx([1.5, math.nan], nan_ok=True)
    assert kept["first_gradient"].tolist() == [2, math.inf]
    other = Point("pre", "small", 1, 0.1 + 0.2, 2)
    assert left_to_train([learns.point, gone.point, other], "so", kept) == [other]
    assert left_to_train([learns.point], "otherwise", kept) == [learns.point]
    with_outcome(kept, Outcome(other, "plateaued", 50, 4.0, 4.0, 1.0), "so", made).to_csv(path, index=False)
    assert left_to_train([other], "so", read_map(path)) == []


def test_a_file_that_is_no_map_is_named(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(NmtlabError, match=r"map\.csv: not a trainability map"):
        read_map(path)
