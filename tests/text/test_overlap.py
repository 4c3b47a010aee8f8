import pytest

from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.lines import write_lines
from nmtlab.text.overlap import overlap


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


def test_shares_of_words_are_those_counted_by_hand(texts):
    frame = overlap(*texts, sizes=()).set_index("split")
    # The child's training text has a, casa, vella, o, can, e, of which the parent has a, casa and o.
    train, dev = frame.loc["train"], frame.loc["dev"]
    assert (train["types"], train["shared_types"], train["type_share"]) == (6, 3, 0.5)
    assert (train["tokens"], train["shared_tokens"]) == (9, 5)  # a casa, o a casa
    # The dev text has o, can, a, galiña and velha twice.
    assert (dev["types"], dev["shared_types"]) == (5, 3)
    assert (dev["tokens"], dev["shared_tokens"], dev["token_share"]) == (6, 4, pytest.approx(2 / 3))


def test_a_vocabulary_of_the_most_frequent_words_leaves_out_the_others_on_both_sides(texts):
    train = overlap(*texts, sizes=(), words=2).set_index("split").loc["train"]
    # a, can and casa come twice in the child; the first two by the alphabet are kept. The parent keeps a and casa.
    assert (train["types"], train["shared_types"]) == (2, 1)


def test_subwords_share_more_the_smaller_they_are(texts):
    frame = overlap(*texts, sizes=(24, 30))
    train = frame[frame["split"] == "train"].set_index("segmentation")["token_share"]
    assert train.index.tolist() == ["words", "bpe 24", "bpe 30"]
    assert train["bpe 24"] >= train["bpe 30"] > train["words"]
