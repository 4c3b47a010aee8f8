"""The Transformer with learned positions, with those of distances (Shaw et al. 2018), and without any."""

import numpy as np
import pytest
import torch
from support.small_transformer import ALLOWED, SOURCE, TYPES, D, H, log_probs, pairs, settings, stepwise, transformer

from nmtlab.errors import RecipeError, RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import Searchable, on_device
from nmtlab.models.recording import recorded_attention
from nmtlab.models.transformer import Transformer
from nmtlab.nn.positions import LearnedPositions, RelativePositions
from nmtlab.recipe import Recipe
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.forced import forced_decode_all
from nmtlab.search.greedy import greedy_search
from nmtlab.search.hypothesis import SearchResult
from nmtlab.search.planned import planned_search
from nmtlab.search.sampling import sample
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD

every_kind = pytest.mark.parametrize("kind", ["learned", "relative", "none"])
LONG = np.array([[*np.arange(20) % 9 + 3, EOS]])
"""A sentence of more than twice the furthest distance."""


def encoded(model: Transformer, *words: int) -> torch.Tensor:
    """Return the encoder's output for a sentence, (S, D), without padding."""
    memory = model.encode(torch.tensor([words]))
    return memory.states[0][memory.mask[0]]


@every_kind
def test_decoding_word_by_word_gives_the_numbers_of_training(kind):
    model = transformer(positions=kind, language_vectors=True)
    for batch in (pairs(), on_device(batch_of(LONG, LONG))):
        torch.testing.assert_close(stepwise(model, batch), log_probs(model, batch), atol=1e-10, rtol=0)


@every_kind
def test_a_sentence_does_not_see_the_others_nor_the_padding(kind):
    model = transformer(positions=kind)
    alone = on_device(batch_of(SOURCE[1:2, :3], np.array([[13, 2]])))
    torch.testing.assert_close(log_probs(model, alone), log_probs(model, pairs()).split([4, 2, 3])[1])


@every_kind
def test_every_parameter_has_the_gradient_of_finite_differences(kind):
    model = transformer(positions=kind, max_positions=5)
    generator = torch.Generator().manual_seed(1)

    def loss() -> torch.Tensor:
        return log_probs(model, pairs())[:, 2].sum()

    loss().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        if not name.endswith(("positions.weight", "relative.weight")):
            continue
        change = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        before, around = parameter.detach().clone(), []
        for step in (1e-6, -1e-6):
            with torch.no_grad():
                parameter.copy_(before + step * change)
                around.append(loss().item())
        parameter.data.copy_(before)
        assert (parameter.grad * change).sum().item() == pytest.approx((around[0] - around[1]) / 2e-6, rel=1e-5), name


def test_without_positions_the_order_of_the_source_is_not_known():
    model, order = transformer(positions="none"), [3, 0, 4, 2, 1]
    words = torch.tensor([5, 7, 4, 9, 2])
    torch.testing.assert_close(encoded(model, *words[order]), encoded(model, *words)[order], atol=1e-12, rtol=0)
    batch = pairs()
    others = batch_of(SOURCE[:1, order], batch.target[:1].numpy())
    here, there = (log_probs(model, on_device(one)) for one in (batch_of(SOURCE[:1], batch.target[:1].numpy()), others))
    torch.testing.assert_close(here, there, atol=1e-12, rtol=0)
    ordered = transformer(positions="relative")
    assert not torch.allclose(encoded(ordered, *words[order]), encoded(ordered, *words)[order])


@pytest.mark.parametrize(("kind", "invariant"), [("relative", True), ("none", True), ("alternating", False)])
def test_distances_are_the_same_wherever_a_sentence_begins(kind, invariant):
    model = transformer(positions=kind)
    here, shifted = encoded(model, 5, 7, 4, EOS), encoded(model, PAD, PAD, PAD, 5, 7, 4, EOS)
    assert torch.allclose(here, shifted, atol=1e-12, rtol=0) == invariant


def test_the_recorded_weights_of_self_attention_are_those_of_a_double_loop():
    model, batch = transformer("pre", "layer", False, positions="relative"), on_device(batch_of(LONG, LONG))
    layer, x = model.encoder[0], model.source_embedding(batch.source)
    y = layer.attention_residual.norm(x)[0]
    queries, keys = (linear(y).unflatten(-1, (H, -1)) for linear in (layer.attention.query, layer.attention.key))
    vectors = layer.attention.relative.weight
    found = recorded_attention(model, batch).encoder[0, 0]
    for head in range(H):
        for i in range(len(y)):
            scores = [
                queries[i, head] @ (keys[j, head] + vectors[max(-8, min(8, j - i)) + 8]) / (D / H) ** 0.5
                for j in range(len(y))
            ]
            expected = torch.stack(scores).softmax(0).float()
            torch.testing.assert_close(found[head, i], expected, atol=1e-6, rtol=1e-6)


def test_learned_positions_are_counted_on_each_side_and_end_where_the_table_does():
    model = transformer(positions="learned", max_positions=5)
    seen = []
    for layer in (model.encoder[0], model.decoder[0]):
        layer.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    log_probs(model, pairs())
    for x, ids, table in zip(
        seen, (pairs().source, pairs().target_input), (model.encoder_positions, model.decoder_positions), strict=True
    ):
        torch.testing.assert_close(x - model.source_embedding(ids), table.weight[: ids.shape[1]].expand_as(x))
    message = "of 6 tokens: the model has learned 5 positions; split the sentence, or train with a larger"
    with pytest.raises(RunError, match=f"a source {message}"):
        model.encode(torch.tensor([[4, 5, 6, 7, 9, EOS]]))
    with pytest.raises(RunError, match=f"a given target {message}"):
        model(on_device(batch_of(SOURCE[:1], np.array([[4, 5, 6, 7, 9, EOS]]))))
    state = model.start(model.encode(torch.tensor([[4, EOS]])))
    for _ in range(5):
        state = model.step(state, torch.tensor([[BOS]])).state
    with pytest.raises(RunError, match=f"a given target {message}"):
        model.step(state, torch.tensor([[BOS]]))


def test_a_planned_length_is_counted_down_in_learned_positions():
    model = transformer(positions="learned", plan_length=True, max_positions=6, max_predicted_length=5)
    seen = []
    model.decoder[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    model(pairs())
    read = model.target_embedding(pairs().target_input)
    torch.testing.assert_close(seen[0][0] - read[0], model.decoder_positions.weight[[3, 2, 1, 0]])
    memory = model.encode(pairs().source)
    with pytest.raises(RunError, match="a given target of 7 tokens"):
        model.start(memory, length=torch.full((3, 1), 6))


def endless(**more) -> Transformer:
    """Return a model that learned 12 positions and whose translations never end before their limit."""
    model = transformer(positions="learned", max_positions=12, **more)
    with torch.no_grad():
        model.output_layer.bias[EOS] = -1e4
    return model


SEARCH = SearchSettings(beam_size=3, score="log-prob", extra_length=50)


def searched(model: Searchable, by: str) -> list[SearchResult]:
    memory = model.encode(pairs().source)
    if by == "greedy":
        one_by_one = list(pairs().source[:, None])
        return [result for (result,) in greedy_search(model, one_by_one, SEARCH.model_copy(update={"beam_size": 1}))]
    return beam_search(model, memory, SEARCH) if by == "beam" else sample(model, memory, samples=3, extra_length=50)


@pytest.mark.parametrize("by", ["greedy", "beam", "sample"])
def test_a_translation_is_as_long_as_the_table_at_most_and_can_be_scored_with_its_end(by):
    model = endless()
    found = [hypothesis for result in searched(model, by) for hypothesis in result.hypotheses]
    assert {len(hypothesis.tokens) for hypothesis in found} == {11}
    assert not any(hypothesis.finished for hypothesis in found)
    scored = [*forced_decode_all(model, [[5, EOS]] * len(found), [[*one.tokens, EOS] for one in found])]
    assert len(scored) == len(found)
    short, unlimited = transformer(positions="learned", max_positions=9), transformer()
    assert (unlimited.longest, Ensemble([unlimited, model, short]).longest) == (None, 8)
    assert {len(one.tokens) for one in searched(Ensemble([model, short]), by)[0].hypotheses} <= set(range(9))


def test_a_planned_translation_has_a_row_for_each_of_its_tokens_and_for_its_end():
    fitting = settings(positions="learned", plan_length=True, max_positions=12, max_predicted_length=11)
    more = fitting.model_copy(update={"max_predicted_length": 30})  # which validation refuses
    model = build_model(more, ModelText(TYPES, ALLOWED, joint=True)).double().eval()
    search = SEARCH.model_copy(update={"length_candidates": 30})
    found = planned_search(model, model.encode(pairs().source), search, n_best=30)
    assert max(len(one.tokens) for result in found for one in result.hypotheses) == 11


def test_more_lengths_than_learned_positions_cannot_be_planned():
    changes = {"model.positions": "learned", "model.plan_length": True, "model.max_positions": 200}
    with pytest.raises(RecipeError, match="only 200 positions are learned, one of them for EOS; set it to at most 199"):
        Recipe().with_changes(changes)
    Recipe().with_changes({**changes, "model.max_predicted_length": 199})


@pytest.mark.parametrize("kind", ["relative", "none"])
def test_what_counts_no_positions_cannot_plan_lengths(kind):
    with pytest.raises(RecipeError, match=f"which positions '{kind}' do not show it; choose sinusoids or learned"):
        Recipe().with_changes({"model.positions": kind, "model.plan_length": True})


def test_initial_tables_are_normal_and_nothing_else_is_drawn_for_sinusoids():
    text = ModelText(TYPES, ALLOWED, joint=True)
    for kind, module, width in (("learned", LearnedPositions, 64), ("relative", RelativePositions, 16)):
        torch.manual_seed(0)
        model = build_model(settings(positions=kind, d_model=64, heads=4, max_positions=300), text)
        tables = [one.weight for one in model.modules() if isinstance(one, module)]
        assert len(tables) == (2 if kind == "learned" else 4)
        assert torch.cat(tables).std().item() == pytest.approx(width**-0.5, rel=0.05)
    names = {name for name, _ in build_model(settings(), text).named_parameters()}
    assert not [name for name in names if "position" in name or "relative" in name]
