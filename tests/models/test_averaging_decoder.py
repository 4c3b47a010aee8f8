"""A decoder that averages the words so far instead of attending to them."""

import numpy as np
import pytest
import torch
from support.small_transformer import SOURCE, TARGET, D, log_probs, pairs, settings, stepwise, transformer

from nmtlab.errors import RecipeError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.models.recording import recorded_attention
from nmtlab.recipe import named_recipe
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS
from nmtlab.training.setup import train

FORMS = [{}, {"average_ffn": False}, {"average_ffn": False, "average_gate": False}]
every_form = pytest.mark.parametrize("form", FORMS, ids=str)


def averaging(*choices, **more):
    return transformer(*choices, decoder_history="average", **more)


@every_form
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_decoding_step_by_step_gives_the_log_probabilities_of_the_parallel_pass(placement, form):
    model = averaging(placement, "layer", False, **form)
    torch.testing.assert_close(stepwise(model, pairs()), log_probs(model, pairs()), atol=1e-10, rtol=0)
    padded = on_device(batch_of(np.pad(SOURCE, ((0, 0), (0, 2))), np.pad(TARGET, ((0, 0), (0, 3)))))
    torch.testing.assert_close(log_probs(model, padded), log_probs(model, pairs()), atol=1e-12, rtol=0)


def test_a_slot_goes_on_from_the_words_of_the_slot_that_it_was():
    model, begun = averaging(), torch.full((3, 1), BOS)
    state = model.step(model.start(model.encode(pairs().source)), begun).state.select(
        torch.arange(3)[:, None].repeat(1, 2)
    )
    state = model.step(state, torch.tensor([[4, 5], [6, 7], [9, 10]])).state
    found = model.step(state.select(torch.tensor([[5, 4], [0, -1]])), torch.full((2, 2), 13)).log_probs
    for row, slot, sentence, word in ((0, 0, 2, 10), (0, 1, 2, 9), (1, 0, 0, 4)):
        alone = model.start(model.encode(pairs().source[sentence : sentence + 1]))
        for token in (BOS, word):
            alone = model.step(alone, torch.tensor([[token]])).state
        expected = model.step(alone, torch.tensor([[13]])).log_probs[0, 0]
        torch.testing.assert_close(found[row, slot], expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.enable_grad])
def test_two_continuations_of_one_state_do_not_disturb_each_other(mode):
    model, begun = averaging(), torch.full((3, 1), BOS)
    with mode():
        state = model.step(model.start(model.encode(pairs().source)), begun).state
        one, other = (model.step(state, begun + more).state for more in (5, 6))
        model.step(other, begun + 7)
        again = model.step(model.step(state, begun + 5).state, begun + 7)
        assert torch.equal(model.step(one, begun + 7).log_probs, again.log_probs)


@pytest.mark.parametrize(("form", "matrices"), [(FORMS[0], 6), (FORMS[1], 4), (FORMS[2], 0)], ids=str)
def test_a_decoder_layer_has_the_parameters_of_its_network_and_its_gates(form, matrices):
    layer = averaging(**form).decoder[0]
    assert sum(p.numel() for p in layer.attention.parameters() if p.dim() == 2) == matrices * D * D


def test_low_rank_changes_are_those_of_the_network_and_of_the_gates_too():
    text = ModelText(15, np.arange(15) > 1, True)
    model = build_model(settings(decoder_history="average", lora_rank=2), text)
    changed = [name for name, _ in model.decoder[0].attention.named_parameters() if name.endswith("low_rank_up")]
    assert changed == [f"{part}.low_rank_up" for part in ("feed_forward.inner", "feed_forward.outer", "gate")]


def test_it_has_no_self_attention_to_record():
    found = recorded_attention(averaging(), pairs())
    assert len(found.encoder) == len(found.cross) == 2
    assert found.decoder.shape == (0, *found.cross.shape[1:4], found.cross.shape[3])


@pytest.mark.parametrize("changes", [{"attention_share": 0.5}, {"feed_forward_share": 0.5}, {"positions": "relative"}])
def test_what_it_cannot_have_is_refused_by_name(changes):
    (field,) = changes
    changed = {f"model.{name}": value for name, value in {**changes, "decoder_history": "average"}.items()}
    with pytest.raises(RecipeError, match=field):
        named_recipe("transformer-tiny").with_changes(changed)


@pytest.mark.parametrize("field", ["average_ffn", "average_gate"])
def test_what_only_an_average_has_is_refused_where_there_is_none(field):
    with pytest.raises(RecipeError, match=f"{field} is false, but decoder_history is 'attention'"):
        named_recipe("transformer-tiny").with_changes({f"model.{field}": False})


@pytest.mark.full  # a training
def test_a_stopped_training_goes_on_as_if_nothing_had_happened(zoo, tiny_corpus, workspace):
    whole, asked = zoo("averaging"), iter(range(1000))
    train("stopped", whole.recipe, tiny_corpus, workspace, should_stop=lambda: next(asked) >= 25)
    again = train("stopped", whole.recipe, tiny_corpus, workspace, resume=True)
    ours, theirs = again.checkpoints.weights()[0], whole.checkpoints.weights()[0]
    assert all(torch.equal(weight, theirs[name]) for name, weight in ours.items())
