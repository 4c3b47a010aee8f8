"""The convolutional model against a literal implementation, by sentence and position, and what it sees."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
import torch
from support.small_convolutional import (
    ALLOWED,
    SOURCE,
    TARGET,
    TYPES,
    VARIANTS,
    D,
    convolutional,
    log_probs,
    pairs,
    stepwise,
)
from torch import Tensor, nn

from nmtlab.errors import RecipeError, RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.convolutional import ConvolutionalModel
from nmtlab.models.interface import on_device
from nmtlab.nn.pruning import pruned
from nmtlab.recipe import Recipe, named_recipe
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD
from nmtlab.training.objective import training_objective

every_variant = pytest.mark.parametrize("choices", VARIANTS.values(), ids=VARIANTS)

# The literal implementation


def row(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    """Return W x + b with the rows g v/|v|, one by one."""
    v, g, bias = (p[f"{name}.{part}"] for part in ("v", "g", "bias"))
    return torch.stack([g[i] * (v[i] @ x) / v[i].norm() + bias[i] for i in range(len(v))])


def gated(p: Mapping[str, Tensor], name: str, window: list[Tensor]) -> Tensor:
    """Return the gated units of k vectors."""
    if f"{name}.depthwise.v" in p:
        units = [row_of_unit(p, name, [x[i] for x in window], i) for i in range(D)]
        sums = row(p, f"{name}.map", torch.stack(units))
    else:
        sums = row(p, f"{name}.map", torch.cat(window))
    return sums[:D] * torch.sigmoid(sums[D:])


def row_of_unit(p: Mapping[str, Tensor], name: str, window: list[Tensor], unit: int) -> Tensor:
    v, g, bias = (p[f"{name}.depthwise.{part}"][unit] for part in ("v", "g", "bias"))
    return g * sum(v[place] * x for place, x in enumerate(window)) / v.norm() + bias


def placed(p: Mapping[str, Tensor], side: str, words: list[int]) -> list[Tensor]:
    table = p[f"{side}.position_embedding.weight"]
    embedding = p[f"{'source' if side == 'encoder' else 'target'}_embedding.weight"]
    return [embedding[word] + table[min(n, len(table) - 1)] for n, word in enumerate(words)]


def plain(model: ConvolutionalModel, source: list[int], target: list[int]) -> tuple[Tensor, Tensor]:
    """Return log-probabilities, (|target| + 1, columns), and attention, (layers, |target| + 1, S)."""
    p, half, zero = dict(model.named_parameters()), math.sqrt(0.5), torch.zeros(D, dtype=torch.float64)
    e = placed(p, "encoder", source)
    h = [row(p, "encoder.input", x) for x in e]
    for n, convolution in enumerate(model.encoder.convolutions):
        around = convolution.kernel // 2
        outside = [zero] * around
        read = [*outside, *h, *outside]
        h = [
            (h[t] + gated(p, f"encoder.convolutions.{n}", read[t : t + convolution.kernel])) * half
            for t in range(len(h))
        ]
    keys = [row(p, "encoder.output", x) for x in h]
    values = [(u + x) * half for u, x in zip(keys, e, strict=True)]

    g = placed(p, "decoder", [BOS, *target])
    h = [row(p, "decoder.input", x) for x in g]
    attention: list[list[Tensor]] = []
    for n, layer in enumerate(model.decoder.layers):
        kernel = layer.convolution.kernel
        read, after = [*[zero] * (kernel - 1), *h], []
        attention.append([])
        for t in range(len(h)):
            z = gated(p, f"decoder.layers.{n}.convolution", read[t : t + kernel])
            q = (row(p, f"decoder.layers.{n}.query", z) + g[t]) * half
            a = torch.stack([q @ u for u in keys]).softmax(0)
            m = len(keys)
            c = m * math.sqrt(1 / m) * sum(weight * value for weight, value in zip(a, values, strict=True))
            z = (row(p, f"decoder.layers.{n}.context", c) + z) * half
            after.append((h[t] + z) * half)
            attention[-1].append(a)
        h = after
    columns = [i for i in range(TYPES) if ALLOWED[i]]
    output = [row(p, "decoder.output", x) for x in h]
    logits = [p["target_embedding.weight"] @ x + p["output_layer.bias"] for x in output]
    return torch.stack([x[columns].log_softmax(0) for x in logits]), torch.stack([torch.stack(a) for a in attention])


def without_padding(rows: np.ndarray, *also: int) -> list[list[int]]:
    return [[word for word in row if word not in (PAD, *also)] for row in rows.tolist()]


@every_variant
def test_it_computes_what_the_paper_writes_down(choices):
    model = convolutional(**choices)
    sentences = zip(without_padding(SOURCE), without_padding(TARGET, EOS), strict=True)
    wanted = [plain(model, source, target) for source, target in sentences]
    torch.testing.assert_close(log_probs(model, pairs()), torch.cat([scores for scores, _ in wanted]))
    _, weights = stepwise(model, pairs())
    for sentence, (_, attention) in enumerate(wanted):
        layers, steps, words = attention.shape
        assert layers == 2
        torch.testing.assert_close(weights[:, sentence, :steps, :words], attention)
        assert (weights[:, sentence, :, words:] == 0).all()


# What must hold for every choice


@every_variant
def test_decoding_word_by_word_gives_the_numbers_of_training(choices):
    model = convolutional(**choices)
    found, weights = stepwise(model, pairs())
    torch.testing.assert_close(found, log_probs(model, pairs()), atol=1e-10, rtol=0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))


@every_variant
def test_a_sentence_does_not_see_the_others_nor_the_padding(choices):
    model = convolutional(**choices)
    alone = []
    for source, target in zip(SOURCE, TARGET, strict=True):
        source, target = source[source != PAD], target[target != PAD]
        alone.append(log_probs(model, on_device(batch_of(source[None], target[None]))))
    torch.testing.assert_close(log_probs(model, pairs()), torch.cat(alone))


@every_variant
def test_a_word_is_seen_by_later_words_of_the_decoders_reach_alone(choices):
    model = convolutional(decoder_layers=3, **choices)
    memory, length = model.encode(torch.tensor([[5, 7, 4, EOS]])), 12
    words = torch.randn(1, length, D, dtype=torch.float64, requires_grad=True)
    output = model.decoder(words, memory)[0]
    reach = 1 + 3 * (model.decoder.layers[0].convolution.kernel - 1)
    for t in range(length):
        (gradient,) = torch.autograd.grad(output[t].sum(), words, retain_graph=True)
        seen = gradient[0].abs().sum(-1) != 0
        assert seen.tolist() == [t - reach < word <= t for word in range(length)]


@every_variant
def test_a_source_word_is_seen_by_the_keys_of_the_encoders_reach_alone(choices):
    model, length = convolutional(encoder_layers=3, **choices), 14
    words = torch.randn(1, length, D, dtype=torch.float64, requires_grad=True)
    states = model.encoder(words, torch.zeros(1, length, dtype=torch.bool)).states[0]
    around = 3 * (model.encoder.convolutions[0].kernel // 2)
    for s in range(length):
        (gradient,) = torch.autograd.grad(states[s].sum(), words, retain_graph=True)
        assert (gradient[0].abs().sum(-1) != 0).tolist() == [abs(s - word) <= around for word in range(length)]


class Scored(nn.Module):
    """A model that sums some of its log-probabilities, which differ in their gradients."""

    def __init__(self, model: ConvolutionalModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        return log_probs(self.model, batch)[:, :4].sum()


@pytest.mark.parametrize("choices", [{}, {"separable": True}], ids=["plain", "separable"])
def test_the_gradient_of_the_loss_is_that_of_finite_differences(choices):
    model = convolutional(joint=True, d_model=3, encoder_layers=1, **choices)
    names, parameters = zip(*Scored(model).named_parameters(), strict=True)

    def loss(*values: Tensor) -> Tensor:
        return torch.func.functional_call(Scored(model), dict(zip(names, values, strict=True)), (pairs(),))

    assert torch.autograd.gradcheck(loss, parameters, fast_mode=True)


def test_in_training_the_gradient_of_the_encoders_output_is_divided_by_twice_the_number_of_attentions():
    model = convolutional(decoder_layers=3)
    names = [name for name, _ in model.named_parameters()]

    def gradients() -> dict[str, Tensor]:
        total = training_objective(model, 0.1)(pairs()).total
        return dict(zip(names, torch.autograd.grad(total, list(model.parameters())), strict=True))

    whole, divided = gradients(), model.train() and gradients()
    for name in names:
        only_through_it = name.startswith("encoder.") and "position" not in name
        if name == "source_embedding.weight" or "encoder.position" in name:  # which also reach the values directly
            assert not torch.allclose(whole[name], divided[name])
        else:
            factor = 6 if only_through_it else 1
            torch.testing.assert_close(whole[name], factor * divided[name], rtol=1e-5, atol=1e-9, msg=name)


# Parts of the interface


def test_positions_beyond_the_table_have_its_last_row():
    model = convolutional(max_positions=3)
    table = model.encoder.position_embedding
    torch.testing.assert_close(table(torch.tensor([0, 2, 3, 900])), table.weight[[0, 2, 2, 2]])


def test_imposed_attention_replaces_the_models_in_the_layers_where_it_is_given():
    model = convolutional()
    state = model.start(model.encode(pairs().source[:1]))
    token = torch.tensor([[BOS]])
    imposed = torch.full((2, 1, 1, 1, 5), torch.nan, dtype=torch.float64)
    free = model.step(state, token, record=True)
    same = model.step(state, token, record=True, attention=imposed)
    torch.testing.assert_close(same.log_probs, free.log_probs)
    imposed[1] = torch.tensor([0.0, 1, 0, 0, 0])
    forced = model.step(state, token, record=True, attention=imposed)
    torch.testing.assert_close(forced.attention[0], free.attention[0])
    torch.testing.assert_close(forced.attention[1], imposed[1])
    assert not torch.allclose(forced.log_probs, free.log_probs)


def test_a_given_memory_and_given_word_vectors_replace_their_computation():
    model, batch = convolutional(), pairs()
    embedded = model.embed_source(batch.source)
    memory = model.encode(batch.source, embedded=embedded)
    torch.testing.assert_close(model(batch, memory), model(batch))
    assert memory.lengths.tolist() == [4, 2, 1]
    assert torch.equal(memory.mask, batch.source != PAD)
    assert not torch.allclose(model.encode(batch.source, embedded=2 * embedded).states, memory.states)


def test_logits_are_the_sum_of_their_terms_and_one_table_is_input_and_output():
    model = convolutional(joint=True)
    states = model(pairs())
    terms = model.explain(states)
    torch.testing.assert_close(sum(terms.values()), model.output(states))
    vectors, rows = model.inner_products(states)["word"]
    torch.testing.assert_close(vectors @ rows.T, terms["word"])
    assert [tuple(table.shape) for table in model.embeddings().values()] == [(TYPES, D)] * 3
    assert model.source_embedding is model.target_embedding
    assert convolutional().source_embedding is not convolutional().target_embedding


def test_each_target_language_has_its_words():
    masks = {
        language: np.isin(np.arange(TYPES), words) for language, words in {"en": [2, 3, 4], "fr": [2, 3, 5, 6]}.items()
    }
    model = convolutional(allowed=masks)
    memory = model.encode(pairs().source, "nl")
    assert model.start(memory, "fr").output_ids.tolist() == [2, 3, 5, 6]
    assert model.directed("de", "en").output_ids.tolist() == [2, 3, 4]
    with pytest.raises(RunError, match="language 'uz': this model translates de, nl to en, fr"):
        model.encode(pairs().source, "uz")


# Sizes


def parameters(recipe: str, types: int) -> int:
    settings = named_recipe(recipe).model
    with torch.device("meta"):
        return sum(p.numel() for p in build_model(settings, ModelText(types, np.ones(types, bool), True)).parameters())


@pytest.mark.parametrize(("ours", "theirs"), [("conv", "transformer-small"), ("conv-tiny", "transformer-tiny")])
def test_the_named_recipes_have_as_many_parameters_as_the_transformers_that_they_are_compared_with(ours, theirs):
    types = named_recipe(theirs).text.vocabulary_size
    assert named_recipe(ours).text == named_recipe(theirs).text
    assert named_recipe(ours).training == named_recipe(theirs).training
    assert parameters(ours, types) == pytest.approx(parameters(theirs, types), rel=0.05)


@pytest.mark.parametrize("separable", [False, True])
def test_the_number_of_parameters_is_that_of_the_formula(separable):
    d, types, positions, (k, wide), (encoder, decoder) = 8, 20, 9, (5, 3), (3, 2)
    settings = Recipe().with_changes({
        "model.family": "conv", "model.d_model": d, "model.max_positions": positions, "model.separable": separable,
        "model.encoder_kernel": k, "model.decoder_kernel": wide, "model.encoder_layers": encoder,
        "model.decoder_layers": decoder,
    }).model  # fmt: skip

    def linear(n: int, m: int) -> int:
        return n * m + 2 * m  # g and the bias

    def convolution(kernel: int) -> int:
        return linear(kernel, 1) * d + linear(d, 2 * d) if separable else linear(kernel * d, 2 * d)

    layers = encoder * convolution(k) + decoder * (convolution(wide) + 2 * linear(d, d))
    wanted = types * d + types + 2 * positions * d + 4 * linear(d, d) + layers
    model = build_model(settings, ModelText(types, np.ones(types, bool), joint=True))
    assert sum(p.numel() for p in model.parameters()) == wanted


# Bad settings


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.encoder_kernel": 4}, "encoder_kernel is 4 but must be odd, .*; choose 3 or 5"),
        ({"model.plan_length": True}, "only models of family transformer have it, and this one is of family conv"),
        ({"model.dropout": 1.0}, "model.dropout = 1.0 is not allowed; input should be less than 1"),
        ({"text.target_tag": "decoder"}, "gives the tag to a Transformer's decoder, .*; choose 'source'"),
        (
            {"text.joint": True, "text.segmentation": "bpe", "transfer.source_embedding": "freeze"},
            "the model has one table for both; set model.shared_embeddings=false",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(RecipeError, match=message):
        named_recipe("conv").with_changes(changes)


def test_a_model_whose_rows_are_pruned_away_has_finite_scores():
    model = convolutional(separable=True)
    weights = pruned(model.state_dict(), 0.9)
    assert any((one == 0).all(1).any() for name, one in weights.items() if name.endswith(".v"))
    model.load_state_dict(weights)
    assert log_probs(model, pairs()).isfinite().all()
