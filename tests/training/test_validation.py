"""Dev BLEU and dev perplexity against the plain computation."""

import math

import pytest
import sacrebleu
import torch

from nmtlab.errors import CorpusError
from nmtlab.systems import open_system
from nmtlab.text.checks.inspection import check_texts
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import BOS
from nmtlab.training.setup import train
from nmtlab.training.validation import decoded_scores, text_perplexity


@pytest.fixture(scope="module")
def run(zoo):
    return zoo("learned")


@pytest.fixture(scope="module")
def system(run):
    return open_system(run)


def step_by_step(model, pipeline, source: list[str], target: list[str]) -> float:
    """Return the perplexity of sentences decoded one by one and token by token."""
    total, tokens = 0.0, 0
    for source_line, target_line in zip(source, target, strict=True):
        state = model.start(model.encode(torch.tensor([pipeline.source_ids(source_line)])))
        token = BOS
        for following in pipeline.target_ids(target_line):
            step = model.step(state, torch.tensor([[token]]))
            column = model.output_index(torch.tensor([following])).item()
            total -= step.log_probs[0, 0, column].item()
            state, token = step.state, following
            tokens += 1
    return math.exp(total / tokens)


@torch.no_grad()
def test_perplexity_is_that_of_the_tokens_decoded_one_by_one(system, tiny_corpus):
    source, target = (list(tiny_corpus.lines("dev", language)) for language in ("de", "en"))
    found, unknown = text_perplexity(system.model, system.pipeline, source, target)
    assert found == pytest.approx(step_by_step(system.model, system.pipeline, source, target), rel=1e-4)
    assert unknown == 0


@torch.no_grad()
def test_tokens_out_of_vocabulary_or_not_to_be_produced_are_counted_and_scored_as_unk(system):
    # The vocabulary is joint, and German words are never seen on the target side; one word is in no vocabulary.
    source, target = ["ein hund", "haus"], ["one hund haus", "xyz house"]
    found, unknown = text_perplexity(system.model, system.pipeline, source, target)
    assert unknown == 3
    assert found == pytest.approx(step_by_step(system.model, system.pipeline, source, target), rel=1e-4)


def test_dev_bleu_is_sacrebleu_of_what_the_system_translates(system, run, tiny_corpus):
    dev = check_texts([tiny_corpus])[0][tiny_corpus.direction]
    greedy = open_system(run, run.recipe.search.model_copy(update={"beam_size": 1}))
    texts = [translation.text for translation in greedy.translate(dev.source)]
    expected = sacrebleu.corpus_bleu(texts, dev.references).score
    assert 0 < expected < 100
    assert decoded_scores(system.model, system.pipeline, dev, run.recipe)[0] == pytest.approx(expected)
    assert expected == pytest.approx(run.log.metrics("validation")["bleu"].max())


@pytest.mark.full
@pytest.mark.parametrize(("by", "column", "best"), [("chrf", "chrf", "max"), ("perplexity", "perplexity", "min")])
def test_another_score_selects_the_best_checkpoint(by, column, best, tiny_corpus, tiny_recipe, workspace):
    changes = {"training.select_by": by, "training.validate_every": 10, "training.lr_scale": 3.0}
    run = train("selected", tiny_recipe.with_changes(changes), tiny_corpus, workspace)
    log = run.log.metrics("validation").set_index("step")
    assert run.checkpoints.best_step == getattr(log[column], f"idx{best}")()
    assert run.checkpoints.best_bleu == log["bleu"][run.checkpoints.best_step]
    if by == "chrf":
        greedy = open_system(run, run.recipe.search.model_copy(update={"beam_size": 1}))
        texts = [translation.text for translation in greedy.translate(list(tiny_corpus.lines("dev", "de")))]
        expected = sacrebleu.corpus_chrf(texts, tiny_corpus.references("dev")).score
        assert log["chrf"].max() == pytest.approx(expected)
    else:
        assert "chrf" not in log


def test_dev_bleu_is_of_targets_within_the_limit_on_their_tokens(tiny_corpus, tiny_recipe, workspace):
    changes = {"text.max_target_tokens": 4, "training.max_evaluations": 1}
    run = train("short", tiny_recipe.with_changes(changes), tiny_corpus, workspace)
    pairs = [pair for pair in tiny_corpus.pairs("dev") if len(pair[1].split()) <= 4]
    assert 5 < len(pairs) < tiny_corpus.count("dev")
    sources, targets = map(list, zip(*pairs, strict=True))
    greedy = open_system(run, run.recipe.search.model_copy(update={"beam_size": 1}))
    texts = [translation.text for translation in greedy.translate(sources)]
    assert run.log.metrics("validation")["bleu"].item() == pytest.approx(sacrebleu.corpus_bleu(texts, [targets]).score)
    perplexity, _ = text_perplexity(greedy.model, greedy.pipeline, sources, targets)
    assert run.log.metrics("validation")["perplexity"].item() == pytest.approx(perplexity, rel=1e-4)
    too_short = tiny_recipe.with_changes({"text.max_target_tokens": 1})
    with pytest.raises(CorpusError, match="dev: no target has at most 1 tokens"):
        train("none", too_short, tiny_corpus, workspace)


def test_validation_leaves_the_model_in_the_mode_it_was_in(system, run, tiny_corpus):
    dev = check_texts([tiny_corpus])[0][tiny_corpus.direction]
    for training in (True, False):
        system.model.train(training)
        decoded_scores(system.model, system.pipeline, dev, run.recipe)
        assert {module.training for module in system.model.modules()} == {training}
        text_perplexity(system.model, system.pipeline, dev.source[:2], dev.references[0][:2])
        assert {module.training for module in system.model.modules()} == {training}
    system.model.eval()


def test_which_types_may_be_produced_is_worked_out_once_for_a_text(system):
    worked_out = []

    class Counting(Pipeline):
        @property
        def target_allowed(self):
            worked_out.append(1)
            return super().target_allowed

    pipeline = Counting(system.pipeline.settings, system.pipeline.source, system.pipeline.target)
    text_perplexity(system.model, pipeline, ["ein hund", "haus"], ["one dog", "house"])
    assert len(worked_out) == 1
