"""Every search records, on request, each slot's tokens and attention, which agree with forced decoding."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pytest
import torch

from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import SearchSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.forced import forced_decode
from nmtlab.search.hypothesis import SearchResult
from nmtlab.search.planned import planned_search
from nmtlab.search.sampling import sample
from nmtlab.search.tree import TreeStep, merge_trees
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD

TYPES = 9
SENTENCES = ([4, 5, 6, EOS], [5, EOS])
SOURCE = torch.tensor([SENTENCES[0], [*SENTENCES[1], PAD, PAD]])
SETTINGS = SearchSettings(score="log-prob", beam_size=3, length_candidates=3, extra_length=3)


class Slot(NamedTuple):
    """A hypothesis that a search held after some step, kept or dropped."""

    tokens: tuple[int, ...]
    attention: np.ndarray
    log_prob: float
    finished: bool
    last: bool


def model_of(**more):
    torch.manual_seed(5)
    settings = TransformerSettings(
        d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.0, **more
    )
    return build_model(settings, ModelText(TYPES, np.arange(TYPES) > BOS, joint=False)).double().eval()


def slots_of(tree: Sequence[TreeStep]) -> Iterator[Slot]:
    for number, step in enumerate(tree):
        for slot in range(len(step.token)):
            if step.log_prob[slot] == -np.inf:
                continue
            tokens, weights, place = [], [], slot
            for before in reversed(tree[: number + 1]):
                token, place = int(before.token[place]), int(before.parent[place])
                if token != PAD:
                    tokens.append(token)
                    weights.append(before.attention[:, place])
            attention = np.stack(weights[::-1], axis=2)
            own = tuple(tokens[::-1]), attention, step.log_prob[slot], bool(step.finished[slot])
            yield Slot(*own, last=number == len(tree) - 1)


def check_against_forced(model, results: list[SearchResult], own_scores: bool = True) -> None:
    for result, sentence in zip(results, SENTENCES, strict=True):
        slots = list(slots_of(result.tree))
        assert len({slot.tokens for slot in slots}) > len(result.hypotheses)
        source = torch.tensor([sentence])
        for slot in slots:
            tokens = [token for token in slot.tokens if token != EOS]
            (forced,) = forced_decode(model, model.encode(source), torch.tensor([[*tokens, EOS]]))
            said = len(slot.tokens)
            seen = [forced.attention[:, :, :said]]
            if model.plans_length and not slot.finished:  # the number of remaining words counts, whatever they are
                longer = ([[*tokens, *[4] * more, EOS]] for more in range(1, 7))
                seen = [
                    forced_decode(model, model.encode(source), torch.tensor(target))[0].attention[:, :, :said]
                    for target in longer
                ]
            assert any(np.allclose(slot.attention[..., : len(sentence)], own, atol=1e-9) for own in seen)
            assert not slot.attention[..., len(sentence) :].any()
            if own_scores and not model.plans_length:
                assert slot.log_prob == pytest.approx(forced.log_probs[:said].sum())
                assert slot.finished == (slot.tokens[-1] == EOS)
            if own_scores and model.plans_length and slot.finished:
                assert slot.log_prob == pytest.approx(forced.log_prob)
        for hypothesis in result.hypotheses:
            whole = (*hypothesis.tokens, *[EOS] * (hypothesis.finished and not model.plans_length))
            kept = [slot for slot in slots if slot.last and slot.tokens == whole]
            assert not whole or any(np.array_equal(slot.attention, hypothesis.attention) for slot in kept)


def test_a_beam_keeps_them():
    model = model_of()
    check_against_forced(model, beam_search(model, model.encode(SOURCE), SETTINGS, n_best=2, record=True))


def test_samples_keep_them_and_are_the_same():
    model = model_of()
    asked = {"samples": 4, "extra_length": 3, "seed": 3}
    kept, plain = (
        sample(model, model.encode(SOURCE), **asked, record=True),
        sample(model, model.encode(SOURCE), **asked),
    )
    check_against_forced(model, kept)
    for with_tree, without in zip(kept, plain, strict=True):
        assert [h.tokens for h in with_tree.hypotheses] == [h.tokens for h in without.hypotheses]
        assert without.tree == []
        assert without.hypotheses[0].attention is None
        ended = max(len(h.tokens) + h.finished for h in with_tree.hypotheses)
        assert len(with_tree.tree) == ended  # independent of the other sentence's samples


def test_groups_of_a_beam_keep_them_side_by_side():
    model = model_of()
    settings = SETTINGS.model_copy(update={"beam_size": 2, "allow_empty": False})
    results = diverse_beam_search(model, model.encode(SOURCE), settings, groups=3, diversity_penalty=0.7, record=True)
    check_against_forced(model, results, own_scores=False)
    assert {len(result.tree[0].token) for result in results} == {6}
    plain = diverse_beam_search(model, model.encode(SOURCE), settings, groups=3, diversity_penalty=0.7)
    assert [[h.tokens for h in own.hypotheses] for own in plain] == [
        [h.tokens for h in own.hypotheses] for own in results
    ]
    assert plain[0].tree == []
    assert plain[0].hypotheses[0].attention is None


@pytest.mark.full
def test_the_beams_of_planned_lengths_keep_them_side_by_side():
    model = model_of(plan_length=True)
    results = planned_search(model, model.encode(SOURCE), SETTINGS, n_best=2, record=True)
    check_against_forced(model, results)
    plain = planned_search(model, model.encode(SOURCE), SETTINGS, n_best=2)
    assert [[h.tokens for h in own.hypotheses] for own in plain] == [
        [h.tokens for h in own.hypotheses] for own in results
    ]
    assert plain[0].tree == []


def test_of_trees_side_by_side_the_shorter_one_stays_as_it_is():
    def step(parent, token, before):
        values = np.array([float(one) for one in token])
        return TreeStep(np.array(parent), np.array(token), values, values, values > 6, np.ones((1, before, 1, 2)))

    long = [step([0, 0], [4, 5], 1), step([1, 0], [6, 4], 2), step([0], [7], 2)]
    short = [step([0, 0, 0], [5, 7, 8], 1)]
    first, second, third = merge_trees([long, short])
    assert first.parent.tolist() == [0, 0, 1, 1, 1]
    assert second.token.tolist() == [6, 4, PAD, PAD, PAD]
    assert second.parent.tolist() == [1, 0, 2, 3, 4]
    assert third.parent.tolist() == [0, 2, 3, 4]
    assert third.log_prob.tolist() == [7.0, 5.0, 7.0, 8.0]
    assert third.finished.tolist() == [True, False, True, True]
    assert third.attention[0, :, 0, 0].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0]
    assert merge_trees([]) == []
