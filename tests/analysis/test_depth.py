"""g against depth: the logged values in their places, and a line through them."""

import pandas as pd
import pytest
from support.learned import learned_run

from nmtlab.analysis.dynamics.depth import GROUPS, g_by_depth, g_fits, g_slopes, g_trends
from nmtlab.errors import RunError


@pytest.fixture(scope="module")
def run(zoo):
    return zoo("scale")


def test_each_scalenorm_has_the_value_that_was_logged_at_the_best_evaluation(run):
    values = g_by_depth(run)
    logged = run.g_values().query(f"step == {run.best_step}")
    assert list(values["g"]) == list(logged["g"])
    assert set(values["step"]) == {run.best_step}


def test_slopes_are_those_of_each_evaluation(run):
    found = g_slopes(run)
    steps = sorted(set(run.g_values()["step"]))
    assert len(steps) > 1
    for step in steps:
        own = found[found["step"] == step].drop(columns="step").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, g_fits(g_by_depth(run, step)))
    assert g_by_depth(run, steps[0])["g"].tolist() == run.g_values().query("step == @steps[0]")["g"].tolist()


def test_panels_and_groups_are_those_of_figure_3_6(run):
    places = g_by_depth(run)[["panel", "group", "side", "depth"]].value_counts().to_dict()
    wanted = {("attention", side, side, depth) for side in ("encoder", "decoder") for depth in (1, 2)}
    wanted |= {("attention", "decoder-encoder", "decoder", depth) for depth in (1, 2)}
    wanted |= {("feed-forward", side, side, depth) for side in ("encoder", "decoder") for depth in (1, 2)}
    wanted |= {("feed-forward", "final", side, 3) for side in ("encoder", "decoder")}
    assert places == dict.fromkeys(wanted, 1)
    assert {group for _, group, _, _ in places} == set(GROUPS)


def test_the_line_is_that_of_least_squares_by_hand():
    rows = [("a", "attention", "encoder", depth, g) for depth, g in ((1, 2.0), (2, 3.0), (3, 7.0))]
    rows += [("a", "attention", "decoder", depth, 5.0) for depth in (1, 2)]
    rows += [("a", "feed-forward", "final", 4, 1.0)]
    fits = g_fits(pd.DataFrame(rows, columns=["run", "panel", "group", "depth", "g"])).set_index("group")
    assert list(fits.index) == ["encoder", "decoder"]
    # Means 2 and 4; sum of products 5, of squares 2 and 14.
    assert fits.loc["encoder", ["layers", "slope", "intercept"]].tolist() == pytest.approx([3, 2.5, -1.0])
    assert fits.loc["encoder", "correlation"] == pytest.approx(5 / (2 * 14) ** 0.5)
    assert fits.loc["decoder", "slope"] == pytest.approx(0)
    assert pd.isna(fits.loc["decoder", "correlation"])


def test_trends_are_slopes_and_the_g_of_the_upper_decoder_and_the_output(run):
    found, values = (
        g_trends(run),
        run.g_values().query(f"step == {run.best_step}").set_index(["side", "kind", "depth"])["g"],
    )
    for side in ("encoder", "decoder"):
        for panel in ("attention", "feed-forward"):
            rise = values[side, panel, 2] - values[side, panel, 1]  # two layers: the line goes through both
            assert found[f"slope, {side} {panel}"] == pytest.approx(rise)
    upper = [values["decoder", kind, 2] for kind in ("attention", "feed-forward")]
    assert found["g, late decoder"] == pytest.approx(sum(upper) / 2)
    assert found["g, output"] == values["decoder"]["final"].item()


def test_one_layer_has_no_slope(tiny_corpus, tiny_recipe, tmp_path):
    one = {"model.norm": "scale", "model.placement": "pre", "model.encoder_layers": 1, "model.decoder_layers": 1}
    found = g_trends(learned_run(tmp_path, tiny_corpus, tiny_recipe.with_changes(one)))
    assert pd.isna(found["slope, encoder attention"])
    assert found["g, late decoder"] > 0


@pytest.mark.full
def test_a_run_without_scalenorm_is_refused(tiny_corpus, tiny_recipe, tmp_path):
    layer = {"model.norm": "layer", "model.fixnorm": False, "training.max_evaluations": 1}
    with pytest.raises(RunError, match="no values of g"):
        g_by_depth(learned_run(tmp_path, tiny_corpus, tiny_recipe.with_changes(layer)))
