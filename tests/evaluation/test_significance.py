import random
import statistics

import pytest

from nmtlab.errors import CorpusError
from nmtlab.evaluation import (
    bleu,
    bleu_metric,
    chrf,
    chrf_metric,
    paired_bootstrap,
    tokenized_bleu,
    tokenized_bleu_metric,
)

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", ".", ",", "big", "red", "house"]


def corrupted(sentences, share, seed):
    generator = random.Random(seed)
    return [
        " ".join(generator.choice(WORDS) if generator.random() < share else word for word in sentence.split())
        for sentence in sentences
    ]


@pytest.fixture(scope="module")
def references():
    generator = random.Random(1)
    return [" ".join(generator.choices(WORDS, k=generator.randint(5, 12))) for _ in range(40)]


def slow_bootstrap(baseline, system, references, score, samples):
    """Mean, margin, p as in Moses' script, and Koehn's (2004): a call of the whole metric for each drawn test set."""
    generator = random.Random(7)
    scores, differences, not_better = [], [], 0
    for _ in range(samples):
        drawn = generator.choices(range(len(references)), k=len(references))
        drawn_references = [[references[i] for i in drawn]]
        ours = score([system[i] for i in drawn], drawn_references).value
        scores.append(ours)
        difference = ours - score([baseline[i] for i in drawn], drawn_references).value
        differences.append(abs(difference))
        not_better += difference <= 0
    real = abs(score(system, [references]).value - score(baseline, [references]).value)
    centre = statistics.mean(differences)
    p = (1 + sum(difference - centre > real for difference in differences)) / (1 + samples)
    scores.sort()
    return statistics.mean(scores), (scores[-1 - samples // 40] - scores[samples // 40]) / 2, p, not_better / samples


@pytest.mark.full
@pytest.mark.parametrize(
    ("metric", "score"),
    [(bleu_metric(), bleu), (chrf_metric(), chrf), (tokenized_bleu_metric(), tokenized_bleu)],
    ids=["bleu", "chrf", "tokenized"],
)
def test_a_slow_bootstrap_of_our_own_agrees(references, metric, score):
    baseline, system = corrupted(references, 0.3, seed=2), corrupted(references, 0.28, seed=3)
    mean, margin, p, _ = slow_bootstrap(baseline, system, references, score, samples=400)
    _, measured = paired_bootstrap({"base": baseline, "new": system}, [references], metric, samples=2000)
    assert measured.score == score(system, [references]).value
    assert measured.difference == measured.score - score(baseline, [references]).value
    assert measured.mean == pytest.approx(mean, abs=margin / 5)
    assert measured.margin == pytest.approx(margin, rel=0.2)
    assert measured.p == pytest.approx(p, abs=0.12)


@pytest.mark.full
def test_p_is_that_of_a_one_sided_test_and_half_that_of_a_two_sided_one(references):
    baseline, system = corrupted(references, 0.3, seed=2), corrupted(references, 0.22, seed=3)
    *_, koehn = slow_bootstrap(baseline, system, references, chrf, samples=600)
    _, measured = paired_bootstrap({"base": baseline, "new": system}, [references], chrf_metric(), samples=2000)
    assert 0.005 < koehn < 0.1
    assert measured.p == pytest.approx(koehn, abs=0.4 * koehn)


def test_a_system_against_itself_is_no_different(references):
    system = corrupted(references, 0.3, seed=2)
    for metric in (bleu_metric(), chrf_metric()):
        baseline, same = paired_bootstrap({"base": system, "same": list(system)}, [references], metric)
        assert (same.difference, same.p) == (0, 1)
        assert (baseline.difference, baseline.p) == (0, None)


def test_a_clearly_better_system_is_told_from_a_slightly_better_one(references):
    systems = {
        "base": corrupted(references, 0.5, seed=2),
        "other": corrupted(references, 0.48, seed=3),
        "good": corrupted(references, 0.05, seed=4),
    }
    for metric in (bleu_metric(), chrf_metric(), tokenized_bleu_metric()):
        _, other, good = paired_bootstrap(systems, [references], metric)
        assert good.p < 0.01 < 0.1 < other.p
        assert good.difference > 10
        assert good.mean - good.margin < good.score < good.mean + good.margin


def test_a_second_call_gives_the_same_numbers(references):
    systems = {"base": corrupted(references, 0.5, seed=2), "other": corrupted(references, 0.45, seed=3)}
    first = paired_bootstrap(systems, [references], bleu_metric(), samples=50)
    assert paired_bootstrap(systems, [references], bleu_metric(), samples=50) == first
    assert all("bs:50|seed:12345" in comparison.signature for comparison in first)
    assert [comparison.system for comparison in first] == ["base", "other"]


def test_many_reference_sets_are_used_together(references):
    systems = {"base": corrupted(references, 0.5, seed=2), "other": corrupted(references, 0.45, seed=3)}
    both = [references, corrupted(references, 0.2, seed=5)]
    comparison = paired_bootstrap(systems, both, bleu_metric(), samples=20)[1]
    assert comparison.score == bleu(systems["other"], both).value
    assert "nrefs:2" in comparison.signature


def test_systems_of_another_length_are_refused():
    with pytest.raises(CorpusError, match="1 hypotheses but 2 references in set 1; give one reference"):
        paired_bootstrap({"base": ["a", "b"], "short": ["a"]}, [["a", "b"]], bleu_metric())


def test_no_systems_are_refused():
    with pytest.raises(CorpusError, match="0 systems: nothing to compare; give the baseline"):
        paired_bootstrap({}, [["a"]], bleu_metric())
