"""Curves over beam size that are stored with runs, and drawn."""

import math
import shutil
from types import SimpleNamespace

import pandas as pd
import pytest

from nmtlab.analysis.search import beams
from nmtlab.analysis.search.beams import (
    MISSED_BY_BEAMS,
    SWEEPS,
    decoded,
    learned_reward,
    stored_sweeps,
    sweep,
    sweep_figure,
    varied,
)
from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run

LOG_PROB = SearchSettings(score="log-prob", beam_size=2, extra_length=3)


@pytest.fixture
def run(trained, tmp_path) -> Run:
    """A run of its own, so that no answer is there yet."""
    return Run(shutil.copytree(trained[0].folder, tmp_path / "whole"))


def test_curves_of_beams_say_what_they_miss_where_that_was_asked(run, tiny_corpus):
    searches = varied(LOG_PROB, "beam_size", [1, 2, 3])
    asked = {"corpus": tiny_corpus, "split": "dev", "sample": 5}
    sweep(run, searches=searches, **asked)
    MISSED_BY_BEAMS.of(run, beams=[1, 2], search=LOG_PROB, budget=5000, **asked)
    curve = stored_sweeps(run).query("split == 'dev' and sentences == 5").set_index("beam_size")
    assert curve["errors"].notna().to_dict() == {1: True, 2: True, 3: False}


def test_curves_that_are_searched_otherwise_have_other_names(run, tiny_corpus):
    ways = [LOG_PROB, *(LOG_PROB.model_copy(update=own) for own in ({"coverage": 0.2}, {"allow_empty": False}))]
    for search in ways:
        sweep(run, tiny_corpus, varied(search, "beam_size", [1, 2]), "dev", 3)
    sweep(run, tiny_corpus, varied(LOG_PROB, "beam_size", [1, 2]), "test", 3)
    names = [name.removeprefix(f"{run.name}, ") for name in sorted(set(stored_sweeps(run)["name"]))]
    assert names == [
        "log-prob, coverage 0.2, up to 3 tokens more, 3 sampled sentences of tiny dev",
        "log-prob, up to 3 tokens more, 3 sampled sentences of tiny dev",
        "log-prob, up to 3 tokens more, 3 sampled sentences of tiny test",
        "log-prob, up to 3 tokens more, never empty, 3 sampled sentences of tiny dev",
    ]


def test_a_sweep_has_four_panels_with_a_colour_for_each_way_and_a_dash_for_each_run():
    outcomes = pd.DataFrame(
        {
            "name": ["one", "one", "two", "two"], "beam_size": [4, 1, 1, 4], "bleu": [30.0, 31.0, 20.0, 22.0],
            "run": ["a", "a", "b", "b"], "way": ["average"] * 4,
            "length_ratio": [0.9, 1.0, 1.0, 1.0], "empty": [0.1, 0.0, 0.0, 0.0], "log_prob": [-4.0, -5.0, -6.0, -5.5],
            "errors": [math.nan] * 4,
        }
    )  # fmt: skip
    figure = sweep_figure(outcomes)
    assert len(figure.data) == 8
    assert (list(figure.data[0].x), list(figure.data[0].y)) == ([1, 4], [31.0, 30.0])
    assert [trace.name for trace in figure.data if trace.showlegend] == ["one", "two"]
    assert list(figure.layout.xaxis.ticktext) == ["1", "4"]
    assert figure.data[0].line.color == figure.data[1].line.color
    assert figure.data[0].line.dash != figure.data[1].line.dash
    other = sweep_figure(outcomes.assign(run="a", way=outcomes["name"]))
    assert other.data[0].line.color != other.data[1].line.color
    assert other.data[0].line.dash == other.data[1].line.dash
    assert figure.layout.annotations[0].text == "BLEU (%)"
    assert figure.layout.title.text == "BLEU, length and search errors by beam size"
    assert (
        sweep_figure(outcomes.assign(alpha=[0.2, 0.4, 0.2, 0.4]), "alpha").layout.title.text
        == "BLEU, length and search errors by alpha"
    )
    measured = sweep_figure(outcomes.assign(errors=[0.5, 0.8, math.nan, math.nan]))
    assert measured.layout.annotations[4].text == "search errors (share)"
    assert list(measured.data[8].y) == [0.8, 0.5]
    crowded = sweep_figure(outcomes.assign(beam_size=[1, 12, 16, 32]))
    assert list(crowded.layout.xaxis.ticktext) == ["1", "12", "32"]


@pytest.mark.parametrize("score", ["word-reward", "bounded-reward"])
def test_the_reward_is_learned_by_the_published_update_from_decoded_and_wanted_lengths(run, tiny_corpus, score):
    search = LOG_PROB.model_copy(update={"score": score, "gamma": -1.0, "reward_ratio": 5.0})
    found = learned_reward(run, tiny_corpus, 4, "dev", search, rate=0.3)
    references = [run.pipeline.target_ids(line)[:-1] for line in tiny_corpus.lines("dev", "en")]
    gamma, rate, before = -1.0, 0.3, 0.0
    for row in found.itertuples():
        assert row.gamma == pytest.approx(gamma)
        made = decoded(run, tiny_corpus, "dev", search.model_copy(update={"gamma": gamma}))
        lacking = [len(y) - n for y, n in zip(references, made["length"], strict=True)]
        gap = sum(lacking) / len(lacking)
        assert row.gap == pytest.approx(gap)
        rate = rate / 2 if gap * before < 0 else rate
        gamma, before = gamma + rate * gap, gap
    assert len(found) == 5
    assert abs(found["gap"].iloc[-1]) < abs(found["gap"].iloc[0])


def test_a_reward_by_which_lengths_are_right_stays(run, tiny_corpus, monkeypatch):
    lengths = [len(ids) - 1 for ids in run.pipeline.encode_target(list(tiny_corpus.lines("dev", "en")))]
    right = decoded(run, tiny_corpus, "dev", LOG_PROB).assign(length=lengths)
    monkeypatch.setattr(beams, "DECODED", SimpleNamespace(of=lambda *asked, **more: right))
    found = learned_reward(run, tiny_corpus, 3, "dev", LOG_PROB.model_copy(update={"gamma": 0.7}))
    assert found["gamma"].tolist() == [0.7] * 4


def test_a_sweep_is_shown_once_it_was_made(run, tiny_corpus):
    with pytest.raises(RunError, match="runs whole: no beam sweep is stored with them"):
        SWEEPS.view(run)
    sweep(run, tiny_corpus, varied(SearchSettings(score="log-prob"), "beam_size", [1, 2]), "dev", 3)
    view = SWEEPS.view(run)
    assert view.frame["beam_size"].tolist() == [1, 2]
    assert set(view.frame["name"]) == {"whole, log-prob, 3 sampled sentences of tiny dev"}
