"""A view of runs shows what the analyses find."""

import shutil

import pandas as pd
import pytest
from support.packed import packed_folder

from nmtlab.analysis.attention.shift import attention_shift, sink_summary
from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.dynamics.curves import dev_curve
from nmtlab.analysis.dynamics.depth import g_by_depth, g_fits, g_slopes
from nmtlab.analysis.dynamics.signals import SIGNALS
from nmtlab.analysis.lexical.norms import norm_correlations, word_norms
from nmtlab.analysis.search.beams import sweep, varied
from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.views import (
    attention_view,
    depth_view,
    dev_view,
    gradient_view,
    norms_view,
    shift_view,
    signals_view,
    slopes_view,
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
    view = attention_view([run], "das ist", "this is")
    weights = attention([run], "das ist", "this is")
    last = weights[weights["layer"] == weights["layer"].max()]
    means = last.groupby(["target_position", "source_position"])["weight"].mean()
    assert list(view.frame["weight"]) == pytest.approx(list(means.groupby("target_position").max()))
    assert view.figure.layout.title.text.endswith(": last layer, mean of the heads")


def test_attention_is_summed_up_for_each_run_in_the_order_given(run, tiny_corpus, tmp_path):
    links = [frozenset({(0, 0)})] * tiny_corpus.count("dev")
    shutil.copytree(run.folder, tmp_path / "a copy")
    runs = [run, Run(tmp_path / "a copy")]
    view = shift_view(runs, tiny_corpus, "dev", links)
    assert view.frame["run"].tolist() == [run.name for run in runs] == [trace.name for trace in view.figure.data]
    expected = sink_summary(pd.concat([attention_shift(run, tiny_corpus, "dev", links) for run in runs]))
    assert view.frame["first"].tolist() == expected["first"].tolist()


def test_the_best_evaluation(run):
    assert dev_view([run]).frame[["step", "bleu"]].to_numpy().tolist() == [
        [run.best_step, dev_curve(run)["bleu"].max()]
    ]


def test_spikes_by_quarter(run):
    assert gradient_view([run]).frame["updates"].sum() == len(run.gradient_norms())


def test_slopes_of_g():
    with pytest.raises(RunError, match="no values of g"):
        depth_view([Run(packed_folder("deep-de-en.pre-layernorm"))])
    run = Run(packed_folder("deep-de-en.pre-scalenorm"))
    pd.testing.assert_series_equal(depth_view([run]).frame["slope"], g_fits(g_by_depth(run))["slope"])
    slopes, table = g_slopes(run), slopes_view([run]).frame
    for step in (slopes["step"].min(), slopes["step"].max()):
        own = slopes[slopes["step"] == step].sort_values(["panel", "group"])
        assert table.sort_values(["panel", "group"])[str(step)].tolist() == own["slope"].tolist()


def test_the_tree_of_a_sentence_comes_with_what_it_has_ended(trained):
    view = tree_view(trained[0], "ein Hund singt", SearchSettings(score="log-prob", beam_size=3))
    assert view.frame["log_prob"].is_monotonic_decreasing
    assert view.figure.data
    assert "text" in repr(view)


def test_a_sweep_is_shown_once_it_was_made(tmp_path, trained, tiny_corpus):
    run = Run(shutil.copytree(trained[0].folder, tmp_path / "whole"))
    with pytest.raises(RunError, match="runs whole: no beam sweep is stored with them"):
        sweep_view([run])
    sweep(run, tiny_corpus, varied(SearchSettings(score="log-prob"), "beam_size", [1, 2]), "dev", 3)
    view = sweep_view([run])
    assert view.frame["beam_size"].tolist() == [1, 2]
    assert set(view.frame["name"]) == {"whole, log-prob, 3 sampled sentences of tiny dev"}


def test_signals_that_are_kept_from_the_first_norm_to_the_last(run, tiny_corpus, tmp_path):
    copy = Run(shutil.copytree(run.folder, tmp_path / run.name))
    with pytest.raises(RunError, match="no signals are stored"):
        signals_view([copy])
    found = SIGNALS.of(copy, corpus=tiny_corpus, sample=3)
    shown = signals_view([copy]).frame.set_index("side")
    for side, own in found.groupby("side"):
        assert shown.loc[side, "first gradient"] == own["gradient"].iloc[0]
        assert shown.loc[side, "last activation"] == own["activation"].iloc[-1]
