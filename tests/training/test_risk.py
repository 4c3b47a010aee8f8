"""Minimum risk and self-critical training: the terms against enumeration, and trainings with them."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.hand_made_model import hand_made_pipeline
from support.weights import same_weights

from nmtlab.errors import NmtlabError
from nmtlab.evaluation.scores import chrf_metric, sentence_bleu_metric
from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import ConvSettings, Recipe, RnnSettings, TransformerSettings, named_recipe
from nmtlab.recipe.text import TextSettings
from nmtlab.recipe.training import TrainingSettings
from nmtlab.runs.log import read_log
from nmtlab.runs.run import Run
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.annotation import NOTE_TAGS
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.text.segmentation.vocabulary import EOS, UNK, Vocabulary
from nmtlab.training.objective import CrossEntropy, Objective, Weighted, sentence_log_probs, training_objective
from nmtlab.training.risk import Risk, SelfCritical, advantage_loss, expected_loss
from nmtlab.training.setup import train
from nmtlab.training.transfer import continued_recipe
from nmtlab.workspace import Workspace

PIPELINE = hand_made_pipeline({"eins": 3, "zwei": 2}, {"one": 3, "two": 2})
ONE, TWO = 4, 5
MODELS = {
    "transformer": TransformerSettings(d_model=4, d_ff=6, encoder_layers=1, decoder_layers=1, heads=2, dropout=0.0),
    "rnn": RnnSettings(d_model=4, dropout=0.0),
    "conv": ConvSettings(d_model=4, decoder_layers=2, dropout=0.0),
}
WORDS = (UNK, ONE, TWO)
ALL = [
    *[(*words, EOS) for length in range(3) for words in itertools.product(WORDS, repeat=length)],
    *itertools.product(WORDS, repeat=3),
]
"""All translations of one word with at most three tokens; those of three words are cut off."""


def model_of(family: str = "transformer", **more) -> TranslationModel:
    """Return a model whose weights are so small that no translation is too improbable to be sampled."""
    torch.manual_seed(5)
    settings, text = MODELS[family].model_copy(update=more), ModelText(6, np.arange(6) > 1, joint=False)
    model = build_model(settings, text).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.6)
    return model


def pairs(*targets: tuple[int, ...], weight: list[float] | None = None) -> Batch[torch.Tensor]:
    sources = np.array([[ONE, EOS], [TWO, EOS]])[: len(targets)]
    batch = on_device(batch_of(sources, pad(targets)))
    return replace(batch, weight=None if weight is None else torch.tensor(weight))


def term(**changes) -> Risk:
    return Risk(TrainingSettings(**({"risk": "chrf", "risk_samples": 3000} | changes)), PIPELINE, extra_length=2)


def enumerated(model: TranslationModel, source: int) -> torch.Tensor:
    """Return log p of every translation of a word."""
    return sentence_log_probs(model, on_device(batch_of(np.array([[source, EOS]] * len(ALL)), pad(ALL))))


def losses(reference: str, measure: str = "chrf") -> torch.Tensor:
    metric = chrf_metric() if measure == "chrf" else sentence_bleu_metric()
    scores = [metric.sentence_score(PIPELINE.target.text(ids), [reference]).score for ids in ALL]
    return 1 - torch.tensor(scores, dtype=torch.float64) / 100


def exact_risk(log_probs: torch.Tensor, loss: torch.Tensor, alpha: float) -> torch.Tensor:
    p = log_probs.exp() ** alpha
    return (p / p.sum() * loss).sum()


@pytest.fixture
def two() -> Batch[torch.Tensor]:
    return pairs((ONE, TWO, EOS), (TWO, EOS))


@pytest.mark.parametrize(
    ("family", "measure"),
    [("transformer", "chrf"), ("transformer", "bleu"), ("rnn", "chrf"), ("conv", "chrf")],
)
def test_with_every_translation_among_the_samples_the_risk_is_that_of_enumeration(two, family, measure):
    model, risk = model_of(family), term(risk=measure, risk_alpha=0.7, risk_samples=8000)
    assert enumerated(model, ONE).exp().sum().item() == pytest.approx(1, abs=1e-12)
    torch.manual_seed(1)
    assert all(sorted(some) == sorted(ALL) for some in risk._translations(model, two))
    torch.manual_seed(1)
    found = Objective(model, [risk])(two)
    each = [
        exact_risk(enumerated(model, source), losses(reference, measure), 0.7)
        for source, reference in ((ONE, "one two"), (TWO, "two"))
    ]
    assert found.total.item() / two.counted_tokens == pytest.approx((sum(each) / 2).item(), abs=1e-10)
    assert found.terms["risk"].item() == found.total.item()


def test_its_gradient_is_that_of_finite_differences(two):
    model = model_of()
    parameter = model.get_parameter("decoder.0.feed_forward.inner.weight")

    def risk() -> torch.Tensor:
        torch.manual_seed(1)
        return Objective(model, [term(risk_alpha=0.7)])(two).total

    (gradient,) = torch.autograd.grad(risk(), parameter)
    place = np.unravel_index(int(gradient.abs().argmax()), gradient.shape)
    found = []
    for move in (1e-5, -1e-5):
        with torch.no_grad():
            parameter[place] += move
            found.append(risk().item())
            parameter[place] -= move
    assert abs(gradient[place]) > 1e-4
    assert gradient[place].item() == pytest.approx((found[0] - found[1]) / 2e-5, rel=1e-6)


def test_its_gradient_has_a_closed_form():
    """∇R = α Σ Q_i (Δ_i - R) ∇ log p_i (Shen et al. 2016, eq 13)."""
    torch.manual_seed(2)
    log_probs = torch.randn(6, dtype=torch.float64, requires_grad=True)
    loss, alpha = torch.rand(6, dtype=torch.float64), 0.3
    risk = expected_loss(log_probs, loss, alpha)
    (gradient,) = torch.autograd.grad(risk, log_probs)
    q = log_probs.detach().exp() ** alpha
    torch.testing.assert_close(gradient, alpha * q / q.sum() * (loss - risk.detach()), rtol=1e-12, atol=1e-14)


def test_a_small_alpha_gives_the_mean_loss():
    log_probs, loss = torch.tensor([-1.0, -9.0, -4.0], dtype=torch.float64), torch.tensor([0.1, 0.5, 0.9]).double()
    assert expected_loss(log_probs, loss, 1e-9).item() == pytest.approx(0.5, abs=1e-8)


def test_where_all_losses_are_equal_there_is_no_gradient(two):
    """No translation has anything in common with a blank reference."""
    model, blank = model_of(), pairs((EOS,), (EOS,))
    total = Objective(model, [term()])(blank).total
    assert total.item() / blank.counted_tokens == pytest.approx(1)
    assert all(gradient.abs().max() < 1e-12 for gradient in gradients(model, total))
    assert max(gradient.abs().max() for gradient in gradients(model, Objective(model, [term()])(two).total)) > 1e-5


def gradients(model: TranslationModel, loss: torch.Tensor) -> list[torch.Tensor]:
    found = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def test_the_reference_is_among_the_samples_if_asked_for(two):
    model, references = model_of(), [(ONE, TWO, EOS), (TWO, EOS)]
    for asked in (False, True):
        found = term(risk_samples=2, risk_reference=asked)._translations(model, two)
        assert [references[row] in some for row, some in enumerate(found)] == [asked, asked]
        assert all(len(set(some)) == len(some) <= 2 + asked for some in found)


def test_sentences_count_by_their_weight():
    model = model_of()
    alone = [Objective(model, [term()])(one).total.item() / 3 for one in (pairs((ONE, TWO, EOS)),)]
    weighted = pairs((ONE, TWO, EOS), (TWO, EOS), weight=[1.0, 0.0])
    assert Objective(model, [term()])(weighted).total.item() / 3 == pytest.approx(alone[0], abs=1e-10)


def test_beside_a_risk_cross_entropy_has_its_weight(two):
    model = model_of()
    torch.manual_seed(1)
    found = training_objective(model, 0.1, risk=term(), likelihood_weight=0.25)(two)
    torch.manual_seed(1)
    risk, text = (Objective(model, [one])(two) for one in (term(), CrossEntropy(0.1)))
    assert found.total.item() == pytest.approx((risk.total + 0.25 * text.total).item(), rel=1e-6)
    assert found.terms == {**text.terms, **risk.terms}
    assert Weighted(CrossEntropy(0.1), 0.25).weights == {"cross_entropy": 0.25 * 0.9, "label_smoothing": 0.25 * 0.1}


def test_dropout_is_off_while_translations_are_sampled(two):
    model, drawn = model_of(dropout=0.5), []
    for mode in (True, False):
        torch.manual_seed(1)
        drawn.append(term(risk_samples=20)._translations(model.train(mode), two))
        assert model.training == mode
    assert drawn[0] == drawn[1]


# Self-critical


def critic(**changes) -> SelfCritical:
    return SelfCritical(TrainingSettings(**({"risk": "chrf", "risk_samples": 5} | changes)), PIPELINE, extra_length=2)


def test_the_expected_gradient_is_that_of_the_expected_loss_whatever_the_baseline():
    model, loss = model_of(), losses("one two")
    wanted = gradients(model, (enumerated(model, ONE).exp() * loss).sum())
    for baseline in (0.0, 0.37, 1.0):
        log_probs = enumerated(model, ONE)
        shares = log_probs.detach().exp()
        each = [advantage_loss(log_probs[[at]], loss[[at]], baseline) for at in range(len(ALL))]
        found = gradients(model, shares @ torch.stack(each))
        assert max(gradient.abs().max() for gradient in wanted) > 1e-4
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def best_first(model: TranslationModel, source: int) -> tuple[int, ...]:
    """Return the greedy translation: each token has the highest probability, summed over all that go on so."""
    shares = dict(zip(ALL, enumerated(model, source).exp().tolist(), strict=True))
    found: tuple[int, ...] = ()
    while found not in shares:
        ways = [(*found, token) for token in (*WORDS, EOS)]
        found = max(ways, key=lambda way: sum(p for ids, p in shares.items() if ids[: len(way)] == way))
    return found


@pytest.mark.parametrize("measure", ["chrf", "bleu"])
def test_each_sample_counts_by_its_loss_less_that_of_the_greedy_translation(two, measure):
    model, risk = model_of(), critic(risk=measure)
    torch.manual_seed(3)
    sampled = risk._translations(model, two)
    assert [len(some) for some in sampled] == [5, 5]
    torch.manual_seed(3)
    found = Objective(model, [risk])(two)
    each, sum_of_losses = [], 0.0
    for source, reference, some in zip((ONE, TWO), ("one two", "two"), sampled, strict=True):
        loss, log_probs = losses(reference, measure), enumerated(model, source)
        places = [ALL.index(ids) for ids in some]
        advantages = loss[places] - loss[ALL.index(best_first(model, source))]
        each.append((advantages * log_probs[places]).mean())
        sum_of_losses += loss[places].mean().item()
    assert found.total.item() / two.counted_tokens == pytest.approx(sum_of_losses / 2, abs=1e-6)
    wanted = gradients(model, sum(each) / 2 * two.counted_tokens)
    assert max(gradient.abs().max() for gradient in wanted) > 1e-3
    for one, other in zip(gradients(model, found.total), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-7)


def test_gleu_is_a_reward_on_the_words_of_the_plain_text(two):
    """ONE TWO against "one two": 1; TWO alone: one of three n-grams."""
    of_each = critic(risk="gleu")._losses(two, [[(ONE, TWO, EOS), (TWO, EOS)], [(EOS,)]])
    assert [pytest.approx(some) for some in of_each] == [[0, 2 / 3], [1]]


def test_a_reward_counts_the_suggestions_that_are_used_where_there_are_some():
    """(HIT + GLEU) / 2 (Pham et al. 2018, eq 4): TWO is suggested for the first source, nothing for the second."""
    settings = TextSettings(segmentation="word", annotate=1)
    words = Vocabulary.of_words(["one", "two"], {"one": 3, "two": 2}, 1, dict.fromkeys(NOTE_TAGS, 0))
    one, two = words.ids(["one", "two"])
    sides = [Side(language, Words(language), words) for language in ("xx", "en")]
    begin, end = words.tag_ids(NOTE_TAGS)
    assert sides[0].suggested([one, begin, two, one, end, two, begin, one, end, EOS]) == [[two, one], [one]]
    sources = pad([[one, begin, two, end, EOS], [one, EOS]])
    batch = on_device(batch_of(sources, pad([[one, two, EOS], [one, EOS]])))
    risk = SelfCritical(TrainingSettings(risk="hit-gleu"), Pipeline(settings, *sides), extra_length=2)
    found = risk._losses(batch, [[(one, two, EOS), (two, EOS), (one, EOS)], [(one, EOS), (EOS,)]])
    assert [pytest.approx(some) for some in found] == [[0, 1 / 3, (1 + 2 / 3) / 2], [0, 1]]


# Trainings

SHORT = {
    "training.validate_every": 4, "training.max_evaluations": 2, "training.learning_rate": 1e-3,
    "training.risk_samples": 4, "machine.threads": 1, "machine.device": "cpu", "search.extra_length": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory, tiny_corpus, tiny_recipe) -> Workspace:
    """A workspace with a corpus `tiny`, and a run `parent` of it."""
    workspace = Workspace(tmp_path_factory.mktemp("risk") / "data")
    (workspace.data / "corpora").mkdir(parents=True)
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora/tiny")
    train("parent", tiny_recipe.with_changes({"training.max_evaluations": 1}), opened(workspace), workspace)
    return workspace


def opened(workspace: Workspace) -> ParallelCorpus:
    return ParallelCorpus.open(workspace.data / "corpora/tiny")


@pytest.fixture(scope="module")
def recipe(here) -> Recipe:
    return continued_recipe(Run(here.runs / "parent"), named_recipe("minimum-risk")).with_changes(SHORT)


@pytest.fixture(scope="module")
def whole(here, recipe) -> Run:
    return train("whole", recipe, opened(here), here)


def test_risk_and_cross_entropy_are_logged_and_the_loss_is_their_sum(whole):
    for loss, terms in zip(*(whole.log.metrics("train")[column] for column in ("loss", "terms")), strict=True):
        assert set(terms) == {"cross_entropy", "label_smoothing", "risk"}
        assert 0 < terms["risk"] < 1
        assert sum(terms.values()) == pytest.approx(loss, rel=1e-5)


def test_an_interrupted_training_goes_on_exactly(here, recipe, whole):
    goes_on(here, recipe, whole)


def test_an_interrupted_self_critical_training_goes_on_exactly(here):
    recipe = continued_recipe(Run(here.runs / "parent"), named_recipe("self-critical")).with_changes(SHORT)
    goes_on(here, recipe, train("critic", recipe, opened(here), here))


def goes_on(here: Workspace, recipe: Recipe, whole: Run) -> None:
    steps, name = iter(range(100)), f"{whole.name}-stopped"
    train(name, recipe, opened(here), here, should_stop=lambda: next(steps) == 3)
    stopped = train(name, recipe, opened(here), here, resume=True)
    assert stopped.log.gradient_norms().equals(whole.log.gradient_norms())
    assert same_weights(stopped, whole)


@pytest.mark.full
def test_a_killed_training_goes_on_exactly(here, recipe, whole, tmp_path):
    recipe.save(tmp_path / "recipe.toml")
    words = [sys.executable, "-m", "nmtlab", "train", "tiny", "--recipe", str(tmp_path / "recipe.toml")]
    words += ["--name", "killed"]
    environment = {**os.environ, "NMTLAB_DATA": str(here.data), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    log, last = here.runs / "killed/metrics.jsonl", 0
    while process.poll() is None and last < 4:
        last = max((line["step"] for line in read_log(log)), default=0)
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed = Run(here.runs / "killed")
    assert killed.status == "interrupted"
    subprocess.run([*words, "--resume"], env=environment, check=True, capture_output=True)
    assert killed.status == "finished"
    assert killed.log.gradient_norms().equals(whole.log.gradient_norms())
    assert same_weights(killed, whole)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transfer.continued": False, "transfer.parent": ""}, "training.risk needs a parent to continue"),
        ({"training.risk_samples": 1}, "training.risk_samples = 1 has no other sample"),
        ({"training.risk": "ter"}, "'none', 'bleu', 'chrf', 'gleu' or 'hit-gleu'"),
        (
            {"training.risk_form": "self-critical", "training.risk_reference": True},
            "training.risk_reference is no sample",
        ),
        ({"training.risk": "hit-gleu"}, "'hit-gleu' counts suggestions, and text.annotate is 0; set it to gleu"),
        ({"model.plan_length": True}, "but not their lengths, which this model plans"),
        ({"model.family": "phrase"}, "which a phrase-based system cannot"),
        ({"machine.compile": True}, "which is not compiled; set machine.compile=false"),
    ],
)
def test_what_cannot_minimise_a_risk_is_refused(recipe, changes, message):
    with pytest.raises(NmtlabError, match=re.escape(message)):
        recipe.with_changes(changes)


def test_sentence_bleu_adds_one_to_the_counts_of_longer_n_grams():
    """Three words of which two match: 2/3 · (1 + 1)/(2 + 1) · (0 + 1)/(1 + 1) · 1, and as long as the reference."""
    score = sentence_bleu_metric().sentence_score("a b x", ["a b c"]).score
    assert score == pytest.approx(100 * (2 / 3 * 2 / 3 * 1 / 2 * 1) ** 0.25)
