"""GLEU of a sentence, against nltk and by hand."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtlab.evaluation.gleu import sentence_gleu

WORDS = st.lists(st.sampled_from("abc"), max_size=8)


@settings(deadline=None, max_examples=60)
@given(WORDS, WORDS)
def test_it_is_that_of_nltk(hypothesis, reference):
    nltk = pytest.importorskip("nltk.translate.gleu_score")
    wanted = nltk.sentence_gleu([reference], hypothesis) if hypothesis or reference else 1.0
    assert sentence_gleu(hypothesis, reference) == pytest.approx(wanted)


def test_it_is_the_smaller_one_of_precision_and_recall():
    """a b x has 3 + 2 + 1 n-grams, of which a, b and a b are among the 4 + 3 + 2 + 1 of a b c d."""
    assert sentence_gleu("a b x".split(), "a b c d".split()) == pytest.approx(3 / 10)
    assert sentence_gleu("a b c d".split(), "a b x".split()) == pytest.approx(3 / 10)
