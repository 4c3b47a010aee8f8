"""Exact search against brute force, on models whose translations can all be enumerated."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as trials
from hypothesis import strategies as st
from support.scripted_model import ScriptedModel, every_translation, score_of

from nmtlab.errors import RecipeError
from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.exact import ExactSearch, exact_search
from nmtlab.search.forced import forced_decode
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.text.segmentation.vocabulary import BOS, EOS

SCORES = st.one_of(
    st.just(SearchSettings(score="log-prob")),
    st.just(SearchSettings(score="average")),
    st.builds(lambda alpha: SearchSettings(score="length-normalised", alpha=alpha), st.floats(0, 2)),
    st.builds(lambda gamma: SearchSettings(score="word-reward", gamma=gamma), st.floats(-1, 2)),
    st.builds(
        lambda gamma, ratio: SearchSettings(score="bounded-reward", gamma=gamma, reward_ratio=ratio),
        st.floats(-1, 2),
        st.floats(0.1, 2),
    ),
)
SOURCE = (4, 5, EOS)


def source_of(sentence: tuple[int, ...]) -> torch.Tensor:
    return torch.tensor([sentence])


@trials(max_examples=150)
@given(SCORES, st.integers(0, 10_000), st.integers(4, 7), st.integers(0, 2), st.booleans(), st.integers(0, 4))
def test_it_finds_what_brute_force_finds(settings, seed, types, extra, allow_empty, beam_size):
    model = ScriptedModel(types=types, seed=seed)
    settings = settings.model_copy(update={"extra_length": extra, "allow_empty": allow_empty})
    everything = every_translation(model, SOURCE, limit=2 + extra)
    if not allow_empty:
        del everything[()]
    ranked = sorted((score_of(settings, log_prob, len(y) + 1, len(SOURCE)), y) for y, log_prob in everything.items())
    start = None
    if beam_size:
        beam = settings.model_copy(update={"beam_size": beam_size})
        start = beam_search(model, model.encode(source_of(SOURCE)), beam)[0].hypotheses[0]

    found = exact_search(model, model.encode(source_of(SOURCE)), settings, start)

    assert found.complete
    assert found.best.score == pytest.approx(ranked[-1][0], abs=1e-12)
    assert found.best.log_prob == pytest.approx(everything[found.best.tokens], abs=1e-12)
    assert found.best.finished
    if len(ranked) == 1 or ranked[-1][0] - ranked[-2][0] > 1e-9:
        assert found.best.tokens == ranked[-1][1]


@trials(max_examples=60)
@given(SCORES, st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 60))
def test_whatever_the_budget_it_is_kept_to_and_the_result_is_never_worse_than_the_beams(settings, seed, beam, budget):
    model = ScriptedModel(types=7, seed=seed)
    settings = settings.model_copy(update={"extra_length": 2, "beam_size": beam})
    start = beam_search(model, model.encode(source_of(SOURCE)), settings)[0].hypotheses[0]
    found = exact_search(model, model.encode(source_of(SOURCE)), settings, start, budget)
    assert found.expansions <= budget
    assert not start.finished or found.best.score >= start.score - 1e-12  # the last bit of a power may differ
    whole = exact_search(model, model.encode(source_of(SOURCE)), settings)
    if found.complete:
        assert found.best.score == pytest.approx(whole.best.score, abs=1e-12)
    else:
        assert found.expansions == budget


def test_a_good_start_saves_work():
    model = ScriptedModel(types=8, seed=3)
    settings = SearchSettings(score="log-prob", extra_length=4)
    without = exact_search(model, model.encode(source_of(SOURCE)), settings)
    with_start = exact_search(model, model.encode(source_of(SOURCE)), settings, without.best)
    assert with_start.best == without.best
    assert with_start.expansions < without.expansions


def test_a_translation_that_was_cut_off_is_no_start():
    model = ScriptedModel(types=6, seed=1)
    settings = SearchSettings(score="log-prob", extra_length=1)
    cut = Hypothesis((4, 4, 4), log_prob=0.0, score=0.0, finished=False)
    found = exact_search(model, model.encode(source_of(SOURCE)), settings, cut)
    assert found.best == exact_search(model, model.encode(source_of(SOURCE)), settings).best


def test_a_coverage_penalty_is_refused():
    model = ScriptedModel(types=6)
    with pytest.raises(RecipeError, match=r"search.coverage = 0.2: exact search has no bound for it; set it to 0"):
        exact_search(model, model.encode(source_of(SOURCE)), SearchSettings(coverage=0.2))


@pytest.mark.parametrize(
    "architecture",
    [
        TransformerSettings(d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=2),
        RnnSettings(d_model=8, layers=2),
        ConvSettings(d_model=8, decoder_layers=2),
    ],
    ids=["transformer", "rnn", "conv"],
)
@pytest.mark.parametrize("score", ["log-prob", "length-normalised"])
def test_it_is_exact_with_models_of_the_house(architecture, score):
    torch.manual_seed(5)
    model = build_model(architecture, ModelText(9, np.arange(9) > BOS, joint=False)).double().eval()
    settings = SearchSettings(score=score, extra_length=3)
    source = source_of(SOURCE)
    translations = [(*y, EOS) for y in _all(list(range(3, 9)), 4)]
    longest = max(map(len, translations))
    target = torch.tensor([[*y, *[0] * (longest - len(y))] for y in translations])
    scores = [
        score_of(settings, forced.log_prob, len(y), len(SOURCE))
        for y, forced in zip(
            translations, forced_decode(model, model.encode(source.expand(len(target), -1)), target), strict=True
        )
    ]
    best = max(range(len(scores)), key=scores.__getitem__)
    found = exact_search(model, model.encode(source), settings)
    assert found.complete
    assert (*found.best.tokens, EOS) == translations[best]
    assert found.best.score == pytest.approx(scores[best], abs=1e-9)
    assert math.isfinite(found.best.log_prob)


def _all(types: list[int], longest: int) -> list[tuple[int, ...]]:
    """Return every sequence of types up to a length."""
    found = [()]
    for y in found:
        if len(y) < longest:
            found.extend((*y, one) for one in types)
    return found


def test_where_everything_is_too_long_there_is_none():
    settings = SearchSettings(score="log-prob", extra_length=0, allow_empty=False)
    model = ScriptedModel(types=6)
    found = exact_search(model, model.encode(source_of((EOS,))), settings)
    assert (found.best, found.complete) == (None, True)


def test_a_search_is_gone_on_with_where_its_budget_ended():
    model, settings = ScriptedModel(types=7, seed=2), SearchSettings(score="log-prob", extra_length=3)
    whole = exact_search(model, model.encode(source_of(SOURCE)), settings)
    search, budget = ExactSearch(model, model.encode(source_of(SOURCE)), settings), 0
    while not search.run(budget := budget + 3):
        assert search.expansions == budget
    assert search.best == whole.best
    assert search.run(10_000)
