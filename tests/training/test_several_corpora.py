"""A training on several corpora: one batch of two texts, from the files to a loss of two terms."""

import json
import shutil

import numpy as np
import pytest
import torch
from conftest import write_split

from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.models.build import model_for
from nmtlab.models.interface import on_device
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.corpora import open_corpora
from nmtlab.training.cost import estimate_cost
from nmtlab.training.events import Hint
from nmtlab.training.objective import sentence_log_probs, training_objective
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture
def here(workspace, make_corpus) -> Workspace:
    """A workspace with a corpus `tiny`, and one `synthetic` with training text only."""
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(make_corpus(), workspace.data / "corpora" / "tiny")
    write_split(workspace.data / "corpora" / "synthetic", "train", 100, seed=11)
    return workspace


@pytest.fixture
def tiny(here) -> ParallelCorpus:
    return ParallelCorpus.open(here.data / "corpora" / "tiny")


SYNTHETIC = {"name": "synthetic", "weight": 0.5, "origin": "synthetic"}
BACK = {"name": "tiny", "source": "en", "target": "de"}
SUBWORDS = {"text.segmentation": "bpe", "text.vocabulary_size": 60, "text.joint": True}


def test_a_batch_of_two_corpora_becomes_a_loss_of_two_terms(here, tiny, tiny_recipe):
    """Follow a batch step by step, and compute its loss by hand."""
    recipe = tiny_recipe.with_changes(
        {"model.plan_length": True, "model.dropout": 0.0, "training.label_smoothing": 0.0}
    )
    corpora = [
        tiny,
        ParallelCorpus.open(here.data / "corpora" / "synthetic", "de", "en", weight=0.5, origin="synthetic"),
    ]
    pipeline = Pipeline.learn(recipe.text, *corpora)
    mixture = Mixture([EncodedCorpus.open(here.cache, pipeline, corpus) for corpus in corpora], 0.7)
    batch = on_device(next(Batches(mixture, 400, seed=1).epoch(0)))
    assert set(batch.origin.tolist()) == {0, 1}
    tag = pipeline.source.vocabulary.types.index("<origin:synthetic>")
    assert torch.equal(batch.source[:, 0] == tag, batch.origin == 1)
    assert torch.equal(batch.weight, torch.where(batch.origin == 1, 0.5, 1.0))

    torch.manual_seed(1)
    model = model_for(recipe, pipeline).eval()
    loss = training_objective(model, recipe.training.label_smoothing)(batch)
    assert list(loss.terms) == ["cross_entropy", "length"]
    assert loss.total.item() == pytest.approx(sum(loss.terms.values()).item())
    by_hand = -(batch.weight * sentence_log_probs(model, batch)).sum()
    assert loss.total.item() == pytest.approx(by_hand.item(), rel=1e-5)


@pytest.mark.full
def test_a_training_names_its_corpora_and_resumes_on_them(here, tiny, tiny_recipe):
    recipe = tiny_recipe.with_changes({**SUBWORDS, "more_corpora": [SYNTHETIC, BACK], "training.accumulate": 2})
    whole = train("whole", recipe, tiny, here)
    assert [(c.name, c.source, c.target, c.weight, c.origin) for c in whole.recipe.corpora] == [
        ("tiny", "de", "en", 1.0, ""),
        ("synthetic", "de", "en", 0.5, "synthetic"),
        ("tiny", "en", "de", 1.0, ""),
    ]
    assert len(whole.environment["more_checksums"]) == 2
    steps = iter(range(1000))
    train("stopped", recipe, tiny, here, should_stop=lambda: next(steps) == 17)
    shutil.rmtree(here.cache)
    stopped = train("stopped", recipe, tiny, here, resume=True)
    assert stopped.log.gradient_norms().equals(whole.log.gradient_norms())
    columns = ["step", "bleu", "perplexity"]
    assert stopped.log.metrics("validation")[columns].equals(whole.log.metrics("validation")[columns])


@pytest.mark.full
def test_a_model_of_two_directions_translates_and_says_no_tag(here, tiny, tiny_recipe):
    recipe = tiny_recipe.with_changes({**SUBWORDS, "more_corpora": [BACK], "model.dropout": 0.0})
    system = open_model(train("both", recipe, tiny, here))
    assert system.languages == ("de", "en")
    texts = [translation.text for translation in system.translate(["ein hund singt", "", "katze"])]
    assert texts[1] == ""
    assert not any("<2" in text for text in texts)
    assert system.model.language_codes == (("de", "en"), ("en", "de"))


def test_a_corpus_with_no_weight_to_speak_of_hardly_changes_the_loss(here, tiny, tiny_recipe):
    """Tokens with a small weight contribute little: the mean loss is that of the text with the large weight."""
    recipe = tiny_recipe.with_changes({"model.dropout": 0.0, "training.sampling_exponent": 1.0})
    light = recipe.with_changes({"more_corpora": [{**SYNTHETIC, "weight": 1e-6}]})
    corpora = [tiny, ParallelCorpus.open(here.data / "corpora" / "synthetic", "de", "en", 1e-6, "synthetic")]
    pipeline = Pipeline.learn(light.text, *corpora)
    mixture = Mixture([EncodedCorpus.open(here.cache, pipeline, corpus) for corpus in corpora])
    model = model_for(recipe, pipeline).eval()
    objective = training_objective(model, 0.0)
    batch = on_device(next(Batches(mixture, 400, seed=1).epoch(0)))
    ours = np.flatnonzero(batch.origin.numpy() == 0)
    alone = batch.map(lambda values: values[torch.from_numpy(ours)])
    expected = objective(alone).total.item() / alone.target_tokens
    assert objective(batch).total.item() / batch.counted_tokens == pytest.approx(expected, rel=1e-4)


def test_dev_and_test_pairs_of_one_corpus_may_not_be_in_the_training_text_of_another(here, tiny, tiny_recipe):
    for language in ("de", "en"):
        leaked = (tiny.folder / f"dev.{language}").read_text(encoding="utf-8").splitlines()[2:4]
        path = here.data / "corpora" / "synthetic" / f"train.{language}"
        path.write_text(path.read_text(encoding="utf-8") + "\n".join(leaked) + "\n", encoding="utf-8")
    recipe = tiny_recipe.with_changes({"more_corpora": [SYNTHETIC], "training.max_evaluations": 1})
    with pytest.raises(CorpusError, match="corpus 'tiny': 2 pairs of dev are in a training text too, first at dev"):
        train("leak", recipe, tiny, here)
    run = train("leak", recipe, tiny, here, allow_overlap=True)
    assert run.environment["overlap"] == {"dev": 2}
    assert "2 pairs of dev also occur in its training text" in run.overlap


def test_a_corpus_that_is_not_there_or_named_twice_is_refused_before_anything_is_made(here, tiny, tiny_recipe):
    with pytest.raises(CorpusError, match="corpus 'tiny': named twice"):
        train("twice", tiny_recipe.with_changes({"more_corpora": [{"name": "tiny"}]}), tiny, here)
    with pytest.raises(CorpusError, match=r"corpus .nowhere.: not found"):
        train("twice", tiny_recipe.with_changes({"more_corpora": [{"name": "nowhere"}]}), tiny, here)
    (here.data / "corpora" / "dev-only").mkdir()
    for language in ("de", "en"):
        shutil.copy(tiny.folder / f"dev.{language}", here.data / "corpora" / "dev-only")
    with pytest.raises(CorpusError, match=r"corpus 'dev-only': no train.de and train.en"):
        train("twice", tiny_recipe.with_changes({"more_corpora": [{"name": "dev-only"}]}), tiny, here)
    assert not here.run_folder("twice").exists()


def test_a_further_corpus_that_has_changed_is_not_resumed_on(here, tiny, tiny_recipe):
    recipe = tiny_recipe.with_changes({"more_corpora": [SYNTHETIC]})
    steps = iter(range(1000))
    train("changed", recipe, tiny, here, should_stop=lambda: next(steps) == 3)
    write_split(here.data / "corpora" / "synthetic", "train", 100, seed=15)
    with pytest.raises(RunError, match="started on other text"):
        train("changed", recipe, tiny, here, resume=True)


def test_the_cost_of_several_corpora_is_that_of_all_their_text(here, tiny, tiny_recipe):
    synthetic = ParallelCorpus.open(here.data / "corpora" / "synthetic")
    recipe = tiny_recipe.with_changes({"training.validate_every": 0})
    assert estimate_cost(recipe, tiny, synthetic).pairs == 400
    assert estimate_cost(recipe, tiny, synthetic).updates > estimate_cost(recipe, tiny).updates


def test_a_phrase_based_system_learns_from_one_corpus(here, tiny):
    from nmtlab.baselines.phrase import train_phrase
    from nmtlab.recipe import named_recipe

    with pytest.raises(RecipeError, match="more_corpora: a phrase-based system learns from one corpus"):
        train_phrase("p", named_recipe("moses").with_changes({"more_corpora": [SYNTHETIC]}), tiny, here)


def test_a_run_on_one_corpus_is_as_it_was(trained):
    run: Run = trained[0]
    assert run.recipe.more_corpora == ()
    assert "more_checksums" not in run.environment


@pytest.mark.full
@pytest.mark.parametrize(("pairs", "waits"), [(100, False), (400, True)])
def test_early_stopping_waits_for_a_pass_over_text_that_is_mostly_synthetic(here, tiny, tiny_recipe, pairs, waits):
    made, events = here.data / "corpora" / "synthetic", []
    write_split(made, "train", pairs, seed=11)
    (made / "import.json").write_text(json.dumps({"kind": "translated", "synthetic": "de"}), encoding="utf-8")
    still = {"training.learning_rate": 1e-30, "training.min_learning_rate": 0.0, "training.schedule": "constant"}
    often = {"training.validate_every": 2, "training.patience": 1, "training.max_evaluations": 100}
    mixed = {"more_corpora": [SYNTHETIC], "training.sampling_exponent": 1.0, "training.batch_tokens": 1000}
    recipe = tiny_recipe.with_changes({**still, **often, **mixed})
    run = train("mixed", recipe, tiny, here, on_event=events.append, allow_overlap=True)
    hints = [event.text for event in events if isinstance(event, Hint)]
    texts = open_corpora(recipe, tiny, here)
    encoded = [EncodedCorpus.open(here.cache, run.pipeline, text) for text in texts]
    batches = Batches(Mixture(encoded, 1.0), 1000, recipe.training.seed).count(0)
    assert run.log.last_step == (batches + batches % 2 if waits else 4)
    said = "400 of 700 pairs are synthetic: early stopping and decay wait for a pass over the text"
    assert hints[:1] == ([said] if waits else [])
