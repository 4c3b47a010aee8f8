"""Shared and private units, and adapters, in the Transformer (thesis 4.2, eq 4.3)."""

import numpy as np
import pytest
import torch

from nmtlab.errors import RunError
from nmtlab.models.build import ModelText, build_model, load_weights
from nmtlab.models.interface import on_device
from nmtlab.models.parts import part, vocabulary_side
from nmtlab.models.transformer import Transformer
from nmtlab.nn.private import private_language
from nmtlab.recipe import TransformerSettings
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import BOS
from nmtlab.training.objective import training_objective

TYPES = 15
SOURCES, TARGETS = ("gl", "pt", "to"), ("en", "es", "keys")  # 'to' and 'keys' are attributes of modules
SOURCE = np.array([[5, 7, 4, 9, 2], [6, 8, 2, 0, 0], [14, 2, 0, 0, 0]])
TARGET = np.array([[9, 10, 5, 2], [13, 2, 0, 0], [4, 4, 2, 0]])
ALLOWED = {
    "en": np.arange(TYPES) > BOS,
    "es": (np.arange(TYPES) > BOS) & (np.arange(TYPES) != 12),
    "keys": (np.arange(TYPES) > BOS) & (np.arange(TYPES) % 2 == 0) | (np.arange(TYPES) == 3),
}
PARTS = ("embedding_share", "attention_share", "feed_forward_share")


def settings(share: float | None = None, **more) -> TransformerSettings:
    sizes = {"d_model": 8, "d_ff": 16, "heads": 4, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}
    shares = {} if share is None else dict.fromkeys(PARTS, share)
    return TransformerSettings(**{**sizes, **shares, **more})


def built(made: TransformerSettings, sources=SOURCES, targets=TARGETS, seed: int = 0, **more) -> Transformer:
    torch.manual_seed(seed)
    allowed = {code: ALLOWED[code] for code in targets}
    model = (
        build_model(made, ModelText(TYPES, allowed, joint=True, languages=(sources, targets), **more)).double().eval()
    )
    return model.directed(sources[0], targets[0])


def pairs(source: str = "gl", target: str = "en") -> Batch:
    return on_device(batch_of(SOURCE, TARGET, source_language=source, target_language=target))


def logits(model: Transformer, batch: Batch) -> torch.Tensor:
    return model.output(model(batch), model.output_table(batch.target_language))


def backward(model: Transformer, batch: Batch) -> dict[str, torch.Tensor | None]:
    """Return the gradient of every parameter."""
    training_objective(model, smoothing=0.1)(batch).total.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("more", [{}, {"placement": "post", "norm": "layer", "fixnorm": False}])
def test_with_all_units_shared_it_is_the_shared_model_bit_for_bit(more):
    shared, of_all = built(settings(**more)), built(settings(1.0, **more))
    named = dict(of_all.named_parameters())
    assert list(named) == [name for name, _ in shared.named_parameters()]
    assert all(torch.equal(parameter, named[name]) for name, parameter in shared.named_parameters())
    assert torch.equal(logits(shared, pairs()), logits(of_all, pairs()))


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("norm", ["scale", "layer", "rms"])
@pytest.mark.parametrize("fixnorm", [True, False])
def test_with_no_unit_shared_and_one_direction_it_is_the_bilingual_model(placement, norm, fixnorm):
    more = {"placement": placement, "norm": norm, "fixnorm": fixnorm, "shared_embeddings": False}
    private, plain = (built(settings(share, **more), ("gl",), ("en",)) for share in (0.0, 1.0))
    weights = {
        name.replace("private.of_gl", "").replace("private.of_en", "").replace("..", ".").rstrip("."): parameter
        for name, parameter in private.named_parameters()
    }
    weights = {name + ".weight" if name.endswith("_embedding") else name: values for name, values in weights.items()}
    load_weights(plain, weights)
    assert torch.equal(logits(private, pairs()), logits(plain, pairs()))


def test_a_language_of_its_own_changes_the_translation_and_the_same_weights_do_not():
    model = built(settings(0.5))
    assert not torch.equal(logits(model, pairs("gl")), logits(model, pairs("pt")))
    named = dict(model.named_parameters())
    with torch.no_grad():
        for name, parameter in named.items():
            if "of_gl" in name:
                named[name.replace("of_gl", "of_pt")].copy_(parameter)
    assert torch.equal(logits(model, pairs("gl")), logits(model, pairs("pt")))


@pytest.mark.parametrize("more", [{"share": 0.5}, {"share": 0.0}, {"adapter_width": 3}])
def test_the_private_parts_of_unused_languages_get_no_gradient(more):
    model = built(settings(**more))
    gradients = backward(model, pairs("pt", "es"))
    unused = {name for name in gradients if private_language(name) not in ("", "pt", "es")}
    assert unused == {name for name, gradient in gradients.items() if gradient is None}
    assert {private_language(name) for name in unused} == {"gl", "to", "en", "keys"}


def test_permuting_the_languages_permutes_the_results():
    straight = built(settings(0.5, adapter_width=3))
    permuted = built(settings(0.5, adapter_width=3), ("to", "gl", "pt"), ("keys", "es", "en"))
    for source in SOURCES:
        for target in TARGETS:
            assert torch.equal(logits(straight, pairs(source, target)), logits(permuted, pairs(source, target)))


def test_shared_units_are_drawn_as_if_there_were_fewer_languages():
    many, few = (dict(built(settings(0.5), codes, ("en",)).named_parameters()) for codes in (SOURCES, ("gl",)))
    assert all(torch.equal(many[name], parameter) for name, parameter in few.items())


@pytest.mark.parametrize(("share", "heads"), [(0.25, 1), (0.5, 2), (0.75, 3)])
def test_shared_heads_attend_alike_in_all_languages_and_private_ones_do_not(share, heads):
    model = built(settings(attention_share=share))
    attention = model.encoder[0].attention
    x = torch.randn(1, 4, 8, dtype=torch.float64)
    keys = [attention.keys_values(x, language)[0] for language in ("gl", "pt")]
    assert torch.equal(keys[0][:, :heads], keys[1][:, :heads])
    assert not torch.isclose(keys[0][:, heads:], keys[1][:, heads:]).any()


def test_half_shared_units_are_those_of_the_formula():
    model = built(settings(0.5))
    inner = model.encoder[0].feed_forward.inner
    x = torch.randn(3, 8, dtype=torch.float64)
    private = inner.private["of_pt"]
    expected = torch.cat((inner.shared.weight @ x.T, private.weight @ x.T)).T
    torch.testing.assert_close(inner(x, "pt"), expected)
    table = model.target_embedding
    joined = torch.cat((table.weight, table.private["of_pt"]), dim=1)
    torch.testing.assert_close(table.table(language="pt"), joined / joined.norm(dim=1, keepdim=True))


def test_a_logit_is_the_sum_of_a_shared_and_a_private_inner_product():
    model = built(settings(0.5))
    states = model(pairs("gl", "es"))
    table, allowed = model.target_embedding, torch.from_numpy(ALLOWED["es"])
    rows = table.table(language="es")[allowed]
    shared = states[:, :4] @ rows[:, :4].T
    private = states[:, 4:] @ rows[:, 4:].T
    expected = shared + private + model.output_layer.bias[allowed]
    torch.testing.assert_close(logits(model, pairs("gl", "es")), expected)


@pytest.mark.parametrize(("share", "terms"), [(0.0, ["private"]), (0.5, ["shared", "private"]), (1.0, ["word"])])
@pytest.mark.parametrize("more", [{}, {"norm": "layer"}])  # the latter with a g before the softmax
def test_a_logit_is_explained_by_its_shared_and_its_private_units(share, terms, more):
    model = built(settings(embedding_share=share, **more)).directed("pt", "es")
    with torch.no_grad():
        for parameter in model.output_layer.parameters():
            parameter.normal_()
    states = model(pairs("pt", "es"))
    parts, products = model.explain(states), model.inner_products(states)
    assert (list(products), list(parts)) == (terms, [*terms, "bias"])
    torch.testing.assert_close(sum(parts.values()), model.output(states))
    for name, (vectors, rows) in products.items():
        torch.testing.assert_close(vectors @ rows.T, parts[name])
    assert torch.equal(torch.cat([rows for _, rows in products.values()], dim=1), model.output_table().rows)


def test_each_target_language_generates_its_types_only():
    model = built(settings())
    for target, allowed in ALLOWED.items():
        assert model.output_table(target).ids.tolist() == np.flatnonzero(allowed).tolist()
        assert model.directed("gl", target).output_ids.tolist() == np.flatnonzero(allowed).tolist()


def test_the_loss_is_over_the_types_of_the_batchs_language():
    model = built(settings())
    loss = training_objective(model, smoothing=0.0)(pairs("gl", "es"))
    log_probs = logits(model, pairs("gl", "es")).log_softmax(-1)
    kept = np.flatnonzero(ALLOWED["es"]).tolist()
    gold = [kept.index(int(token)) for token in TARGET.flatten() if token]
    torch.testing.assert_close(loss.total, -log_probs[range(len(gold)), gold].sum())


@pytest.mark.parametrize("more", [{"share": 0.5}, {"share": 0.0}, {"adapter_width": 3}, {"language_vectors": True}])
def test_steps_give_the_same_as_the_forward_pass_in_every_direction(more):
    model = built(settings(**more), first_tokens={"en": 12, "es": 11})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    for source, target in (("gl", "en"), ("pt", "es"), ("to", "keys")):
        batch = pairs(source, target)
        state = model.start(model.encode(batch.source, source), target)
        steps = []
        for token in batch.target_input.T:
            step = model.step(state, token[:, None])
            state = step.state
            steps.append(step.log_probs[:, 0])
        kept = torch.stack(steps, dim=1)[batch.target_mask]
        torch.testing.assert_close(kept, logits(model, batch).log_softmax(-1))


def test_the_first_token_stands_in_place_of_bos():
    model, plain = (built(settings(), first_tokens=tokens) for tokens in ({"en": 12}, {}))
    batch = pairs()
    replaced = batch.target_input.masked_fill(batch.target_input == BOS, 12)
    changed = Batch(batch.source, replaced, batch.target, batch.origin, None, "gl", "en")
    assert torch.equal(logits(model, batch), logits(plain, changed))
    assert torch.equal(logits(model, pairs(target="es")), logits(plain, pairs(target="es")))


def test_adapters_change_nothing_at_first():
    with_adapters, without = built(settings(adapter_width=3)), built(settings())
    assert torch.equal(logits(with_adapters, pairs()), logits(without, pairs()))
    weights = [p for name, p in with_adapters.named_parameters() if name.endswith("down.weight")]
    assert len(weights) == 4 * 3
    assert all(weight.std() > 0 for weight in weights)


def test_a_directed_model_is_the_same_model_in_another_direction():
    model = built(settings(0.5))
    other = model.directed("pt", "es")
    assert model.default_languages == ("gl", "en")
    assert other.default_languages == ("pt", "es")
    assert all(a is b for a, b in zip(model.parameters(), other.parameters(), strict=True))
    source = torch.from_numpy(SOURCE)
    assert torch.equal(other.encode(source).states, model.encode(source, "pt").states)
    assert torch.equal(other.start(other.encode(source)).output_ids, model.output_table("es").ids)
    with pytest.raises(RunError, match="'xx'"):
        model.directed("xx", "en")


def test_embeddings_are_those_of_the_languages_in_use():
    model = built(settings(0.5)).directed("pt", "es")
    table = model.target_embedding
    assert torch.equal(model.embeddings()["source"], torch.cat((table.weight, table.private["of_pt"]), dim=1))
    assert torch.equal(model.embeddings()["output"], torch.cat((table.weight, table.private["of_es"]), dim=1))
    assert part("source_embedding.private.of_pt") == "source_embedding"
    assert vocabulary_side("source_embedding.private.of_pt") == "source"
    assert part("encoder.0.adapters.private.of_pt.down.weight") == "adapters"
