"""A view of runs shows what the analyses say of them."""

import shutil

import pandas as pd
import pytest

from nmtlab.analysis.attention import attention
from nmtlab.analysis.beams import sweep, varied
from nmtlab.analysis.depth import g_by_depth, g_fits
from nmtlab.analysis.dynamics import dev_curve
from nmtlab.analysis.norms import norm_correlations, word_norms
from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.views import (
    attention_view,
    depth_view,
    dev_view,
    gradient_view,
    norms_view,
    sweep_view,
    tree_view,
)


@pytest.fixture(scope="module")
def run(trained) -> Run:
    return trained[0]


def test_norms_with_their_rank_correlations(run):
    view = norms_view([run], bin_size=5)
    assert list(view.frame["spearman"].dropna()) == list(norm_correlations(word_norms(run))["spearman"].dropna())
    assert [len(trace.y) for trace in view.figure.data if trace.mode == "markers"] == [len(word_norms(run))] * 2


def test_norms_without_points(run):
    assert not [trace for trace in norms_view([run], points=False).figure.data if trace.mode == "markers"]


def test_attention_with_its_peaks(run):
    frame = attention_view([run], "das ist", "this is").frame
    weights = attention([run], "das ist", "this is").query("layer == 1 and head == 1")
    assert list(frame["weight"]) == list(weights.groupby("target_position")["weight"].max())


def test_the_best_evaluation(run):
    assert dev_view([run]).frame[["step", "bleu"]].to_numpy().tolist() == [
        [run.best_step, dev_curve(run)["bleu"].max()]
    ]


def test_spikes_by_quarter(run):
    assert gradient_view([run]).frame["updates"].sum() == len(run.gradient_norms())


def test_slopes_of_g(run):
    if run.g_values().empty:
        with pytest.raises(RunError, match="no values of g"):
            depth_view([run])
        return
    pd.testing.assert_series_equal(depth_view([run]).frame["slope"], g_fits(g_by_depth(run))["slope"])


def test_the_tree_of_a_sentence_comes_with_what_it_has_ended(trained):
    view = tree_view(trained[0], "ein Hund singt", SearchSettings(score="log-prob", beam_size=3))
    assert view.frame["log_prob"].is_monotonic_decreasing
    assert view.figure.data
    assert "text" in repr(view)


def test_a_sweep_is_shown_once_it_was_made(tmp_path, trained, tiny_corpus):
    run = Run(shutil.copytree(trained[0].folder, tmp_path / "whole"))
    with pytest.raises(RunError, match="runs whole: no sweep of beams is kept with them"):
        sweep_view([run])
    sweep(run, tiny_corpus, varied(SearchSettings(score="log-prob"), "beam_size", [1, 2]), "dev", 3)
    view = sweep_view([run])
    assert view.frame["beam_size"].tolist() == [1, 2]
    assert set(view.frame["name"]) == {"whole, log-prob, 3 of dev"}
