"""Expected chrF among translations, against sacrebleu sentence by sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import sentence_chrf

from nmtlab.evaluation.expected_utility import expected_chrf, expected_utility, pairwise_bleu, pairwise_chrf
from nmtlab.evaluation.scores import bleu_words, sentence_bleu_metric

TEXTS = st.lists(st.text("ab c.", max_size=12), min_size=1, max_size=6)


@settings(deadline=None, max_examples=60)
@given(TEXTS)
def test_chrf_of_each_pair_is_sacrebleus_but_for_two_blank_texts(texts):
    found = pairwise_chrf(texts)
    for row, hypothesis in enumerate(texts):
        for column, reference in enumerate(texts):
            both_blank = not hypothesis.strip() and not reference.strip()
            wanted = 100 if both_blank else sentence_chrf(hypothesis, [reference]).score
            assert found[row, column] == pytest.approx(wanted)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text("ab .", max_size=12), min_size=1, max_size=6))
def test_bleu_of_each_pair_is_sacrebleus_but_for_two_texts_without_a_word(texts):
    words, metric = bleu_words(), sentence_bleu_metric()
    found = pairwise_bleu(texts, words)
    for row, hypothesis in enumerate(texts):
        for column, reference in enumerate(texts):
            blank = not words(hypothesis) and not words(reference)
            wanted = 100 if blank else metric.sentence_score(hypothesis, [reference]).score
            assert found[row, column] == pytest.approx(wanted)


def test_expected_bleu_is_the_mean_over_all_texts():
    texts = ["the cat sat", "the cat sat", "a dog ran", "the cat ran"]
    pairs = pairwise_bleu(texts, str.split)
    assert expected_utility(texts, lambda some: pairwise_bleu(some, str.split)) == pytest.approx(pairs.mean(1))


def test_a_text_that_was_sampled_twice_counts_twice():
    texts = ["the cat sat", "the cat sat", "a dog ran", "the cat ran"]
    wanted = [np.mean([sentence_chrf(one, [other]).score for other in texts]) for one in texts]
    assert expected_chrf(texts) == pytest.approx(wanted)
    assert int(np.argmax(expected_chrf(texts))) == 0


def test_a_single_sample_is_given_back_with_the_highest_chrf():
    assert expected_chrf(["x"]) == pytest.approx([100])
    assert expected_chrf([""]) == pytest.approx([100])


def test_a_blank_translation_is_expected_to_match_only_blank_ones():
    assert expected_chrf(["", "abc", "abc", "abc"]) == pytest.approx([25, 75, 75, 75])
