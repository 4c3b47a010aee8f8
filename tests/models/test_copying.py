"""Models that mix copies of the source into what they generate."""

import itertools
import math

import numpy as np
import pytest
import torch
from support.weights import same_weights
from torch import Tensor

from nmtlab.errors import RecipeError, RunError
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel, on_device, output_index
from nmtlab.models.recording import recorded_attention
from nmtlab.nn.copying import CopyHead, copied_probs
from nmtlab.recipe import RnnSettings, SearchSettings, TransformerSettings, named_recipe
from nmtlab.search.beam import beam_search
from nmtlab.search.exact import exact_search
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK
from nmtlab.training.setup import train

SMALL = {"d_model": 8, "d_ff": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 2, "dropout": 0.0}
FAMILIES = {
    "rnn": RnnSettings(d_model=6, dropout=0.0, init_range=0.5),
    "rnn+lex": RnnSettings(d_model=6, dropout=0.0, init_range=0.5, fixnorm=True, lexicon="module", radius=2.0),
    "transformer": TransformerSettings(**SMALL),
    "postnorm": TransformerSettings(**SMALL, placement="post", norm="layer", fixnorm=False),
    "average": TransformerSettings(**SMALL, decoder_history="average"),
}
TYPES = 11
ALLOWED = np.array([number not in (PAD, BOS, 8) for number in range(TYPES)])
SOURCE = np.array([[5, 7, 4, 9, EOS], [8, 6, 8, EOS, PAD], [5, EOS, PAD, PAD, PAD]])
TARGET = np.array([[9, 10, 5, EOS], [6, EOS, PAD, PAD], [4, UNK, EOS, PAD]])
every_family = pytest.mark.parametrize("family", FAMILIES)


def model_of(family: str, copies: bool = True, types: int = TYPES, allowed=ALLOWED, seed: int = 1) -> TranslationModel:
    torch.manual_seed(seed)
    settings = FAMILIES[family].model_copy(update={"copy_head": copies})
    model = build_model(settings, ModelText(types, allowed, joint=True)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def pairs() -> Batch[Tensor]:
    return on_device(batch_of(SOURCE, TARGET))


def log_probs(model: TranslationModel) -> Tensor:
    return model.next_log_probs(model(pairs()))


# The head


def test_what_is_copied_is_the_attention_on_each_type():
    weights = torch.tensor([[[0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.0, 0.0]]])
    found = copied_probs(weights, torch.tensor([[3, 1, 3, 0]]), 5)
    torch.testing.assert_close(found, torch.tensor([[[0.4, 0.2, 0.0, 0.4, 0.0], [0.0, 0.0, 0.0, 1.0, 0.0]]]))


def test_the_mixture_is_what_the_paper_writes_with_numbers_by_hand():
    head = CopyHead(2).double()
    with torch.no_grad():
        head.inner.weight.copy_(torch.eye(2))
        head.inner.bias.zero_()
        head.gate.weight.copy_(torch.tensor([[1.0, -1.0]]))
    h, copied = torch.tensor([0.5, -0.25]).double(), torch.tensor([0.6, 0.0, 0.4, 0.0, 0.0]).double()
    logits = torch.tensor([1.0, 2.0, 0.0, -1.0, 0.5]).double()
    gamma = 1 / (1 + math.exp(-(math.tanh(0.5) + math.tanh(0.25) + 2)))  # b_2 is 2
    expected = gamma * logits.softmax(0) + (1 - gamma) * copied
    torch.testing.assert_close(head(h, logits, copied).exp(), expected)
    assert head.generated_share(h).item() == pytest.approx(gamma)


def test_a_copy_whose_probability_is_0_or_1_has_a_gradient():
    head = CopyHead(3)
    weights = torch.zeros(1, 1, 2, requires_grad=True)
    copied = copied_probs(weights.softmax(-1), torch.tensor([[1, 1]]), 4)[0]
    loss = -head(torch.ones(1, 3), torch.zeros(1, 4), copied)[0, [0, 1]].sum()
    loss.backward()
    assert torch.isfinite(weights.grad).all()
    assert all(torch.isfinite(parameter.grad).all() for parameter in head.parameters())


# Models


@every_family
def test_probabilities_sum_to_1_and_the_output_is_its_own_softmax(family):
    model = model_of(family)
    output = model.output(model(pairs()))
    torch.testing.assert_close(output.exp().sum(-1), torch.ones(len(output)).double())
    torch.testing.assert_close(output, log_probs(model))


@every_family
def test_a_gate_that_only_generates_is_the_plain_model(family):
    model, plain = model_of(family), model_of(family, copies=False)
    with torch.no_grad():
        for name, parameter in plain.named_parameters():
            parameter.copy_(dict(model.named_parameters())[name])
        model.copy_head.gate.bias.fill_(1e9)
    torch.testing.assert_close(log_probs(model), log_probs(plain), rtol=0, atol=1e-12)


@every_family
def test_a_gate_that_only_copies_gives_the_attention(family):
    model = model_of(family)
    with torch.no_grad():
        model.copy_head.gate.bias.fill_(-1e9)
        state, found, expected = model.start(model.encode(pairs().source)), [], []
        for token in pairs().target_input.split(1, dim=1):
            step = model.step(state, token, record=True)
            state = step.state
            found.append(step.log_probs.exp())
            weights = step.attention[-1].mean(2)  # (B, 1, S)
            columns = output_index(model.output_ids, pairs().source)
            by_type = torch.zeros_like(step.log_probs)
            for b, s in itertools.product(range(weights.shape[0]), range(weights.shape[2])):
                by_type[b, 0, columns[b, s]] += weights[b, 0, s]
            expected.append(by_type)
    torch.testing.assert_close(torch.cat(found), torch.cat(expected), rtol=0, atol=1e-12)
    banned = output_index(model.output_ids, torch.tensor([8, UNK]))
    assert banned[0] == banned[1]  # a source type that cannot be generated is copied as UNK


@pytest.mark.parametrize("family", ["transformer", "average"])
def test_a_transformer_copies_what_the_heads_of_its_last_layer_attend_to(family):
    model = model_of(family)
    with torch.no_grad():
        model.copy_head.gate.bias.fill_(-1e9)
        weights = recorded_attention(model, pairs()).cross[-1].mean(1)
    columns = output_index(model.output_ids, pairs().source)
    expected = copied_probs(weights.double(), columns, len(model.output_ids))[pairs().target != PAD]
    torch.testing.assert_close(log_probs(model).exp(), expected, rtol=0, atol=1e-6)


@every_family
def test_steps_agree_with_teacher_forcing(family):
    model = model_of(family)
    state, found = model.start(model.encode(pairs().source)), []
    with torch.no_grad():
        for token in pairs().target_input.split(1, dim=1):
            step = model.step(state, token)
            assert step.attention is None
            state = step.state
            found.append(step.log_probs)
    torch.testing.assert_close(torch.cat(found, dim=1)[pairs().target != PAD], log_probs(model))


@every_family
def test_padding_and_other_sentences_do_not_matter(family):
    model = model_of(family)
    together, alone = log_probs(model), []
    for source, target in zip(SOURCE, TARGET, strict=True):
        batch = on_device(batch_of(source[None, source != PAD], target[None, target != PAD]))
        alone.append(model.next_log_probs(model(batch)))
    torch.testing.assert_close(together, torch.cat(alone))


@every_family
def test_gradients_are_those_of_finite_differences(family):
    model = model_of(family)
    wanted = output_index(model.output_ids, pairs().target[pairs().target != PAD])

    def loss() -> Tensor:
        return -log_probs(model).gather(1, wanted[:, None]).sum()

    loss().backward()
    parameters = dict(model.named_parameters())
    for name in ("copy_head.inner.weight", "copy_head.gate.weight", "copy_head.gate.bias", _attention_of(parameters)):
        flat, gradient = parameters[name].detach().view(-1), parameters[name].grad.view(-1)
        for place in range(0, len(flat), max(1, len(flat) // 4)):
            before, ends = flat[place].item(), []
            for change in (1e-6, -1e-6):
                flat[place] = before + change
                ends.append(loss().item())
            flat[place] = before
            assert gradient[place].item() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7)


def _attention_of(parameters) -> str:
    return next(
        n for n in reversed([*parameters]) if "cross_attention.query.weight" in n or n == "attention.key.weight"
    )


@every_family
def test_beams_find_what_brute_force_finds(family):
    types, longest = 6, 3
    allowed = np.array([number not in (PAD, BOS) for number in range(types)])
    model = model_of(family, types=types, allowed=allowed)
    source = torch.tensor([[4, 5, EOS]])
    words = [UNK, 4, 5]
    scores = {}
    for length in range(longest):
        for translation in itertools.product(words, repeat=length):
            target = np.array([[*translation, EOS]])
            logs = model.next_log_probs(model(on_device(batch_of(source.numpy(), target))))
            columns = output_index(model.output_ids, torch.from_numpy(target[0]))
            scores[translation] = logs.gather(1, columns[:, None]).sum().item()
    best = max(scores, key=scores.get)
    settings = SearchSettings(score="log-prob", beam_size=30, extra_length=longest - 2, allow_empty=True)
    with torch.inference_mode():
        exact = exact_search(model, model.encode(source), settings).best
        (found,) = beam_search(model, model.encode(source), settings)
    for one in (exact, found.hypotheses[0]):
        assert tuple(one.tokens) == best
        assert one.log_prob == pytest.approx(scores[best], abs=1e-9)


@every_family
def test_a_shortlist_copies_within_itself_and_all_else_as_unk(family):
    model = model_of(family)
    source, types = pairs().source, torch.tensor([EOS, UNK, 5, 9])
    with torch.no_grad():
        step = model.step(model.start(model.encode(source), types=types), torch.full((3, 1), BOS))
    assert step.state.output_ids.tolist() == types.tolist()
    torch.testing.assert_close(step.log_probs.exp().sum(-1), torch.ones(3, 1).double())


@every_family
def test_the_terms_of_the_logits_add_up_and_the_mixture_is_one(family):
    model, plain = model_of(family), model_of(family, copies=False)
    states = model(pairs())
    terms, inner = model.explain(states), model.inner_products(states)
    torch.testing.assert_close(sum(terms.values()), model.output(states))
    assert list(terms) == [*plain.explain(plain(pairs())), "mixture"]
    for name, (vectors, rows) in inner.items():
        torch.testing.assert_close(terms[name], vectors @ rows.T)
    gamma = model.generated_share(states)
    assert gamma.shape == states.shape[:1]
    assert ((gamma > 0) & (gamma < 1)).all()
    assert plain.generated_share(plain(pairs())) is None


def test_a_new_gate_mostly_generates():
    for family in FAMILIES:
        settings = FAMILIES[family].model_copy(update={"copy_head": True, "init_range": 0.01})
        model = build_model(settings, ModelText(TYPES, ALLOWED, joint=True))
        assert model.copy_head.gate.bias.item() == 2


def test_other_models_draw_the_same_weights_as_without_such_a_choice():
    for family in FAMILIES:
        found = dict(model_of(family, copies=False).named_parameters())
        assert not any("copy_head" in name for name in found)


# Recipes and runs


@pytest.mark.parametrize(
    ("recipe", "changes", "problem"),
    [
        ("tied", {}, "set text.joint to true"),
        ("transformer-small", {"text.joint": False}, "set text.joint to true"),
        ("tied", {"text.joint": True, "model.attention": "none", "search.replace_unknown": False}, "set attention"),
        ("arthur", {"text.joint": True}, "lexicon 'table' adds to logits"),
        ("planned", {}, "plan_length does without"),
        ("conv", {}, "only models of family"),
        ("moses", {}, "only models of family"),
    ],
)
def test_what_cannot_copy_says_why(recipe, changes, problem):
    with pytest.raises(RecipeError, match=problem):
        named_recipe(recipe).with_changes({**changes, "model.copy_head": True})


TINY = {
    "model.d_model": 16, "training.max_evaluations": 2, "training.validate_every": 5, "search.beam_size": 2,
    "machine.threads": 1, "machine.device": "cpu", "text.segmentation": "word", "text.min_frequency": 1,
    "text.joint": True, "text.vocabulary_size": 0, "model.copy_head": True,
}  # fmt: skip


@pytest.mark.parametrize("name", ["tied-small", "transformer-tiny"])
def test_a_copying_training_resumes_exactly(name, tiny_corpus, workspace):
    more = {"model.d_ff": 16, "model.heads": 2} if name == "transformer-tiny" else {}
    recipe = named_recipe(name).with_changes({**TINY, **more})
    whole = train("whole", recipe, tiny_corpus, workspace)
    steps = itertools.count()
    stopped = train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) >= 6)
    assert stopped.status == "stopped"
    assert same_weights(train("stopped", recipe, tiny_corpus, workspace, resume=True), whole)


def test_other_programs_have_no_copies(tiny_corpus, workspace, tmp_path):
    from nmtlab.interchange.folding import check_exportable

    with pytest.raises(RunError, match=r"model\.copy_head = true: no such part in the other program"):
        check_exportable("run", named_recipe("transformer-small").with_changes({"model.copy_head": True}))
