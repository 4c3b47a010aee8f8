"""g against depth: the logged values in their places, and a line through them."""

import pandas as pd
import pytest
from support.figures import assert_dressed
from support.learned import learned_run
from support.packed import packed_folder

from nmtlab.analysis.dynamics.depth import (
    G_BY_DEPTH,
    GROUPS,
    SLOPES_OF_G,
    depth_figure,
    g_by_depth,
    g_fits,
    g_slopes,
    g_trends,
    slopes_figure,
)
from nmtlab.errors import RunError
from nmtlab.runs.run import Run


@pytest.fixture(scope="module")
def run(zoo):
    return zoo("scale")


def test_each_scalenorm_has_the_value_that_was_logged_at_the_best_evaluation(run):
    values = g_by_depth(run)
    logged = run.log.g_values().query(f"step == {run.checkpoints.best_step}")
    assert list(values["g"]) == list(logged["g"])
    assert set(values["step"]) == {run.checkpoints.best_step}


def test_slopes_are_those_of_each_evaluation(run):
    found = g_slopes(run)
    steps = sorted(set(run.log.g_values()["step"]))
    assert len(steps) > 1
    for step in steps:
        own = found[found["step"] == step].drop(columns="step").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, g_fits(g_by_depth(run, step)))
    assert g_by_depth(run, steps[0])["g"].tolist() == run.log.g_values().query("step == @steps[0]")["g"].tolist()


def test_panels_and_groups_are_those_of_figure_3_6(run):
    places = g_by_depth(run)[["panel", "group", "side", "depth"]].value_counts().to_dict()
    wanted = {("attention", side, side, depth) for side in ("encoder", "decoder") for depth in (1, 2)}
    wanted |= {("attention", "cross-attention", "decoder", depth) for depth in (1, 2)}
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
        g_trends(G_BY_DEPTH.of(run)),
        run.log.g_values().query(f"step == {run.checkpoints.best_step}").set_index(["side", "kind", "depth"])["g"],
    )
    for side in ("encoder", "decoder"):
        for panel in ("attention", "feed-forward"):
            rise = values[side, panel, 2] - values[side, panel, 1]  # two layers: the line goes through both
            assert found[f"g-slope-{side}-{panel}"] == pytest.approx(rise)
    upper = [values["decoder", kind, 2] for kind in ("attention", "feed-forward")]
    assert found["g-late-decoder"] == pytest.approx(sum(upper) / 2)
    assert found["g-output"] == values["decoder"]["final"].item()


@pytest.mark.full
def test_one_layer_has_no_slope(tiny_corpus, tiny_recipe, tmp_path):
    one = {"model.norm": "scale", "model.placement": "pre", "model.encoder_layers": 1, "model.decoder_layers": 1}
    found = g_trends(G_BY_DEPTH.of(learned_run(tmp_path, tiny_corpus, tiny_recipe.with_changes(one))))
    assert pd.isna(found["g-slope-encoder-attention"])
    assert found["g-late-decoder"] > 0


@pytest.mark.full
def test_a_run_without_scalenorm_is_refused(tiny_corpus, tiny_recipe, tmp_path):
    layer = {"model.norm": "layer", "model.fixnorm": False, "training.max_evaluations": 1}
    with pytest.raises(RunError, match="no values of g"):
        G_BY_DEPTH.of(learned_run(tmp_path, tiny_corpus, tiny_recipe.with_changes(layer)))


def test_g_is_drawn_in_two_panels_with_its_lines():
    values = pd.DataFrame(
        [("a", "attention", "encoder", "encoder", depth, g) for depth, g in ((1, 1.0), (2, 2.0), (3, 6.0))]
        + [("a", "feed-forward", "final", "decoder", 3, 9.0)],
        columns=["run", "panel", "group", "side", "depth", "g"],
    )
    figure = depth_figure(values)
    assert_dressed(figure)
    assert [(list(t.x), list(t.y), t.xaxis) for t in figure.data if t.mode == "markers"] == [
        ([1, 2, 3], [1.0, 2.0, 6.0], "x"), ([3], [9.0], "x2"),
    ]  # fmt: skip
    (line,) = [trace for trace in figure.data if trace.mode == "lines"]
    assert list(line.y) == pytest.approx([0.5, 5.5])


def test_slopes_of_g_are_drawn_over_updates_a_line_a_group():
    slopes = pd.DataFrame(
        [
            ("a", panel, "encoder", step, slope)
            for panel in ("attention", "feed-forward")
            for step, slope in ((100, -0.1), (200, 0.2))
        ],
        columns=["run", "panel", "group", "step", "slope"],
    )
    figure = slopes_figure(slopes)
    assert_dressed(figure)
    assert [(list(t.x), list(t.y), t.xaxis, t.showlegend) for t in figure.data] == [
        ([100, 200], [-0.1, 0.2], "x", True), ([100, 200], [-0.1, 0.2], "x2", False),
    ]  # fmt: skip


def test_slopes_of_g():
    without = Run(packed_folder("deep-de-en.pre-layernorm"))
    for analysis in (G_BY_DEPTH, SLOPES_OF_G):
        with pytest.raises(RunError, match="no values of g; choose a run with ScaleNorm"):
            analysis.view(without)
    run = Run(packed_folder("deep-de-en.pre-scalenorm"))
    pd.testing.assert_series_equal(G_BY_DEPTH.view(run).frame["slope"], g_fits(g_by_depth(run))["slope"])
    slopes, table = g_slopes(run), SLOPES_OF_G.view(run).frame
    for step in (slopes["step"].min(), slopes["step"].max()):
        own = slopes[slopes["step"] == step].sort_values(["panel", "group"])
        assert table.sort_values(["panel", "group"])[str(step)].tolist() == own["slope"].tolist()
