"""ByteNet against a literal implementation, by sentence and position, torch's dilated convolution, and what it sees."""

import math
from collections.abc import Mapping

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support.small_convolutional import ALLOWED, SOURCE, SOURCE_TYPES, TARGET, TYPES, pairs
from torch import Tensor, nn

from nmtlab.errors import RecipeError, RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.bytenet import ByteNet, ByteNetMemory
from nmtlab.models.interface import on_device
from nmtlab.nn.convolution import windows
from nmtlab.recipe import ByteNetSettings, named_recipe
from nmtlab.search.attention import check_attends
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD
from nmtlab.training.setup import train

D = 6
VARIANTS = {
    "plain": {},
    "wide": {"kernel": 5, "widest_dilation": 2},
    "undilated": {"widest_dilation": 1},
    "more columns": {"length_factor": 1.5, "length_extra": 2},
    "as many columns as tokens": {"length_factor": 1.0},
}
every_variant = pytest.mark.parametrize("choices", VARIANTS.values(), ids=VARIANTS)


def bytenet(joint: bool = False, **choices) -> ByteNet:
    """Return a float64 model with parameters far from their initial values."""
    sizes = {"d_model": D, "encoder_layers": 3, "decoder_layers": 3, "widest_dilation": 4, "dropout": 0.0}
    torch.manual_seed(0)
    text = ModelText(TYPES if joint else SOURCE_TYPES, ALLOWED, joint)
    model = build_model(ByteNetSettings(**(sizes | choices)), text)
    with torch.no_grad():
        for parameter in model.double().parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=torch.float64) * 0.5)
    return model.eval()


def log_probs(model: ByteNet, batch: Batch) -> Tensor:
    return model.output(model(batch)).log_softmax(-1)


def stepwise(model: ByteNet, batch: Batch) -> Tensor:
    """Return log-probabilities at the unpadded positions, decoded token by token."""
    state, found = model.start(model.encode(batch.source)), []
    for token in batch.target_input.split(1, dim=1):
        step = model.step(state, token)
        state = step.state
        found.append(step.log_probs)
    return torch.cat(found, dim=1)[batch.target != PAD]


@pytest.mark.parametrize(("tokens", "columns"), [(5, 6), (24, 29), (25, 30), (26, 32), (45, 54), (50, 60)])
def test_a_whole_number_of_columns_is_not_rounded_up(tokens, columns):
    encoder = bytenet(length_factor=1.2, length_extra=0).encoder
    assert encoder.columns(torch.tensor([tokens])).tolist() == [columns]


# The literal implementation


def plain(model: ByteNet, source: list[int], target: list[int]) -> Tensor:
    """Return log-probabilities, (|target| + 1, columns), position by position."""
    p, zero = dict(model.named_parameters()), torch.zeros(D, dtype=torch.float64)
    settings = model.encoder
    h = [p["source_embedding.weight"][word] * math.sqrt(D) for word in source]
    h += [zero] * (math.ceil(len(source) * settings.factor) + settings.extra - len(source))
    for n, block in enumerate(model.encoder.blocks):
        h = block_of(p, f"encoder.blocks.{n}", h, block.dilation, block.kernel // 2, block.kernel // 2)
    columns = [normed(p, "encoder.norm", x) for x in h]
    h = [p["target_embedding.weight"][word] * math.sqrt(D) for word in [BOS, *target]]
    h = [x + (columns[t] if t < len(columns) else zero) for t, x in enumerate(h)]
    for n, layer in enumerate(model.decoder.layers):
        h = block_of(p, f"decoder.layers.{n}", h, layer.dilation, layer.kernel - 1, 0)
    output = [linear(p, "decoder.output", normed(p, "decoder.norm", x).relu()) for x in h]
    allowed = [i for i in range(TYPES) if ALLOWED[i]]
    logits = [p["target_embedding.weight"] @ x + p["output_layer.bias"] for x in output]
    return torch.stack([x[allowed].log_softmax(0) for x in logits])


def block_of(
    p: Mapping[str, Tensor], name: str, h: list[Tensor], dilation: int, before: int, after: int
) -> list[Tensor]:
    inner = [linear(p, f"{name}.narrow", normed(p, f"{name}.norms.0", x).relu()) for x in h]
    inner = [normed(p, f"{name}.norms.1", x).relu() for x in inner]
    found = []
    for t, x in enumerate(h):
        places = [t + n * dilation for n in range(-before, after + 1)]
        window = [inner[s] if 0 <= s < len(h) else torch.zeros(D // 2, dtype=torch.float64) for s in places]
        z = normed(p, f"{name}.norms.2", linear(p, f"{name}.convolution", torch.cat(window))).relu()
        found.append(x + linear(p, f"{name}.widen", z))
    return found


def linear(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    return p[f"{name}.weight"] @ x + p[f"{name}.bias"]


def normed(p: Mapping[str, Tensor], name: str, x: Tensor) -> Tensor:
    centred = x - x.mean()
    return centred / (centred.square().mean() + 1e-5).sqrt() * p[f"{name}.weight"] + p[f"{name}.bias"]


def without(row: np.ndarray, *left_out: int) -> list[int]:
    return [word for word in row.tolist() if word not in (PAD, *left_out)]


@every_variant
def test_it_computes_what_the_diagram_shows(choices):
    model = bytenet(**choices)
    sentences = zip(SOURCE, TARGET, strict=True)
    wanted = [plain(model, without(source), without(target, EOS)) for source, target in sentences]
    torch.testing.assert_close(log_probs(model, pairs()), torch.cat(wanted))


@pytest.mark.parametrize(("dilation", "before", "after"), [(1, 2, 0), (2, 1, 1), (4, 2, 0), (16, 1, 1), (3, 4, 0)])
def test_a_dilated_convolution_is_torchs(dilation, before, after):
    torch.manual_seed(0)
    kernel, x = before + 1 + after, torch.randn(2, 9, 4, dtype=torch.float64)
    theirs = nn.Conv1d(4, 5, kernel, dilation=dilation).double()
    expected = theirs(F.pad(x.transpose(1, 2), (before * dilation, after * dilation))).transpose(1, 2)
    weight = theirs.weight.transpose(1, 2).flatten(1)
    found = windows(x, before, after, dilation).flatten(-2) @ weight.T + theirs.bias
    torch.testing.assert_close(found, expected)


# What must hold for every choice


@every_variant
def test_decoding_word_by_word_gives_the_numbers_of_training(choices):
    model = bytenet(**choices)
    torch.testing.assert_close(stepwise(model, pairs()), log_probs(model, pairs()), atol=1e-10, rtol=0)


@every_variant
def test_a_sentence_does_not_see_the_others_nor_the_padding(choices):
    model = bytenet(**choices)
    alone = [
        log_probs(model, on_device(batch_of(source[source != PAD][None], target[target != PAD][None])))
        for source, target in zip(SOURCE, TARGET, strict=True)
    ]
    torch.testing.assert_close(log_probs(model, pairs()), torch.cat(alone))


def reach(blocks) -> int:
    return sum((block.kernel - 1) * block.dilation for block in blocks)


def open_bytenet(**choices) -> ByteNet:
    """Return a model whose ReLUs let everything through, so that what is seen has a gradient."""
    model = bytenet(**choices)
    with torch.no_grad():
        for block in (*model.encoder.blocks, *model.decoder.layers):
            for norm in block.norms:
                norm.bias += 20
    return model


def seen_by(output: Tensor, words: Tensor) -> list[int]:
    """Return the positions of words, (1, T, D), with a gradient."""
    (gradient,) = torch.autograd.grad(output.square().sum(), words, retain_graph=True)
    return gradient[0].abs().sum(-1).nonzero().flatten().tolist()


@every_variant
def test_a_word_is_seen_by_later_words_of_the_decoders_reach_alone(choices):
    model, length = open_bytenet(**choices), 20
    words = torch.randn(1, length, D, dtype=torch.float64, requires_grad=True)
    output = model.decoder(words, torch.zeros_like(words))
    for t in range(length):
        assert seen_by(output[:, t], words) == list(range(max(0, t - reach(model.decoder.layers)), t + 1))


def test_the_named_recipe_reaches_as_far_as_the_sum_of_its_dilations():
    settings = named_recipe("bytenet").model
    assert settings.dilations(7) == [1, 2, 4, 8, 16, 1, 2]
    model = build_model(settings, ModelText(TYPES, ALLOWED, joint=True))
    assert [block.dilation for block in model.decoder.layers] == settings.dilations(5)
    assert [block.remembered for block in model.decoder.layers] == [2, 4, 8, 16, 32]
    assert reach(model.decoder.layers) == 62


def test_a_source_word_is_seen_by_the_columns_in_reach_alone():
    model, length = open_bytenet(length_extra=20), 5
    words = torch.randn(1, length, D, dtype=torch.float64, requires_grad=True)
    states = model.encoder(words, torch.ones(1, length, dtype=torch.bool)).states
    around = reach(model.encoder.blocks) // 2
    assert (states.shape[1], around) == (26, 7)
    for column in range(26):
        assert seen_by(states[:, column], words) == [word for word in range(5) if abs(word - column) <= around]


class Scored(nn.Module):
    """A model that sums some of its log-probabilities, which differ in their gradients."""

    def __init__(self, model: ByteNet) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Tensor:
        return log_probs(self.model, batch)[:, :4].sum()


def test_the_gradient_of_the_loss_is_that_of_finite_differences():
    model = Scored(bytenet(joint=True, encoder_layers=2, decoder_layers=2))
    names, parameters = zip(*model.named_parameters(), strict=True)

    def loss(*values: Tensor) -> Tensor:
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (pairs(),))

    assert torch.autograd.gradcheck(loss, parameters, fast_mode=True)


# Dynamic unfolding


def test_a_source_has_so_many_columns_and_zeros_after_them():
    model = bytenet(length_factor=1.5, length_extra=1)
    memory = model.encode(pairs().source)
    assert memory.lengths.tolist() == [4, 2, 1]
    columns = (memory.states.abs().sum(-1) != 0).sum(1).tolist()
    assert columns == [9, 6, 4]
    assert memory.states.shape[1] == 9


def test_past_the_last_column_the_decoder_reads_zeros_and_goes_on():
    memory = ByteNetMemory(torch.ones(2, 3, D), torch.ones(2, 3, dtype=torch.bool))
    found = memory.at(torch.tensor([[0, 2, 3, 90], [1, 2, 0, 5]]))
    assert found[:, :, 0].tolist() == [[1, 1, 0, 0], [1, 1, 1, 0]]
    model = bytenet()
    long = np.array([[5, 4, 7, 9, 10, 11, 5, 4, 9, EOS]])
    forced = forced_decode(model, model.encode(torch.tensor([[7, EOS]])), torch.from_numpy(long))[0]
    assert forced.attention.shape[0] == 0
    assert np.isfinite(forced.log_probs).all()


# Sizes, and what does not fit


def parameters(recipe: str) -> int:
    named = named_recipe(recipe)
    types = named.text.vocabulary_size
    with torch.device("meta"):
        model = build_model(named.model, ModelText(types, np.ones(types, bool), True))
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(("ours", "theirs"), [("bytenet", "transformer-small"), ("bytenet-tiny", "transformer-tiny")])
def test_the_named_recipes_have_as_many_parameters_as_the_transformers_that_they_are_compared_with(ours, theirs):
    assert named_recipe(ours).text == named_recipe(theirs).text
    assert named_recipe(ours).training == named_recipe(theirs).training
    assert parameters(ours) == pytest.approx(parameters(theirs), rel=0.03)


def test_the_number_of_parameters_is_that_of_the_formula():
    d, k, types, blocks = 10, 3, 20, 5
    inner = d // 2
    norms = 2 * d + 2 * 2 * inner
    block = norms + d * inner + inner + k * inner**2 + inner + inner * d + d
    settings = ByteNetSettings(d_model=d, kernel=k, encoder_layers=3, decoder_layers=2)
    model = build_model(settings, ModelText(types, np.ones(types, bool), joint=True))
    wanted = types * d + types + blocks * block + 2 * 2 * d + d * d + d
    assert sum(p.numel() for p in model.parameters()) == wanted


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.kernel": 4}, "kernel is 4 but must be odd; choose 3 or 5"),
        ({"model.d_model": 7}, "d_model is 7 but must be even; choose 8"),
        ({"model.widest_dilation": 6}, "widest_dilation is 6 but must be a power of 2; choose 8 or 16"),
        ({"search.coverage": 0.2}, "search.coverage needs attention, which the model does not have; set it to 0"),
        ({"corpus.also_sources": ["pt"]}, "needs a model that combines sources"),
        ({"training.guided_attention": 1.0}, "which this model does not have"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(RecipeError, match=message):
        named_recipe("bytenet").with_changes(changes)


def test_it_is_trained_and_translates_and_says_that_it_has_no_attention(tiny_corpus, tiny_recipe, workspace):
    changes = {
        "model.family": "bytenet", "model.d_model": 16, "search.replace_unknown": False, "training.max_evaluations": 2,
    }  # fmt: skip
    run = train("bytenet", tiny_recipe.with_changes(changes), tiny_corpus, workspace)
    losses = run.log.metrics("train")["loss"]
    assert losses.iloc[-1] < losses.iloc[0]
    system = open_system(run)
    assert system.translate(["ein hund", ""])[1].text == ""
    pair = torch.tensor([[4, 5, 6, EOS]])
    (forced,) = forced_decode(system.model, system.model.encode(pair), pair)
    with pytest.raises(RunError, match="it has no attention"):
        check_attends(forced.attention)
