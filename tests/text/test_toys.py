"""Toy tasks have the answers that their names say, and no sequence twice."""

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.toys import Lengths, answer, write_toys


@pytest.mark.parametrize(
    ("task", "expected"),
    [("copy", "a b c d e"), ("reverse", "e d c b a"), ("bigram-flip", "b a d c e"), ("repeat", "a b c d e a b c d e")],
)
def test_the_answer_of_a_task(task, expected):
    assert " ".join(answer(task, "a b c d e".split())) == expected


def test_a_corpus_has_the_answers_in_the_lengths_asked_for_and_no_sequence_twice(tmp_path):
    sizes = {"train": 200, "dev": 50, "test": 100}
    write_toys(tmp_path / "toy", "reverse", 10, Lengths(4, 8), Lengths(9, 12), **sizes)
    write_toys(tmp_path / "again", "reverse", 10, Lengths(4, 8), Lengths(9, 12), **sizes)
    corpus, again = (ParallelCorpus.open(tmp_path / name) for name in ("toy", "again"))
    found = {split: [(s.split(), t.split()) for s, t in corpus.pairs(split)] for split in sizes}
    assert {split: len(pairs) for split, pairs in found.items()} == sizes
    assert all(target == source[::-1] for pairs in found.values() for source, target in pairs)
    assert {len(source) for source, _ in found["train"]} == {4, 5, 6, 7, 8}
    assert {len(source) for source, _ in found["test"]} == {9, 10, 11, 12}
    assert len({tuple(source) for pairs in found.values() for source, _ in pairs}) == sum(sizes.values())
    assert [*corpus.pairs("test")] == [*again.pairs("test")]


@pytest.mark.parametrize(
    ("lengths", "problem"), [((5, 4), "lengths are 5-4"), ((1, 4), "10 words make only 10 sequences of 1")]
)
def test_lengths_that_cannot_be_are_refused(tmp_path, lengths, problem):
    with pytest.raises(CorpusError, match=problem):
        write_toys(tmp_path / "toy", "copy", 10, Lengths(*lengths), Lengths(6, 9))
    assert not [*tmp_path.iterdir()]
