"""Forced decoding against the parallel forward pass, against beam search, and by hand."""

import numpy as np
import pytest
import torch
from support.scripted_model import ScriptedModel

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import ConvSettings, RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.attention import pieces_of_words, word_attention
from nmtlab.search.beam import beam_search
from nmtlab.search.forced import forced_decode, forced_decode_all, forced_steps
from nmtlab.search.planned import planned_search
from nmtlab.search.token_scores import score_tokens
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

TYPES = 15
ALLOWED = np.array([number not in (PAD, BOS, 8) for number in range(TYPES)])
SOURCES = [[5, 7, 4, 9, EOS], [6, 8, EOS], [14, EOS], [4, 4, 4, EOS]]
TARGETS = [[9, 10, 5, EOS], [13, EOS], [4, UNK, 4, 12, 6, EOS], [EOS]]
SIZES = {"d_model": 8, "d_ff": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.0}
SYSTEMS = {
    "transformer": TransformerSettings(**SIZES),
    "postnorm": TransformerSettings(**SIZES, placement="post", norm="layer", fixnorm=False),
    "rnn": RnnSettings(d_model=8, layers=2, dropout=0.0),
    "conv": ConvSettings(d_model=8, decoder_layers=2, dropout=0.0),
    "copying": TransformerSettings(**SIZES, copy_head=True),
    "copying rnn": RnnSettings(d_model=8, dropout=0.0, copy_head=True),
    "heads": RnnSettings(d_model=8, dropout=0.0, grammar="tree"),
    "fixnorm+lex": RnnSettings(d_model=8, dropout=0.0, fixnorm=True, radius=3.5, lexicon="module"),
}

every_system = pytest.mark.parametrize("name", SYSTEMS)


def model_of(name: str, dtype: torch.dtype = torch.float64) -> TranslationModel:
    torch.manual_seed(3)
    model = build_model(SYSTEMS[name], ModelText(TYPES, ALLOWED, True)).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=dtype), alpha=0.3)
    return model


def padded(rows: list[list[int]]) -> torch.Tensor:
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


@every_system
@pytest.mark.parametrize(("dtype", "exact"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@torch.no_grad()
def test_log_probabilities_are_those_of_the_parallel_forward_pass(name, dtype, exact):
    model = model_of(name, dtype)
    source, target = padded(SOURCES), padded(TARGETS)
    pairs = on_device(batch_of(source.numpy(), target.numpy()))
    every = model.output(model(pairs)).log_softmax(-1)
    expected = every.gather(1, model.output_index(target[target != PAD])[:, None])[:, 0].numpy()
    found = forced_decode(model, model.encode(source), target)
    np.testing.assert_allclose(np.concatenate([forced.log_probs for forced in found]), expected, rtol=0, atol=exact)
    assert [forced.log_prob for forced in found] == pytest.approx(
        [part.sum() for part in np.split(expected, np.cumsum([len(t) for t in TARGETS])[:-1])], abs=10 * exact
    )


@every_system
def test_a_hypothesis_of_beam_search_is_forced_to_the_same_numbers(name):
    model = model_of(name)
    settings = SearchSettings(beam_size=3, extra_length=6)
    searched = beam_search(model, model.encode(padded(SOURCES)), settings, n_best=3, record=True)
    hypotheses = [(i, h) for i, result in enumerate(searched) for h in result.hypotheses]
    assert len(hypotheses) > len(SOURCES)
    sources = [SOURCES[i] for i, _ in hypotheses]
    targets = [[*h.tokens, EOS] for _, h in hypotheses]
    for (_, h), source, forced in zip(
        hypotheses, sources, forced_decode(model, model.encode(padded(sources)), padded(targets)), strict=True
    ):
        length = len(h.tokens) + h.finished
        assert forced.log_probs[:length].sum() == pytest.approx(h.log_prob, abs=1e-12)
        np.testing.assert_allclose(forced.attention[:, :, :length], h.attention[..., : len(source)], rtol=0, atol=1e-12)
        assert not h.attention[..., len(source) :].any()


@every_system
def test_attention_has_a_row_that_adds_up_to_one_for_each_target_token(name):
    model = model_of(name)
    for forced, source, target in zip(
        forced_decode(model, model.encode(padded(SOURCES)), padded(TARGETS)), SOURCES, TARGETS, strict=True
    ):
        layers, heads = {"transformer": (2, 2), "conv": (2, 1), "rnn": (1, 1)}[SYSTEMS[name].family]
        assert forced.attention.shape == (layers, heads, len(target), len(source))
        np.testing.assert_allclose(forced.attention.sum(-1), 1.0, atol=1e-12)


@every_system
@pytest.mark.parametrize("batch_tokens", [1, 8, 4096])
def test_what_is_said_of_a_pair_does_not_depend_on_the_others(name, batch_tokens):
    model = model_of(name)
    alone = [
        forced_decode(model, model.encode(torch.tensor([s])), torch.tensor([t]))[0]
        for s, t in zip(SOURCES, TARGETS, strict=True)
    ]
    found = list(forced_decode_all(model, SOURCES, TARGETS, batch_tokens))
    assert sorted(place for place, _ in found) == list(range(len(SOURCES)))
    for place, forced in found:
        np.testing.assert_allclose(forced.log_probs, alone[place].log_probs, rtol=0, atol=1e-12)
        np.testing.assert_allclose(forced.attention, alone[place].attention, rtol=0, atol=1e-12)


def test_nothing_given_is_nothing_said():
    assert list(forced_decode_all(model_of("rnn"), [], [])) == []


def test_a_type_that_may_not_be_produced_is_scored_as_unk():
    model = model_of("rnn")
    masked, unknown = forced_decode(model, model.encode(padded([[5, EOS]] * 2)), torch.tensor([[8, EOS], [UNK, EOS]]))
    assert masked.log_probs[0] == unknown.log_probs[0]
    assert masked.log_probs[1] != unknown.log_probs[1]  # it has read the word itself, not an UNK


def test_scripted_probabilities_come_back_as_they_were_written():
    model = ScriptedModel(types=7, seed=4)
    sources, targets = [[4, 5, EOS], [6, EOS]], [[5, 3, EOS], [EOS]]
    for source, target, forced in zip(
        sources, targets, forced_decode(model, model.encode(padded(sources)), padded(targets)), strict=True
    ):
        for t, token in enumerate(target):
            written = model.log_probs(tuple(source), tuple(target[:t]))
            assert forced.log_probs[t] == written[model.output_ids == token].item()
            assert forced.attention[0, 0, t].tolist() == [float(s == t % len(source)) for s in range(len(source))]


def test_the_whole_step_can_be_looked_at():
    model = ScriptedModel(types=7)
    steps = list(forced_steps(model, model.encode(torch.tensor([[4, EOS]])), torch.tensor([[5, 6, EOS]]), record=False))
    assert [step.log_probs.shape for step in steps] == [(1, 1, 5)] * 3
    assert all(step.attention is None for step in steps)
    assert torch.equal(steps[2].log_probs[0, 0], model.log_probs((4, EOS), (5, 6)))


# From pieces to words


def test_a_words_attention_is_the_sum_of_its_pieces_in_the_mean_of_the_last_layers_heads():
    first, second = [[0.9, 0.1, 0.0, 0.0]], [[0.0, 0.0, 0.0, 1.0]]
    last = np.array([[[0.4, 0.2, 0.3, 0.1]], [[0.0, 0.2, 0.3, 0.5]]])  # (heads, |y|, S), EOS the last of S
    attention = np.stack([np.array([first, second]), last])
    np.testing.assert_allclose(word_attention(attention, [0, 1, 1]), [[0.2, 0.5]])
    np.testing.assert_allclose(word_attention(attention, [0, 1, 2]), [[0.2, 0.2, 0.3]])


def test_without_words_there_is_no_attention_to_them():
    assert word_attention(np.ones((1, 1, 4, 1)), []).shape == (4, 0)


def test_each_piece_belongs_to_one_word():
    assert pieces_of_words([0, 0, 1]).tolist() == [[True, False], [True, False], [False, True]]


@every_system
@torch.no_grad()
def test_scores_are_those_of_the_distributions_of_the_parallel_forward_pass(name):
    model = model_of(name)
    found = dict(score_tokens(model, SOURCES, TARGETS, top=3))
    for index, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        pair = on_device(batch_of(np.array([source]), np.array([target])))
        probabilities = model.output(model(pair)).softmax(-1)  # (|y|, C)
        chosen = probabilities[torch.arange(len(target)), model.output_index(torch.tensor(target))]
        scores = found[index]
        assert scores.tokens == tuple(target)
        np.testing.assert_allclose(scores.log_probs, chosen.log(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(scores.entropies, -(probabilities * probabilities.log()).sum(-1), rtol=0, atol=1e-12)
        for others, row in zip(scores.alternatives, probabilities, strict=True):
            best = row.sort(descending=True).indices[:3]
            assert list(others) == model.output_ids[best].tolist()
            np.testing.assert_allclose(list(others.values()), row[best].log(), rtol=0, atol=1e-12)


def test_neither_batches_nor_alternatives_change_the_scores():
    model = model_of("rnn")
    together, alone = (dict(score_tokens(model, SOURCES, TARGETS, batch_tokens=size)) for size in (100, 1))
    for index, scores in together.items():
        assert scores.alternatives == ({},) * len(TARGETS[index])
        np.testing.assert_allclose(scores.log_probs, alone[index].log_probs, rtol=0, atol=1e-12)


def test_more_alternatives_than_types_are_all_types():
    ((_, scores),) = score_tokens(model_of("transformer"), SOURCES[:1], TARGETS[:1], top=1000)
    assert all(sum(map(np.exp, others.values())) == pytest.approx(1) for others in scores.alternatives)


def test_a_translation_that_was_cut_off_has_no_end():
    ((_, scores),) = score_tokens(model_of("transformer"), SOURCES[:1], [[9, 10]], top=1)
    ((_, whole),) = score_tokens(model_of("transformer"), SOURCES[:1], [[9, 10, EOS]])
    assert scores.tokens == (9, 10)
    np.testing.assert_allclose(scores.log_probs, whole.log_probs[:2], rtol=0, atol=1e-12)


@torch.no_grad()
def test_the_end_of_a_planned_translation_has_the_scores_of_its_length():
    torch.manual_seed(2)
    settings = TransformerSettings(**SIZES, plan_length=True, max_predicted_length=8)
    model = build_model(settings, ModelText(TYPES, ALLOWED, True)).double().eval()
    memory = model.encode(padded(SOURCES))
    (planned, *_), *_ = (result.hypotheses for result in planned_search(model, memory, SearchSettings(beam_size=2)))
    ((_, scores),) = score_tokens(model, SOURCES[:1], [[*planned.tokens, EOS]], top=2)
    of_lengths = model.length_log_probs(memory)[0]
    assert scores.log_probs.sum() == pytest.approx(planned.log_prob, abs=1e-9)
    assert scores.log_probs[-1] == pytest.approx(planned.length_log_prob, abs=1e-9)
    assert scores.entropies[-1] == pytest.approx(-(of_lengths.exp() * of_lengths).nansum().item(), abs=1e-9)
    assert [len(others) for others in scores.alternatives] == [2] * len(planned.tokens) + [0]
