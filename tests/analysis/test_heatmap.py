"""Weights between tokens as heatmaps, side by side."""

from itertools import pairwise

import pandas as pd
import pytest

from nmtlab.analysis.attention.weights import ATTENTION, attention, attention_figure


def test_attention_is_a_heatmap_a_run_of_the_chosen_head(trained):
    run, _ = trained
    weights = attention(run, "das ist", "this is").assign(run=run.name)
    figure = attention_figure(weights, {run.name: [(0, 1)], "another": [(1, 1)]}, layer=1, head=2)
    assert figure.layout.xaxis.title.text == "source"
    (heatmap,) = [trace for trace in figure.data if trace.type == "heatmap"]
    own = weights.query("layer == 1 and head == 2")
    assert heatmap.z.shape == (own["target_position"].nunique(), own["source_position"].nunique())
    assert heatmap.z.ravel() == pytest.approx(own.sort_values(["target_position", "source_position"])["weight"])
    (ring,) = [trace for trace in figure.data if trace.type == "scatter"]
    assert (list(ring.x), list(ring.y)) == ([0], [1])
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.layout.title.text.endswith(": layer 1, head 2")
    one_head = weights.query("layer == 1 and head == 1")
    assert attention_figure(one_head).layout.title.text == "Attention of each system for each target word"


@pytest.mark.full
@pytest.mark.parametrize("words", [2, 12, 40])
def test_heatmaps_of_any_number_of_runs_stand_in_rows_of_at_most_four_and_apart(trained, words):
    weights = attention(trained[0], " ".join(["das"] * words), "this is")
    for runs in range(1, 25):
        names = [f"small-de-en.prenorm-fixnorm-scalenorm.encoder_layers-6.s{place}" for place in range(runs)]
        figure = attention_figure(pd.concat([weights.assign(run=name) for name in names]))
        across = [axis.domain for axis in figure.select_xaxes()]
        down = [axis.domain for axis in figure.select_yaxes()]
        assert len(across) == runs
        assert all(0 <= low < high <= 1 for low, high in (*across, *down))
        places = sorted(zip(down, across, strict=True), reverse=True)
        rows = {row: sorted(left for one, left in places if one == row) for row in dict.fromkeys(down)}
        assert max(map(len, rows.values())) == min(runs, {2: 4, 12: 4, 40: 1}[words])
        assert all(left[1] < right[0] for row in rows.values() for left, right in pairwise(row))
        assert all(lower[1] < upper[0] for upper, lower in pairwise(sorted(rows, reverse=True)))
        titles = [note.text.replace("<br>", "") for note in figure.layout.annotations]
        assert titles == names


@pytest.mark.parametrize("runs", [2, 6])
def test_cells_are_equally_high_and_shorter_heatmaps_end_earlier(trained, runs):
    targets = [" ".join(["this"] * (1 + 3 * place)) for place in range(runs)]
    weights = [attention(trained[0], "das ist", one).assign(run=f"run {at}") for at, one in enumerate(targets)]
    figure = attention_figure(pd.concat(weights))
    rows = [trace.z.shape[0] for trace in figure.data if trace.type == "heatmap"]
    domains = [axis.domain for axis in figure.select_yaxes()]
    cells = [(high - low) / count for (low, high), count in zip(domains, rows, strict=True)]
    assert cells == pytest.approx([cells[0]] * runs)
    assert len({high for _, high in domains}) == -(-runs // 4)
    assert min(low for low, _ in domains) == pytest.approx(0)
    whole = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    assert cells[0] * whole == pytest.approx(max(22, 160 / max(rows)), rel=0.01)
    below = sorted({high for _, high in domains})
    assert all(low > below[0] for low, high in domains if high != below[0])


@pytest.mark.parametrize(("second", "labelled"), [("this is", [True, False]), ("this is not", [True, True])])
def test_targets_that_are_alike_are_labelled_once(trained, second, labelled):
    weights = [attention(trained[0], "das ist", one) for one in ("this is", second)]
    figure = attention_figure(pd.concat([some.assign(run=f"run {place}") for place, some in enumerate(weights)]))
    assert [axis.showticklabels is not False for axis in figure.select_yaxes()] == labelled


def test_unknown_pieces_are_bold_in_the_attention(trained):
    weights = attention(trained[0], "das ist", "this is").assign(run="x", target_unknown=True, source_unknown=False)
    figure = attention_figure(weights)
    assert all(label.startswith("<b>") for label in figure.layout.yaxis.ticktext)
    assert not any(label.startswith("<b>") for label in figure.layout.xaxis.ticktext)


def test_attention_with_its_peaks(trained):
    run, _ = trained
    view = ATTENTION.view(run, source="das ist", target="this is")
    weights = attention(run, "das ist", "this is").assign(run=run.name)
    last = weights[weights["layer"] == weights["layer"].max()]
    means = last.groupby(["target_position", "source_position"])["weight"].mean()
    assert list(view.frame["weight"]) == pytest.approx(list(means.groupby("target_position").max()))
    assert view.figure.layout.title.text.endswith(": last layer, mean of the heads")


def test_links_that_all_runs_share_need_no_names(trained):
    weights = attention(trained[0], "das ist", "this is")
    figure = attention_figure(pd.concat([weights.assign(run=name) for name in ("a", "b")]), [(0, 1)])
    rings = [trace for trace in figure.data if trace.type == "scatter"]
    assert [(list(ring.x), list(ring.y)) for ring in rings] == [([0], [1])] * 2
