"""The Transformer's decoder, token by token, and its state."""

import numpy as np
import pytest
import torch
from support.small_transformer import (
    ALLOWED,
    SOURCE,
    TARGET,
    TYPES,
    H,
    every_combination,
    log_probs,
    pairs,
    settings,
    stepwise,
    transformer,
)

from nmtlab.models import layers
from nmtlab.models.build import ModelText, build_model, load_weights
from nmtlab.models.interface import on_device
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS


@every_combination
@pytest.mark.parametrize("record", [False, True])
def test_decoding_step_by_step_gives_the_log_probabilities_of_the_parallel_pass(placement, norm, fixnorm, record):
    model = transformer(placement, norm, fixnorm, language_vectors=True)
    torch.testing.assert_close(stepwise(model, pairs(), record), log_probs(model, pairs()), atol=1e-10, rtol=0)


@every_combination
def test_a_state_is_reordered_by_sentence_and_slot_and_drops_sentences(placement, norm, fixnorm):
    model = transformer(placement, norm, fixnorm)
    batch = pairs()

    def prefixes_after(tokens: list[list[list[int]]], sentences: list[int]) -> torch.Tensor:
        """Return the next log-probabilities, (B, K, C), of prefixes decoded from scratch, one at a time."""
        rows = []
        for sentence, slots in zip(sentences, tokens, strict=True):
            for prefix in slots:
                state = model.start(model.encode(batch.source[sentence : sentence + 1]))
                for token in prefix:
                    step = model.step(state, torch.tensor([[token]]))
                    state = step.state
                rows.append(step.log_probs[0, 0])
        return torch.stack(rows).unflatten(0, (len(tokens), -1))

    first = model.step(model.start(model.encode(batch.source)), torch.full((3, 1), BOS))
    state = first.state.select(torch.tensor([[0, 0], [1, 1], [2, 2]]))  # two slots per sentence
    state = model.step(state, torch.tensor([[4, 5], [6, 7], [9, 10]])).state
    cases = [
        (torch.tensor([[1, 0], [3, 3], [5, 4]]), [0, 1, 2], [[5, 4], [7, 7], [10, 9]]),  # all of them, reordered
        (torch.tensor([[5, 5, 4], [0, 1, 0]]), [2, 0], [[10, 10, 9], [4, 5, 4]]),  # the middle one has left
        (torch.tensor([[3]]), [1], [[7]]),
    ]
    for rows, sentences, words in cases:
        step = model.step(state.select(rows), torch.full(rows.shape, 13))
        expected = prefixes_after([[[BOS, word, 13] for word in slots] for slots in words], sentences)
        torch.testing.assert_close(step.log_probs, expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_two_continuations_of_one_state_do_not_disturb_each_other(mode):
    model = transformer("pre", "layer", fixnorm=False)
    begun = torch.full((3, 1), BOS)
    with mode():
        state = model.start(model.encode(pairs().source))
        for token in (begun, begun + 3, begun + 4):
            state = model.step(state, token).state
        one, other = (model.step(state, begun + more).state for more in (5, 6))
        after_one, after_other = (model.step(after, begun + 7).log_probs for after in (one, other))
        again = [model.step(model.step(state, begun + more).state, begun + 7).log_probs for more in (5, 6)]
    torch.testing.assert_close(torch.stack((after_one, after_other)), torch.stack(again), atol=0, rtol=0)
    assert not torch.allclose(after_one, after_other)


def test_a_state_of_inference_can_be_continued_outside_of_it():
    model = transformer("pre", "layer", fixnorm=False)
    begun = torch.full((3, 1), BOS)
    with torch.inference_mode():
        state = model.step(model.start(model.encode(pairs().source)), begun).state
    with torch.no_grad():
        found = model.step(state, begun + 3).log_probs
    with torch.inference_mode():
        torch.testing.assert_close(found, model.step(state, begun + 3).log_probs)


@pytest.mark.parametrize("multiple", [1, 4])
def test_slots_that_ended_are_not_computed_and_the_others_go_on_as_before(multiple, monkeypatch):
    monkeypatch.setattr(layers, "_MULTIPLE", multiple)
    model = transformer("pre", "layer", fixnorm=False)
    computed: list[int] = []
    model.decoder[0].feed_forward.register_forward_hook(lambda _, arguments, __: computed.append(len(arguments[0])))
    beginnings = torch.tensor([[4, 5, 6], [7, 9, 10], [11, 12, 13]])
    state = model.step(model.start(model.encode(pairs().source)), torch.full((3, 1), BOS)).state
    state = model.step(state.select(torch.arange(3)[:, None].expand(3, 3)), beginnings).state
    selected = [  # of all sentences, then of the first and the last
        (torch.tensor([[-1, 1, 0], [3, 4, -1], [-1, -1, 8]]), 5),
        (torch.tensor([[1, 2, 1], [-1, -1, 8]]), 4),
        (torch.tensor([[-1, 1, 2], [5, -1, 5]]), 4),
    ]
    whole = state
    for rows, needed in selected:
        token = torch.randint(4, 13, rows.shape)
        computed.clear()
        step = model.step(state.select(rows), token)
        assert computed == [-(-needed // multiple) * multiple]
        stand_ins = torch.where(rows < 0, rows.amax(1, keepdim=True), rows)
        expected = model.step(whole.select(stand_ins), token)
        going_on = rows >= 0
        torch.testing.assert_close(step.log_probs[going_on], expected.log_probs[going_on], atol=1e-12, rtol=0)
        state, whole = step.state, expected.state


def test_a_recorded_step_shows_the_attention_of_every_layer_slot_and_head():
    model = transformer()
    state = model.start(model.encode(pairs().source)).select(torch.tensor([[0, 0], [1, 1], [2, 2]]))
    attention = model.step(state, torch.full((3, 2), BOS), record=True).attention
    assert attention.shape == (2, 3, 2, H, 5)
    torch.testing.assert_close(attention.sum(-1), torch.ones(2, 3, 2, H, dtype=torch.float64))
    assert (attention.movedim(-1, 0)[:, :, torch.tensor([1, 2])][3:] == 0).all()  # padding of the last two sentences
    assert model.step(state, torch.full((3, 2), BOS)).attention is None


@pytest.mark.parametrize("placement", ["pre", "post"])
@torch.no_grad()
def test_a_decoder_that_reads_a_start_and_a_language_predicts_as_if_both_began_its_input(placement):
    """As M2M-100: BOS, the language, then the words; the parallel and the stepwise decoder agree."""
    first = 12
    torch.manual_seed(0)
    text = ModelText(TYPES, ALLOWED, True, first_tokens={"": first}, reads_start=True)
    model = build_model(settings(placement), text).double().eval()
    batch = pairs()
    torch.testing.assert_close(stepwise(model, batch), log_probs(model, batch))
    plain = build_model(settings(placement), ModelText(TYPES, ALLOWED, True)).double().eval()
    load_weights(plain, dict(model.named_parameters()))
    target = batch_of(SOURCE, np.concatenate([np.full((len(TARGET), 1), first), TARGET], axis=1))
    longer = on_device(target)
    after = plain(longer)[(torch.cumsum(longer.target_mask, 1)[longer.target_mask] > 1)]
    torch.testing.assert_close(model(batch), after)
