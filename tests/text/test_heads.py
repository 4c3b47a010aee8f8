"""Files of gold heads."""

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.artificial import write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.heads import format_heads, gold_heads, has_gold_heads, heads_path
from nmtlab.text.corpora.lines import write_lines


@pytest.fixture
def corpus(tmp_path) -> ParallelCorpus:
    for code, lines in {"qaa": ["a b c", "d"], "en": ["x", "y"]}.items():
        for split in ("train", "test"):
            write_lines(tmp_path / f"{split}.{code}", lines)
    write_lines(tmp_path / "gold/test.qaa-en.heads", [format_heads([1, 1, 1]), format_heads([0])])
    return ParallelCorpus.open(tmp_path, "qaa", "en")


def test_heads_are_read_as_they_are_written(corpus):
    assert gold_heads(corpus, "test") == [[1, 1, 1], [0]]
    assert has_gold_heads(corpus, "test")
    assert not has_gold_heads(corpus, "train")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["1 1 1"], "1 lines, but test has 2 sentences; give one line"),
        (["1 1", "0"], "line 1: 2 heads, but the sentence has 3 words; give one"),
        (["1 1 1", "1"], "line 2: '1' is no word of the sentence; number words from 0 to 0"),
        (["1 -1 1", "0"], "line 1: '-1' is no word of the sentence; number words from 0 to 2"),
        (["1 a 1", "0"], "line 1: 'a' is no word"),
        (["1 ² 1", "0"], "line 1: '²' is no word"),
    ],
)
def test_heads_that_do_not_belong_to_the_text_are_named_with_their_line(corpus, lines, words):
    write_lines(heads_path(corpus, "test"), lines)
    with pytest.raises(CorpusError, match=words):
        gold_heads(corpus, "test")


def test_a_text_without_heads_says_where_they_come_from(corpus, tmp_path):
    with pytest.raises(CorpusError, match=r"no gold/train\.qaa-en\.heads; .*corpus make"):
        gold_heads(corpus, "train")
    write_corpus(tmp_path / "nara", ["qaa"], train=20, dev=5, test=5)
    with pytest.raises(CorpusError, match=r"no gold/test\.en-qaa\.heads"):
        gold_heads(ParallelCorpus.open(tmp_path / "nara", "en", "qaa"), "test")
