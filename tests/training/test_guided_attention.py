"""Guided attention: its loss by hand, its gradient, links from a word aligner, and attention that follows them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from nmtlab.errors import NmtlabError, RecipeError, RunError
from nmtlab.evaluation.alignment_error import alignment_error
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.models.recording import recorded_last_attention
from nmtlab.recipe import ConvSettings, Recipe, RnnSettings, TransformerSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.batching.token_links import TokenLinks
from nmtlab.training.links import LINKS, with_links
from nmtlab.training.objective import CrossEntropy, GuidedAttention, Objective, training_objective
from nmtlab.training.setup import train

SOURCE = np.array([[5, 7, 4, 2], [6, 8, 2, 0], [9, 2, 0, 0]])
TARGET = np.array([[9, 10, 5, 2], [11, 8, 2, 0], [2, 0, 0, 0]])
LINKED = [{(0, 0), (2, 0), (1, 2)}, {(1, 0)}, set()]
"""Of the first pair, the second target token has no link, nor has EOS; the last pair has none."""

SMALL = {"d_model": 8, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 2, "heads": 2, "dropout": 0.0}
KINDS = {
    "transformer": TransformerSettings(**SMALL),
    "planned": TransformerSettings(**SMALL, plan_length=True, max_predicted_length=6),
    "conv": ConvSettings(d_model=6, dropout=0.0),
    "rnn": RnnSettings(d_model=6, dropout=0.0, init_range=0.5),
    "additive": RnnSettings(d_model=6, dropout=0.0, init_range=0.5, attention="additive", bidirectional=True, layers=2),
}


def batch() -> Batch[Tensor]:
    links = TokenLinks.of_pairs(LINKED).dense(np.arange(3), *(TARGET.shape[1], SOURCE.shape[1]))
    return on_device(batch_of(SOURCE, TARGET, links=links))


def model_of(kind: str) -> TranslationModel:
    torch.manual_seed(0)
    text = ModelText(12, np.array([i not in (0, 1, 8) for i in range(12)]), joint=False)
    return build_model(KINDS[kind], text).double().eval()


@pytest.fixture(params=KINDS)
def model(request) -> TranslationModel:
    return model_of(request.param)


def test_the_term_is_minus_the_log_of_the_weight_on_linked_words_summed_over_linked_words(model):
    forced = forced_decode(model, model.encode(torch.from_numpy(SOURCE)), torch.from_numpy(TARGET))
    first = [one.attention[-1, 0] for one in forced]  # the first head of the last layer, (|y|, S)
    by_hand = -np.log(first[0][0, 0] + first[0][0, 2]) - np.log(first[0][2, 1]) - np.log(first[1][0, 1])
    loss = Objective(model, [GuidedAttention(0.3)])(batch())
    assert loss.terms["guided_attention"].item() == pytest.approx(by_hand, rel=1e-5)
    assert loss.total.item() == pytest.approx(0.3 * by_hand, rel=1e-5)


def test_a_weighted_pair_counts_by_its_weight(model):
    alone = [Objective(model, [GuidedAttention(1.0)])(batch().cut(slice(n, n + 1))).total.item() for n in range(2)]
    weighted = replace(batch(), weight=torch.tensor([2.0, 0.5, 3.0]))
    found = Objective(model, [GuidedAttention(1.0)])(weighted).total.item()
    assert found == pytest.approx(2 * alone[0] + 0.5 * alone[1], rel=1e-6)


def test_sentences_without_links_and_rows_that_only_pad_add_no_term(model):
    objective = Objective(model, [GuidedAttention(1.0)])
    assert objective(batch().cut(slice(2, 3))).total.item() == 0
    assert objective(batch().without_targets()).total.item() == 0


def test_the_gradient_is_that_of_finite_differences(model):
    objective = Objective(model, [GuidedAttention(0.7)])
    total = objective(batch()).total
    parameters = [p for p in model.parameters() if p.dim() == 2]
    gradients = torch.autograd.grad(total, parameters, allow_unused=True)
    checked = 0
    for parameter, gradient in zip(parameters, gradients, strict=True):
        if gradient is None or not gradient.abs().max():
            continue
        place = np.unravel_index(int(gradient.abs().argmax()), gradient.shape)
        values = []
        for step in (1e-6, -1e-6):
            with torch.no_grad():
                parameter[place] += step
                values.append(objective(batch()).total.item())
                parameter[place] -= step
        assert gradient[place].item() == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-4)
        checked += 1
    assert checked > 3


def test_it_is_added_to_the_other_terms_and_changes_none_of_them(model):
    alone, guided = (training_objective(model, 0.1, guided_attention=weight)(batch()) for weight in (0.0, 2.0))
    assert list(guided.terms) == [*alone.terms, "guided_attention"]
    more = guided.total.item() - alone.total.item()
    assert more == pytest.approx(2 * guided.terms["guided_attention"].item(), rel=1e-6)
    assert guided.nll.item() == pytest.approx(alone.nll.item(), rel=1e-9)


def test_weights_of_no_linked_word_give_a_large_but_finite_loss():
    model = model_of("rnn")
    with torch.no_grad():
        model.attention.key.weight.mul_(1e6)
    assert torch.isfinite(Objective(model, [GuidedAttention(1.0)])(batch()).total)


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_with_a_large_weight_attention_has_no_alignment_error_on_a_toy(kind):
    random = np.random.default_rng(1)
    source = np.c_[random.permuted(np.tile(np.arange(4, 12), (16, 1)), axis=1)[:, :5], np.full(16, 2)]
    target = np.c_[source[:, 4::-1], source[:, 5:]]  # the same words from the last to the first
    gold = [{(4 - j, j) for j in range(5)}] * 16
    links = TokenLinks.of_pairs(gold).dense(np.arange(16), 6, 6)
    pairs = on_device(batch_of(source, target, links=links))
    torch.manual_seed(0)
    text = ModelText(12, np.ones(12, dtype=bool), joint=False)
    sizes = {"heads": 1, "d_ff": 32, "encoder_layers": 1, "decoder_layers": 1}
    settings = RnnSettings if kind == "rnn" else TransformerSettings
    model = build_model(settings(d_model=16, dropout=0.0, **({} if kind == "rnn" else sizes)), text)
    objective = training_objective(model, 0.0, guided_attention=100.0)
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(150):
        optimiser.zero_grad()
        objective(pairs).total.backward()
        optimiser.step()
    with torch.no_grad(), recorded_last_attention(model) as weights:
        model(pairs)
    found = [{(int(s), j) for j, s in enumerate(row[:5].argmax(1))} for row in weights()]
    assert alignment_error(found, gold).error_rate == 0


def test_nothing_is_recorded_without_it():
    model = model_of("transformer")
    Objective(model, [GuidedAttention(1.0), CrossEntropy(0.1)])(batch())
    assert not [module for module in model.modules() if module._forward_hooks or module._forward_pre_hooks]


def test_training_without_links_says_to_align_first(model):
    with pytest.raises(RunError, match="no word links") as found:
        Objective(model, [GuidedAttention(1.0)])(replace(batch(), links=None))
    assert "align first" in found.value.remedy


GUIDED = {"training.guided_attention": 0.5}


def test_a_run_learns_its_links_logs_the_term_and_resumes_exactly(tiny_recipe, tiny_corpus, workspace):
    recipe = tiny_recipe.with_changes({**GUIDED, "training.max_evaluations": 2})
    run = train("guided", recipe, tiny_corpus, workspace)
    logged = run.log.metrics("train")
    assert all(terms["guided_attention"] > 0 for terms in logged["terms"])
    encoded = EncodedCorpus.open(workspace.cache, run.pipeline.directed(*run.direction), tiny_corpus)
    links = with_links(run, Mixture([encoded])).links
    assert len(links) == len(encoded)
    assert len(links.source) > len(links)
    stops = iter([False] * 3 + [True] * 10)
    train("again", recipe, tiny_corpus, workspace, should_stop=lambda: next(stops))
    (workspace.run_folder("again") / LINKS).unlink()  # learned again from the same text
    again = train("again", recipe, tiny_corpus, workspace, resume=True)
    assert again.checkpoints.digest == run.checkpoints.digest


def test_damaged_links_are_refused(tiny_recipe, tiny_corpus, workspace):
    stops = iter([False] * 3 + [True] * 10)
    train("damaged", tiny_recipe.with_changes(GUIDED), tiny_corpus, workspace, should_stop=lambda: next(stops))
    (Run(workspace.run_folder("damaged")).folder / LINKS).write_bytes(b"nothing")
    with pytest.raises(NmtlabError, match=r"links\.safetensors"):
        train("damaged", tiny_recipe.with_changes(GUIDED), tiny_corpus, workspace, resume=True)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model.family": "rnn", "model.attention": "none"}, "which this model does not have"),
        ({"model.family": "phrase"}, "which this model does not have"),
        ({"training.risk": "bleu", "transfer.continued": True}, "leave out one"),
        ({"machine.compile": True}, "machine.compile=false"),
    ],
)
def test_recipes_that_cannot_guide_attention_are_refused(changes, problem):
    with pytest.raises(RecipeError, match=problem):
        Recipe().with_changes({**changes, **GUIDED})
