"""The map of trainability."""

import math

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.trainability import MAP, Point, Trained, with_trained
from nmtlab.thesis.shown.trainability import trainability_figure, trainability_view

OUTCOMES = pd.DataFrame(
    [
        ("post", "xavier", 6, 0.01, 1, "plateaued", 5.0), ("post", "xavier", 6, 0.01, 2, "diverged", math.nan),
        ("post", "xavier", 1, 0.001, 1, "converged", 2.0), ("post", "xavier", 1, 0.001, 2, "plateaued", 4.0),
        ("pre", "small", 6, 0.01, 1, "converged", 1.0),
    ],
    columns=["placement", "init", "layers", "rate", "seed", "verdict", "loss"],
).assign(unigram=5.1, source_gain=[0.0, math.nan, 1.2, 0.0, 0.8])  # fmt: skip


def test_a_map_has_a_heatmap_for_each_kind_with_the_share_that_learns():
    figure = trainability_figure(OUTCOMES)
    post_xavier, pre_small = figure.data  # an empty one would be an error in a browser
    assert [list(trace.x) for trace in figure.data] == [["0.001", "0.01"]] * 2
    assert list(post_xavier.y) == ["1", "6"]
    assert [list(row) for row in post_xavier.z] == [[0.5, None], [None, 0.0]]
    assert [list(row) for row in post_xavier.text] == [["1 of 2", ""], ["", "0 of 2"]]
    assert [list(row) for row in pre_small.z] == [[None, None], [None, 1.0]]
    titles = [note.text for note in figure.layout.annotations]
    assert titles == ["PostNorm, Xavier", "PostNorm, SmallInit", "PreNorm, Xavier", "PreNorm, SmallInit"]
    assert (post_xavier.xaxis, pre_small.xaxis) == ("x", "x4")
    assert [trace.showscale for trace in figure.data] == [True, False]


@pytest.mark.parametrize(
    ("layers", "rate", "said"),
    [
        (0, 0, "1 converged, 1 plateaued; loss 3.00 nats, unigram entropy 5.10; exchanged sources cost 0.60 nats"),
        (0, 1, "not trained"),
        (1, 1, "1 plateaued, 1 diverged; loss 5.00 nats, unigram entropy 5.10; exchanged sources cost 0.00 nats"),
    ],
)
def test_a_cell_says_how_its_trainings_ended(layers, rate, said):
    assert trainability_figure(OUTCOMES).data[0].customdata[layers][rate] == said


def test_a_map_of_trainability_with_its_shares(tmp_path, monkeypatch):
    monkeypatch.setattr("nmtlab.grids.trainability.RESULTS", tmp_path)
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "without a map"))
    with pytest.raises(NmtlabError, match="no map"):
        trainability_view()
    kept = MAP.read(tmp_path / "none")
    for seed, verdict in ((1, "converged"), (2, "plateaued")):
        outcome = Trained(Point("pre", "small", 2, 0.001, seed), verdict, 10, 3.0, 5.0, 1.0, 0.5)
        kept = with_trained(kept, outcome, "a map", {"commit": "c", "machine": "m"})
    kept.to_csv(tmp_path / "trainability.csv", index=False)
    assert trainability_view().frame.to_dict("records") == [
        {"placement": "pre", "init": "small", "layers": 2, "0.001": 0.5}
    ]
    with pytest.raises(NmtlabError, match="no map of another"):
        trainability_view("another")
