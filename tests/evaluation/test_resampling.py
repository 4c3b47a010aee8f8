"""Scores on resampled test sets, against sacrebleu: on the sentences written out, and its paired test."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

from nmtlab.errors import CorpusError
from nmtlab.evaluation import bleu_metric, chrf_metric, paired_bootstrap, ter_metric, tokenized_bleu_metric
from nmtlab.evaluation.resampling import (
    compared,
    corpus_score,
    counted_scores,
    drawn_test_sets,
    resampled_scores,
    sentence_statistics,
)

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", ".", ",", "big", "red", "house"]


def chrf_plus_plus() -> CHRF:
    return chrf_metric(2)


def ter() -> TER:
    return ter_metric()


METRICS = pytest.mark.parametrize("make", [bleu_metric, tokenized_bleu_metric, chrf_metric, chrf_plus_plus, ter])


def sentences(number: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.randint(3, 12))) for _ in range(number)]


def corrupted(lines: list[str], share: float, seed: int) -> list[str]:
    generator = random.Random(seed)
    return [
        " ".join(generator.choice(WORDS) if generator.random() < share else word for word in line.split())
        for line in lines
    ]


REFERENCE = sentences(60, seed=1)
SYSTEMS = [corrupted(REFERENCE, 0.2, 2), corrupted(REFERENCE, 0.5, 3), ["", *corrupted(REFERENCE[1:], 0.9, 4)]]


@METRICS
@pytest.mark.parametrize("references", [[REFERENCE], [REFERENCE, corrupted(REFERENCE, 0.3, 5)]], ids=["one", "two"])
def test_the_score_of_the_summed_statistics_is_the_one_of_sacrebleu_to_the_last_digit(make, references):
    counted = sentence_statistics(SYSTEMS, references, make())
    scores = [corpus_score(make())(one.sum(axis=0).tolist()) for one in counted]
    assert scores == [make().corpus_score(system, references).score for system in SYSTEMS]


@METRICS
def test_the_score_on_a_drawn_test_set_is_the_one_of_its_sentences_written_out(make):
    drawn = resampled_scores(sentence_statistics(SYSTEMS, [REFERENCE], make()), corpus_score(make()), draws=20)
    for counts, scores in zip(drawn_test_sets(60, draws=20), drawn, strict=True):
        chosen = np.repeat(np.arange(60), counts)
        assert len(chosen) == 60
        written = [[system[line] for line in chosen] for system in SYSTEMS]
        references = [[REFERENCE[line] for line in chosen]]
        assert scores.tolist() == [make().corpus_score(system, references).score for system in written]


def test_all_systems_are_scored_on_the_same_sentences():
    metric = bleu_metric()
    counted = sentence_statistics([SYSTEMS[0], SYSTEMS[1], SYSTEMS[0]], [REFERENCE], metric)
    drawn = resampled_scores(counted, corpus_score(metric), draws=50)
    assert drawn.shape == (50, 3)
    assert drawn[:, 0].tolist() == drawn[:, 2].tolist()
    assert len(set(drawn[:, 0])) > 40  # and on other ones in each draw
    alone = resampled_scores(counted[1:2], corpus_score(metric), draws=50)
    assert alone[:, 0].tolist() == drawn[:, 1].tolist()


def test_shares_of_words_can_be_resampled_too():
    generator = np.random.default_rng(1)
    words = generator.integers(1, 9, 400)
    right = generator.binomial(words, 0.3)
    drawn = resampled_scores(np.stack([right, words], axis=-1)[None], lambda sums: sums[0] / sums[1])
    residuals = right - right.sum() / words.sum() * words
    assert drawn.mean() == pytest.approx(right.sum() / words.sum(), abs=0.003)
    # the standard error of a ratio by linearisation
    assert drawn.std() == pytest.approx(np.sqrt((residuals**2).sum()) / words.sum(), rel=0.1)


def test_the_references_are_not_kept_in_the_metric():
    metric = bleu_metric()
    sentence_statistics([SYSTEMS[0]], [REFERENCE], metric)
    with pytest.raises(RuntimeError, match="No references"):
        metric.corpus_score(SYSTEMS[0], None)


@pytest.mark.parametrize(("systems", "said"), [([], "0 systems"), ([SYSTEMS[0], SYSTEMS[1][:-1]], "59 hypotheses")])
def test_what_cannot_be_scored_is_refused(systems, said):
    with pytest.raises(CorpusError, match=said):
        sentence_statistics(systems, [REFERENCE], bleu_metric())


THEIRS = [(bleu_metric, BLEU), (chrf_metric, CHRF), (chrf_plus_plus, lambda: CHRF(word_order=2)), (ter, TER)]


@pytest.mark.parametrize(("make", "their"), THEIRS, ids=["bleu", "chrf", "chrf++", "ter"])
@pytest.mark.parametrize("references", [[REFERENCE], [REFERENCE, corrupted(REFERENCE, 0.3, 5)]], ids=["one", "two"])
def test_a_comparison_is_that_of_sacrebleus_paired_test(make, their, references):
    systems = dict(zip("abc", SYSTEMS, strict=True))
    metric = their()
    test = PairedTest(list(systems.items()), {"metric": metric}, references, test_type="bs", n_samples=200)
    signatures, columns = test()
    (name,) = signatures
    ours = paired_bootstrap(systems, references, make(), samples=200)
    for one, other in zip(ours, columns[name], strict=True):
        assert (one.score, one.p) == (other.score, other.p_value)
        assert (one.mean, one.margin) == pytest.approx((other.mean, other.ci), rel=1e-6)
        assert one.signature == str(signatures[name])
        assert one.better == ("lower" if their is TER else "higher")


def test_given_scores_are_compared_by_their_means():
    generator = np.random.default_rng(2)
    one = generator.normal(0.7, 0.1, 200)
    systems = [one, one + generator.normal(0.05, 0.1, 200), one[::-1]]
    first, second, third = compared(["a", "b", "c"], counted_scores("COMET", systems, "higher"))
    assert first.score == pytest.approx(one.mean())
    assert second.difference == pytest.approx(systems[1].mean() - one.mean())
    assert first.margin == pytest.approx(1.96 * one.std() / np.sqrt(200), rel=0.1)
    assert second.p < 0.01
    assert third.p == 1 or third.p > 0.3
    assert (first.p, first.better) == (None, "higher")


def test_ter_of_chinese_counts_characters():
    (found,) = paired_bootstrap({"a": ["他有一只黑猫"]}, [["他有一只黑狗"]], ter_metric(characters=True), samples=2)
    assert found.score == pytest.approx(100 / 6)
    assert "norm:yes|punct:yes|asian:yes" in found.signature
