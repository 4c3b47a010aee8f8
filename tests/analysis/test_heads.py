"""All attention heads of a sentence as a table."""

import numpy as np
import pytest
from support.hand_made_model import random_system

from nmtlab.analysis.attention.heads import KINDS, all_heads, head_summary
from nmtlab.analysis.attention.weights import attention_of
from nmtlab.errors import RunError

SOURCE, TARGET = "olim Fauchi deydi", "Fauci says"


def test_cross_attention_is_that_of_the_heatmaps_and_the_decoder_attends_to_what_it_has_read():
    system = random_system("layer")
    frame = all_heads(system, SOURCE, TARGET)
    assert tuple(frame["kind"].unique()) == KINDS
    cross = frame[frame["kind"] == "cross-attention"]
    expected = attention_of("x", system, SOURCE, TARGET)
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


def test_a_summary_finds_even_attention_and_a_sink():
    frame = all_heads(random_system("layer"), SOURCE, TARGET).query("kind == 'encoder self-attention'")
    even = head_summary(frame.assign(weight=0.25))
    assert even[["entropy", "first", "last"]].to_numpy() == pytest.approx(np.tile([2, 0.25, 0.25], (2, 1)))
    sunk = head_summary(frame.assign(weight=(frame["attended_position"] == 3).astype(float)))
    assert sunk[["entropy", "first", "last"]].to_numpy() == pytest.approx(np.tile([0, 0, 1], (2, 1)))
    assert sunk[["layer", "head"]].to_numpy().tolist() == [[1, 1], [1, 2]]
