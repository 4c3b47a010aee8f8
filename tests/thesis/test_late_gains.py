"""How much dev BLEU a training still gained in its last fifth."""

import math
import sys

import pandas as pd
import pytest
from oracles.late_gains import packed_late_gains

from nmtlab.grids.results.kept import LATE_GAINS, largest_late_gain, late_gain
from nmtlab.workspace import Workspace


def curve(*scores: float) -> pd.DataFrame:
    return pd.DataFrame({"step": range(100, 100 * len(scores) + 1, 100), "bleu": scores})


def test_the_gain_is_the_rise_of_the_best_score_in_the_last_fifth():
    assert late_gain(curve(1.0, 5.0, 9.0, 8.0, 10.5)) == 1.5  # 9.0 was the best until update 400 of 500
    assert late_gain(curve(1.0, 5.0, 9.0, 8.0, 7.0)) == 0.0
    assert late_gain(curve(0.0, 2.0, 4.0, 6.0, 8.0, 9.0, 10.0, 11.0, 11.5, 13.0)) == 2.0


def test_a_single_evaluation_tells_nothing():
    assert math.isnan(late_gain(curve(9.0)))


def test_of_two_systems_the_one_counts_that_gained_more_over_its_seeds(monkeypatch):
    known = {("a1", "CPU"): 1.0, ("a2", "CPU"): 3.0, ("b1", "CPU"): 2.5}
    monkeypatch.setattr(sys.modules[late_gain.__module__], "_late_gains", lambda: known)
    cells = pd.DataFrame({"column": ["a", "a", "b"], "run": ["a1", "a2", "b1"], "machine": ["CPU"] * 3})
    assert largest_late_gain(cells) == 2.5
    assert math.isnan(largest_late_gain(cells.assign(machine="GPU")))
    assert math.isnan(largest_late_gain(cells[:0]))


@pytest.mark.full
def test_what_is_trained_out_gains_less_at_the_end_than_short_trainings(judged):
    found = judged.groupby("evidence")["late_gain"]
    assert found.min()["table-3.13.small.csv"] > 3
    assert found.max()["table-3.13-trained-out.small.csv"] < 2
    assert found.count()["table-3.13-trained-out.small.csv"] < found.size()["table-3.13-trained-out.small.csv"]


@pytest.mark.full
def test_what_is_stored_is_what_the_packed_runs_say():
    found = packed_late_gains(Workspace(LATE_GAINS.parents[2])).set_index(["run", "machine"])["gain"]
    stored = pd.read_csv(LATE_GAINS).set_index(["run", "machine"])["gain"]
    assert stored.to_dict() == pytest.approx(found.to_dict())
