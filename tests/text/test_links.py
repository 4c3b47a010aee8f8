"""Links between words, read from files."""

import re

import pytest

from nmtlab.errors import CorpusError
from nmtlab.text.artificial import ArtificialLanguage, write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import aligned_path, check_links, format_alignment, gold_links, read_links


@pytest.fixture
def corpus(tmp_path) -> ParallelCorpus:
    """Two pairs with gold links: 3 source and 2 target words, then 1 and 2."""
    (tmp_path / "gold").mkdir()
    (tmp_path / "test.qaa").write_text("a b c\nd\n", encoding="utf-8")
    (tmp_path / "test.en").write_text("x y\nz w\n", encoding="utf-8")
    (tmp_path / "gold/test.qaa-en.align").write_text("0-1 2-0\n0-0 0-1\n", encoding="utf-8")
    return ParallelCorpus.open(tmp_path)


def test_each_line_has_its_links(tmp_path):
    (tmp_path / "links").write_text("0-1 2-0 \n\n0-0\t10-12 0-0\n", encoding="utf-8")
    assert read_links(tmp_path / "links") == [{(0, 1), (2, 0)}, set(), {(0, 0), (10, 12)}]


@pytest.mark.parametrize("wrong", ["1", "1-", "-1-2", "1-2-3", "a-b", "1:2", "1–2", "²-1", "1-2,3-4"])
def test_what_is_not_a_link_is_named_with_its_line(tmp_path, wrong):
    (tmp_path / "links").write_text(f"0-0\n0-1 {wrong}\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=rf"links, line 2: {re.escape(repr(wrong))} is not a link; .*0-0 1-2"):
        read_links(tmp_path / "links")


def test_the_gold_links_of_an_artificial_language_are_those_it_was_grown_with(tmp_path):
    write_corpus(tmp_path / "nara", ["qaa"], train=20, dev=15, test=10, start=7)
    grown = [frozenset(pair.links) for pair in ArtificialLanguage("qaa").pairs(15, 7, "dev")]
    assert gold_links(ParallelCorpus.open(tmp_path / "nara", "qaa", "en"), "dev") == grown
    swapped = [{(j, i) for i, j in links} for links in grown]
    assert gold_links(ParallelCorpus.open(tmp_path / "nara", "en", "qaa"), "dev") == swapped


def test_without_gold_links_the_missing_file_is_named(corpus):
    (corpus.folder / "gold/test.qaa-en.align").unlink()
    with pytest.raises(CorpusError, match=r"no gold/test\.qaa-en\.align; .* word-aligner"):
        gold_links(corpus, "test")


def test_gold_links_need_a_line_for_each_pair(corpus):
    (corpus.folder / "gold/test.qaa-en.align").write_text("0-0\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"test\.qaa-en\.align: 1 lines, but test has 2 pairs; give one line"):
        gold_links(corpus, "test")


@pytest.mark.parametrize("outside", ["1-0", "0-2", "7-7"])
def test_a_link_to_a_word_that_is_not_there_is_named_with_its_line(corpus, outside):
    (corpus.folder / "gold/test.qaa-en.align").write_text(f"0-1\n{outside}\n", encoding="utf-8")
    with pytest.raises(
        CorpusError, match=rf"align, line 2: link {outside}, but the pair has 1 source and 2 target words; number"
    ):
        gold_links(corpus, "test")


def test_links_to_the_last_words_are_allowed():
    check_links({(2, 1), (0, 0)}, 3, 2, "here")


def test_links_are_written_as_they_are_read(tmp_path):
    links = [{(2, 0), (0, 1), (10, 3)}, set(), {(0, 0)}]
    assert format_alignment(links[0]) == "0-1 2-0 10-3"
    (tmp_path / "links").write_text("".join(f"{format_alignment(own)}\n" for own in links), encoding="utf-8")
    assert read_links(tmp_path / "links") == links


def test_an_aligners_links_have_a_place_of_their_own_in_a_direction(corpus):
    assert aligned_path(corpus, "test") == corpus.folder / "aligned/test.qaa-en.align"
    swapped = ParallelCorpus.open(corpus.folder, "en", "qaa")
    assert aligned_path(swapped, "test") == corpus.folder / "aligned/test.en-qaa.align"
    assert not aligned_path(corpus, "test").exists()
