import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.evaluation import alignment_error


def test_a_case_worked_by_hand():
    made = [{(0, 0), (1, 1), (2, 3)}, {(0, 1)}]
    sure = [{(0, 0), (1, 2)}, {(0, 1)}]
    possible = [{(0, 0), (1, 2), (1, 1)}, {(0, 1), (1, 1)}]
    # |A| = 4, |S| = 3, A ∩ S = {(0,0)} + {(0,1)}, A ∩ P = {(0,0), (1,1)} + {(0,1)}
    measured = alignment_error(made, sure, possible)
    assert measured.precision == pytest.approx(3 / 4)
    assert measured.recall == pytest.approx(2 / 3)
    assert measured.error_rate == pytest.approx(1 - (2 + 3) / (4 + 3))


def test_sure_links_are_possible_even_if_they_are_not_listed_as_such():
    made, sure = [{(0, 0), (1, 1)}], [{(0, 0)}]
    assert alignment_error(made, sure, [{(1, 1)}]) == alignment_error(made, sure, [{(0, 0), (1, 1)}])


def test_the_gold_alignment_has_no_error_and_so_has_one_with_possible_links_added():
    sure, possible = [{(0, 0)}], [{(0, 0), (0, 1)}]
    for made in (sure, possible):
        assert alignment_error(made, sure, possible).error_rate == 0


links = st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3)))


@given(st.lists(st.tuples(links, links), min_size=1, max_size=3))
def test_with_sure_links_alone_the_error_rate_is_1_minus_f1(corpus):
    made, sure = [a for a, _ in corpus], [s | {(0, 0)} for _, s in corpus]
    measured = alignment_error(made, sure)
    wrong_or_missing = sum(len(a ^ s) for a, s in zip(made, sure, strict=True))
    assert measured.error_rate == pytest.approx(wrong_or_missing / sum(map(len, made + sure)))


def test_an_aligner_that_links_nothing_has_error_1_and_no_precision():
    measured = alignment_error([set()], [{(0, 0)}])
    assert (measured.error_rate, measured.recall) == (1, 0)
    assert math.isnan(measured.precision)


def test_different_numbers_of_sentences_are_refused_with_all_counts():
    with pytest.raises(CorpusError, match=r"of 2 sentences, but gold links of 1 \(sure\) and 1 \(possible\); give one"):
        alignment_error([set(), set()], [{(0, 0)}])


def test_a_gold_alignment_without_sure_links_is_refused():
    with pytest.raises(CorpusError, match="no sure link; give the sure links"):
        alignment_error([{(0, 0)}], [set()], [{(0, 0)}])
