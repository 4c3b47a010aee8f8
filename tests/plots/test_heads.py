"""All heads at a glance, and contributions as heatmaps."""

import numpy as np
import pandas as pd
import pytest
from support.hand_made_model import random_system

from nmtlab.analysis.attention.heads import all_heads
from nmtlab.analysis.attribution.contributions import contributions
from nmtlab.plots import contribution_figure, heads_figure

SOURCE, TARGET = "olim deydi", "Fauci says"


def test_every_head_and_the_mean_of_each_layer_has_its_place():
    weights = all_heads(random_system("scale"), SOURCE, TARGET).query("kind == 'decoder self-attention'")
    two = pd.concat((weights, weights.assign(layer=2)))
    figure = heads_figure(two, "All of them")
    assert [tuple(trace.meta) for trace in figure.data] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    maps = {tuple(trace.meta): np.array(trace.z) for trace in figure.data}
    for head in (1, 2):
        own = weights[weights["head"] == head].pivot(index="position", columns="attended_position", values="weight")
        np.testing.assert_array_equal(maps[1, head], own)
    np.testing.assert_allclose(maps[2, 0], (maps[1, 1] + maps[1, 2]) / 2)
    placed = {
        tuple(trace.meta): (figure.layout[f"xaxis{n}"].domain[0], figure.layout[f"yaxis{n}"].domain[0])
        for n, trace in enumerate(figure.data, start=1)
    }
    assert placed[1, 1][0] < placed[1, 2][0] < placed[1, 0][0]  # the mean is on the right
    assert placed[1, 1][1] > placed[2, 1][1]  # the first layer is above
    assert {note.text for note in figure.layout.annotations} == {"head 1", "head 2", "mean", "layer 1", "layer 2"}


def test_contributions_of_all_runs_share_a_scale_around_zero():
    system = random_system("fixnorm+lex")
    frame = contributions("a", system, SOURCE, TARGET)
    figure = contribution_figure(
        pd.concat((frame, frame.assign(run="b", weight=3 * frame["weight"]))), "erasure", {"a": [(0, 1)]}
    )
    maps = [trace for trace in figure.data if trace.type == "heatmap"]
    most = 3 * frame["weight"].abs().max()
    assert [(trace.zmin, trace.zmax) for trace in maps] == [(pytest.approx(-most), pytest.approx(most))] * 2
    assert maps[0].colorbar.title.text == "nats"
    assert figure.layout.title.text == "Contribution of each source word, by erasure"
    (ring,) = [trace for trace in figure.data if trace.type == "scatter" and len(trace.x)]
    assert (list(ring.x), list(ring.y)) == ([0], [1])


def test_contributions_of_nothing_have_a_scale_too():
    frame = contributions("a", random_system("fixnorm+lex"), SOURCE, TARGET).assign(weight=0.0)
    assert contribution_figure(frame, "erasure").data[0].zmax == 1
