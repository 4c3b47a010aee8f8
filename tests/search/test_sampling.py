"""Samples of a model with given distributions."""

import math
from collections import Counter

import pytest
import torch
from support.scripted_model import ScriptedModel, every_translation

from nmtlab.search.sampling import sample
from nmtlab.text.segmentation.vocabulary import EOS, PAD

SOURCE = torch.tensor([[4, EOS]])
MODEL = ScriptedModel(types=5, seed=11)
EVERYTHING = every_translation(MODEL, (4, EOS), limit=3)


def shares(**how) -> dict[tuple[int, ...], float]:
    drawn = sample(MODEL, MODEL.encode(SOURCE), samples=4000, extra_length=2, **how)[0].hypotheses
    counts = Counter(h.tokens for h in drawn if h.finished)
    return {tokens: count / len(drawn) for tokens, count in counts.items()}


def test_translations_are_drawn_as_often_as_they_are_probable():
    found = shares()
    for tokens, log_prob in EVERYTHING.items():
        p = math.exp(log_prob)
        assert found.get(tokens, 0.0) == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / 4000) + 1e-9)


def test_a_sample_has_the_models_own_log_probability_whatever_it_was_drawn_from():
    for how in ({}, {"temperature": 0.5}, {"top_k": 2}, {"top_p": 0.7}):
        drawn = sample(MODEL, MODEL.encode(SOURCE), samples=50, extra_length=2, **how)[0].hypotheses
        assert any(h.finished for h in drawn)
        for hypothesis in drawn:
            if hypothesis.finished:
                assert hypothesis.log_prob == pytest.approx(EVERYTHING[hypothesis.tokens])


@pytest.mark.parametrize(
    ("how", "inside"),
    [
        ({"top_k": 1}, lambda ranked: ranked[:1]),
        ({"top_k": 2}, lambda ranked: ranked[:2]),
        ({"top_k": 99}, lambda ranked: ranked),
        ({"top_p": 1e-6}, lambda ranked: ranked[:1]),
        ({"top_p": 0.75}, lambda ranked: head(ranked, 0.75)),
        ({"temperature": 1e-3}, lambda ranked: ranked[:1]),
    ],
    ids=lambda one: str(one) if isinstance(one, dict) else "",
)
def test_the_first_token_is_drawn_from_the_head_that_is_asked_for(how, inside):
    log_probs = MODEL.log_probs((4, EOS), ())
    ranked = sorted(zip(log_probs.exp().tolist(), MODEL.output_ids.tolist(), strict=True), reverse=True)
    allowed = inside(ranked)
    drawn = sample(MODEL, MODEL.encode(SOURCE), samples=3000, extra_length=0, **how)[0].hypotheses
    first = Counter(h.tokens[0] if h.tokens else EOS for h in drawn)
    assert set(first) == {token for p, token in allowed if p > 0.002}
    if "temperature" not in how:
        mass = sum(p for p, _ in allowed)
        for p, token in allowed:
            assert first[token] / 3000 == pytest.approx(p / mass, abs=0.05)


def head(ranked: list[tuple[float, int]], mass: float) -> list[tuple[float, int]]:
    """Return the smallest set of most probable types whose probabilities reach a sum."""
    found, summed = [], 0.0
    for p, token in ranked:
        if summed >= mass:
            break
        found.append((p, token))
        summed += p
    return found


def test_a_seed_is_a_draw_and_another_is_another():
    first, again, other = (sample(MODEL, MODEL.encode(SOURCE), samples=20, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_what_is_drawn_of_a_sentence_does_not_depend_on_its_batch():
    source = torch.tensor([[4, 4, EOS], [4, EOS, PAD], [3, EOS, PAD]])
    whole = sample(MODEL, MODEL.encode(source), samples=20, seed=5, places=[7, 8, 9])
    alone = [
        sample(MODEL, MODEL.encode(row[row != PAD][None]), samples=20, seed=5, places=[7 + i])[0]
        for i, row in enumerate(source)
    ]
    assert whole == alone
    assert sample(MODEL, MODEL.encode(source[1:2, :2]), samples=20, seed=5, places=[3])[0] != alone[1]


def test_the_empty_translation_is_drawn_where_it_may_be():
    drawn, without = (
        sample(MODEL, MODEL.encode(SOURCE), samples=500, allow_empty=empty)[0].hypotheses for empty in (True, False)
    )
    assert any(h.tokens == () for h in drawn)
    assert all(h.tokens for h in without)


def test_a_sample_ends_at_the_limit_of_its_own_sentence():
    model, source = ScriptedModel(types=30), torch.tensor([[4, 4, 4, EOS], [4, EOS, PAD, PAD]])
    long, short = sample(model, model.encode(source), samples=200, extra_length=1)
    for drawn, limit in ((long, 4), (short, 2)):
        assert max(len(h.tokens) + h.finished for h in drawn.hypotheses) == limit
        assert all(len(h.tokens) == limit for h in drawn.hypotheses if not h.finished)
