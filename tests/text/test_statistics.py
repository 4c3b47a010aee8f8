import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.statistics import statistics, suspects

SHARED = Path(__file__).parents[2].parent / "shared/data"
COLUMNS = ["split", "side", "language", "sentences", "tokens", "types"]
COLUMNS += ["mean_length", "median_length", "longest", "singletons", "new_tokens", "new_types"]


def _corpus(folder, **files):
    for name, lines in files.items():
        write_lines(folder / name.replace("_", "."), lines)
    return ParallelCorpus.open(folder)


def test_a_corpus_counted_by_hand(tmp_path):
    table = statistics(
        _corpus(
            tmp_path,
            train_uz=["u keldi", "u u ketdi", "", "men ham"],
            train_en=["he came", "he he left .", "x", "me too"],
            dev_uz=["u keladi", "sen ham"],
            dev_en=["he comes", "you too"],
        )
    )
    assert list(table.columns) == COLUMNS
    assert list(zip(table.split, table.side, table.language, strict=True)) == [
        ("train", "source", "uz"),
        ("train", "target", "en"),
        ("dev", "source", "uz"),
        ("dev", "target", "en"),
    ]
    train = table.iloc[0]
    assert (train.sentences, train.tokens, train.types, train.singletons) == (4, 7, 5, 4)
    assert (train.mean_length, train.median_length, train.longest) == (7 / 4, 2, 3)
    assert math.isnan(train.new_tokens)
    assert math.isnan(train.new_types)
    dev = table.iloc[2]
    assert (dev.sentences, dev.tokens, dev.types) == (2, 4, 4)
    assert (dev.new_tokens, dev.new_types) == (2 / 4, 2 / 4)
    assert table.iloc[3].new_tokens == 2 / 4


def test_without_train_nothing_is_said_to_be_new(tmp_path):
    table = statistics(_corpus(tmp_path, dev_uz=["a"], dev_en=["b"]))
    assert list(table.split) == ["dev", "dev"]
    assert table.new_tokens.isna().all()


def test_a_side_without_words_has_no_new_ones(tmp_path):
    table = statistics(_corpus(tmp_path, train_uz=["a"], train_en=["b"], dev_uz=["", ""], dev_en=["b", "c d"]))
    assert table.iloc[2][["tokens", "types", "longest"]].tolist() == [0, 0, 0]
    assert math.isnan(table.iloc[2].new_types)
    assert table.iloc[3].new_types == 2 / 3


def test_sides_that_are_not_aligned_are_an_error(tmp_path):
    with pytest.raises(CorpusError, match=r"train.uz has 1 lines, train.en has 2; line n"):
        statistics(_corpus(tmp_path, train_uz=["a"], train_en=["b", "c"]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("statistics")


LINES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5).map(" ".join), min_size=3, max_size=3)


@given(train=LINES, test=LINES)
@settings(max_examples=25)
def test_counts_agree_with_the_plain_definitions(folder, train, test):
    table = statistics(_corpus(folder, train_uz=train, train_en=train, test_uz=test, test_en=test))
    words, seen = " ".join(test).split(), " ".join(train).split()
    row = table.iloc[3]
    assert (row.tokens, row.types) == (len(words), len(set(words)))
    assert row.singletons == len([word for word in set(words) if words.count(word) == 1])
    assert row.median_length == sorted(len(line.split()) for line in test)[1]
    assert row.new_tokens == pytest.approx(len([word for word in words if word not in seen]) / len(words))
    assert row.new_types == pytest.approx(len(set(words) - set(seen)) / len(set(words)))


def test_real_corpora_have_the_tokens_their_description_says():
    if not SHARED.is_dir():
        pytest.skip("no real corpora beside the checkout")
    readme = (SHARED / "README.md").read_text().splitlines()
    said = next(line for line in readme if line.startswith("| lafand-ha-en |")).split("|")[6]
    table = statistics(ParallelCorpus.open(SHARED / "lafand-ha-en"))
    assert [f"{tokens:,}" for tokens in table.tokens[:2]] == [part.strip() for part in said.split("/")]


def test_copies_short_sentences_and_other_languages_are_counted(tmp_path):
    corpus = _corpus(
        tmp_path,
        train_uz=["a  B", "bir ikki uch tort besh olti", "salom dunyo", "bu yaxshi"],
        train_en=["A b", "one two three four five", "bu yaxshi", "one two three four five six"],
        dev_uz=["x"],
        dev_en=["y"],
    )
    table = suspects(corpus)
    assert list(zip(table.split, table.language, strict=True)) == [
        ("train", "uz"), ("train", "en"), ("dev", "uz"), ("dev", "en"),
    ]  # fmt: skip
    assert table.copies.tolist() == [1 / 4, 1 / 4, 0, 0]
    assert table.short.tolist() == [3 / 4, 3 / 4, 1, 1]
    assert table.other_language.isna().all()
    found = suspects(corpus, lambda line, language: (line == "bu yaxshi") and language == "en")
    assert found.other_language.tolist() == [0, 1 / 4, 0, 0]
