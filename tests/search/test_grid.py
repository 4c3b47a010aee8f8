"""Grid beam search: translations in which phrases occur."""

import math

import pytest
import torch
from hypothesis import given, settings, strategies
from support.scripted_model import ScriptedModel, every_translation, score_of

from nmtlab.errors import RecipeError
from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.forced import forced_decode
from nmtlab.search.grid import grid_search
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

SOURCE = torch.tensor([[4, 5, EOS], [5, EOS, PAD]])
SENTENCES = [(4, 5, EOS), (5, EOS)]
SCORES = [
    SearchSettings(score="log-prob"),
    SearchSettings(score="average"),
    SearchSettings(score="length-normalised", alpha=0.8),
    SearchSettings(score="word-reward", gamma=0.7),
    SearchSettings(score="word-reward", gamma=-0.4),
    SearchSettings(score="bounded-reward", gamma=0.9, reward_ratio=0.8),
]
PHRASES = [
    [[(4,)], [(5,)]],
    [[(4, 5)], []],
    [[(4, 4)], [(5,), (4,)]],
    [[(4, 5), (4,)], [(5, 4)]],
    [[(5, 5, 4)], [(3,)]],
]


def padded(phrases: list[list[tuple[int, ...]]]) -> torch.Tensor:
    ids = torch.full((len(phrases), max(map(len, phrases)), max(len(one) for line in phrases for one in line)), PAD)
    for sentence, of_line in enumerate(phrases):
        for place, phrase in enumerate(of_line):
            ids[sentence, place, : len(phrase)] = torch.tensor(phrase)
    return ids


def occur(tokens: tuple[int, ...], phrases: list[tuple[int, ...]]) -> bool:
    """Whether phrases occur in tokens without overlap, in any order."""
    if not phrases:
        return True
    first, *others = phrases
    return any(
        tokens[place : place + len(first)] == first
        and occur((*tokens[:place], *[None] * len(first), *tokens[place + len(first) :]), others)
        for place in range(len(tokens) - len(first) + 1)
    )


@pytest.mark.full
@pytest.mark.parametrize("search", SCORES, ids=str)
@pytest.mark.parametrize("phrases", PHRASES, ids=str)
def test_a_wide_grid_finds_the_best_of_all_translations_in_which_the_phrases_occur(search, phrases):
    search = search.model_copy(update={"beam_size": 300, "extra_length": 3})
    for seed in range(2):
        model = ScriptedModel(types=6, seed=seed)
        results = grid_search(model, model.encode(SOURCE), search, Constraints(phrases=padded(phrases)), n_best=3)
        for result, source, wanted in zip(results, SENTENCES, phrases, strict=True):
            everything = every_translation(model, source, len(source) + 2)
            fitting = [y for y in everything if occur(y, wanted)]
            ranked = sorted(fitting, key=lambda y: -score_of(search, everything[y], len(y) + 1, len(source)))
            found = [hypothesis.tokens for hypothesis in result.hypotheses]
            assert found == ranked[: len(found)]
            assert result.hypotheses[0].log_prob == pytest.approx(everything[found[0]], abs=1e-12)


def plain_grid(
    model: ScriptedModel, source: tuple[int, ...], phrases: list[tuple[int, ...]], search: SearchSettings
) -> tuple[int, ...]:
    """Algorithm 1 of Hokamp and Liu (2017) with finished hypotheses keeping their slots, up to the limit."""
    limit, total = len(source) - 1 + search.extra_length, sum(map(len, phrases))
    slots = [((), 0.0, (0,) * len(phrases))]  # tokens with EOS, log p, tokens met of each phrase

    def score(slot):
        return score_of(search, slot[1], max(1, len(slot[0])), len(source))

    def continuations(slot):
        tokens, log_prob, met = slot
        values = dict(zip(model.output_ids.tolist(), model.log_probs(source, tokens).tolist(), strict=True))
        begun = [p for p, n in enumerate(met) if 0 < n < len(phrases[p])]
        to_come = [p for p, n in enumerate(met) if n < len(phrases[p])]
        free = set(values) - ({EOS} if to_come else set()) - {phrases[p][0] for p in to_come if len(phrases[p]) == 1}
        if not begun and len(tokens) + 1 + total - sum(met) <= limit:
            best = sorted(free, key=lambda token: -values[token])[: search.beam_size]
            yield from (((*tokens, token), log_prob + values[token], met) for token in best)
        for p in begun or to_come:
            token = phrases[p][met[p]]
            yield (*tokens, token), log_prob + values[token], (*met[:p], met[p] + 1, *met[p + 1 :])

    for _ in range(limit):
        following = []
        for slot in slots:
            following += [slot] if slot[0] and slot[0][-1] == EOS else continuations(slot)
        banks = [[slot for slot in following if sum(slot[2]) == n] for n in range(total + 1)]
        slots = [slot for bank in banks for slot in sorted(bank, key=score, reverse=True)[: search.beam_size]]
    full = [slot for slot in slots if sum(slot[2]) == total]
    tokens = max([slot for slot in full if slot[0][-1] == EOS] or full, key=score)[0]
    return tokens[:-1] if tokens[-1] == EOS else tokens


@pytest.mark.parametrize("search", SCORES, ids=str)
@pytest.mark.parametrize("beam_size", [1, 2, 4])
def test_a_narrow_grid_is_the_published_algorithm_done_plainly(search, beam_size):
    search = search.model_copy(update={"beam_size": beam_size, "extra_length": 4})
    for seed, phrases in enumerate(PHRASES):
        model = ScriptedModel(types=7, seed=seed)
        results = grid_search(model, model.encode(SOURCE), search, Constraints(phrases=padded(phrases)))
        for result, source, wanted in zip(results, SENTENCES, phrases, strict=True):
            assert result.hypotheses[0].tokens == plain_grid(model, source, wanted, search)


@pytest.mark.parametrize("search", SCORES, ids=str)
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_sentence_without_phrases_is_searched_with_a_beam_whatever_its_neighbours(search, beam_size):
    search = search.model_copy(update={"beam_size": beam_size, "extra_length": 4})
    model = ScriptedModel(types=8, seed=3)
    phrases = padded([[], [(4, 6), (5,)]])
    free, constrained = grid_search(model, model.encode(SOURCE), search, Constraints(phrases=phrases), n_best=3)
    assert free == beam_search(model, model.encode(SOURCE[:1]), search, n_best=3)[0]
    alone = grid_search(model, model.encode(SOURCE[1:, :2]), search, Constraints(phrases=phrases[1:]), n_best=3)
    assert [constrained] == alone
    without = Constraints(phrases=torch.empty(2, 0, 0, dtype=torch.long))
    assert grid_search(model, model.encode(SOURCE), search, without) == beam_search(model, model.encode(SOURCE), search)


@settings(max_examples=30, deadline=None)
@given(
    phrases=strategies.lists(strategies.tuples(*[strategies.integers(4, 7)] * 2), min_size=1, max_size=3, unique=True),
    single=strategies.integers(UNK, 7),
    seed=strategies.integers(0, 1000),
    beam_size=strategies.integers(1, 4),
    score=strategies.sampled_from(SCORES),
    extra=strategies.integers(0, 8),
)
def test_the_phrases_occur_in_every_hypothesis(phrases, single, seed, beam_size, score, extra):
    search = score.model_copy(update={"beam_size": beam_size, "extra_length": extra})
    model, wanted = ScriptedModel(types=8, seed=seed), [*phrases, (single,)]
    constraints = Constraints(phrases=padded([wanted]))
    (result,) = grid_search(model, model.encode(SOURCE[:1]), search, constraints, n_best=beam_size)
    assert result.hypotheses
    assert all(occur(hypothesis.tokens, wanted) for hypothesis in result.hypotheses)
    assert len({hypothesis.tokens for hypothesis in result.hypotheses}) == len(result.hypotheses)


def test_a_phrase_that_the_beginning_has_is_met():
    model = ScriptedModel(types=7, seed=1)
    search = SearchSettings(score="log-prob", beam_size=50, extra_length=3)
    prefix = torch.tensor([[6, 4, 5]])
    constraints = Constraints(prefix=prefix, phrases=torch.tensor([[[4, 5]]]))
    (begun,) = beam_search(model, model.encode(SOURCE[:1]), search, constraints=Constraints(prefix=prefix))
    (both,) = grid_search(model, model.encode(SOURCE[:1]), search, constraints)
    assert both.hypotheses[0].tokens == begun.hypotheses[0].tokens
    assert both.hypotheses[0].log_prob == pytest.approx(begun.hypotheses[0].log_prob, abs=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        TransformerSettings(d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=2),
        RnnSettings(d_model=8, layers=2),
        ConvSettings(d_model=8, decoder_layers=2),
    ],
    ids=["transformer", "rnn", "conv"],
)
def test_the_log_probability_of_a_constrained_translation_is_the_models(model):
    torch.manual_seed(3)
    built = build_model(model, ModelText(9, torch.arange(9).numpy() > BOS, joint=False)).double().eval()
    search = SearchSettings(score="length-normalised", coverage=0.2, beam_size=2, extra_length=6)
    constraints = Constraints(phrases=padded([[(6, 8), (7,)], [(5,)]]))
    results = grid_search(built, built.encode(SOURCE), search, constraints, n_best=2, record=True)
    for place, (result, wanted) in enumerate(zip(results, [[(6, 8), (7,)], [(5,)]], strict=True)):
        for hypothesis in result.hypotheses:
            assert occur(hypothesis.tokens, wanted)
            target = torch.tensor([[*hypothesis.tokens, *[EOS] * hypothesis.finished]])
            (forced,) = forced_decode(built, built.encode(SOURCE[place : place + 1]), target)
            assert hypothesis.log_prob == pytest.approx(forced.log_probs.sum(), abs=1e-9)
            covered = forced.attention[-1].mean(0).sum(0)[: int((SOURCE[place] != PAD).sum())]
            if isinstance(model, TransformerSettings):
                penalty = sum(math.log(min(max(one, 1e-3), 1)) for one in covered)
                length = target.shape[1]
                assert hypothesis.score == pytest.approx(
                    hypothesis.log_prob / ((5 + length) / 6) ** 0.6 + 0.2 * penalty, abs=1e-6
                )


def test_pruning_is_refused_where_words_must_occur():
    model = ScriptedModel(types=7, seed=1)
    memory = model.encode(torch.tensor([[4, 5, EOS]]))
    constraints = Constraints(phrases=torch.tensor([[[4]]]))
    with pytest.raises(RecipeError, match="prune_below = 2: drops hypotheses that lack a word that must occur"):
        grid_search(model, memory, SearchSettings(prune_below=2.0), constraints)
