import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.checks.overlap import (
    THESIS_LIMITS,
    LengthLimits,
    overlap,
    segmentations,
    training_sizes,
)
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A parent and a child of a few words."""
    corpora = []
    for code, train, dev in (
        ("pp", ["a casa velha", "o gato", "a casa"], []),
        ("cc", ["a casa vella", "o can e a casa", "can"], ["o can", "a galiña velha velha"]),
    ):
        folder = tmp_path_factory.mktemp(code)
        write_lines(folder / f"train.{code}", train)
        write_lines(folder / "train.en", ["the house"] * len(train))
        if dev:
            write_lines(folder / f"dev.{code}", dev)
            write_lines(folder / "dev.en", ["the house"] * len(dev))
        corpora.append(ParallelCorpus.open(folder, code, "en"))
    return corpora


def learned(texts, *sizes):
    """Return words, and subwords of some sizes learned on a child and its parent."""
    return segmentations(texts[::-1], sizes)


def test_shares_of_words_are_those_counted_by_hand(texts):
    frame = overlap(learned(texts), *texts).set_index("split")
    # The child's training text has a, casa, vella, o, can, e, of which the parent has a, casa and o.
    train, dev = frame.loc["train"], frame.loc["dev"]
    assert (train["types"], train["shared_types"], train["type_share"]) == (6, 3, 0.5)
    assert (train["tokens"], train["shared_tokens"]) == (9, 5)  # a casa, o a casa
    # The dev text has o, can, a, galiña and velha twice.
    assert (dev["types"], dev["shared_types"]) == (5, 3)
    assert (dev["tokens"], dev["shared_tokens"], dev["token_share"]) == (6, 4, pytest.approx(2 / 3))


def test_a_vocabulary_of_the_most_frequent_words_leaves_out_the_others_on_both_sides(texts):
    train = overlap(learned(texts), *texts, words=2).set_index("split").loc["train"]
    # a, can and casa come twice in the child; the first two by the alphabet are kept. The parent keeps a and casa.
    assert (train["types"], train["shared_types"]) == (2, 1)


def test_subwords_share_more_the_smaller_they_are(texts):
    frame = overlap(learned(texts, 24, 30), *texts)
    train = frame[frame["split"] == "train"].set_index("segmentation")["token_share"]
    assert train.index.tolist() == ["words", "bpe 24", "bpe 30"]
    assert train["bpe 24"] >= train["bpe 30"] > train["words"]


def test_sentences_and_words_within_the_limits_are_those_counted_by_hand(texts):
    frame = training_sizes(learned(texts), *texts, limits=LengthLimits(words=3))
    counted = ["text", "sentences", "left_out", "source_tokens", "target_tokens", "tokens"]
    # The child's second pair has five source words. A Moses word is a white-space word here.
    assert frame[counted].to_numpy().tolist() == [["parent", 3, 0, 7, 6, 13], ["child", 2, 1, 4, 4, 8]]
    assert frame["corpus"].tolist() == [text.name for text in texts]
    whole = training_sizes(learned(texts), *texts, limits=LengthLimits())
    assert whole["sentences"].tolist() == [3, 3]


def test_the_limits_of_the_thesis_are_on_words_for_words_and_on_subwords_for_subwords(tmp_path):
    for side in ("cc", "en"):
        write_lines(tmp_path / f"train.{side}", [" ".join("abcde" * 6), " ".join("abcde" * 6 + "a"), "abcde " * 51])
    corpus = ParallelCorpus.open(tmp_path, "cc", "en")
    frame = training_sizes(learned((corpus, corpus), 10), corpus, corpus).set_index(["segmentation", "text"])
    assert (THESIS_LIMITS.words, THESIS_LIMITS.subwords) == (50, 60)
    counted = ["sentences", "left_out", "source_tokens", "tokens"]
    # The pairs have 30, 31 and 51 words. Ten types are the special ones, the mark of a word's beginning and the five
    # letters, so a word of one letter is two subwords: 60 and 62.
    assert frame.loc[("words", "child"), counted].tolist() == [2, 1, 61, 122]
    assert frame.loc[("bpe 10", "child"), counted].tolist() == [1, 2, 60, 120]


def test_longer_pairs_can_be_left_out_of_the_comparison(texts):
    frame = overlap(learned(texts), *texts, limits=LengthLimits(words=3)).set_index("split")
    # Without the pair of five words the child's training text has a, casa, vella and can; the dev text is whole.
    assert frame.loc["train", ["types", "shared_types", "tokens"]].tolist() == [4, 2, 4]
    assert frame.loc["dev", ["types", "tokens"]].tolist() == [5, 6]
    segmented = learned(texts, 24)
    short, whole = (overlap(segmented, *texts, limits=LengthLimits(subwords=most)) for most in (6, 0))
    assert short["tokens"].tolist()[2] < whole["tokens"].tolist()[2]
    assert short["tokens"].tolist()[3] == whole["tokens"].tolist()[3]


def test_a_negative_limit_is_refused():
    with pytest.raises(CorpusError, match="length limit: subwords is -1; give 1 or more, or 0 for no limit"):
        LengthLimits(subwords=-1)
