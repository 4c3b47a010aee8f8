"""Segmentations of a text that are drawn at random (Kudo 2018; Provilkov et al. 2020)."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
import sentencepiece
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # generated
from text.test_tokenizers import LINES

from nmtlab.errors import RecipeError
from nmtlab.recipe import named_recipe
from nmtlab.text.segmentation.tokenizers import Subwords
from nmtlab.text.segmentation.vocabulary import EOS


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subwords(request) -> Subwords:
    return Subwords.learn(LINES, request.param, 60)


def test_a_draw_cuts_the_same_text_otherwise_and_is_the_same_whatever_was_drawn_before(subwords):
    first = subwords.drawn(0, 0.1).ids(LINES)
    other = subwords.drawn(1, 0.1).ids(LINES)
    sentencepiece.set_random_generator_seed(5)
    assert subwords.drawn(0, 0.1).ids(LINES) == first
    usual = subwords.ids(LINES)
    assert len({tuple(map(tuple, ids)) for ids in (first, other, usual)}) == 3
    for ids in (*first, *other):
        assert ids[-1] == EOS
    for drawn in (first, other):
        assert [subwords.join([subwords.types[one] for one in ids[:-1]]) for ids in drawn] == LINES


def test_without_merges_left_out_bpe_is_as_usual_and_without_any_it_is_letters():
    subwords = Subwords.learn(LINES, "bpe", 60)
    assert subwords.drawn(0, 0.0).ids(LINES) == subwords.ids(LINES)
    letters = [[subwords.types[one] for one in ids[:-1]] for ids in subwords.drawn(0, 1.0).ids(LINES)]
    assert all(len(piece) == 1 for line in letters for piece in line)


def test_segmentations_of_a_unigram_model_are_drawn_by_their_probabilities():
    subwords = Subwords.learn(LINES, "unigram", 96)
    scores = {piece.piece: piece.score for piece in ModelProto.FromString(subwords.model).pieces[4:]}
    word = max(" ".join(LINES).replace(".", "").split(), key=lambda word: len([*_cuts(f"▁{word}", scores)]))
    weights = {cut: 0.3 * sum(scores[piece] for piece in cut) for cut in _cuts(f"▁{word}", scores)}
    expected = dict(zip(weights, np.exp([*weights.values()]) / np.exp([*weights.values()]).sum(), strict=True))
    times = 4000
    drawn = subwords.drawn(3, 0.3).ids([word] * times)
    found = Counter(tuple(subwords.types[one] for one in ids[:-1]) for ids in drawn)
    assert found.keys() <= expected.keys()
    assert len(expected) > 7
    for cut, share in expected.items():
        assert abs(found[cut] / times - share) < 4 * (share * (1 - share) / times) ** 0.5 + 1e-3


def _cuts(word: str, pieces: dict[str, float]) -> Iterator[tuple[str, ...]]:
    """Yield all ways of cutting a word into known pieces."""
    if not word:
        yield ()
    for end in range(1, len(word) + 1):
        if word[:end] in pieces:
            yield from ((word[:end], *rest) for rest in _cuts(word[end:], pieces))


def test_what_has_no_subwords_to_draw_is_refused():
    for changes in ({"text.segmentation": "word", "text.vocabulary_size": 0}, {"text.segmentation": "byte"}):
        with pytest.raises(RecipeError, match=r"training\.segmentations draws subwords of bpe or unigram"):
            named_recipe("transformer-small").with_changes({**changes, "training.segmentations": 4})
    with pytest.raises(RecipeError, match="segmentation_alpha is set, but segmentations is 1"):
        named_recipe("transformer-small").with_changes({"training.segmentation_alpha": 0.2})
    with pytest.raises(RecipeError, match="beside suggestions"):
        named_recipe("transformer-small").with_changes({"training.segmentations": 4, "text.annotate": 3})
