"""All attention heads of a sentence as a table."""

import numpy as np
import pandas as pd
import pytest
from support.hand_made_model import random_system

from nmtlab.analysis.attention.heads import KINDS, all_heads, head_summary, heads_figure, heads_finding
from nmtlab.analysis.attention.weights import attention
from nmtlab.errors import RunError

SOURCE, TARGET = "olim Fauchi deydi", "Fauci says"


def test_cross_attention_is_that_of_the_heatmaps_and_the_decoder_attends_to_what_it_has_read():
    system = random_system("layer")
    frame = all_heads(system, SOURCE, TARGET)
    assert tuple(frame["kind"].unique()) == KINDS
    cross = frame[frame["kind"] == "cross-attention"]
    expected = attention(system, SOURCE, TARGET)
    np.testing.assert_allclose(cross["weight"], expected["weight"], atol=1e-6)
    assert cross["piece"].tolist() == expected["target_piece"].tolist()
    assert cross["attended_piece"].tolist() == expected["source_piece"].tolist()
    past = frame[frame["kind"] == "decoder self-attention"]
    assert past.drop_duplicates("attended_position")["attended_piece"].tolist() == ["<s>", "Fauci", "says"]
    assert (past.loc[past["attended_position"] > past["position"], "weight"] == 0).all()
    sums = frame.groupby(["kind", "layer", "head", "position"])["weight"].sum()
    assert sums.to_numpy() == pytest.approx(1)


def test_a_recurrent_system_has_no_heads_to_show():
    with pytest.raises(RunError, match="choose a Transformer"):
        all_heads(random_system("untied"), SOURCE, TARGET)


def test_a_decoder_that_averages_has_the_other_heads_and_says_why():
    found = all_heads(random_system("average"), SOURCE, TARGET).assign(run="run")
    assert tuple(found["kind"].unique()) == KINDS[:2]
    assert heads_finding(found, "decoder self-attention") == (
        "This decoder has no self-attention: it averages the words so far."
    )


def test_a_summary_finds_even_attention_and_a_sink():
    frame = all_heads(random_system("layer"), SOURCE, TARGET)
    even = head_summary(frame.assign(weight=0.25), "encoder self-attention")
    assert even[["entropy", "first", "last"]].to_numpy() == pytest.approx(np.tile([2, 0.25, 0.25], (2, 1)))
    last = (frame["attended_position"] == 3).astype(float)
    sunk = head_summary(frame.assign(weight=last), "encoder self-attention")
    assert sunk[["entropy", "first", "last"]].to_numpy() == pytest.approx(np.tile([0, 0, 1], (2, 1)))
    assert sunk[["layer", "head"]].to_numpy().tolist() == [[1, 1], [1, 2]]


def test_every_head_and_the_mean_of_each_layer_has_its_place():
    found = all_heads(random_system("scale"), SOURCE, TARGET).assign(run="a < b")
    weights = found[found["kind"] == "decoder self-attention"]
    figure = heads_figure(pd.concat((found, weights.assign(layer=2))), "decoder self-attention")
    assert figure.layout.title.text == "Decoder self-attention of a &lt; b"
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
