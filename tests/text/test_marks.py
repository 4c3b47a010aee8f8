"""A set on disk is a set."""

import random
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.corpora import cleaning
from nmtlab.text.corpora.cleaning import Marks


@given(st.lists(st.binary(min_size=2, max_size=2)))
def test_it_knows_what_it_has_seen(digests):
    seen: set[bytes] = set()
    with Marks() as marks:
        for digest in digests:
            assert marks.add(digest) == (digest not in seen)
            seen.add(digest)
        assert len(marks) == len(seen)
        assert [marks.smallest(rank) for rank in range(1, len(seen) + 1)] == sorted(seen)


def test_it_may_be_larger_than_the_memory_it_has(monkeypatch):
    monkeypatch.setattr(cleaning, "_CACHE_KIB", 64)
    draw = random.Random(1)
    digests = [draw.randbytes(16) for _ in range(30_000)]
    with Marks() as marks:
        assert all(marks.add(digest) for digest in digests)
        assert not any(marks.add(digest) for digest in draw.sample(digests, 3000))
        assert marks.smallest(10_000) == sorted(digests)[9_999]


def test_a_full_disk_is_an_error_in_words(monkeypatch):
    class Full:
        def execute(self, *asked):
            raise sqlite3.OperationalError("database or disk is full")

    marks = Marks()
    monkeypatch.setattr(marks, "_database", Full())
    with pytest.raises(CorpusError, match="temporary folder: database or disk is full; free some space"):
        marks.add(b"x")
