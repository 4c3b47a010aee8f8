"""Probabilities of tokens: against logits taken apart, and against the score of search."""

import numpy as np
import pytest
import torch
from support.hand_made_model import SYSTEMS, immunologists, random_system

from nmtlab.analysis.lexical.logits import decompose
from nmtlab.analysis.lexical.tokens import token_probabilities
from nmtlab.models.interface import on_device
from nmtlab.systems import open_system
from nmtlab.text.batching.batch import batch_of

SOURCE, TARGET = "olim Entoni Fauchi", "says Salk Fauci"


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_token_has_the_probability_and_rank_of_its_logit(name):
    system = random_system(name)
    frame = token_probabilities(system, SOURCE, TARGET, top=2)
    assert frame["position"].tolist() == [0, 1, 2, 3]
    assert frame["piece"].tolist() == ["says", "Salk", "Fauci", "</s>"]
    assert frame["unknown"].tolist() == [False, True, False, False]
    for position, token in enumerate(frame.itertuples()):
        candidates = decompose(system, SOURCE, TARGET, position, top=8)
        (wanted,) = candidates[candidates["wanted"]].itertuples()
        assert token.probability == pytest.approx(wanted.probability)
        assert token.rank == wanted.rank
        assert token.count == wanted.count
        best = candidates.sort_values("probability", ascending=False)[:2].itertuples()
        assert token.likeliest == ", ".join(f"{row.word} {row.probability:.2f}" for row in best)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_tokens_together_have_the_probability_of_the_forced_target(name):
    system = random_system(name)
    ids = system.pipeline.target_ids(TARGET)
    source = np.array([system.pipeline.source_ids(SOURCE)])
    with torch.inference_mode():
        states = system.model(on_device(batch_of(source, np.array([ids]))))
        log_probs = system.model.output(states).log_softmax(-1)
    forced = sum(
        float(row[system.model.output_ids.tolist().index(number)]) for row, number in zip(log_probs, ids, strict=True)
    )
    assert np.log(token_probabilities(system, SOURCE, TARGET)["probability"]).sum() == pytest.approx(forced)


def test_a_runs_own_translation_has_the_score_that_search_gave_it(trained):
    system = open_system(trained[0])
    (translation,) = system.translate(["hund sieht katze"])
    frame = token_probabilities(system, "hund sieht katze", translation.text)
    assert np.log(frame["probability"]).sum() == pytest.approx(translation.hypotheses[0].log_prob, rel=1e-4)
    assert token_probabilities(trained[0], "hund sieht katze", translation.text).equals(frame)


def test_the_probabilities_of_thesis_3_2_3_are_those_of_its_table():
    frame = token_probabilities(immunologists(), "Fauchi", "Fauci", top=3)
    weights = np.exp([19.5 * 5.25 * 0.144 - 1.53, 19.5 * 4.69 * 0.154 - 1.35, 19.5 * 5.23 * 0.120 - 1.59, 0, 0])
    assert frame["probability"][0] == pytest.approx(weights[1] / weights.sum())
    assert frame["rank"][0] == 2
    assert frame["likeliest"][0].split(", ")[0] == f"Chan {weights[0] / weights.sum():.2f}"


def test_an_empty_translation_is_its_end_alone():
    frame = token_probabilities(immunologists(), "Fauchi", "")
    assert frame["piece"].tolist() == ["</s>"]
