"""A system that plans lengths, from training to translations."""

import numpy as np
import pytest
import torch
from support.zoo import KINDS

from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.embedding_norms import word_norms
from nmtlab.analysis.lexical.logits import decompose
from nmtlab.analysis.lexical.tokens import token_probabilities
from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS
from nmtlab.training.setup import train
from nmtlab.training.validation import text_perplexity


@pytest.fixture(scope="module")
def planned(zoo) -> Run:
    return zoo("planned")


def test_it_learns_words_and_lengths(planned):
    terms = planned.log.metrics("train")["terms"]
    assert terms.iloc[-1]["cross_entropy"] < 0.95 * terms.iloc[0]["cross_entropy"]
    assert terms.iloc[-1]["length"] < 0.7 * terms.iloc[0]["length"]
    assert planned.status == "finished"
    assert planned.log.metrics("validation")["perplexity"].notna().all()


def test_its_translations_have_one_of_the_lengths_that_it_finds_most_probable(planned, tiny_corpus):
    system = open_system(planned)
    lines = list(tiny_corpus.lines("dev", "de"))[:6]
    for line, translation in zip(lines, system.translate(lines, n_best=3), strict=True):
        source = torch.tensor([system.pipeline.source_ids(line)])
        with torch.inference_mode():
            log_probs = system.model.length_log_probs(system.model.encode(source))[0]
        lengths = {len(h.tokens) for h in translation.hypotheses}
        assert lengths <= set(log_probs.topk(3).indices.tolist())
        assert len(translation.texts) == 3


def test_its_perplexity_counts_the_length_as_a_token(planned, tiny_corpus):
    system = open_system(planned)
    source, target = (list(tiny_corpus.lines("dev", language)) for language in ("de", "en"))
    found, _ = text_perplexity(system.model, system.pipeline, source, target)
    logged = planned.log.metrics("validation")
    assert found == pytest.approx(
        logged.loc[logged["step"] == planned.checkpoints.best_step, "perplexity"].item(), rel=1e-4
    )
    assert np.isfinite(found)


@pytest.mark.full
def test_it_goes_on_where_it_was_stopped_as_if_nothing_had_happened(planned, tiny_corpus, workspace):
    asked = iter(range(1000))
    train("planned", planned.recipe, tiny_corpus, workspace, should_stop=lambda: next(asked) >= 25)
    again = train("planned", planned.recipe, tiny_corpus, workspace, resume=True)
    assert again.log.metrics("train")["loss"].iloc[-1] == planned.log.metrics("train")["loss"].iloc[-1]
    assert again.log.metrics("validation")["bleu"].tolist() == planned.log.metrics("validation")["bleu"].tolist()


def test_it_can_be_asked_what_other_systems_are(planned, tiny_corpus):
    system = open_system(planned)
    source, target = "ein Hund singt", "a dog sings"
    ids = system.pipeline.target_ids(target)[:-1]
    tokens = token_probabilities(system, source, target)
    (forced,) = forced_decode(
        system.model,
        system.model.encode(torch.tensor([system.pipeline.source_ids(source)])),
        torch.tensor([[*ids, EOS]]),
    )
    assert len(tokens) == len(ids)
    np.testing.assert_allclose(np.log(tokens["probability"]), forced.log_probs[:-1], atol=1e-4)
    for position in range(len(ids)):
        terms = decompose(system, source, target, position)
        wanted = terms[terms["wanted"]]["probability"].item()
        assert wanted == pytest.approx(tokens["probability"][position], abs=1e-5)
    assert word_norms(planned)["norm"].notna().all()
    weights = attention(planned, source)
    assert weights.groupby(["layer", "head", "target_position"])["weight"].sum().to_numpy() == pytest.approx(1.0)
    found = rare_choices(system, tiny_corpus, "dev", below=1000, limit=3)
    assert (found["gold"] != SPECIALS[EOS]).all()


def test_the_named_recipe_plans_lengths():
    assert named_recipe("planned").model.plan_length
    assert not named_recipe("prenorm").model.plan_length


@pytest.mark.full
def test_the_first_length_model_is_a_classifier_on_the_mean_of_the_encoder_output(tiny_corpus, tiny_recipe, workspace):
    """With the names of its weights in packed runs, which have to open for as long as there are any."""
    first = {**KINDS["planned"], "model.length_input": "mean", "model.length_output": "classifier"}
    run = train("first", tiny_recipe.with_changes(first), tiny_corpus, workspace)
    system, weights = open_system(run), run.checkpoints.weights()[0]
    names = [name for name in sorted(weights) if name.startswith("length_model")]
    assert names == ["length_model.output.bias", "length_model.output.weight"]
    bias, weight = (weights[name] for name in names)
    for line in list(tiny_corpus.lines("dev", "de"))[:20]:
        with torch.inference_mode():
            memory = system.model.encode(torch.tensor([system.pipeline.source_ids(line)]))
            found = system.model.length_log_probs(memory)[0]
        expected = (weight @ memory.states[0].mean(0) + bias).log_softmax(0)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
