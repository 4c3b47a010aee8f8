"""Subwords of an imported model: words as written, and text from pieces."""

import pytest
from support.foreign_models import subwords

from nmtlab.text.segmentation.tokenizers import ImportedSubwords

LINES = ["the dog sees a cat", "a house is red", "don't see the house"] * 20


@pytest.fixture(scope="module")
def normalising() -> ImportedSubwords:
    """Subwords with SentencePiece's own normalisation, nmt_nfkc."""
    return ImportedSubwords(subwords(LINES, 40))


@pytest.mark.parametrize("text", ["dog \u200b don´t", "\u200b dog", "dog ½ cat", "a\u200bb don´t \u200b"])
def test_words_are_as_written_only_if_each_is_what_its_pieces_are(normalising, text):
    """Here one word is lost or another is split, or both, so that their numbers alone may agree."""
    words, indices = normalising.words(text)
    pieces = normalising.split(text)
    assert len(indices) == len(pieces)
    for number, word in enumerate(words):
        own = [piece for piece, index in zip(pieces, indices, strict=True) if index == number]
        assert "".join(normalising.split(word)).replace("▁", "") == "".join(own).replace("▁", "")


def test_words_that_normalisation_spells_otherwise_are_as_written(normalising):
    assert normalising.words("the ﬁne  dog")[0] == ["the", "ﬁne", "dog"]


def test_bytes_are_joined_as_letters_and_broken_ones_are_marked():
    tokenizer = ImportedSubwords(subwords(LINES, 40, byte_fallback=True))
    text = "the 5 € ïs 🐈"
    assert "<0xE2>" in tokenizer.split(text)
    assert tokenizer.join(tokenizer.split(text)) == text
    assert tokenizer.join(["▁the", "<0xE2>", "<0x82>"]) == "the��"
    assert tokenizer.words(text)[0] == ["the", "5", "€", "ïs", "🐈"]


def test_pieces_that_the_model_lacks_stay_as_they_are(normalising):
    assert normalising.join(["▁the", "▁Hündchen", "s"]) == "the Hündchens"
    assert normalising.join([]) == ""
