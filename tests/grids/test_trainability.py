"""A small map: what converges, what does not, and that points are independent."""

import math
from pathlib import Path

import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids import trainability as running
from nmtlab.grids.trainability import (
    MAP,
    MARGIN,
    Point,
    Trained,
    left_to_train,
    points,
    with_trained,
)
from nmtlab.recipe import find_recipe
from nmtlab.text.artificial import ArtificialSettings, write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.trial import Trial
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

    def outcomes(wanted, updates, changes=()):
        return list(running.trainability(wanted, recipe.with_changes(dict(changes)), corpus, workspace, updates))

    return outcomes


@pytest.mark.full
def test_a_model_of_the_target_alone_has_not_converged(judge):
    """Its loss is far below that of the unigram distribution, before it has learned to read the source."""
    (outcome,) = judge([LEARNS], 90)
    assert outcome.loss < outcome.unigram - MARGIN
    assert outcome.source_gain == pytest.approx(0, abs=0.02)
    assert outcome.verdict == "ignores the source"
    assert outcome.updates == 90
    assert outcome.first_gradient > 0


@pytest.mark.parametrize(
    ("losses", "source_gain", "verdict"),
    [
        ([4.0, 3.0, 2.0], 0.3, "converged"),
        ([4.0, 3.0, 2.0], 0.05, "ignores the source"),
        ([4.0, 4.0, 4.0], 0.3, "plateaued"),
    ],
)
def test_a_training_has_converged_if_its_loss_is_low_and_exchanged_sources_raise_it(
    judge, monkeypatch, losses, source_gain, verdict
):
    trial = Trial(losses, 1.0, source_gain, diverged=False)
    monkeypatch.setattr(running, "short_training", lambda *arguments: trial)
    (outcome,) = judge([LEARNS], 10)
    assert outcome.unigram == pytest.approx(4.5, abs=0.2)
    assert outcome.verdict == verdict


def test_what_jumps_about_does_not_learn(judge):
    (fails,) = judge([Point("post", "xavier", 2, 3.0, 1)], 50)
    assert fails.verdict in ("plateaued", "diverged")


def test_too_few_updates_leave_a_training_at_the_frequencies_of_words(judge):
    (outcome,) = judge([LEARNS], 10)
    assert outcome.verdict == "plateaued"
    assert outcome.loss > outcome.unigram - MARGIN


def test_a_loss_that_is_not_finite_is_a_verdict_at_its_update(judge):
    (outcome,) = judge([Point("pre", "small", 1, 1e30, 1)], 50)
    assert outcome.verdict == "diverged"
    assert outcome.updates < 50
    assert math.isnan(outcome.loss)


@pytest.mark.full
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
    learns = Trained(LEARNS, "converged", 50, 1.5, 4.0, 2.0, 0.4)
    gone = Trained(Point("post", "xavier", 6, 1e-2, 1), "diverged", 7, math.nan, 4.0, math.inf, math.nan)
    path = tmp_path / "map.csv"
    with_trained(with_trained(MAP.read(path), learns, "so", made), gone, "so", made).to_csv(path, index=False)
    kept = MAP.read(path)
    assert kept["verdict"].tolist() == ["converged", "diverged"]
    assert kept["loss"].tolist() == pytest.approx([1.5, math.nan], nan_ok=True)
    assert kept["first_gradient"].tolist() == [2, math.inf]
    other = Point("pre", "small", 1, 0.1 + 0.2, 2)
    assert left_to_train([learns.point, gone.point, other], "so", kept) == [other]
    assert left_to_train([learns.point], "otherwise", kept) == [learns.point]
    with_trained(kept, Trained(other, "plateaued", 50, 4.0, 4.0, 1.0, 0.0), "so", made).to_csv(path, index=False)
    assert left_to_train([other], "so", MAP.read(path)) == []


def test_a_point_that_another_process_has_trained_too_is_kept_once():
    both = [Trained(LEARNS, "converged", 50, loss, 4.0, 2.0, 0.4) for loss in (1.5, 1.6)]
    kept = MAP.read(Path("none"))
    for outcome in both:
        kept = with_trained(kept, outcome, "so", {})
    assert kept["loss"].tolist() == [1.6]


def test_a_file_that_is_no_map_is_named(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(NmtlabError, match=r"map\.csv: not a trainability map"):
        MAP.read(path)
