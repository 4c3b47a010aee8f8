"""A Transformer that plans lengths: positions that count down, and no EOS."""

import itertools
import math

import numpy as np
import pytest
import torch

from nmtlab.errors import RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.nn.positions import sinusoids
from nmtlab.recipe import SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.exact import exact_search
from nmtlab.search.forced import forced_decode
from nmtlab.search.planned import planned_search
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD
from nmtlab.training.objective import training_objective

TYPES = 7
SOURCE = np.array([[4, 5, 6, EOS], [5, EOS, PAD, PAD]])
TARGET = np.array([[6, 3, 4, EOS], [5, EOS, PAD, PAD]])
WIDE = SearchSettings(beam_size=500, length_candidates=5, extra_length=2)


def planned(seed: int = 1, **more):
    torch.manual_seed(seed)
    settings = TransformerSettings(
        d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.0, plan_length=True, **more
    )
    return build_model(settings, ModelText(TYPES, np.arange(TYPES) > BOS, joint=False)).double().eval()


def model_that_never_ends():
    torch.manual_seed(1)
    settings = TransformerSettings(d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0)
    model = build_model(settings, ModelText(TYPES, np.arange(TYPES) > BOS, joint=False)).double().eval()
    with torch.no_grad():
        model.output_layer.bias[EOS] = -50.0
    return model


def source_of(*sentences: list[int]) -> torch.Tensor:
    longest = max(map(len, sentences))
    return torch.tensor([[*s, *[PAD] * (longest - len(s))] for s in sentences])


def test_there_is_no_eos_to_be_said():
    model = planned()
    assert EOS not in model.output_ids.tolist()
    assert model.target_mask(torch.from_numpy(TARGET)).tolist() == [
        [True, True, True, False],
        [True, False, False, False],
    ]


def test_what_is_read_has_as_its_position_how_many_tokens_are_to_come():
    model = planned()
    # BOS y1 y2 y3, and BOS y1 with padding behind
    assert model._positions(torch.from_numpy(TARGET)).tolist() == [[3, 2, 1, 0], [1, 0, 0, 0]]
    seen = []
    model.decoder[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    pairs = on_device(batch_of(SOURCE, TARGET))
    model(pairs)
    read = model.target_embedding(pairs.target_input)
    torch.testing.assert_close(seen[0][0] - read[0], sinusoids(torch.tensor([3, 2, 1, 0]), 16).double())


def test_the_loss_is_that_of_the_words_and_of_the_length():
    model = planned()
    pairs = on_device(batch_of(SOURCE, TARGET))
    loss = training_objective(model, smoothing=0.0)(pairs)
    by_hand = 0.0
    for source, target in ((SOURCE[:1], [6, 3, 4]), (SOURCE[1:, :2], [5])):
        memory = model.encode(torch.from_numpy(source))
        by_hand -= model.length_log_probs(memory)[0, len(target)].item()
        state, token = model.start(memory, length=torch.tensor([[len(target)]])), BOS
        for following in target:
            step = model.step(state, torch.tensor([[token]]))
            by_hand -= step.log_probs[0, 0, model.output_index(torch.tensor([following]))].item()
            state, token = step.state, following
    assert loss.nll.item() == pytest.approx(by_hand, abs=1e-4)
    assert loss.total.item() == pytest.approx(by_hand, abs=1e-4)


def test_a_row_without_a_translation_costs_nothing_and_an_empty_translation_its_length():
    model = planned()
    source, target = (np.concatenate((ids, ids[:1])) for ids in (SOURCE, TARGET))
    target[2] = PAD
    losses, gradients = [], []
    for rows in (slice(3), slice(2)):
        pairs = on_device(batch_of(source[rows], target[rows]))
        loss = training_objective(model, smoothing=0.1)(pairs)
        losses.append([loss.total.item(), loss.nll.item()])
        gradients.append(torch.autograd.grad(loss.total, list(model.parameters()), allow_unused=True))
    assert losses[0] == losses[1]
    for with_row, without in zip(*gradients, strict=True):
        torch.testing.assert_close(with_row, without)
    alone = training_objective(model, smoothing=0.0)(on_device(batch_of(source[2:], target[2:]))).nll
    target[2, 0] = EOS
    empty = training_objective(model, smoothing=0.0)(on_device(batch_of(source[2:], target[2:]))).nll
    memory = model.encode(torch.from_numpy(source[2:]))
    assert (alone.item(), empty.item()) == (0.0, pytest.approx(-model.length_log_probs(memory)[0, 0].item(), rel=1e-6))


def test_forced_decoding_scores_the_length_in_place_of_eos():
    model = planned()
    source, target = torch.from_numpy(SOURCE), torch.from_numpy(TARGET)
    nll = training_objective(model, smoothing=0.0)(on_device(batch_of(SOURCE, TARGET))).nll
    found = forced_decode(model, model.encode(source), target)
    assert -sum(forced.log_prob for forced in found) == pytest.approx(nll.item(), abs=1e-4)
    lengths = model.length_log_probs(model.encode(source))
    assert [forced.log_probs[-1] for forced in found] == pytest.approx([lengths[0, 3].item(), lengths[1, 1].item()])


@pytest.mark.parametrize("reads", ["counted-mean", "counted-attention", "mean"])
@pytest.mark.parametrize("reaches", [True, False])
def test_the_loss_of_the_length_reaches_the_encoder_if_it_is_to(reaches, reads):
    model = planned(length_gradient=reaches, length_input=reads)
    model.length_log_probs(model.encode(torch.from_numpy(SOURCE)))[:, 1].sum().backward()
    assert model.length_model.output.weight.grad.abs().sum() > 0
    encoder = [p.grad for p in model.encoder.parameters() if p.grad is not None]
    assert bool(encoder) == reaches


def test_a_length_longer_than_can_be_planned_counts_as_the_longest():
    model = planned(max_predicted_length=2)
    nll = training_objective(model, smoothing=0.0)(on_device(batch_of(SOURCE[:1], TARGET[:1]))).nll
    assert math.isfinite(nll.item())
    assert model.length_log_probs(model.encode(torch.from_numpy(SOURCE))).shape == (2, 3)


@pytest.mark.parametrize("output", ["mixture", "classifier"])
@pytest.mark.parametrize("reads", ["counted-mean", "counted-attention", "mean"])
def test_the_length_model_reads_what_the_encoder_says_of_the_source_and_its_length_without_eos(reads, output):
    model = planned(length_input=reads, length_output=output)
    memory, length_model = model.encode(torch.from_numpy(SOURCE)), model.length_model
    lengths = torch.tensor([3, 1])
    alone = [length_model(memory.states[row, None, : n + 1], None, lengths[row, None]) for row, n in ((0, 3), (1, 1))]
    torch.testing.assert_close(model.length_log_probs(memory), torch.cat(alone))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_of_a_length_that_is_told_the_best_is_found_as_by_brute_force(seed):
    model, sentences, told = planned(seed), ([4, 6, EOS], [5, EOS]), torch.tensor([2, 3])
    results = planned_search(model, model.encode(source_of(*sentences)), WIDE, oracle_lengths=told)
    for result, sentence, length in zip(results, sentences, told.tolist(), strict=True):
        source = torch.tensor([sentence])
        scores = {}
        for y in itertools.product(range(2 + 1, TYPES), repeat=length):
            (forced,) = forced_decode(model, model.encode(source), torch.tensor([[*y, EOS]]))
            scores[y] = float(forced.log_probs[:-1].sum())
        (best,) = result.hypotheses
        assert best.tokens == max(scores, key=scores.get)
        assert best.log_prob == best.score == pytest.approx(scores[best.tokens], abs=1e-4)


@pytest.mark.full
@pytest.mark.parametrize("output", ["mixture", "classifier"])
@pytest.mark.parametrize("weight", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("lengths", [1, 2, 5])
def test_the_best_of_the_most_probable_lengths_is_found_as_by_brute_force(lengths, seed, weight, output):
    model, sentences = planned(seed, length_output=output), ([4, 6, EOS], [5, EOS])
    settings = WIDE.model_copy(update={"length_candidates": lengths, "length_weight": weight})
    batch = source_of(*sentences)
    results = planned_search(model, model.encode(batch), settings, n_best=3)
    for result, sentence in zip(results, sentences, strict=True):
        source = torch.tensor([sentence])
        of_length = model.length_log_probs(model.encode(source))[
            0, : len(sentence) + 1
        ]  # up to words + 1: EOS would be one more
        tried = of_length.topk(min(lengths, len(of_length))).indices.tolist()  # independent of the other sentence
        every = [y for n in tried for y in itertools.product(range(2 + 1, TYPES), repeat=n)]
        scores, log_probs = {}, {}
        for y in every:
            (forced,) = forced_decode(model, model.encode(source), torch.tensor([[*y, EOS]]))
            log_probs[y] = forced.log_prob
            scores[y] = forced.log_probs[:-1].sum() + weight * of_length[len(y)].item()
        ranked = sorted(scores, key=lambda y: -scores[y])
        assert [h.tokens for h in result.hypotheses] == ranked[:3]
        assert [h.score for h in result.hypotheses] == pytest.approx([scores[y] for y in ranked[:3]])
        assert [h.log_prob for h in result.hypotheses] == pytest.approx([log_probs[y] for y in ranked[:3]])
        assert all(h.finished for h in result.hypotheses)
        assert [h.length_log_prob for h in result.hypotheses] == pytest.approx(
            [of_length[len(y)].item() for y in ranked[:3]]
        )


def test_with_any_weight_the_tree_ends_in_the_scores_of_its_hypotheses():
    model, settings = planned(), SearchSettings(beam_size=3, length_candidates=3, length_weight=0.3, extra_length=2)
    (result,) = planned_search(model, model.encode(torch.from_numpy(SOURCE[:1])), settings, n_best=3, record=True)
    ended = {round(score, 9) for score in result.tree[-1].score[result.tree[-1].finished].tolist()}
    assert {round(h.score, 9) for h in result.hypotheses if h.tokens} <= ended
    assert any(h.score != h.log_prob for h in result.hypotheses)


def test_what_is_found_is_as_long_at_most_as_what_a_beam_finds():
    model = planned(length_output="classifier")
    settings = SearchSettings(beam_size=1, length_candidates=1, extra_length=2)
    ordinary = model_that_never_ends()
    with torch.no_grad():
        model.length_model.output.bias.copy_(torch.arange(201.0))  # the longer the likelier
    found = planned_search(model, model.encode(torch.from_numpy(SOURCE)), settings)
    cut_off = beam_search(ordinary, ordinary.encode(torch.from_numpy(SOURCE)), settings)
    assert [len(own.hypotheses[0].tokens) for own in cut_off] == [5, 3]
    assert [len(own.hypotheses[0].tokens) + 1 for own in found] == [5, 3]  # with the EOS that a beam would need


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_sentence_is_translated_the_same_in_any_batch(dtype):
    model = planned(3).to(dtype)
    settings = SearchSettings(beam_size=3, length_candidates=3)
    sentences = ([4, 6, 5, 3] * 6 + [EOS], [5, EOS], [6, 6, EOS])
    together = planned_search(model, model.encode(source_of(*sentences)), settings, n_best=2)
    alone = [
        planned_search(model, model.encode(torch.tensor([sentence])), settings, n_best=2)[0] for sentence in sentences
    ]
    assert [[h.tokens for h in own.hypotheses] for own in together] == [
        [h.tokens for h in own.hypotheses] for own in alone
    ]
    # rounding errors grow with the number of tokens summed
    for own, other in zip(together, alone, strict=True):
        assert [h.score for h in own.hypotheses] == pytest.approx([h.score for h in other.hypotheses], rel=1e-5, abs=0)


def test_the_empty_translation_can_be_forbidden():
    model = planned(length_output="classifier")
    with torch.no_grad():
        model.length_model.output.bias[0] = 50.0
    settings = SearchSettings(beam_size=2, length_candidates=2)
    assert planned_search(model, model.encode(torch.from_numpy(SOURCE)), settings)[0].hypotheses[0].tokens == ()
    forbidden = settings.model_copy(update={"allow_empty": False})
    assert all(
        own.hypotheses[0].tokens for own in planned_search(model, model.encode(torch.from_numpy(SOURCE)), forbidden)
    )


@pytest.mark.parametrize("search", [beam_search, exact_search])
def test_a_search_that_needs_an_end_refuses_it(search):
    model = planned()
    memory = model.encode(torch.from_numpy(SOURCE[:1]))
    with pytest.raises(
        RunError, match="generates no EOS, which this search needs; choose a run whose plan_length is false"
    ):
        search(model, memory, SearchSettings(score="log-prob"))


def test_it_is_in_no_ensemble():
    with pytest.raises(RunError, match="one of its runs plans lengths"):
        Ensemble([planned(), planned()])
