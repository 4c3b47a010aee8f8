"""Numbers of what goes on inside of a Transformer: learned g, and the gradient on its way down."""

import math

import pytest

from nmtlab.analysis.depth import g_trends
from nmtlab.analysis.signals import signals
from nmtlab.experiments.measures import G_SLOPES, GRADIENT_LEFT, LATE_G, OUTPUT_G
from nmtlab.training.trainer import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def run(tiny_corpus, tiny_recipe, tmp_path_factory):
    scale = {"model.norm": "scale", "model.placement": "pre", "model.encoder_layers": 2, "model.decoder_layers": 2}
    return train("scale", tiny_recipe.with_changes(scale), tiny_corpus, Workspace(tmp_path_factory.mktemp("inside")))


def test_trends_of_g_are_those_of_the_analysis(run, tiny_corpus):
    found = g_trends(run)
    assert {trend.name: trend.value(run, tiny_corpus) for trend in (*G_SLOPES, LATE_G, OUTPUT_G)} == found
    assert LATE_G.significance([run], run, tiny_corpus) == {}


def test_what_is_left_of_the_gradient_is_the_first_norms_to_the_last_ones_of_a_side(run, tiny_corpus):
    found = signals(run, tiny_corpus, update=run.last_step)
    for left in GRADIENT_LEFT:
        gradients = found[found["side"] == left.side].set_index("place")["gradient"]
        expected = math.log10(gradients[1] / gradients[gradients.index.max()])
        assert left.value(run, tiny_corpus) == pytest.approx(expected)
        assert left.significance([run], run, tiny_corpus) == {}
