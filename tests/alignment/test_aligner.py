"""Word alignment, against dictionaries and gold links that are known."""

import json
import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from conftest import WORDS

from nmtlab.alignment import WordAligner, translation_table
from nmtlab.errors import CorpusError
from nmtlab.evaluation import alignment_error
from nmtlab.text.artificial import write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import gold_links

MODELS = ("eflomal", "ibm4")
UNK = 3


def reversed_pairs(count: int, words: dict[str, str] = WORDS, seed: int = 1) -> list[tuple[list[str], list[str]]]:
    """Sentences translated word for word and written backwards."""
    generator = random.Random(seed)
    sources = [generator.choices(list(words), k=generator.randint(2, 6)) for _ in range(count)]
    return [(source, [words[word] for word in reversed(source)]) for source in sources]


def right_links(pair: tuple[list[str], list[str]], words: dict[str, str] = WORDS) -> set[tuple[int, int]]:
    """The links of a pair that link a word with its translation."""
    source, target = pair
    return {(i, j) for i, word in enumerate(source) for j, other in enumerate(target) if words[word] == other}


def as_ids(pairs):
    """The pairs as ids from 4, in the order of the dictionary."""
    source, target = ({word: n for n, word in enumerate(side, start=4)} for side in (WORDS, WORDS.values()))
    return [([source[w] for w in s], [target[w] for w in t]) for s, t in pairs]


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("corpora") / "grown"
    write_corpus(folder, ["qad"], train=600, dev=20, test=60)
    return ParallelCorpus.open(folder)


@pytest.mark.parametrize("model", MODELS)
def test_words_are_linked_with_their_translations_in_text_that_was_not_learned_from(model):
    aligner = WordAligner.train(reversed_pairs(200), model)
    new = reversed_pairs(40, seed=2)
    found = aligner.align(new)
    right = [right_links(pair) for pair in new]
    assert sum(len(links & truth) for links, truth in zip(found, right, strict=True)) > 0.9 * sum(map(len, found))
    assert sum(map(len, found)) > 0.9 * sum(len(source) for source, _ in new)


@pytest.mark.parametrize("model", MODELS)
def test_the_source_comes_first_in_a_link(model):
    pairs = [(["eben", *source], target) for source, target in reversed_pairs(200)]  # a word without a translation
    found = WordAligner.train(pairs, model).align([(["eben", "hund", "singt", "alt"], ["old", "sings", "dog"])])
    assert found[0] >= {(1, 2), (2, 1), (3, 0)}


@pytest.mark.full
@pytest.mark.parametrize("model", MODELS)
def test_gold_links_of_an_artificial_language_are_found_far_better_than_by_chance(model, grown):
    learned, held_out = ([(s.split(), t.split()) for s, t in grown.pairs(split)] for split in ("train", "test"))
    gold = gold_links(grown, "test")
    diagonal = [{(i, i) for i in range(min(len(s), len(t)))} for s, t in held_out]
    found = WordAligner.train(learned, model).align(held_out)
    assert alignment_error(found, gold).error_rate < 0.3
    assert alignment_error(diagonal, gold).error_rate > 0.5


@pytest.mark.parametrize("model", MODELS)
def test_the_same_pairs_give_the_same_links_and_table_whatever_the_threads(model):
    program = (
        "import json, sys; from nmtlab.alignment import WordAligner, translation_table\n"
        f"pairs = json.load(sys.stdin); found = WordAligner.train(pairs, {model!r}).align(pairs)\n"
        f"table = translation_table(pairs, 20, {model!r})\n"
        "print(list(map(sorted, found)), table.targets.tolist(), table.probabilities.tolist())"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(as_ids(reversed_pairs(60))),
            env={**os.environ, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert outputs[0] == outputs[1] != ""


def test_words_and_their_ids_give_the_same_links():
    pairs = reversed_pairs(60)
    assert WordAligner.train(pairs).align(pairs) == WordAligner.train(as_ids(pairs)).align(as_ids(pairs))


def test_words_that_the_library_keeps_for_itself_are_words_like_others():
    reserved = dict(zip(WORDS, ("NULL", "UNKNOWN_WORD", "<UNUSED_WORD>", "|||", "<s>", "#"), strict=False))
    words = {**WORDS, **reserved, "NULL": "nought", "|||": "bars"}
    pairs = reversed_pairs(200, words)
    found = WordAligner.train(pairs).align(pairs)
    linked = Counter(pair[0][i] for pair, links in zip(pairs, found, strict=True) for i, _ in links)
    right = Counter(
        pair[0][i] for pair, links in zip(pairs, found, strict=True) for i, _ in links & right_links(pair, words)
    )
    for word in [*reserved, "NULL", "|||"]:
        assert right[word] > 0.8 * linked[word] > 0


def test_a_blank_side_has_no_links_and_unseen_words_are_no_error():
    aligner = WordAligner.train([*reversed_pairs(40), ([], ["dog"]), (["hund"], [])])
    links = aligner.align([([], ["dog"]), (["hund"], []), ([], []), (["Mars", "hund"], ["dog", "Venus"])])
    assert links[:3] == [set(), set(), set()]
    assert all(i < 2 and j < 2 for i, j in links[3])


@pytest.mark.parametrize("pairs", [[], [([], ["dog"])]])
def test_text_without_a_pair_is_refused(pairs):
    with pytest.raises(CorpusError, match="no pair has words on both sides; give sentence pairs"):
        WordAligner.train(pairs)


@pytest.mark.parametrize("model", MODELS)
def test_a_table_has_relative_frequencies_where_the_links_leave_no_doubt(model):
    pairs = [([4], [4])] * 30 + [([4], [5])] * 10 + [([5], [6])] * 20 + [([UNK], [UNK])] * 20
    table = translation_table(pairs, 7, model)
    assert dict(table.top(4, 5)) == pytest.approx({4: 0.75, 5: 0.25}, abs=0.02)
    assert [dict(table.top(source, 1)) for source in (5, UNK)] == [pytest.approx({target: 1}) for target in (6, UNK)]
    assert [table.top(source, 5) for source in (0, 1, 2, 6)] == [[], [], [], []]


@pytest.mark.parametrize("model", MODELS)
def test_a_table_has_the_dictionary_on_top_and_is_never_more_than_certain(model):
    table = translation_table(as_ids(reversed_pairs(200)), len(WORDS) + 4, model)
    assert [table.top(source, 1)[0][0] for source in range(4, len(WORDS) + 4)] == list(range(4, len(WORDS) + 4))
    rows = [table.probabilities[a:b] for a, b in zip(table.offsets[:-1], table.offsets[1:], strict=True)]
    assert max(row.sum(dtype=float) for row in rows) <= 1 + 1e-6
    assert table.probabilities.min() >= 1e-4 * 0.99
    assert translation_table(as_ids(reversed_pairs(200)), 18, model, 0.3).probabilities.min() >= 0.29
