"""Segmentations and merges: against all compositions of a word, and against SentencePiece itself."""

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from sentencepiece import SentencePieceProcessor
from sentencepiece.sentencepiece_model_pb2 import ModelProto

from nmtlab.text.segmentation.steps import merges, segmentations
from nmtlab.text.segmentation.tokenizers import Subwords

SYLLABLES = [first + second for first, second in product("bdlmnrst", "aeiou")]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    random = np.random.default_rng(4)
    words = ["".join(random.choice(SYLLABLES, random.integers(1, 5))) for _ in range(120)]
    return [" ".join(random.choice(words, random.integers(2, 8))) for _ in range(400)]


@pytest.fixture(scope="module")
def unigram(lines) -> Subwords:
    return Subwords.learn(lines, "unigram", 120)


@pytest.fixture(scope="module")
def bpe(lines) -> Subwords:
    return Subwords.learn(lines, "bpe", 150)


WORDS = ["banana", "limo", "sestunera", "x", "bax", "mono"]


def by_hand(model: bytes, word: str) -> list[tuple[float, tuple[str, ...]]]:
    """Return every composition of a word of types; a letter without one is 10 below the rarest."""
    pieces = ModelProto.FromString(model).pieces
    scores = {piece.piece: piece.score for piece in pieces if piece.type == 1}
    lowest, marked = min(scores.values()), f"▁{word}"
    found = []
    for cuts in range(len(marked)):
        for places in combinations(range(1, len(marked)), cuts):
            ends = (0, *places, len(marked))
            parts = tuple(marked[a:b] for a, b in pairwise(ends))
            if all(part in scores or len(part) == 1 for part in parts):
                found.append((sum(scores.get(part, lowest - 10) for part in parts), parts))
    return sorted(found, reverse=True)


@pytest.mark.parametrize("word", WORDS)
def test_the_best_segmentations_are_those_of_all_compositions(unigram, word):
    every = by_hand(unigram.model, word)
    found = segmentations(unigram.model, word, most=5)
    assert found.number == len(every)
    assert [one.log_prob for one in found.best] == pytest.approx([score for score, _ in every[:5]], abs=1e-6)
    assert {one.pieces for one in segmentations(unigram.model, word, 10_000).best} == {parts for _, parts in every}
    assert found.log_sum == pytest.approx(math.log(sum(math.exp(score) for score, _ in every)))


@pytest.mark.parametrize("word", WORDS)
def test_the_best_is_sentencepieces_and_so_are_those_after_it(unigram, word):
    found = segmentations(unigram.model, word, most=4).best
    theirs = SentencePieceProcessor(model_proto=unigram.model)
    assert list(found[0].pieces) == theirs.encode(word, out_type=str)
    scores = {"".join([*pieces]): None for pieces in theirs.nbest_encode_as_pieces(word, 4)}
    assert set(scores) == {f"▁{word}"}
    assert [list(one.pieces) for one in found[:2]] == theirs.nbest_encode_as_pieces(word, 2)[: len(found[:2])]


def test_several_words_are_cut_apart(unigram):
    found = segmentations(unigram.model, " bana  limo ", most=1).best[0]
    assert list(found.pieces) == unigram.split("bana limo")


@pytest.mark.parametrize("word", [*WORDS, "banana limo", "sese sese"])
def test_the_last_merge_makes_what_sentencepiece_makes(bpe, word):
    found = merges(bpe.model, word)
    start = list("".join(f"▁{one}" for one in word.split()))
    last = list(found[-1].pieces) if found else start
    assert last == bpe.split(word)


def test_each_merge_joins_two_neighbours_and_is_the_earliest_learned_one(bpe):
    scores = {piece.piece: piece.score for piece in ModelProto.FromString(bpe.model).pieces if piece.type == 1}
    before = tuple("▁sestunera")
    for merge in merges(bpe.model, "sestunera"):
        joined = {
            (*before[:n], before[n] + before[n + 1], *before[n + 2 :]): before[n] + before[n + 1]
            for n in range(len(before) - 1)
            if before[n] + before[n + 1] in scores
        }
        assert joined[merge.pieces] == merge.made
        assert merge.rank == min(-scores[made] for made in joined.values())
        before = merge.pieces
    assert list(before) == bpe.split("sestunera")


def test_a_word_of_many_letters_has_the_most_probable_segmentations_alone(unigram):
    found = segmentations(unigram.model, "banana" * 10)
    assert len(found.best) == 40
    assert found.number == 4**10  # four ways to cut "banana"
    assert [one.log_prob for one in found.best] == sorted((one.log_prob for one in found.best), reverse=True)
