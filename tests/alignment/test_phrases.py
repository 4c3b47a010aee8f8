"""Phrase tables: the types of the translations of source n-grams."""

from itertools import product

import numpy as np
import pytest

from nmtlab.alignment.phrases import LONGEST, PhraseTable
from nmtlab.errors import RunError

#         das haus ist klein / the house is small; klein haus / small house; ist / is it, with "it" linked to nothing
PAIRS = [([5, 6, 7, 8], [5, 6, 7, 8]), ([8, 6], [8, 6]), ([7], [7, 9])]
LINKS = [{(0, 0), (1, 1), (2, 2), (3, 3)}, {(0, 0), (1, 1)}, {(0, 0)}]


def listed(table: PhraseTable, *given: int) -> dict[tuple[int, ...], list[int]]:
    return {ngram: sorted(types.tolist()) for ngram, types in table.translations(*given).items()}


def test_an_ngram_has_the_types_of_its_translations_and_the_empty_one_those_without_a_link():
    table = PhraseTable.learned(PAIRS, LINKS)
    assert listed(table, 1, 5) == {(): [9], (5,): [5], (6,): [6], (7,): [7], (8,): [8]}
    assert listed(table, 2, 5)[8, 6] == [6, 8]
    assert set(listed(table, 3, 5)) - set(listed(table, 2, 5)) == {(5, 6, 7), (6, 7, 8)}
    assert set(listed(table, 3, 5, 2)) == {(), (6,), (7,), (8,)}


def test_the_most_frequent_translations_are_taken_and_equal_ones_by_id():
    pairs, links = [([4], [target]) for target in (9, 7, 8, 8)], [{(0, 0)}] * 4
    table = PhraseTable.learned(pairs, links)
    assert [listed(table, 1, most)[(4,)] for most in (1, 2, 3)] == [[8], [7, 8], [7, 8, 9]]


def test_a_pair_that_was_not_aligned_adds_nothing_to_the_empty_ngram():
    table = PhraseTable.learned([*PAIRS, ([], [5, 6]), ([5, 6], [7, 8])], [*LINKS, set(), set()])
    assert listed(table, 3, 5) == listed(PhraseTable.learned(PAIRS, LINKS), 3, 5)
    assert listed(table, 1, 5)[()] == [9]


def consistent(source: list[int], target: list[int], links: set[tuple[int, int]]) -> dict[tuple[int, ...], set[int]]:
    """Return the types of the shortest translation of each n-gram: no link leaves the pair of phrases."""
    found: dict[tuple[int, ...], set[int]] = {}
    for begin, size in product(range(len(source)), range(1, LONGEST + 1)):
        spans = sorted(product(range(len(target)), range(1, len(target) + 1)), key=lambda span: span[1])
        for first, length in spans:
            inside = [(begin <= s < begin + size, first <= t < first + length) for s, t in links]
            within = begin + size <= len(source) and first + length <= len(target)
            if within and (True, True) in inside and all(s == t for s, t in inside):
                found.setdefault(tuple(source[begin : begin + size]), set()).update(target[first : first + length])
                break
    return found


def test_phrases_are_those_that_no_link_leaves():
    draw = np.random.default_rng(1)
    for _ in range(60):
        source, target = (draw.integers(0, 40, draw.integers(1, 7)).tolist() for _ in range(2))
        every = list(product(range(len(source)), range(len(target))))
        links = {link for link in every if draw.random() < 0.25}
        table = PhraseTable.learned([(source, target)], [links])
        found = {ngram: set(types) for ngram, types in listed(table, LONGEST, 100).items() if ngram}
        assert found == consistent(source, target, links)


def test_a_table_is_read_as_it_was_written_and_a_damaged_one_is_named(tmp_path):
    table, path = PhraseTable.learned(PAIRS, LINKS), tmp_path / "phrases.safetensors"
    table.save(path)
    assert listed(PhraseTable.load(path, 10, 10, "align again"), 3, 5) == listed(table, 3, 5)
    with pytest.raises(RunError, match=r"phrases.safetensors: damaged .*another vocabulary.*; align again"):
        PhraseTable.load(path, 10, 9, "align again")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(RunError, match=r"phrases.safetensors: damaged .*; align again"):
        PhraseTable.load(path, 10, 10, "align again")
