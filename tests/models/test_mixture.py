"""Mixtures of experts: against loops over the experts, their limits, and the gradient of each loss."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from nmtlab.errors import RecipeError, RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.models.mixture import MixtureModel
from nmtlab.models.parts import part, vocabulary_side
from nmtlab.nn.mixture import Gate, mixed
from nmtlab.recipe import RnnSettings, named_recipe
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.forced import forced_decode
from nmtlab.search.greedy import greedy_search
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD
from nmtlab.training.objective import training_objective

TYPES, NULL, D = 9, 4, 6
ALLOWED = np.array([number not in (PAD, BOS, NULL) for number in range(TYPES)])
SOURCE = np.array([[5, 7, 6, 8, EOS], [NULL, EOS, PAD, PAD, PAD], [7, EOS, PAD, PAD, PAD]])
OTHER = np.array([[8, EOS, PAD, PAD], [5, 5, 7, EOS], [NULL, EOS, PAD, PAD]])
TARGET = np.array([[5, 6, 5, EOS], [8, EOS, PAD, PAD], [7, 7, EOS, PAD]])
SETTINGS = RnnSettings(d_model=D, dropout=0.0, combine="mixture", fixnorm=True)


def mixture(sources: int = 2, settings: RnnSettings = SETTINGS) -> MixtureModel:
    """Return a float64 model with parameters far from their initial values."""
    torch.manual_seed(3)
    model = build_model(settings, ModelText(TYPES, ALLOWED, True, sources=sources, missing=NULL)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, dtype=torch.float64), alpha=0.4)
    return model


def pairs(*others: np.ndarray) -> Batch:
    return on_device(batch_of(SOURCE, TARGET, more_sources=others or (OTHER,)))


def forced(model, batch: Batch) -> list:
    return forced_decode(model, model.encode(batch.source, more=batch.more_sources), batch.target)


def test_each_token_has_the_sum_of_what_the_experts_say_weighed_by_the_gate():
    """p = Σ g p and g = softmax(W tanh(W f)), in loops over sentences, tokens, experts and types."""
    model, batch = mixture(), pairs()
    found = model.output(model(batch))
    hidden, output = model.gate.hidden.weight, model.gate.output.weight
    row = 0
    for sentence in range(3):
        target = TARGET[sentence][TARGET[sentence] != PAD]
        present = [bool(side[sentence, 0] != NULL) for side in (SOURCE, OTHER)]
        for place in range(len(target)):
            before = BOS if place == 0 else int(target[place - 1])
            read = [one.target_embedding.stored()[before] for one in model.models]
            inner = torch.cat([5.0 * vector / vector.norm() for vector in read])
            scores = [sum(output[j, i] * torch.tanh(hidden[i] @ inner) for i in range(len(hidden))) for j in range(2)]
            total = sum(score.exp() for score, there in zip(scores, present, strict=True) if there)
            expected = torch.zeros(len(model.output_ids), dtype=torch.float64)
            for j, (expert, there) in enumerate(zip(model.models, present, strict=True)):
                if there:
                    one = batch_of(batch.sources[j][sentence : sentence + 1].numpy(), target[None])
                    probs = expert.output(expert(on_device(one))).softmax(-1)[place]
                    expected += scores[j].exp() / total * probs
            assert torch.allclose(found[row].exp(), expected, atol=1e-12)
            row += 1
    assert row == len(found)
    assert torch.allclose(found.exp().sum(-1), torch.ones(row, dtype=torch.float64))


def test_the_attention_to_a_source_adds_up_to_the_weight_of_its_expert_which_is_zero_if_it_is_missing():
    model, batch = mixture(), pairs()
    log_gate = model(batch)[:, -2:].split([4, 2, 3])
    for of_row, gate in zip(forced(model, batch), log_gate, strict=True):
        shares = np.stack([of_row.attention[0, 0][:, of_row.segments == j].sum(1) for j in range(2)], axis=1)
        assert np.allclose(shares, gate.exp().detach(), atol=1e-12)
    assert log_gate[1].exp()[:, 0].tolist() == [0, 0]
    assert log_gate[2].exp()[:, 1].tolist() == [0, 0, 0]
    assert log_gate[0].exp().min() > 0


def test_with_one_source_alone_the_mixture_is_its_expert():
    model, batch = mixture(), pairs()
    first, second = batch.cut(slice(2, 3)), batch.cut(slice(1, 2))
    for expert, one, source in ((model.models[0], first, first.source), (model.models[1], second, second.sources[1])):
        alone = expert.output(expert(replace(one, source=source, more_sources=()))).log_softmax(-1)
        assert torch.allclose(model.output(model(one)), alone, atol=1e-12)


def test_an_even_gate_averages_as_an_ensemble_does():
    model = mixture()
    torch.nn.init.zeros_(model.gate.output.weight)
    batch = on_device(batch_of(OTHER[:2], TARGET[:2], more_sources=(OTHER[:2],)))
    expected = Ensemble(list(model.models))
    scores = forced_decode(expected, expected.encode(batch.source), batch.target)
    for ours, theirs in zip(forced(model, batch), scores, strict=True):
        assert np.allclose(ours.log_probs, theirs.log_probs, atol=1e-12)


def test_a_missing_source_changes_nothing_and_three_may_lack_two():
    model = mixture(sources=3)
    third = np.array([[8, 8, EOS], [7, EOS, PAD], [NULL, EOS, PAD]])
    batch = pairs(OTHER, third)
    before = [one.log_probs for one in forced(model, batch)]
    with torch.no_grad():
        for parameter in model.models[1].encoder.parameters():
            parameter.add_(1)
    after = [one.log_probs for one in forced(model, batch)]
    assert [np.array_equal(*both) for both in zip(before, after, strict=True)] == [False, False, True]


def test_without_any_source_all_experts_count():
    gate = Gate(D, 2).double()
    read = torch.randn(3, 2 * D, dtype=torch.float64)
    absent = torch.zeros(3, 2, dtype=torch.bool)
    assert torch.equal(gate(read, absent), gate(read, ~absent))


def test_the_gradient_of_gate_and_mixture_is_that_of_finite_differences():
    gate = Gate(2, 3).double()
    present = torch.tensor([[True, True, True], [True, False, False], [False, True, True]])
    read = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
    scores = torch.randn(3, 3, 4, dtype=torch.float64, requires_grad=True)

    def log_p(read: Tensor, scores: Tensor, *_: Tensor) -> Tensor:
        return mixed(scores.log_softmax(-1), gate(read, present))

    assert torch.autograd.gradcheck(log_p, (read, scores, *gate.parameters()))


@pytest.mark.parametrize("weight", [None, [1.0, 0.5, 2.0]])
def test_the_experts_learn_what_they_would_alone_and_the_gate_alone_from_the_mixture(weight):
    model, batch = mixture().train(), replace(pairs(), weight=None if weight is None else torch.tensor(weight))
    loss = training_objective(model, smoothing=0.1)(batch)
    loss.total.backward()
    assert list(loss.terms) == ["cross_entropy", "label_smoothing", "experts"]
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    for number, (expert, rows) in enumerate(zip(model.models, ([0, 2], [0, 1]), strict=True)):
        expert.zero_grad()
        own = replace(batch, source=batch.sources[number], more_sources=()).map(lambda values, rows=rows: values[rows])
        training_objective(expert, smoothing=0.1)(own).total.backward()
        for name, parameter in expert.named_parameters():
            assert torch.allclose(gradients[f"models.{number}.{name}"], parameter.grad, atol=1e-10), name
    nll = -model.eval().output(model(batch)).gather(1, _gold(model, batch)).squeeze(1)
    times = torch.ones(3) if weight is None else torch.tensor(weight)
    of_token = times.repeat_interleave((batch.target != PAD).sum(1))
    assert loss.terms["cross_entropy"].item() == pytest.approx((nll * of_token).sum().item())
    assert gradients["gate.hidden.weight"].abs().sum() > 0


def _gold(model: MixtureModel, batch: Batch) -> Tensor:
    return model.output_index(batch.target[batch.target != PAD]).unsqueeze(1)


def test_terms_of_the_logits_add_up_to_them():
    model, batch = mixture(), pairs()
    states = model(batch)
    terms = model.explain(states)
    assert torch.allclose(sum(terms.values()), model.output(states), atol=1e-12)
    assert set(model.inner_products(states)) < set(terms)


def test_a_shortlist_and_a_stream_of_sentences_agree_with_sentences_alone():
    model, batch = mixture(), pairs()
    types = torch.tensor([EOS, 5, 7])
    memory = model.encode(batch.source, more=batch.more_sources)
    step = model.step(model.start(memory, types=types), torch.full((3, 1), BOS))
    assert step.state.output_ids.tolist() == [EOS, 5, 7]
    assert torch.allclose(step.log_probs.exp().sum(-1), torch.ones(3, 1, dtype=torch.float64))
    settings = named_recipe("tied").search.model_copy(update={"beam_size": 1, "score": "log-prob"})
    groups = [batch.sources, tuple(ids.flip(0) for ids in batch.sources)]
    first, second = ([one.hypotheses[0].tokens for one in group] for group in greedy_search(model, groups, settings))
    assert second == first[::-1]


def test_sentences_that_take_the_place_of_others_are_joined_as_when_they_are_read():
    model, batch = mixture(), pairs()
    read, turned = (
        model.encode(first, more=(second,))
        for first, second in (batch.sources, tuple(ids.flip(0) for ids in batch.sources))
    )
    every = torch.arange(3)
    found = model.start(read).replace(every, model.start(turned), every).joint
    assert torch.equal(found.segments, turned.joint.segments)
    assert torch.equal(found.tokens, turned.joint.tokens)
    assert torch.equal(found.places[found.mask], turned.joint.places[found.mask])


def test_in_training_the_mixture_keeps_no_graph_of_its_experts():
    model, batch = mixture().train(), pairs()
    states = model(batch).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(model.output(states).sum(), states)
    assert gradient[:, :-2].eq(0).all()
    assert gradient[:, -2:].isfinite().all()
    assert not gradient[:, -2:].eq(0).all()


def test_parameters_of_an_expert_belong_to_the_parts_that_they_do_alone():
    model = mixture()
    for name, _ in model.models[1].named_parameters():
        assert part(f"models.1.{name}") == part(name)
        assert vocabulary_side(f"models.1.{name}") == vocabulary_side(name)


def test_what_does_not_go_with_experts_is_refused():
    model, batch = mixture(), pairs()
    memory = model.encode(batch.source, more=batch.more_sources)
    with pytest.raises(RunError, match="its attention cannot be imposed"):
        model.step(model.start(memory), torch.full((3, 1), BOS), attention=torch.zeros(1))
    several = named_recipe("tied-bpe").with_changes({"corpus.also_sources": ("pt",), "model.combine": "mixture"})
    for changes in ({"training.teacher": "other", "training.teacher_weight": 0.5}, {"model.shared_encoders": True}):
        with pytest.raises(RecipeError, match="the experts"):
            several.with_changes(changes)
