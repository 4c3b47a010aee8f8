"""Probabilities of tokens: against logits taken apart, and against the score of search."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.hand_made_model import SYSTEMS, immunologists, random_system

from nmtlab.analysis.lexical.logits import decompose
from nmtlab.analysis.lexical.tokens import token_figure, token_probabilities
from nmtlab.figures.theme import COLOURS, plain
from nmtlab.models.interface import on_device
from nmtlab.systems import open_system
from nmtlab.text.batching.batch import batch_of

SOURCE, TARGET = "olim Entoni Fauchi", "says Salk Fauci"
HOSTILE = "<script>alert(1)</script>"


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


# Drawn


@pytest.fixture(scope="module")
def tokens(trained) -> pd.DataFrame:
    return token_probabilities(trained[0], "hund sieht katze", "dog xq cat")


def test_a_bar_is_as_high_as_its_token_is_likely(tokens):
    (bars,) = token_figure(tokens).data
    assert list(bars.y) == tokens["probability"].tolist()
    assert [facts[1] for facts in bars.customdata] == [f"{count} times in training" for count in tokens["count"]]
    assert [facts[2] for facts in bars.customdata] == tokens["rank"].tolist()


def test_an_unknown_count_is_said_and_not_drawn_as_a_number(tokens):
    (bars,) = token_figure(tokens.assign(count=float("nan"))).data
    assert {facts[1] for facts in bars.customdata} == {"training count unknown"}


def test_what_is_less_likely_than_not_has_another_colour(tokens):
    (bars,) = token_figure(tokens.assign(probability=[0.49, 0.5, 0.0, 1.0])).data
    assert list(bars.marker.color) == [COLOURS[1], COLOURS[0], COLOURS[1], COLOURS[0]]


def test_each_bar_is_named_and_unknown_tokens_are_bold(tokens):
    axis = token_figure(tokens).layout.xaxis
    assert list(axis.tickvals) == [0, 1, 2, 3]
    assert list(axis.ticktext) == ["dog", "<b>xq</b>", "cat", "⟨end⟩"]
    assert axis.title.text


def test_probabilities_have_the_whole_axis(tokens):
    axis = token_figure(tokens).layout.yaxis
    assert axis.range[0] == 0
    assert axis.range[1] >= 1
    assert "p(" in axis.title.text


def test_tokens_are_drawn_as_text_and_not_as_tags(tokens):
    hostile = tokens.assign(piece=HOSTILE, likeliest=f"{HOSTILE} 0.50")
    figure = token_figure(hostile).update_layout(meta=None)  # which is not drawn
    assert "<script" not in str(figure.to_dict())
    assert plain(HOSTILE) in figure.data[0].customdata[0]
    assert all(plain(HOSTILE) in text for text in figure.layout.xaxis.ticktext)
