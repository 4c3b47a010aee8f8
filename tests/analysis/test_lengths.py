"""Planned lengths beside those of the references."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from nmtlab.analysis.search.beams import described, outcome
from nmtlab.analysis.search.planned_lengths import (
    PLANNED_LENGTHS,
    calibration_figure,
    length_calibration,
    length_errors,
    length_plan,
    lengths_figure,
    oracle_lengths,
    planned_lengths,
)
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS
from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.search.planned import planned_search
from nmtlab.systems import open_system
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def planned(zoo, tmp_path_factory) -> Run:
    return zoo.copy("planned", Workspace(tmp_path_factory.mktemp("planned")), "planned")


def test_each_sentence_has_what_the_model_says_of_its_length(planned, tiny_corpus):
    found = planned_lengths(planned, tiny_corpus, "dev", sample=5)
    system = open_system(planned)
    drawn = draw_sample(tiny_corpus, "dev", 5)
    assert found["line"].tolist() == drawn.lines
    for row, (source, target) in zip(found.itertuples(), drawn.pairs, strict=True):
        ids = torch.tensor([system.pipeline.source_ids(source)])
        with torch.inference_mode():
            p = system.model.length_log_probs(system.model.encode(ids))[0].double().exp().numpy()
        length = len(system.pipeline.target_ids(target)) - 1
        assert (row.reference_length, row.likeliest) == (length, p.argmax())
        assert row.probability == pytest.approx(p.max(), abs=1e-5)
        assert row.expected == pytest.approx((p * np.arange(len(p))).sum(), abs=1e-4)
        if length < len(p):
            assert row.reference_probability == pytest.approx(p[length], abs=1e-5)
            assert row.reference_rank == 1 + (p > p[length]).sum()
        else:
            assert (row.reference_probability, row.reference_rank) == (0.0, pd.NA)


def test_told_the_lengths_of_references_translations_are_as_long(planned, tiny_corpus):
    found = oracle_lengths(planned, tiny_corpus, "dev", beam_size=2, sample=5)
    system = open_system(planned)
    drawn = draw_sample(tiny_corpus, "dev", 5)
    assert found["line"].tolist() == drawn.lines
    for row, (source, target) in zip(found.itertuples(), drawn.pairs, strict=True):
        length = len(system.pipeline.target_ids(target)) - 1
        ids, told = torch.tensor([system.pipeline.source_ids(source)]), torch.tensor([length])
        (alone,) = planned_search(
            system.model, system.model.encode(ids), SearchSettings(beam_size=2), oracle_lengths=told
        )[0].hypotheses
        assert row.length == len(alone.tokens) == length
        assert row.text == system.pipeline.target.text(alone.tokens)
        assert row.log_prob == pytest.approx(alone.log_prob, abs=1e-4)


def test_exact_search_is_refused_as_there_is_no_end_and_the_score_is_named(planned, tiny_corpus):
    with pytest.raises(RunError, match="plans lengths and generates no EOS to search for"):
        SEARCH_ERRORS.of(planned, corpus=tiny_corpus, split="dev")
    asked = SearchSettings(beam_size=2, score="average", length_candidates=3)
    assert outcome(planned, tiny_corpus, "dev", asked, 2).iloc[0]["score"] == "planned"
    assert described(planned, asked) == "planned, 3 lengths"


def wilson(share: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's 95 % interval, from its formula."""
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    margin = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - margin), min(1.0, centre + margin)


FOUND = pd.DataFrame(
    {
        "reference_length": [5, 7, 9, 300], "likeliest": [5, 9, 8, 20], "probability": [0.5, 0.2, 0.3, 0.1],
        "reference_probability": [0.5, 0.1, 0.25, 0.0],
        "reference_rank": pd.array([1, 6, 2, None], dtype="Int64"),
    }
)  # fmt: skip


def test_errors_are_summed_up():
    errors = length_errors(FOUND[:3], lengths=(1, 5))
    assert errors.to_dict() == pytest.approx(
        {
            "sentences": 3, "error": 1.0, "bias": 1 / 3, "nll": -np.log([0.5, 0.1, 0.25]).mean(),
            "among 1": 1 / 3, "among 5": 2 / 3,
        }
    )  # fmt: skip
    assert length_errors(FOUND)["among 10"] == 0.75  # what cannot be planned is never among them


def test_calibration_is_by_how_sure_the_system_is():
    bins = length_calibration(FOUND, bins=2)
    assert bins.drop(columns=["low", "high"]).to_dict("list") == {
        "sentences": [2, 2], "probability": pytest.approx([0.15, 0.4]), "right": [0.0, 0.5],
    }  # fmt: skip


def test_the_interval_of_a_share_of_right_lengths_is_wilsons_and_never_empty():
    bins = length_calibration(pd.concat([FOUND.assign(likeliest=right) for right in (0, 5)]), bins=2)
    for row in length_calibration(FOUND, bins=2).itertuples():
        assert (row.low, row.high) == pytest.approx(wilson(row.right, row.sentences))
    assert bins["right"].min() == 0
    assert (bins["high"] - bins["low"] > 0.3).all()


def test_a_run_that_plans_none_is_refused(trained, tiny_corpus):
    with pytest.raises(RunError, match="it does not plan lengths; choose a run of the recipe 'planned'"):
        PLANNED_LENGTHS.of(trained[0], corpus=tiny_corpus)


def test_the_plan_of_a_sentence_has_every_length_and_those_that_are_decoded(planned):
    system = open_system(planned)
    plan = length_plan(system, "ein Hund singt")
    assert plan["probability"].sum() == pytest.approx(1.0, abs=1e-5)
    assert plan["tried"].sum() == system.settings.length_candidates
    assert plan.loc[plan["tried"], "probability"].min() >= plan.loc[~plan["tried"], "probability"].max()


def test_a_length_that_may_not_be_is_not_tried(planned):
    search = SearchSettings(score="log-prob", length_candidates=13, extra_length=2, allow_empty=False)
    system = open_system(planned, search)
    plan = length_plan(system, "ein Hund singt")
    words = len(system.pipeline.source_ids("ein Hund singt")) - 1
    assert plan.loc[plan["tried"], "length"].tolist() == list(range(1, min(words + 1, 12) + 1))


def test_an_ordinary_system_has_no_plan(trained):
    with pytest.raises(RunError, match="does not plan lengths"):
        length_plan(trained[0], "ein Hund singt")


def test_lengths_that_are_decoded_stand_out():
    plan = pd.DataFrame({"length": [0, 1, 2], "probability": [0.1, 0.7, 0.2], "tried": [False, True, True]})
    figure = lengths_figure(plan, reference=2)
    (bars,) = figure.data
    assert list(bars.y) == pytest.approx([0.1, 0.7, 0.2])
    assert bars.marker.color[1] == bars.marker.color[2] != bars.marker.color[0]
    assert figure.layout.shapes[0].x0 == 2


def test_calibration_has_a_panel_a_text_and_a_line_a_system_beside_the_diagonal():
    bins = pd.DataFrame(
        {
            "row": ["de-en", "de-en", "gl-en"], "column": ["planned"] * 3, "probability": [0.1, 0.3, 0.2],
            "right": [0.1, 0.2, 0.25], "low": [0.09, 0.15, math.nan], "high": [0.11, 0.22, math.nan],
        }
    )  # fmt: skip
    figure = calibration_figure(bins)
    drawn = {(trace.name, trace.xaxis): trace for trace in figure.data}
    assert list(drawn["planned", "x"].y) == [0.1, 0.2]
    assert list(drawn["planned", "x2"].y) == [0.25]
    errors = drawn["planned", "x"].error_y
    assert list(errors.array) == pytest.approx([0.01, 0.02])
    assert list(errors.arrayminus) == pytest.approx([0.01, 0.05])
    for axis in ("x", "x2"):
        diagonal = drawn["perfect calibration", axis]
        assert list(diagonal.x) == list(diagonal.y) == [0, pytest.approx(0.315)]
    assert [trace.name for trace in figure.data if trace.showlegend] == ["perfect calibration", "planned"]
