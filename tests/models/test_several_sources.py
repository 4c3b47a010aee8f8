"""Models of several sources: against one source, against their sources one by one, and against brute force."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.small_recurrent import recurrent
from support.small_transformer import transformer
from torch import Tensor

from nmtlab.errors import RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.models.parts import part
from nmtlab.recipe import RnnSettings, SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.forced import forced_decode
from nmtlab.search.greedy import greedy_search
from nmtlab.search.scores import coverage_penalty, highest_coverage
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD

TYPES, NULL = 9, 4
ALLOWED = np.array([number not in (PAD, BOS, NULL) for number in range(TYPES)])
SOURCE = np.array([[5, 7, 6, 8, EOS], [6, 8, EOS, PAD, PAD], [7, EOS, PAD, PAD, PAD]])
OTHER = np.array([[8, EOS, PAD, PAD], [5, 5, 7, EOS], [NULL, EOS, PAD, PAD]])
TARGET = np.array([[5, 6, 5, EOS], [8, EOS, PAD, PAD], [7, 7, EOS, PAD]])

RNN = {"d_model": 6, "dropout": 0.0}
TRANSFORMER = {"d_model": 8, "d_ff": 12, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
MODELS = {
    "rnn separate": RnnSettings(**RNN, layers=2),
    "rnn separate, one encoder": RnnSettings(**RNN, shared_encoders=True),
    "rnn separate additive": RnnSettings(**RNN, attention="additive", cell="gru"),
    "rnn joint": RnnSettings(**RNN, combine="joint", layers=2, bidirectional=True),
    "rnn joint with lexicon": RnnSettings(**RNN, combine="joint", fixnorm=True, lexicon="module"),
    "rnn flat": RnnSettings(**RNN, combine="flat"),
    "rnn mixture": RnnSettings(**RNN, combine="mixture", layers=2),
    "transformer separate": TransformerSettings(**TRANSFORMER),
    "transformer separate, PostNorm": TransformerSettings(**TRANSFORMER, placement="post"),
    "transformer joint": TransformerSettings(**TRANSFORMER, combine="joint"),
    "transformer joint, one encoder": TransformerSettings(**TRANSFORMER, combine="joint", shared_encoders=True),
}
every_model = pytest.mark.parametrize("name", MODELS)


def model_of(settings, sources: int = 2, joint: bool = False) -> TranslationModel:
    """Return a float64 model with parameters far from their initial values."""
    torch.manual_seed(3)
    model = build_model(settings, ModelText(TYPES, ALLOWED, joint, sources=sources)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=torch.float64), alpha=0.4)
    return model


def pairs() -> Batch:
    return on_device(batch_of(SOURCE, TARGET, more_sources=(OTHER,)))


def encoded(model: TranslationModel, batch: Batch):
    return model.encode(batch.source, more=batch.more_sources)


def log_probs(model: TranslationModel, batch: Batch) -> Tensor:
    return model.output(model(batch)).log_softmax(-1)


def stepwise(model: TranslationModel, memory, batch: Batch) -> tuple[Tensor, Tensor]:
    """Return log-probabilities at unpadded positions, and attention (layers, B, T, heads, S)."""
    state, found, weights = model.start(memory), [], []
    for token in batch.target_input.split(1, dim=1):
        step = model.step(state, token, record=True)
        state = step.state
        found.append(step.log_probs)
        weights.append(step.attention)
    return torch.cat(found, dim=1)[batch.target != PAD], torch.cat(weights, dim=2)


@pytest.mark.parametrize("kind", [RnnSettings, TransformerSettings])
def test_a_model_of_one_source_does_not_depend_on_how_several_are_combined(kind):
    def made(**choices) -> dict[str, Tensor]:
        torch.manual_seed(5)
        return dict(build_model(kind(**choices), ModelText(TYPES, ALLOWED, False)).named_parameters())

    ordinary = made()
    others = [{"combine": "mixture"}] if kind is RnnSettings else []
    for choices in ({"combine": "joint"}, {"shared_encoders": True}, *others):
        other = made(**choices)
        assert list(other) == list(ordinary)
        assert all(torch.equal(other[name], value) for name, value in ordinary.items())


@every_model
def test_decoding_step_by_step_agrees_with_the_forward_pass(name):
    model, batch = model_of(MODELS[name]), pairs()
    assert torch.allclose(stepwise(model, encoded(model, batch), batch)[0], log_probs(model, batch), atol=1e-12)


@every_model
def test_a_sentence_does_not_depend_on_the_padding_of_any_source(name):
    model, batch = model_of(MODELS[name]), pairs()
    together = stepwise(model, encoded(model, batch), batch)[0].split([4, 2, 3])
    for row, expected in enumerate(together):
        alone = batch.cut(slice(row, row + 1)).map(
            lambda ids: ids[:, : int((ids != PAD).sum())] if ids.dim() > 1 else ids
        )
        assert torch.allclose(stepwise(model, encoded(model, alone), alone)[0], expected, atol=1e-12)


@every_model
def test_attention_adds_up_to_one_over_all_sources_or_over_each(name):
    model, batch = model_of(MODELS[name]), pairs()
    memory = encoded(model, batch)
    weights = stepwise(model, memory, batch)[1]
    of_sources = [(weights * (memory.joint.segments == number)[:, None, None]).sum(-1) for number in range(2)]
    expected = torch.ones_like(of_sources[0])
    if MODELS[name].combine == "separate":
        assert torch.allclose(torch.stack(of_sources), torch.stack([expected, expected]), atol=1e-12)
    else:
        assert torch.allclose(sum(of_sources), expected, atol=1e-12)
        assert min(share.min() for share in of_sources) > 0


@every_model
def test_every_source_counts_and_a_translation_is_limited_by_the_longest(name):
    model, batch = model_of(MODELS[name]), pairs()
    memory = encoded(model, batch)
    other = model.encode(batch.source, more=[batch.more_sources[0].flip(0).roll(1, 0)])
    assert memory.lengths.tolist() == [4, 3, 1]
    assert not torch.allclose(stepwise(model, memory, batch)[0], stepwise(model, other, batch)[0])


@every_model
def test_the_gradient_is_that_of_finite_differences(name):
    model, batch = model_of(MODELS[name]), pairs()
    parameters = [parameter.requires_grad_() for parameter in model.parameters()]

    def loss(*_: Tensor) -> Tensor:
        return log_probs(model, batch)[:, 2].sum()

    assert torch.autograd.gradcheck(loss, parameters, fast_mode=True)


@every_model
def test_a_wide_beam_finds_what_brute_force_finds(name):
    model, batch = model_of(MODELS[name]), pairs()
    settings = SearchSettings(score="log-prob", beam_size=60, extra_length=1)
    one = batch.cut(slice(2, 3)).map(lambda ids: ids[:, :2] if ids.dim() > 1 else ids)  # at most 2 tokens
    memory = encoded(model, one)
    words = [number for number in np.flatnonzero(ALLOWED) if number != EOS]
    possible = [y for length in range(3) for y in itertools.product(words, repeat=length)]
    best = max(possible, key=lambda y: forced_decode(model, memory, torch.tensor([[*y, EOS]]))[0].log_prob)
    found = beam_search(model, memory, settings)[0].hypotheses[0]
    assert found.tokens == best
    assert found.log_prob == pytest.approx(forced_decode(model, memory, torch.tensor([[*best, EOS]]))[0].log_prob)


@every_model
def test_a_stream_of_greedy_batches_finds_the_same_as_sentences_alone(name):
    model, batch = model_of(MODELS[name]), pairs()
    settings = SearchSettings(score="log-prob", beam_size=1, extra_length=6)
    rows = [batch.cut(slice(row, row + 1)) for row in range(3)]
    alone = [beam_search(model, encoded(model, row), settings)[0].hypotheses[0].tokens for row in rows]
    groups = [batch.sources, *(tuple(ids.flip(0) for ids in batch.sources) for _ in range(2))]
    found = [result.hypotheses[0].tokens for group in greedy_search(model, groups, settings) for result in group]
    assert found == [*alone, *alone[::-1], *alone[::-1]]


@every_model
def test_a_memory_of_some_sentences_is_that_of_their_sources(name):
    model, batch = model_of(MODELS[name]), pairs()
    chosen = torch.tensor([2, 0])
    some = batch.map(lambda ids: ids[chosen])
    expected = stepwise(model, encoded(model, some), some)[0]
    assert torch.allclose(stepwise(model, encoded(model, batch).select(chosen), some)[0], expected, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in MODELS if name != "rnn mixture"])
def test_imposed_attention_takes_the_place_of_the_computed_one(name):
    model, batch = model_of(MODELS[name]), pairs()
    state = model.start(encoded(model, batch))
    free = model.step(state, batch.target_input[:, :1], record=True)
    imposed = free.attention.clone().fill_(torch.nan)
    imposed[..., 0], imposed[..., -1] = 0.75, torch.nan
    step = model.step(state, batch.target_input[:, :1], record=True, attention=imposed)
    last = step.attention[-1]
    assert torch.allclose(last[..., 0], torch.full_like(last[..., 0], 0.75))
    assert not torch.allclose(step.log_probs, free.log_probs)
    same = model.step(state, batch.target_input[:, :1], record=True, attention=imposed.fill_(torch.nan))
    assert torch.allclose(same.log_probs, free.log_probs, atol=1e-12)


@every_model
def test_recorded_attention_is_of_every_token_of_every_source(name):
    model, batch = model_of(MODELS[name]), pairs()
    memory = encoded(model, batch)
    weights = stepwise(model, memory, batch)[1]
    for row, forced in enumerate(forced_decode(model, memory, batch.target)):
        tokens = [int((ids[row] != PAD).sum()) for ids in batch.sources]
        assert forced.segments.tolist() == [0] * tokens[0] + [1] * tokens[1]
        assert forced.attention.shape[-1] == sum(tokens)
        rnn = name.startswith("rnn")  # whose decoder never sees EOS
        seen = [
            position for position in range(sum(tokens)) if not rnn or position not in (tokens[0] - 1, sum(tokens) - 1)
        ]
        expected = weights[:, row, : forced.attention.shape[2], :, : len(seen)].transpose(1, 2)
        assert np.allclose(forced.attention[..., seen], expected.detach(), atol=1e-12)
        assert np.allclose(forced.attention.sum(-1), expected.detach().sum(-1), atol=1e-12)


@pytest.mark.parametrize("own", [True, False])
def test_the_sources_of_a_transformer_are_read_one_by_one_and_what_is_attended_to_is_added(own):
    settings = TransformerSettings(**TRANSFORMER, shared_encoders=not own)
    model, batch = model_of(settings), pairs()
    memory = encoded(model, batch)
    separate = model.decoder[0].cross_attention
    x = torch.randn(3, 2, 8, dtype=torch.float64)
    read = separate(x, *separate.keys_values(memory.states, memory.bias), memory.bias)[0]
    expected = torch.zeros_like(x)
    layers, norm = (model.more_encoders[0], model.more_encoder_norms[0]) if own else (model.encoder, model.encoder_norm)
    for attention, ids, reader in zip(
        separate.parts, batch.sources, [(model.encoder, model.encoder_norm), (layers, norm)], strict=True
    ):
        one = model._encoded(ids, "", None, *reader)
        expected += attention(x, *attention.keys_values(one.states), one.bias)[0]
    assert torch.allclose(read, expected, atol=1e-12)


def test_joint_attention_to_a_source_and_to_nothing_is_attention_to_one_source():
    """With an empty second source, whose positions are all hidden (Jauregi Unanue et al. 2018, eq 7 to 11)."""
    settings = TransformerSettings(**TRANSFORMER, combine="joint", shared_encoders=True)
    model, one = model_of(settings), model_of(settings, sources=1)
    one.load_state_dict(model.state_dict())
    batch = pairs()
    alone = one.encode(batch.source)
    joint = encoded(model, batch)
    hidden = joint.bias.masked_fill((joint.joint.segments == 1)[:, None, None], -torch.inf)
    found = stepwise(model, replace(joint, bias=hidden), batch)[0]
    assert torch.allclose(found, stepwise(one, alone, batch)[0], atol=1e-7)


def test_joint_attention_of_a_recurrent_model_is_that_to_one_source_if_the_other_is_hidden():
    settings = RnnSettings(**RNN, combine="joint", shared_encoders=True)
    model, one = model_of(settings), model_of(settings, sources=1)
    one.load_state_dict({name: value for name, value in model.state_dict().items() if name in one.state_dict()})
    batch = pairs()
    joint = encoded(model, batch)
    alone = replace(one.encode(batch.source), last=joint.last)
    found = stepwise(model, joint.without(joint.joint.segments == 1), batch)[0]
    assert torch.allclose(found, stepwise(one, alone, batch)[0], atol=1e-7)


def test_separate_attention_is_that_to_one_source_if_the_weights_of_the_other_are_zero():
    """The first state is then tanh(W_0 [h_1; 0]), and h_2 = c_2 = 0 (Nishimura et al. 2018, eq 1 to 3)."""
    settings = RnnSettings(**RNN)
    model, one = model_of(settings), model_of(settings, sources=1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith("more_encoders"):
                parameter.zero_()
        model.combine.weight[:, 6:12] = 0
        weights = dict(model.named_parameters())
        for name, parameter in one.named_parameters():
            if name == "combine.weight":
                parameter.copy_(torch.cat((model.combine.weight[:, :6], model.combine.weight[:, 12:]), dim=1))
            else:
                parameter.copy_(weights[name.replace("attention.", "attention.parts.0.")])
    batch = pairs()
    first = one.encode(batch.source)
    ((h, c),) = first.last
    w_0 = model.initial[0].weight[:, :6]
    alone = replace(first, last=[((h @ w_0.T).tanh(), c)])
    found = stepwise(model, encoded(model, batch), batch)[0]
    assert torch.allclose(found, stepwise(one, alone, batch)[0], atol=1e-12)


def test_the_first_state_of_a_decoder_is_of_the_last_states_of_all_encoders():
    model, batch = model_of(RnnSettings(**RNN)), pairs()
    first, second = model.encoder(batch.source), model.more_encoders[0](batch.more_sources[0])
    ((h, c),) = encoded(model, batch).last
    ((h_1, c_1),), ((h_2, c_2),) = first.last, second.last
    w_0 = model.initial[0].weight
    expected = torch.stack([torch.tanh(w_0 @ torch.cat(both)) for both in zip(h_1, h_2, strict=True)])
    assert torch.allclose(h, expected, atol=1e-12)
    assert torch.allclose(c, c_1 + c_2, atol=1e-12)


def test_flat_attention_weighs_all_positions_together_with_weights_of_their_source():
    """e = h W_k s and c = sum a U_k s, in loops (Libovický and Helcl 2017)."""
    model, batch = model_of(RnnSettings(**RNN, combine="flat")), pairs()
    memory = encoded(model, batch)
    h = torch.randn(3, 1, 6, dtype=torch.float64)
    keys, values = model.attention.keys_values(memory.states, memory.joint.segments)
    context, _ = model.attention(h, keys, values, memory.bias)
    encoders = model.encoder, model.more_encoders[0]
    for row in range(3):
        scores, seen = [], []
        for number, (encoder, ids) in enumerate(zip(encoders, batch.sources, strict=True)):
            states = encoder(ids[row : row + 1, : int((ids[row] != PAD).sum())]).states[0, :-1]
            scores += [h[row, 0] @ model.attention.parts[number].key.weight @ s for s in states]
            seen += [model.attention.values[number].weight @ s for s in states]
        weights = torch.stack(scores).softmax(0)
        expected = (weights[:, None] * torch.stack(seen)).sum(0)
        assert torch.allclose(context[row, 0], expected, atol=1e-12)


@pytest.mark.parametrize(
    "choices",
    [
        {"language_vectors": True},
        {"embedding_share": 0.5, "attention_share": 0.5, "feed_forward_share": 0.5, "shared_encoders": True},
        {"adapter_width": 3, "combine": "joint"},
        {"positions": "relative"},
        {"positions": "learned", "max_positions": 10},
        {"decoder_history": "average"},
    ],
    ids=str,
)
def test_each_source_is_read_in_its_language_and_all_kinds_of_layers_agree_step_by_step(choices):
    torch.manual_seed(4)
    text = ModelText(TYPES, {"en": ALLOWED}, False, languages=(("de", "nl"), ("en",)), sources=2)
    model = build_model(TransformerSettings(**(TRANSFORMER | {"d_ff": 16} | choices)), text).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=torch.float64), alpha=0.4)
    batch = replace(pairs(), source_language="de", target_language="en")
    before = log_probs(model, batch)
    assert torch.allclose(stepwise(model, encoded(model, batch), batch)[0], before, atol=1e-12)
    if model.languages is not None:
        with torch.no_grad():
            model.languages[1] += 1  # of the second source
        assert not torch.allclose(log_probs(model, batch), before)


@every_model
def test_a_source_too_few_or_too_many_is_refused(name):
    model, batch = model_of(MODELS[name]), pairs()
    for more in ((), (batch.source, batch.source)):
        with pytest.raises(RunError, match=r"reads 2 sources together, and \d (is|are) given"):
            model.encode(batch.source, more=more)
    for one in (recurrent(), transformer()):
        with pytest.raises(RunError, match="reads one source, and 2 are given"):
            one.encode(batch.source, more=[batch.source])


@pytest.mark.parametrize("name", [name for name in MODELS if name != "rnn mixture"])
def test_all_that_reads_a_source_is_part_of_the_encoder(name):
    model = model_of(MODELS[name])
    assert {part(name) for name, _ in model.named_parameters() if name.startswith("more_encoder")} <= {"encoder"}
    assert len(list(model.more_encoders)) == (1 if name.startswith("rnn") or "one encoder" not in name else 0)


@every_model
def test_no_translation_covers_its_sources_more_than_the_bound_says(name):
    model, batch = model_of(MODELS[name]), pairs()
    memory, settings = encoded(model, batch), SearchSettings(coverage=1.0, coverage_form="li", coverage_floor=0.1)
    _, weights = stepwise(model, memory, batch)
    attended = weights[-1].mean(2).sum(1)  # (B, S)
    bound = highest_coverage(settings, torch.full((3,), model.sources * weights.shape[2]), memory.mask)
    assert (coverage_penalty(settings, attended, memory.mask) <= bound + 1e-6).all()


@every_model
def test_groups_of_a_beam_are_scored_with_coverage_as_the_beam_is(name):
    model, memory = model_of(MODELS[name]), encoded(model_of(MODELS[name]), pairs())
    settings = SearchSettings(beam_size=2, coverage=0.3, score="log-prob", extra_length=1)
    for one, (first,) in zip(
        beam_search(model, memory, settings),
        [result.hypotheses[:1] for result in diverse_beam_search(model, memory, settings, groups=2)],
        strict=True,
    ):
        scores = {h.tokens: h.score for h in one.hypotheses}
        assert first.score == pytest.approx(scores.get(first.tokens, first.score), abs=1e-5)


def test_an_ensemble_has_one_family_and_the_same_number_of_sources():
    both = model_of(MODELS["rnn joint"]), model_of(MODELS["transformer joint"])
    with pytest.raises(RunError, match="its runs of several sources are of two families"):
        Ensemble(both)
    alone = model_of(MODELS["rnn joint"], sources=1)
    with pytest.raises(RunError, match="its runs read different numbers of sources"):
        Ensemble([both[0], alone])
