"""Greedy search through a stream of sentences finds what a beam of one finds in each."""

import math
import random

import numpy as np
import pytest
import torch
from support.scripted_model import ScriptedModel
from torch import Tensor

from nmtlab.alignment.table import LexicalTable
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import Searchable
from nmtlab.recipe import ByteNetSettings, ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.greedy import greedy_search
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.vocabulary import EOS, PAD

TYPES = 14
SMALL = {"d_model": 8, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 2, "heads": 2, "dropout": 0.0}
TABLE = LexicalTable.of_rows([[(4 + n % 7, 0.5), (4 + (n + 3) % 7, 0.25)] for n in range(TYPES)])
MODELS = {
    "transformer": TransformerSettings(**SMALL),
    "average": TransformerSettings(**SMALL, decoder_history="average"),
    "distances": TransformerSettings(**SMALL, positions="relative"),
    "post-norm": TransformerSettings(**SMALL, placement="post", norm="layer"),
    "copying": TransformerSettings(**SMALL, copy_head=True),
    "copying lstm": RnnSettings(d_model=6, copy_head=True),
    "heads": RnnSettings(d_model=6, grammar="tree"),
    "lstm": RnnSettings(d_model=6, fixnorm=True, lexicon="module"),
    "conv": ConvSettings(d_model=6, decoder_layers=2),
    "bytenet": ByteNetSettings(d_model=6, encoder_layers=2, decoder_layers=3),
    "no attention": RnnSettings(d_model=6, attention="none", context="every-step"),
    "additive": RnnSettings(d_model=6, attention="additive", lexicon="table"),
}
SETTINGS = SearchSettings(beam_size=1, extra_length=6, score="bounded-reward", gamma=0.5, reward_ratio=0.7)


def model_of(name: str, seed: int = 3) -> Searchable:
    torch.manual_seed(seed)
    built = build_model(MODELS[name], ModelText(TYPES, np.arange(TYPES) > 1, joint=False, table=TABLE))
    model = built.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return model


def models() -> list[tuple[str, Searchable]]:
    with_start = model_of("transformer", 4)
    with_start.reads_start = True
    ensemble = Ensemble([model_of("transformer"), model_of("lstm")])
    return [*((name, model_of(name)) for name in MODELS), ("reads its start", with_start), ("ensemble", ensemble)]


def groups_of(sizes: list[int], seed: int = 0) -> list[Tensor]:
    """Return groups of sentences of similar length, the longest first."""
    draw = random.Random(seed)
    lengths = sorted((draw.randint(1, 9) for _ in range(sum(sizes))), reverse=True)
    rows = [[*draw.choices(range(4, TYPES), k=length), EOS] for length in lengths]
    return [torch.from_numpy(pad([rows.pop(0) for _ in range(size)])) for size in sizes]


@pytest.mark.full
@pytest.mark.parametrize("order", [1, -1], ids=["longest first", "shortest first"])
@pytest.mark.parametrize(("name", "model"), models(), ids=[name for name, _ in models()])
def test_every_sentence_is_translated_as_by_a_beam_of_one(name, model, order):
    groups = groups_of([3, 5, 2, 7, 9, 1, 8])[::order]
    found = list(greedy_search(model, groups, SETTINGS))
    assert [len(results) for results in found] == [len(group) for group in groups]
    ends = set()
    for group, results in zip(groups, found, strict=True):
        for row, result in zip(group, results, strict=True):
            (wanted,) = beam_search(model, model.encode(row[None, row != 0]), SETTINGS)
            (best,), (only,) = wanted.hypotheses, result.hypotheses
            assert (only.tokens, only.finished) == (best.tokens, best.finished)
            assert (only.log_prob, only.score) == pytest.approx((best.log_prob, best.score), abs=1e-5)
            ends.add((only.finished, len(only.tokens)))
    assert len(ends) > 5, "the translations are of different lengths"


@pytest.mark.parametrize(("name", "model"), models(), ids=[name for name, _ in models()])
def test_without_scores_the_translations_are_the_same(name, model):
    groups = groups_of([3, 5, 2])
    scored, unscored = (
        [result.hypotheses[0] for results in greedy_search(model, groups, SETTINGS, scored=given) for result in results]
        for given in (True, False)
    )
    assert [(one.tokens, one.finished) for one in unscored] == [(one.tokens, one.finished) for one in scored]
    assert all(math.isnan(one.log_prob) and math.isnan(one.score) for one in unscored)
    assert all(math.isfinite(one.log_prob) for one in scored), "the model itself goes on as it was"


def test_without_scores_a_transformer_computes_no_softmax(monkeypatch):
    model, last = model_of("transformer"), []
    real = Tensor.log_softmax
    monkeypatch.setattr(Tensor, "log_softmax", lambda *given, **named: last.append(1) or real(*given, **named))
    list(greedy_search(model, groups_of([3]), SETTINGS, scored=False))
    assert not last
    list(greedy_search(model, groups_of([3]), SETTINGS))
    assert last


def test_a_sentence_that_waits_takes_the_place_of_one_that_has_ended():
    model = ScriptedModel(types=9)
    groups = [torch.tensor([[4 + i, 4 + number, EOS] for i in range(5)]) for number in range(3)]
    at_once = []
    step = model.step
    model.step = lambda state, token: at_once.append(len(token)) or step(state, token)
    together = list(greedy_search(model, groups, SETTINGS))
    steps = [1 + max(len(r.hypotheses[0].tokens) for r in results) for results in together]
    assert len(at_once) < sum(steps)
    assert max(at_once) == 5
    rows = sum(len(r.hypotheses[0].tokens) + r.hypotheses[0].finished for results in together for r in results)
    assert rows <= sum(at_once) <= 1.5 * rows


def test_a_long_source_keeps_many_short_ones_from_being_translated_beside_it():
    model = ScriptedModel(types=9)
    long, short = (
        [[4 + i, *(4 + n % 5 for n in range(40)), EOS] for i in range(5)],
        [[4 + i, EOS] for i in range(5)] * 6,
    )
    padded = []
    step = model.step
    model.step = lambda state, token: padded.append((state.source != PAD).sum(1)) or step(state, token)
    list(greedy_search(model, [torch.tensor(long), torch.tensor(short)], SETTINGS))
    assert any(0 < int((lengths == 42).sum()) < 5 for lengths in padded), "a long one goes on when others have ended"
    assert all(len(lengths) * int(lengths.max()) <= 5 * 42 for lengths in padded)
    assert max(len(lengths) for lengths in padded) == 30


def test_a_translation_may_not_be_empty_whenever_it_begins():
    model = ScriptedModel(types=5, seed=1)
    groups = [torch.from_numpy(pad([[2 + i, EOS] for i in range(3, 6)])) for _ in range(4)]
    settings = SETTINGS.model_copy(update={"allow_empty": False})
    found = [result for results in greedy_search(model, groups, settings) for result in results]
    free = [result for results in greedy_search(model, groups, SETTINGS) for result in results]
    assert any(not result.hypotheses[0].tokens for result in free)
    assert all(result.hypotheses[0].tokens for result in found)


def test_without_sentences_there_are_no_results():
    assert list(greedy_search(model_of("transformer"), [], SETTINGS)) == []
