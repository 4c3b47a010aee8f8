"""The Transformer: against torch's, and properties of every combination of its settings."""

import itertools
import math

import numpy as np
import pytest
import torch
from support.small_transformer import (
    ALLOWED,
    FF,
    SOURCE,
    TARGET,
    TYPES,
    D,
    H,
    every_combination,
    log_probs,
    pairs,
    settings,
    stepwise,
    transformer,
)

from nmtlab.errors import RunError
from nmtlab.models.build import ModelText, build_model, load_weights
from nmtlab.models.interface import on_device
from nmtlab.models.transformer import Transformer
from nmtlab.nn.dropout import Dropout
from nmtlab.nn.norms import ScaleNorm
from nmtlab.nn.positions import sinusoids
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import PAD, UNK

# Against torch's Transformer


def copy_attention(ours, theirs) -> None:
    inputs = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.copy_(torch.cat([linear.weight for linear in inputs]))
    theirs.in_proj_bias.copy_(torch.cat([linear.bias for linear in inputs]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def torch_transformer(model: Transformer, placement: str) -> torch.nn.Transformer:
    """Return torch's Transformer with the weights of ours."""
    options = {"dropout": 0.0, "batch_first": True, "norm_first": placement == "pre", "dtype": torch.float64}

    def closing() -> torch.nn.Module | None:
        return torch.nn.LayerNorm(D, dtype=torch.float64) if placement == "pre" else None

    encoder_layer = torch.nn.TransformerEncoderLayer(D, H, FF, **options)
    decoder_layer = torch.nn.TransformerDecoderLayer(D, H, FF, **options)
    encoder = torch.nn.TransformerEncoder(encoder_layer, 2, closing(), enable_nested_tensor=False)
    decoder = torch.nn.TransformerDecoder(decoder_layer, 2, closing())
    whole = torch.nn.Transformer(D, H, custom_encoder=encoder, custom_decoder=decoder, **options)  # draws new weights
    for ours, theirs in zip(model.encoder, encoder.layers, strict=True):
        copy_attention(ours.attention, theirs.self_attn)
        theirs.norm1.load_state_dict(ours.attention_residual.norm.state_dict())
        theirs.norm2.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    for ours, theirs in zip(model.decoder, decoder.layers, strict=True):
        copy_attention(ours.attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        theirs.norm1.load_state_dict(ours.attention_residual.norm.state_dict())
        theirs.norm2.load_state_dict(ours.cross_attention_residual.norm.state_dict())
        theirs.norm3.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    for ours, theirs in zip([*model.encoder, *model.decoder], [*encoder.layers, *decoder.layers], strict=True):
        theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
        theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    if placement == "pre":
        encoder.norm.load_state_dict(model.encoder_norm.state_dict())
        decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    return whole


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("joint", [True, False])
def test_the_model_with_layer_norm_is_the_transformer_of_torch(placement, joint):
    model = transformer(placement, "layer", False, joint=joint)
    batch = pairs()

    def embedded(table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        return table[ids] * math.sqrt(D) + sinusoids(torch.arange(ids.shape[1]), D).double()

    padding = batch.source == PAD
    states = torch_transformer(model, placement)(
        embedded(model.source_embedding.weight, batch.source),
        embedded(model.target_embedding.weight, batch.target_input),
        tgt_mask=torch.ones(4, 4, dtype=torch.bool).triu(1),
        src_key_padding_mask=padding,
        memory_key_padding_mask=padding,
    )
    logits = states[batch.target != PAD] @ model.target_embedding.weight.T + model.output_layer.bias
    torch.testing.assert_close(model.output(model(batch)), logits[:, torch.from_numpy(ALLOWED)], atol=1e-10, rtol=0)


# What must hold for every combination


@every_combination
def test_a_sentence_does_not_depend_on_padding_or_on_its_neighbours(placement, norm, fixnorm):
    model = transformer(placement, norm, fixnorm)
    together = log_probs(model, pairs()).split([4, 2, 3])
    padded = on_device(batch_of(np.pad(SOURCE, ((0, 0), (0, 3))), np.pad(TARGET, ((0, 0), (0, 2)))))
    torch.testing.assert_close(log_probs(model, padded), torch.cat(together), atol=1e-12, rtol=0)
    for order in itertools.permutations(range(3)):
        shuffled = log_probs(model, on_device(batch_of(SOURCE[list(order)], TARGET[list(order)])))
        torch.testing.assert_close(shuffled, torch.cat([together[i] for i in order]), atol=1e-12, rtol=0)
    alone = on_device(batch_of(SOURCE[1:2, :3], TARGET[1:2, :2]))  # without any padding, so without a mask
    torch.testing.assert_close(log_probs(model, alone), together[1], atol=1e-12, rtol=0)


@every_combination
def test_a_word_does_not_see_the_words_after_it(placement, norm, fixnorm):
    model = transformer(placement, norm, fixnorm)
    changed = TARGET.copy()
    changed[0, 2] = 13
    before, after = log_probs(model, pairs()), log_probs(model, on_device(batch_of(SOURCE, changed)))
    same = torch.isclose(before, after, atol=1e-12, rtol=0).all(-1)
    # The third word is input at the fourth position of the first sentence, and seen nowhere else.
    assert same.tolist() == [True, True, True, False, *[True] * 5]


@every_combination
def test_the_terms_of_an_explanation_add_up_to_the_logits(placement, norm, fixnorm):
    model = transformer(placement, norm, fixnorm)
    states = model(pairs())
    assert states.shape == (9, D)
    torch.testing.assert_close(sum(model.explain(states).values()), model.output(states))


@every_combination
def test_the_batch_is_not_written_to(placement, norm, fixnorm):
    model = transformer(placement, norm, fixnorm, dropout=0.3).train()
    source, target = SOURCE.copy(), TARGET.copy()
    batch = on_device(batch_of(source, target))
    target_input = batch.target_input.clone()
    model.output(model(batch)).sum().backward()
    stepwise(model.eval(), batch)
    assert (source == SOURCE).all()
    assert (target == TARGET).all()
    assert torch.equal(batch.target_input, target_input)


@every_combination
def test_every_parameter_has_a_gradient(placement, norm, fixnorm):
    for joint in (True, False):
        model = transformer(placement, norm, fixnorm, joint=joint, language_vectors=True)
        log_probs(model, pairs()).square().sum().backward()
        gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
        # A key's bias adds the same to every score of a query, so it changes nothing.
        idle = [name for name, grad in gradients.items() if grad.abs().max() < 1e-12 and "key.bias" not in name]
        assert idle == []


def test_target_input_is_the_target_behind_bos():
    assert pairs().target_input.tolist() == [[1, 9, 10, 5], [1, 13, 0, 0], [1, 4, 4, 0]]


# Recipes become modules


PRE = [
    ("encoder.0.attention_residual.norm", "encoder", "attention", 1),
    ("encoder.0.feed_forward_residual.norm", "encoder", "feed-forward", 1),
    ("encoder.1.attention_residual.norm", "encoder", "attention", 2),
    ("encoder.1.feed_forward_residual.norm", "encoder", "feed-forward", 2),
    ("encoder_norm", "encoder", "final", 2),
    ("decoder.0.attention_residual.norm", "decoder", "attention", 1),
    ("decoder.0.cross_attention_residual.norm", "decoder", "cross-attention", 1),
    ("decoder.0.feed_forward_residual.norm", "decoder", "feed-forward", 1),
    ("decoder.1.attention_residual.norm", "decoder", "attention", 2),
    ("decoder.1.cross_attention_residual.norm", "decoder", "cross-attention", 2),
    ("decoder.1.feed_forward_residual.norm", "decoder", "feed-forward", 2),
    ("decoder_norm", "decoder", "final", 2),
]
POST = [sublayer for sublayer in PRE if sublayer[2] != "final"]


@pytest.mark.parametrize(("placement", "expected"), [("pre", PRE), ("post", POST)])
@pytest.mark.parametrize("norm", ["layer", "scale", "rms"])
def test_every_norm_is_named_in_order(placement, expected, norm):
    model = transformer(placement, norm)
    assert [tuple(sublayer) for sublayer in model.sublayers()] == expected
    kinds = {"layer": torch.nn.LayerNorm, "scale": ScaleNorm, "rms": torch.nn.RMSNorm}
    norms = {name for name, module in model.named_modules() if isinstance(module, kinds[norm])}
    assert norms == {name for name, *_ in expected}


def test_a_joint_vocabulary_has_one_table_and_separate_ones_have_two():
    joint, separate = transformer(joint=True), transformer(joint=False)
    assert joint.source_embedding is joint.target_embedding
    assert {use: tuple(rows.shape) for use, rows in joint.embeddings().items()} == {
        "source": (TYPES, D), "target": (TYPES, D), "output": (TYPES, D),
    }  # fmt: skip
    assert {use: tuple(rows.shape) for use, rows in separate.embeddings().items()} == {
        "source": (17, D), "target": (TYPES, D), "output": (TYPES, D),
    }  # fmt: skip
    size = [sum(parameter.numel() for parameter in model.parameters()) for model in (joint, separate)]
    assert size[1] - size[0] == 17 * D


@pytest.mark.parametrize(("placement", "last"), [("pre", "decoder_norm"), ("post", PRE[-2][0])])
def test_a_fixed_g_leaves_only_the_last_one_to_learn(placement, last):
    model = build_model(settings(placement, g="fixed"), ModelText(TYPES, ALLOWED, joint=True))
    gs = {name: parameter for name, parameter in model.named_parameters() if name.endswith(".g")}
    assert len(gs) == len(model.sublayers())
    assert [name for name, g in gs.items() if g.requires_grad] == [f"{last}.g"]
    assert all(g.item() == pytest.approx(math.sqrt(D)) for g in gs.values())
    learned = build_model(settings(placement), ModelText(TYPES, ALLOWED, joint=True))
    assert all(parameter.requires_grad for parameter in learned.parameters())


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_with_scalenorm_and_fixnorm_the_logit_is_the_last_g_times_the_cosine_plus_the_bias(placement):
    model = transformer(placement, "scale", True)
    last_norm = model.get_submodule(model.sublayers()[-1].name)
    normed = []
    last_norm.register_forward_hook(lambda module, inputs, output: normed.append(inputs[0]))
    logits = model.output(model(pairs()))
    h = normed[0] if normed[0].dim() == 2 else normed[0][pairs().target != PAD]
    w, bias = model.target_embedding.weight, model.output_layer.bias
    for position, row in enumerate(h):
        for column, kind in enumerate(model.output_ids.tolist()):
            cosine = (w[kind] @ row) / (w[kind].norm() * row.norm())
            expected = last_norm.g * cosine + bias[kind]
            assert logits[position, column].item() == pytest.approx(expected.item(), abs=1e-10)
    assert model.output_layer.g is None


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_with_another_norm_fixnorm_has_a_scalar_of_its_own_that_starts_at_one(norm):
    model = build_model(settings("pre", norm, True), ModelText(TYPES, ALLOWED, joint=True))
    assert model.output_layer.g.shape == ()
    assert model.output_layer.g.item() == 1.0
    assert model.output_layer.g.requires_grad
    model = transformer("pre", norm, True)
    states, w = model(pairs()), model.target_embedding.weight
    expected = model.output_layer.g * states @ (w / w.norm(dim=1, keepdim=True)).T + model.output_layer.bias
    torch.testing.assert_close(model.output(states), expected[:, model.output_ids])


@pytest.mark.parametrize("norm", ["layer", "scale", "rms"])
def test_without_fixnorm_there_is_no_scalar_before_the_softmax(norm):
    assert transformer("pre", norm, False).output_layer.g is None


def test_a_type_that_is_not_allowed_is_scored_as_unk():
    model = transformer()
    types = torch.arange(TYPES)
    found = model.output_ids[model.output_index(types)]
    assert found.tolist() == [i if ALLOWED[i] else UNK for i in range(TYPES)]
    assert model.output_index(types.reshape(3, 5).T).shape == (5, 3)


def test_one_rate_of_dropout_is_used_everywhere_and_on_embeddings_after_positions_are_added():
    model = transformer(dropout=0.3, language_vectors=True)
    rates = [module.p for module in model.modules() if isinstance(module, Dropout)]
    # Embeddings, then in each encoder layer 2 branches, attention and ReLU, in each decoder layer 3 branches, 2, and 1.
    assert rates == [0.3] * (1 + 2 * (2 + 1 + 1) + 2 * (3 + 2 + 1))
    dropped = []
    model.dropout.register_forward_hook(lambda module, inputs, output: dropped.append(inputs[0]))
    model.encode(torch.from_numpy(SOURCE))
    words = model.source_embedding.table()[torch.from_numpy(SOURCE)] * math.sqrt(D)
    torch.testing.assert_close(dropped[0], words + sinusoids(torch.arange(5), D).double() + model.languages[0])


@pytest.mark.parametrize(("init", "variance"), [("small", 2 / (5 * 128)), ("xavier", 1 / 128)])
def test_initial_weights_have_the_published_spread(init, variance):
    torch.manual_seed(0)
    model = build_model(
        settings("pre", "scale", True, d_model=128, d_ff=512, init=init), ModelText(TYPES, ALLOWED, joint=True)
    )
    layers = [*model.encoder, *model.decoder]
    attentions = [layer.attention for layer in layers] + [layer.cross_attention for layer in model.decoder]
    for linear in (part for a in attentions for part in (a.query, a.key, a.value, a.output)):
        assert linear.weight.std().item() == pytest.approx(math.sqrt(variance), rel=0.03)
    for linear in (part for layer in layers for part in (layer.feed_forward.inner, layer.feed_forward.outer)):
        assert linear.weight.std().item() == pytest.approx(math.sqrt(2 / (128 + 512)), rel=0.03)
    biases = [parameter for name, parameter in model.named_parameters() if name.endswith("bias")]
    assert all((bias == 0).all() for bias in biases)


def test_norms_start_as_published():
    layer, rms, scale = (
        build_model(settings(norm=norm), ModelText(TYPES, ALLOWED, True)) for norm in ("layer", "rms", "scale")
    )
    assert all((layer.get_submodule(s.name).weight == 1).all() for s in layer.sublayers())
    assert {layer.get_submodule(s.name).eps for s in layer.sublayers()} == {1e-5}
    assert all((rms.get_submodule(s.name).weight == 1).all() for s in rms.sublayers())
    assert {rms.get_submodule(s.name).eps for s in rms.sublayers()} == {1e-6}
    assert all(scale.get_submodule(s.name).g.item() == pytest.approx(D**0.5) for s in scale.sublayers())


# Weights of a checkpoint


def test_loaded_weights_give_the_same_model():
    one, other = transformer(seed=1), transformer(seed=2)
    load_weights(other, dict(one.named_parameters()))
    assert torch.equal(log_probs(one, pairs()), log_probs(other, pairs()))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda w: w.pop("decoder_norm.g"), "'decoder_norm.g': in the checkpoint or in the model, but not in both"),
        (lambda w: w.update(more=torch.ones(1)), "'more': in the checkpoint or in the model, but not in both"),
        (
            lambda w: w.update({"output_layer.bias": torch.ones(3)}),
            r"'output_layer.bias': the checkpoint has shape \(3,\), the model \(15,\)",
        ),
    ],
)
def test_weights_that_are_not_the_models_are_refused_by_name(spoil, message):
    model = transformer()
    weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    spoil(weights)
    with pytest.raises(RunError, match=f"weight {message}; use the run's recipe"):
        load_weights(model, weights)
