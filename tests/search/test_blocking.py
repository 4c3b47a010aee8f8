"""No n-gram twice: against a loop over hypotheses, against every translation there is, and in every search."""

from itertools import product

import numpy as np
import pytest
import torch

from nmtlab.errors import RecipeError
from nmtlab.interchange.served import check_search
from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import Recipe, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.blocking import without_repeats
from nmtlab.search.constraints import Constraints
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.forced import forced_decode
from nmtlab.search.grid import grid_search
from nmtlab.search.searches import Beam, usual_search
from nmtlab.systems import open_model

SOURCE = torch.tensor([[5, 6, 4, 5, 2], [6, 5, 2, 0, 0]])
EOS = 2


def ngrams(tokens, n):
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


@pytest.fixture(scope="module", params=["rnn", "transformer"])
def model(request):
    torch.manual_seed(5)
    sizes = {"d_model": 8, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "heads": 2, "dropout": 0.0}
    settings = RnnSettings(d_model=6, init_range=1.5) if request.param == "rnn" else TransformerSettings(**sizes)
    return build_model(settings, ModelText(8, np.array([i in (2, 3, 4, 5) for i in range(8)]), joint=False)).eval()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_type_is_blocked_if_it_would_end_an_ngram_that_there_is(n):
    random = np.random.default_rng(n)
    output_ids = torch.tensor([2, 3, 4, 6, 7])
    tokens = random.choice(output_ids.numpy(), (2, 5, 7))
    tokens[1, 2, 4:] = 0  # has ended
    log_probs = torch.randn(2, 5, 5)
    found = without_repeats(log_probs, output_ids, torch.from_numpy(tokens), n)
    for sentence, slot in product(range(2), range(5)):
        if (sentence, slot) == (1, 2):
            continue
        said = tokens[sentence, slot].tolist()
        for column, number in enumerate(output_ids.tolist()):
            repeats = tuple([*said, number][-n:]) in ngrams(said, n)
            assert (found[sentence, slot, column] == -torch.inf) == repeats
            assert repeats or found[sentence, slot, column] == log_probs[sentence, slot, column]
    assert torch.isfinite(log_probs).all()


def test_nothing_is_blocked_before_there_is_an_ngram():
    log_probs = torch.randn(1, 1, 3)
    assert without_repeats(log_probs, torch.tensor([2, 3, 4]), torch.empty(1, 1, 0, dtype=torch.long), 1) is log_probs


@pytest.mark.parametrize("n", [1, 2])
def test_a_wide_beam_finds_the_best_of_all_translations_without_a_repeated_ngram(model, n):
    settings = SearchSettings(beam_size=500, score="log-prob", extra_length=0, block_ngrams=n)
    with torch.inference_mode():
        memory = model.encode(SOURCE[:1])
        (found,) = beam_search(model, memory, settings, n_best=5)
        longest = int(memory.lengths[0])
        every = [
            [*tokens, EOS]
            for length in range(longest)
            for tokens in product((3, 4, 5), repeat=length)
            if len(set(ngrams(tokens, n))) == len(ngrams(tokens, n))
        ]
        width = max(map(len, every))
        targets = torch.tensor([[*one, *[0] * (width - len(one))] for one in every])
        forced = forced_decode(model, memory.select(torch.zeros(len(every), dtype=torch.long)), targets)
    scored = sorted(((one.log_prob, tokens[:-1]) for one, tokens in zip(forced, every, strict=True)), reverse=True)
    assert [list(one.tokens) for one in found.hypotheses] == [tokens for _, tokens in scored[:5]]
    assert [one.log_prob for one in found.hypotheses] == pytest.approx([value for value, _ in scored[:5]], rel=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_no_output_has_an_ngram_twice(model, n):
    settings = SearchSettings(beam_size=4, extra_length=12, score="word-reward", gamma=2.0, block_ngrams=n)
    with torch.inference_mode():
        found = [one for result in beam_search(model, model.encode(SOURCE), settings, 4) for one in result.hypotheses]
        found += [
            one
            for result in diverse_beam_search(model, model.encode(SOURCE), settings, 2, 0.5)
            for one in result.hypotheses
        ]
        free = beam_search(model, model.encode(SOURCE), settings.model_copy(update={"block_ngrams": 0}), 4)
    assert found
    assert [one for one in found if len(set(ngrams(one.tokens, n))) < len(ngrams(one.tokens, n))] == []
    repeating = [one for result in free for one in result.hypotheses]
    assert any(len(set(ngrams(one.tokens, n))) < len(ngrams(one.tokens, n)) for one in repeating)


def test_greedy_search_blocks_as_a_beam_of_one_does(zoo):
    settings = SearchSettings(beam_size=1, block_ngrams=1)
    assert isinstance(usual_search(settings, False, 1, None), Beam)
    run = zoo("trained")
    said = open_model(run, settings).translate(["ein hund sieht ein kind", "katze"])
    tokens = [one.hypotheses[0].tokens for one in said]
    assert all(len(set(some)) == len(some) for some in tokens)


def test_what_cannot_block_refuses():
    with pytest.raises(RecipeError, match="plan no lengths"):
        Recipe().with_changes({"model.plan_length": True, "search.block_ngrams": 3})
    with pytest.raises(RecipeError, match=r"search\.block_ngrams: CTranslate2"):
        check_search(SearchSettings(block_ngrams=3))


def test_what_a_translation_begins_with_may_repeat_itself_but_not_what_follows(model):
    prefix = torch.tensor([[4, 4, 4], [0, 0, 0]])
    settings = SearchSettings(beam_size=3, block_ngrams=1, score="log-prob")
    found = beam_search(model, model.encode(SOURCE), settings, constraints=Constraints(prefix=prefix))
    for result, given in zip(found, ((4, 4, 4), ()), strict=True):
        tokens = result.hypotheses[0].tokens
        assert tokens[: len(given)] == given
        assert len({*tokens[len(given) :]}) == len(tokens) - len(given)
    assert 4 not in found[0].hypotheses[0].tokens[3:]


def test_words_that_must_occur_are_refused(model):
    constraints = Constraints(phrases=torch.tensor([[[4, 4]], [[5, 0]]]))
    with pytest.raises(RecipeError, match="block_ngrams = 2: may forbid a word that must occur"):
        grid_search(model, model.encode(SOURCE), SearchSettings(block_ngrams=2), constraints)
