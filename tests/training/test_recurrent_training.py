"""The recurrent systems are trained by the same loop as the Transformer."""

import shutil

import numpy as np
import pytest
import torch
from conftest import WORDS

from nmtlab.models.build import model_for
from nmtlab.models.interface import on_device
from nmtlab.recipe import named_recipe
from nmtlab.systems import open_system
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.objective import training_objective
from nmtlab.training.setup import train

SMALL = ["text.min_frequency=1", "model.d_model=16", "training.max_evaluations=2", "machine.threads=1",
         "machine.device=cpu", "search.beam_size=2"]  # fmt: skip
EXACT = ["step", "loss", "perplexity", "gradient_norm", "rate"]


@pytest.fixture(scope="session")
def recipe():
    return named_recipe("tied").with_settings(SMALL)


@pytest.mark.full
@pytest.mark.parametrize("name", ["untied", "tied", "fixnorm", "fixnorm-free", "fixnorm-lex", "arthur"])
def test_a_named_system_trains_validates_after_every_pass_and_translates(name, tiny_corpus, workspace):
    run = train(name, named_recipe(name).with_settings(SMALL), tiny_corpus, workspace)
    assert run.status == "finished"
    passes = -(-300 // 32)
    assert run.log.metrics("validation")["step"].tolist() == [passes, 2 * passes]
    losses = run.log.metrics("train")["loss"]
    assert losses.iloc[-1] < losses.iloc[0]
    assert len(run.log.gradient_norms()) == 2 * passes
    assert set(run.log.embedding_norms()[passes]) == {"source", "target", "output"}
    texts = [translation.text for translation in open_system(run).translate(["ein hund", "", "haus rot"])]
    assert texts[1] == ""


@pytest.mark.full
@pytest.mark.parametrize("name", ["fixnorm-lex-bpe", "arthur-bpe"])
def test_a_system_of_two_directions_says_the_words_of_the_language_it_is_asked_for(name, tiny_corpus, workspace):
    back = {"name": "tiny", "source": "en", "target": "de"}
    changes = {"text.vocabulary_size": 90, "text.joint": True, "more_corpora": [back], "search.extra_length": 5}
    recipe = named_recipe(name).with_settings(SMALL).with_changes(changes)
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora" / "tiny")
    run = train(name, recipe, ParallelCorpus.open(workspace.data / "corpora" / "tiny"), workspace)
    masks = run.pipeline.allowed_by_language
    assert not np.array_equal(masks["de"], masks["en"])
    for source, target in run.directions:
        system = open_system(run.directed(source, target))
        lines = list(tiny_corpus.lines("dev", source))[:5]
        said = {token for found in system.translate(lines, n_best=2) for h in found.hypotheses for token in h.tokens}
        assert said <= set(np.flatnonzero(masks[target]).tolist())
        assert system.model.output_ids.tolist() == np.flatnonzero(masks[target]).tolist()


def test_arthurs_table_is_learned_from_the_training_pairs_and_kept_with_the_run(tiny_corpus, workspace):
    recipe = named_recipe("arthur").with_settings([*SMALL, "training.max_evaluations=1"])
    run = train("arthur", recipe, tiny_corpus, workspace)
    table = run.translation_table
    source, target = run.pipeline.source.vocabulary, run.pipeline.target.vocabulary
    for word, translation in WORDS.items():  # a language whose dictionary is known
        (best, probability), *_ = table.top(source.ids([word])[0], k=1)
        assert target.types[best] == translation
        assert probability > 0.9
    lexicon = open_system(run).model.lexicon(torch.tensor(source.ids(["hund"]))).exp()
    assert target.types[open_system(run).model.output_ids[lexicon.argmax()]] == "dog"


@pytest.mark.full  # near the limit of the quick tier on a slow machine
@pytest.mark.parametrize("name", ["tied", "deep-transition"])
def test_a_stopped_training_resumes_with_the_same_losses(name, tiny_corpus, workspace):
    recipe = named_recipe(name).with_settings(SMALL)
    whole = train("whole", recipe, tiny_corpus, workspace)
    for stop in (7, 10, 13):  # within an epoch, at its end, within the next
        asked = []
        train(
            f"stopped{stop}",
            recipe,
            tiny_corpus,
            workspace,
            should_stop=lambda a=asked, s=stop: a.append(1) or len(a) > s,
        )
        resumed = train(f"stopped{stop}", recipe, tiny_corpus, workspace, resume=True)
        for norm, expected in zip(
            resumed.log.gradient_norms()["norm"], whole.log.gradient_norms()["norm"], strict=True
        ):
            assert norm == expected
        validations = [run.log.metrics("validation")[["step", "bleu", "perplexity"]] for run in (whole, resumed)]
        assert validations[0].equals(validations[1])


def test_a_summed_loss_has_the_gradient_of_all_tokens(tiny_corpus, recipe, workspace):
    norms = {}
    for loss in ("sum", "mean"):
        changed = recipe.with_changes(
            {"training.loss_reduction": loss, "training.max_evaluations": 1, "training.clip_norm": 1e9}
        )
        run = train(loss, changed, tiny_corpus, workspace)
        norms[loss] = run.log.gradient_norms()["norm"].iloc[0]
    batches = Batches(
        Mixture([EncodedCorpus.open(workspace.cache, run.pipeline, tiny_corpus)]), 4096, seed=1, max_sentences=32
    )
    tokens = next(batches.epoch(0)).target_tokens
    assert norms["sum"] == pytest.approx(norms["mean"] * tokens, rel=1e-4)


def test_the_first_update_is_adadeltas_worked_by_hand(tiny_corpus, recipe, workspace):
    one = recipe.with_changes({"training.max_evaluations": 1, "training.batch_sentences": 0, "model.dropout": 0.0,
                               "training.batch_tokens": 10**6})  # fmt: skip
    run = train("one", one, tiny_corpus, workspace)
    torch.manual_seed(one.training.seed)
    model = model_for(one, run.pipeline)
    encoded = EncodedCorpus.open(workspace.cache, run.pipeline, tiny_corpus)
    (batch,) = Batches(Mixture([encoded]), 10**6, seed=1).epoch(0)
    loss = training_objective(model, 0.0)(on_device(batch)).total
    loss.backward()
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    factor = min(1.0, 5.0 / norm.item())
    weights, _ = run.checkpoints.weights("last")
    for name, parameter in model.named_parameters():
        g = parameter.grad * factor
        step = (1e-6**0.5) / (0.05 * g * g + 1e-6).sqrt() * g
        torch.testing.assert_close(weights[name], parameter.detach() - step, rtol=1e-4, atol=1e-6)


def test_no_batch_has_more_sentences_than_allowed(tiny_corpus, recipe, workspace):
    pipeline = Pipeline.learn(recipe.text, tiny_corpus)
    encoded = EncodedCorpus.open(workspace.cache, pipeline, tiny_corpus)
    batches = Batches(Mixture([encoded]), 100, seed=1, max_sentences=7)
    rows = [batch.rows for batch in batches.epoch(0)]
    assert max(rows) == 7
    assert sum(rows) == 300
    assert len(rows) == batches.count(0)
    assert max(batch.rows * max(batch.source.shape[1], batch.target.shape[1]) for batch in batches.epoch(0)) <= 100
