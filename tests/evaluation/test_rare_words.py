"""Words and names by their training frequency, against cases worked by hand and a plain recount."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.evaluation.rare_words import EDGES, Name, accuracy_by_frequency, bucket_names, bucket_of, name_outcomes

NAMES = {
    name.target: name
    for name in (
        Name("Fauci", "scientist", "Fauchi"),
        Name("Chan", "scientist", "Chan"),
        Name("Jenner", "scientist", "Jenner"),
        Name("Tashkent", "city", "Toshkent"),
    )
}


def outcomes(hypothesis: str, reference: str, source: str = "") -> list[tuple[str, str, str]]:
    found = name_outcomes(hypothesis.split(), reference.split(), source.split(), NAMES)
    return [(name, outcome, produced) for name, _, outcome, produced in found]


def test_buckets_are_named_by_the_counts_they_hold():
    assert bucket_names() == ["0", "1", "2-4", "5-9", "10-99", "100+"]
    assert [bucket_names()[bucket_of(count)] for count in (0, 1, 2, 4, 5, 9, 10, 99, 100, 10_000)] == [
        "0", "1", "2-4", "2-4", "5-9", "5-9", "10-99", "10-99", "100+", "100+",
    ]  # fmt: skip


@pytest.mark.parametrize("edges", [(), (1, 2), (0, 2, 2), (0, 5, 3)])
def test_buckets_that_do_not_rise_from_zero_are_refused(edges):
    with pytest.raises(NmtlabError, match="give increasing numbers from 0"):
        bucket_names(edges)


def test_a_word_counts_as_often_as_both_sides_have_it():
    counts = {"the": 500, "old": 12, "wolf": 3, "fox": 1}
    hypotheses = [["the", "the", "the", "fox"], ["old", "wolf"]]
    references = [["the", "the", "wolf", "yak"], ["wolf", "old", "wolf"]]
    rows = {row.frequency: row for row in accuracy_by_frequency(hypotheses, references, counts)}
    assert {name: (row.words, row.produced, row.matched) for name, row in rows.items()} == {
        "0": (1, 0, 0), "1": (0, 1, 0), "2-4": (3, 1, 1), "5-9": (0, 0, 0), "10-99": (1, 1, 1), "100+": (2, 3, 2),
    }  # fmt: skip
    assert (rows["2-4"].recall, rows["2-4"].precision, rows["2-4"].f1) == (1 / 3, 1.0, 0.5)
    assert rows["0"].recall == 0.0
    assert math.isnan(rows["0"].precision)
    assert math.isnan(rows["1"].recall)
    assert math.isnan(rows["5-9"].f1)


words = st.sampled_from("a b c d e f".split())
sentences = st.lists(st.tuples(st.lists(words, max_size=8), st.lists(words, max_size=8)), max_size=6)


@pytest.mark.full
@given(sentences, st.dictionaries(words, st.integers(0, 200)))
def test_buckets_agree_with_crossing_words_out_one_by_one(pairs, counts):
    rows = accuracy_by_frequency([h for h, _ in pairs], [r for _, r in pairs], counts)
    matched = [0] * len(EDGES)
    for hypothesis, reference in pairs:
        left = list(hypothesis)
        for word in reference:
            if word in left:
                left.remove(word)
                matched[max(i for i, edge in enumerate(EDGES) if counts.get(word, 0) >= edge)] += 1
    assert [row.matched for row in rows] == matched
    assert sum(row.words for row in rows) == sum(len(reference) for _, reference in pairs)
    assert sum(row.produced for row in rows) == sum(len(hypothesis) for hypothesis, _ in pairs)


def test_translations_without_references_are_refused():
    with pytest.raises(CorpusError, match="2 translations but 1 references; give one reference per translation"):
        accuracy_by_frequency([["a"], ["b"]], [["a"]], {})


@pytest.mark.parametrize(
    ("hypothesis", "outcome"),
    [
        ("says Anthony Fauci .", ("Fauci", "right", "")),
        ("says James Chan .", ("Fauci", "confused", "Chan")),
        ("says a man in Tashkent .", ("Fauci", "missing", "")),
        ("says <unk> <unk> .", ("Fauci", "unknown", "")),
        ("says Fauchining .", ("Fauci", "unknown", "")),
        ("says deydi .", ("Fauci", "missing", "")),
        ("", ("Fauci", "missing", "")),
    ],
)
def test_a_name_is_right_confused_unknown_or_missing(hypothesis, outcome):
    assert outcomes(hypothesis, "says Anthony Fauci .", "deydi Entoni Fauchining .") == [outcome]


def test_a_name_that_belongs_to_the_reference_is_nobodys_confusion():
    assert outcomes("Chan met a man", "Chan met Fauci") == [("Chan", "right", ""), ("Fauci", "missing", "")]
    assert outcomes("Chan met Chan", "Chan met Fauci") == [("Chan", "right", ""), ("Fauci", "confused", "Chan")]


def test_each_name_and_each_unk_of_a_translation_answers_for_one_name():
    assert outcomes("Chan and <unk>", "Fauci , Jenner and Tashkent") == [
        ("Fauci", "confused", "Chan"), ("Jenner", "unknown", ""), ("Tashkent", "missing", ""),
    ]  # fmt: skip


def test_a_copied_source_word_is_no_copy_where_it_is_the_right_name():
    assert outcomes("Chan left", "Chan left", "Chan ketdi") == [("Chan", "right", "")]


def test_a_sentence_without_names_has_no_outcomes():
    assert outcomes("Chan left", "he left") == []
