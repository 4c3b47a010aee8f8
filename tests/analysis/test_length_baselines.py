"""Lengths predicted from the source's length alone, against direct formulas."""

import math

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.search.length_baselines import (
    BASELINE_LENGTHS,
    BASELINES,
    Lengths,
    baseline_lengths,
    kernel_shares,
    length_models,
    length_models_figure,
    linear_shares,
    stored_length_models,
    trained_lengths,
)
from nmtlab.analysis.search.planned_lengths import compared_lengths, length_errors, planned_lengths
from nmtlab.errors import CorpusError, RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def planned(tiny_corpus, tiny_recipe, tmp_path_factory) -> Run:
    recipe = tiny_recipe.with_changes(
        {"model.plan_length": True, "model.max_predicted_length": 12, "text.max_words": 6, "text.max_target_tokens": 5}
    )
    return train("planned", recipe, tiny_corpus, Workspace(tmp_path_factory.mktemp("planned")))


def lengths(*pairs: tuple[int, int]) -> Lengths:
    return Lengths(*np.array(pairs).T)


def normal_below(x: float, mean: float, spread: float) -> float:
    return 0.5 * (1 + math.erf((x - mean) / spread / math.sqrt(2)))


def test_the_line_is_that_of_polyfit_and_its_errors_are_normal():
    random = np.random.default_rng(1)
    source = random.integers(1, 40, 200)
    trained = Lengths(source, np.maximum(1, np.round(0.8 * source + 3 + random.normal(0, 2, 200)).astype(int)))
    slope, intercept = np.polyfit(*trained, 1)
    spread = math.sqrt(np.mean((trained.target - slope * trained.source - intercept) ** 2))
    shares = linear_shares(trained, np.array([2, 30]), 60)
    assert shares.sum(1) == pytest.approx([1, 1])
    for n, found in zip((2, 30), shares, strict=True):
        mean = slope * n + intercept
        assert found.argmax() == round(mean)
        for k in (1, 5, 25, 30):
            direct = normal_below(k + 0.5, mean, spread) - normal_below(k - 0.5, mean, spread)
            assert found[k] == pytest.approx(direct, abs=1e-12)
        assert found[0] == pytest.approx(normal_below(0.5, mean, spread))


def test_a_line_worked_out_by_hand():
    """y = 1 + x/2 fits (2, 2), (4, 3), (6, 4) without error; at 4 it says 3, beyond the longest it says the longest."""
    shares = linear_shares(lengths((2, 2), (4, 3), (6, 4)), np.array([4, 8, 40]), 10)
    assert shares.argmax(1).tolist() == [3, 5, 10]
    assert shares.max(1) == pytest.approx([1, 1, 1])
    alike = linear_shares(lengths((3, 2), (3, 4)), np.array([1, 9]), 10)  # no slope can be told
    assert alike.argmax(1).tolist() == [3, 3]


def test_the_kernel_estimate_is_that_of_a_direct_formula():
    pairs = [(9, 8), (10, 9), (10, 11), (11, 10), (14, 30), (2, 2)]
    longest, n = 20, 10
    expected = np.full(longest + 1, 1 / (longest + 1))
    total = 1.0
    for source, target in pairs:
        weight = math.exp(-0.5 * ((source - n) / (0.08 * n)) ** 2)
        near = [math.exp(-0.5 * ((k - min(target, longest)) / (0.04 * n)) ** 2) for k in range(longest + 1)]
        expected += weight * np.array(near) / sum(near)
        total += weight
    (found,) = kernel_shares(lengths(*pairs), np.array([n]), longest)
    assert found == pytest.approx(expected / total, rel=1e-9)
    assert found.sum() == pytest.approx(1)


def test_a_kernel_worked_out_by_hand():
    """Three pairs of length 2, far from those of 20: of four pairs with the one for all, each is a quarter."""
    trained = lengths((2, 3), (2, 3), (2, 5), (20, 19))
    (found,) = kernel_shares(trained, np.array([2]), 9)
    assert found[[3, 5, 4]] == pytest.approx([0.5 + 0.025, 0.25 + 0.025, 0.025], abs=1e-6)
    (unknown,) = kernel_shares(trained, np.array([8]), 9)  # no source is about as long: any length
    assert unknown == pytest.approx(np.full(10, 0.1), abs=1e-6)


@pytest.mark.full
def test_the_training_lengths_are_those_within_the_limits_of_the_recipe(planned, tiny_corpus):
    found = trained_lengths(planned, tiny_corpus)
    pairs = [(len(source.split()), len(target.split())) for source, target in tiny_corpus.pairs("train")]
    assert list(zip(*map(list, found), strict=True)) == [(s, t) for s, t in pairs if max(s, t) <= 6 and t <= 5]


@pytest.mark.parametrize(("baseline", "estimate"), [("linear", linear_shares), ("kernel", kernel_shares)])
def test_a_baseline_stands_beside_the_planned_lengths(planned, tiny_corpus, baseline, estimate):
    found = baseline_lengths(planned, tiny_corpus, baseline, "dev", sample=6)
    beside = planned_lengths(planned, tiny_corpus, "dev", sample=6)
    assert list(found.columns) == list(beside.columns)
    assert found["reference_length"].tolist() == beside["reference_length"].tolist()
    drawn = draw_sample(tiny_corpus, "dev", 6)
    source = np.array([len(line.split()) for line in drawn.sources])
    shares = estimate(trained_lengths(planned, tiny_corpus), source, 12)
    assert found.equals(compared_lengths(shares, found["reference_length"].to_numpy(), drawn.lines))
    # a word is translated by a word, so that the length is that of the source
    short = found[found["reference_length"] <= 5]
    assert (short["likeliest"] == short["reference_length"]).all()


def test_the_length_model_and_its_baselines_stand_in_one_line_each(planned, tiny_corpus, make_corpus):
    found = length_models(planned, tiny_corpus, "dev", sample=6).set_index("system")
    stored = stored_length_models(planned).query("text == '6 sampled sentences of tiny dev'").set_index("system")
    pd.testing.assert_frame_equal(stored.loc[found.index, list(found)], found)
    assert list(found.index) == ["length model", *BASELINES.values()]
    own = length_errors(planned_lengths(planned, tiny_corpus, "dev", sample=6))
    assert found.loc["length model"].to_dict() == pytest.approx(own.to_dict())
    for baseline, name in BASELINES.items():
        errors = length_errors(baseline_lengths(planned, tiny_corpus, baseline, "dev", sample=6))
        assert found.loc[name].to_dict() == pytest.approx(errors.to_dict())
    other = make_corpus()
    (other / "train.de").unlink()
    (other / "train.en").unlink()
    assert length_models(planned, ParallelCorpus.open(other), "dev")["system"].tolist() == ["length model"]


def test_what_has_no_baseline_is_refused(planned, trained, tiny_corpus, make_corpus):
    with pytest.raises(RunError, match="it does not plan lengths; choose a run of the recipe 'planned'"):
        BASELINE_LENGTHS.of(trained[0], corpus=tiny_corpus, baseline="linear")
    other = make_corpus()
    (other / "train.de").write_text("ein Hund\n", encoding="utf-8")
    (other / "train.en").write_text("one dog\n", encoding="utf-8")
    with pytest.raises(RunError, match="was not trained on 'tiny'; choose the corpus of its recipe"):
        baseline_lengths(planned, ParallelCorpus.open(other), "linear")
    with pytest.raises(CorpusError):
        baseline_lengths(planned, ParallelCorpus(tiny_corpus.folder, "en", "de"), "kernel")


def test_length_models_have_a_panel_a_measure_and_a_line_a_system():
    lines = pd.DataFrame(
        {"system": ["ours", "a <line>"], "error": [2.5, 2.0], "among 5": [0.6, 0.7], "nll": [2.4, 2.6]}
    )
    figure = length_models_figure(lines)
    assert [list(trace.x) for trace in figure.data] == [[2.5, 2.0], [0.6, 0.7], [2.4, 2.6]]
    assert {tuple(trace.y) for trace in figure.data} == {("ours", "a &lt;line&gt;")}
    assert "nats" in figure.layout.xaxis3.title.text
