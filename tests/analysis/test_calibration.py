"""Calibration: texts drawn from the model itself, scikit-learn's curve, and loops over tokens."""

import math
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.calibration import calibration_curve
from support.small_convolutional import convolutional
from support.small_recurrent import recurrent
from support.small_transformer import transformer

from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.analysis.search.calibration import (
    BINS,
    CALIBRATION,
    calibration_errors,
    expected_error,
    predictions,
    reliability,
    reliability_figure,
)
from nmtlab.models.interface import on_device
from nmtlab.runs.run import Run
from nmtlab.search.sampling import sample
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.vocabulary import EOS
from nmtlab.workspace import Workspace

SOURCES = [[5, 7, 4, 9, EOS], [6, 8, EOS], [12, EOS]]
TARGETS = [[9, 10, 5, EOS], [11, EOS], [4, 4, EOS]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory, zoo) -> dict[str, Run]:
    """An ordinary run, and one that plans lengths."""
    here = Workspace(tmp_path_factory.mktemp("here") / "data")
    return {name: zoo.copy(kind, here, name) for kind, name in (("trained", "ordinary"), ("planned", "planned"))}


def made_up(tokens: int, power: float = 1.0) -> pd.DataFrame:
    """Predictions of probability p that come true with probability p ** power."""
    generator = np.random.default_rng(1)
    probability = generator.random(tokens)
    right = generator.random(tokens) < probability**power
    return pd.DataFrame({"of": "token", "probability": probability, "right": right})


@pytest.mark.parametrize(("temperature", "least", "most"), [(1.0, 0, 1.5), (2.0, 8, 100)])
def test_of_a_text_drawn_from_the_model_itself_the_error_is_near_0(temperature, least, most):
    model, source = recurrent(), [[5, 7, 4, 9, EOS]]
    (found,) = sample(model, model.encode(torch.tensor(source)), 600, temperature, extra_length=150)
    drawn = [[*one.tokens, EOS] for one in found.hypotheses]
    assert all(one.finished for one in found.hypotheses)
    bins = reliability(predictions(model, source * 600, drawn))
    assert least <= expected_error(bins, "token") < most
    assert temperature != 1 or expected_error(bins, "eos") < most


def test_the_error_is_that_of_its_integral():
    assert expected_error(reliability(made_up(200_000))) < 0.5
    assert expected_error(reliability(made_up(200_000, power=2.0))) == pytest.approx(100 / 6, abs=0.3)


def test_the_bins_are_those_of_scikit_learn():
    found = made_up(500, power=0.5)
    found["probability"] = [0.0, 1.0, 5 / 15, 6 / 15, *found["probability"].clip(0.1, 0.4)[4:]]
    accuracy, confidence = calibration_curve(found["right"], found["probability"], n_bins=BINS)
    bins = reliability(found)
    some = bins[bins["tokens"] > 0]
    np.testing.assert_allclose(some["accuracy"], accuracy)
    np.testing.assert_allclose(some["confidence"], confidence)
    assert bins["tokens"].sum() == 500
    assert len(bins) == BINS


@pytest.mark.parametrize("model", [transformer(), recurrent(), convolutional()], ids=["transformer", "rnn", "conv"])
def test_predictions_are_those_of_a_loop_over_tokens(model):
    columns = model.output_ids.tolist()
    counted = {of: [[0, 0.0, 0] for _ in range(BINS)] for of in ("token", "eos")}
    for source, target in zip(SOURCES, TARGETS, strict=True):
        with torch.no_grad():
            shares = model.output(model(on_device(batch_of(np.array([source]), np.array([target]))))).softmax(-1)
        for token, share in zip(target, shares.tolist(), strict=True):
            best = max(share)
            for of, p, right in (
                ("token", best, columns[share.index(best)] == token),
                ("eos", share[columns.index(EOS)], token == EOS),
            ):
                into = counted[of][math.ceil(p * BINS) - 1]
                into[0], into[1], into[2] = into[0] + 1, into[1] + p, into[2] + right
    bins = reliability(predictions(model, SOURCES, TARGETS, batch_tokens=8))
    for of, expected in counted.items():
        rows = bins[bins["of"] == of]
        assert rows["tokens"].tolist() == [tokens for tokens, _, _ in expected]
        means = [[p / n, right / n] if n else [math.nan] * 2 for n, p, right in expected]
        np.testing.assert_allclose(rows[["confidence", "accuracy"]], means, rtol=1e-12)
        error = 100 * sum(abs(p - right) for _, p, right in expected) / sum(map(len, TARGETS))
        assert expected_error(bins, of) == pytest.approx(error)


def test_a_bin_without_tokens_is_left_blank():
    bins = reliability(pd.DataFrame({"of": "token", "probability": [0.02, 0.05, 0.9], "right": [False, True, True]}))
    assert bins["tokens"].tolist() == [2, *[0] * 12, 1, 0]
    assert bins["accuracy"].dropna().tolist() == [0.5, 1.0]
    assert expected_error(bins) == pytest.approx(100 * (2 * abs(0.5 - 0.035) + 0.1) / 3)
    _, line = reliability_figure(bins.assign(run="one")).data
    assert np.isnan(line.y).tolist() == np.isnan(line.x).tolist() == (bins["tokens"] == 0).tolist()


def test_no_predictions_have_no_error():
    bins = reliability(predictions(transformer(), [], []))
    assert bins.empty
    assert math.isnan(expected_error(bins))
    assert calibration_errors(bins.assign(run="one")).empty


def test_what_is_shown_of_a_run_are_its_metrics(tiny_corpus, runs):
    run = runs["ordinary"]
    view = CALIBRATION.view(run, corpus=tiny_corpus, split="test")
    table = view.frame.set_index("of")
    assert table["ece"]["token"] == value_of(find_metric("ece"), run, tiny_corpus)
    assert table["ece"]["eos"] == value_of(find_metric("eos-ece"), run, tiny_corpus)
    sentences = len(list(tiny_corpus.pairs("test")))
    assert table["accuracy"]["eos"] == pytest.approx(100 * sentences / table["tokens"]["eos"])
    assert f"ordinary {table['ece']['token']:.1f}, of EOS {table['ece']['eos']:.2f}" in view.finding


def test_a_run_that_plans_lengths_predicts_no_end(tiny_corpus, runs):
    run = runs["planned"]
    table = CALIBRATION.view(run, corpus=tiny_corpus, split="test").frame
    assert table["of"].tolist() == ["token"]
    targets = run.pipeline.encode_target([target for _, target in tiny_corpus.pairs("test")])
    assert table["tokens"].tolist() == [sum(len(ids) - 1 for ids in targets)]
    assert math.isnan(value_of(find_metric("eos-ece"), run, tiny_corpus))


def test_a_pair_with_a_blank_side_is_left_out(tiny_corpus, runs, tmp_path):
    folder = shutil.copytree(tiny_corpus.folder, tmp_path / "blank")
    lines = (folder / "test.en").read_text(encoding="utf-8").splitlines()
    (folder / "test.en").write_text("\n".join(["", *lines[1:]]) + "\n", encoding="utf-8")
    run = runs["ordinary"]
    whole, without = (
        CALIBRATION.of(run, corpus=corpus)["tokens"].sum() for corpus in (tiny_corpus, ParallelCorpus.open(folder))
    )
    assert whole - without == 2 * len(run.pipeline.target_ids(lines[0]))
