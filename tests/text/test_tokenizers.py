import random
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from nmtlab.errors import CorpusError, RecipeError
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import Subwords, Words, plain
from nmtlab.text.segmentation.truecase import Truecaser
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK, Vocabulary

DATA = Path(__file__).parents[2].parent / "shared/data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")

_RANDOM = random.Random(7)
_SYLLABLES = ["ba", "de", "fi", "gu", "ka", "lo", "mu", "ne", "pi", "ra", "su", "ti", "wo", "za"]
_LEXICON = ["".join(_RANDOM.choices(_SYLLABLES, k=_RANDOM.randint(1, 4))) for _ in range(80)]
LINES = [" ".join(_RANDOM.choices(_LEXICON, k=_RANDOM.randint(1, 9))) + "." for _ in range(300)]
NOWHERE = Vocabulary(SPECIALS, [0, 0, 0, 0])


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subwords(request):
    return Subwords.learn(LINES, request.param, 60)


def test_subword_ids_are_those_of_sentencepiece(subwords):
    oracle = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    lines = [*LINES, "", "qqq Xx ba"]
    assert subwords.encode(lines, NOWHERE) == [[*oracle.encode(line), EOS] for line in lines]


def test_the_types_of_subwords_stand_at_their_ids(subwords):
    known = Vocabulary(subwords.types, [0] * len(subwords.types))
    assert subwords.types[:4] == SPECIALS
    assert len(subwords.types) == 60
    for line in LINES:
        assert [*known.ids(subwords.split(line)), EOS] == subwords.encode([line], NOWHERE)[0]


def test_joining_subwords_gives_the_line_back(subwords):
    oracle = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    for line in LINES:
        pieces = subwords.split(line)
        assert subwords.join(pieces) == line == oracle.decode(pieces)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_the_same_lines_give_the_same_subwords(kind):
    assert Subwords.learn(LINES, kind, 60).model == Subwords.learn(iter(LINES), kind, 60).model


def test_every_letter_of_the_training_text_is_a_type(subwords):
    assert set("".join(LINES).replace(" ", "▁")) <= set(subwords.types)


def test_unknown_letters_are_unk(subwords):
    ids = subwords.encode(["ba漢字ba"], NOWHERE)[0]
    assert ids.count(UNK) == 1


def test_text_that_looks_like_a_special_type_never_gets_its_id(subwords):
    taught = Subwords.learn([*LINES, "<pad> <s> </s> <unk>"] * 5, "bpe", 70)
    for model in (subwords, taught):
        ids = model.encode(["<pad> <s> </s>"], NOWHERE)[0]
        assert not set(ids[:-1]) & {0, 1, 2}


def test_compatibility_forms_of_unicode_are_left_as_they_are():
    lines = ["すごい！ａｂｃ", "زبان\u200cکا \u200fx", "ﬁne ½ …"] * 3
    model = Subwords.learn(lines, "bpe", 40)
    assert [model.join(model.split(line)) for line in lines] == lines


def test_lines_longer_than_sentencepiece_takes_by_itself_are_learned_from():
    model = Subwords.learn(["ab " * 2000 + "ż"], "bpe", 10)
    assert "ż" in "".join(model.types)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_vocabulary_too_large_for_the_text_is_refused_naming_the_largest(kind):
    with pytest.raises(RecipeError, match=r"^text\.vocabulary_size = 9000: .*; set it to at most (\d+)$") as caught:
        Subwords.learn(LINES, kind, 9000)
    largest = int(str(caught.value).split()[-1])
    assert len(Subwords.learn(LINES, kind, largest).types) == largest
    with pytest.raises(RecipeError, match="at most"):
        Subwords.learn(LINES, kind, largest + 1)


@pytest.mark.parametrize("size", [0, 3, 4, 10])
def test_a_vocabulary_too_small_for_the_letters_is_refused_naming_the_smallest(size):
    with pytest.raises(RecipeError, match=rf"^text\.vocabulary_size = {size}: .*; set it to at least (\d+)$") as caught:
        Subwords.learn(LINES, "bpe", size)
    smallest = int(str(caught.value).split()[-1])
    assert len(Subwords.learn(LINES, "bpe", smallest).types) == smallest


def test_blank_training_text_is_refused():
    with pytest.raises(CorpusError, match="blank; add sentences"):
        Subwords.learn(["", "  "], "bpe", 60)


def test_each_subword_knows_its_word(subwords):
    for line in LINES[:50]:
        words, places = subwords.words(f" {line}  ba漢 \t漢")
        assert words == [*line.split(), "ba漢", "漢"]
        alone = [len(subwords.split(word)) for word in words]  # subwords never cross white space
        assert places == [place for place, count in enumerate(alone) for _ in range(count)]


def test_each_moses_word_is_its_own_and_as_it_is_written():
    words = Words("en", Truecaser.learn([["We", "saw", "the", "cat"]]))
    assert words.split("The cat, the") == ["the", "cat", ",", "the"]
    assert words.words("The cat, the") == (["The", "cat", ",", "the"], [0, 1, 2, 3])


def test_blank_text_has_no_pieces(subwords):
    for tokenizer in (subwords, Words("en"), Words("en", Truecaser(""))):
        for blank in ("", "  ", "\t\u3000\u2028", "\u200b", "\ufeff \u00ad", "▁"):
            assert tokenizer.split(blank) == []
            assert tokenizer.words(blank) == ([], [])
            assert tokenizer.encode([blank], NOWHERE) == [[EOS]]
        assert tokenizer.join([]) == ""


@settings(max_examples=150)
@given(
    text=st.one_of(
        st.text(),
        st.text(alphabet=st.characters(categories=["Zs", "Zl", "Cc", "Cs", "Po", "Sc"])),
        st.text(alphabet="a1.,'\"-<>|&▁ "),
    )
)
def test_no_text_is_refused(text):
    learned = Truecaser.learn([["x", "a", "A1", "a"]])
    for tokenizer in (FUZZED, Words("en"), Words("tr", learned), Words("ug-Arab")):
        pieces = tokenizer.split(text)
        words, places = tokenizer.words(text)
        assert len(places) == len(pieces) == len(tokenizer.encode([text], NOWHERE)[0]) - 1
        assert sorted(set(places)) == list(range(len(words)))
        assert isinstance(tokenizer.join(pieces), str)
    assert FUZZED.join(FUZZED.split(text)) == plain(text)


FUZZED = Subwords.learn(LINES, "bpe", 60)


@pytest.mark.full
def test_moses_words_are_those_of_sacremoses():
    english = ["Mr. Smith's well-known cat, e.g., cost $5.50!", 'He said: "Don\'t"...', "a & b <c> [d] | e"]
    other = [
        "彼 は 𠮟 っ た 、 ﾐﾙｸ を ２ 本 。",
        "子どもを𠮟る（こと）！ABC-x.",
        "ئۇ «كىتاب» ئوقۇدى، 3,5.",
        "வணக்கம், उदाहरण।",
    ]
    for code, language in (("en-GB", "en"), ("ja_JP", "ja"), ("ug", "ug")):
        words, oracle = Words(code, rules="moses"), MosesTokenizer(language)
        for line in [*english, *other]:
            assert words.split(line) == oracle.tokenize(line, escape=False)


def test_punctuation_is_cut_off_hyphens_are_kept_and_nothing_is_escaped():
    assert Words("en").split("R&D's well-known [x].") == ["R", "&", "D", "'s", "well-known", "[", "x", "]", "."]


def test_a_whole_word_can_stand_among_pieces(subwords):
    assert subwords.join(["▁ba", "de", subwords.whole("Ärger!"), "▁fi"]) == "bade Ärger! fi"
    assert Words("en").join(["the", Words("en").whole("Ärger"), "."]) == "the Ärger."


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "We don't know what the old man's dog, a terrier, was called (it was small)."),
        ("en", 'He asked: "Why?" and left.'),
        ("fr", "L'homme d'en face n'est pas là, semble-t-il."),
        ("de", "Der Mann, der 1,5 km lief, war 30 Jahre alt; seine Frau auch!"),
        ("ug", "ئۇ كىتاب ئوقۇدى! ئاندىن ئۇخلىدى."),
    ],
)
def test_ordinary_sentences_come_back_from_moses_words(language, line):
    words = Words(language)
    assert words.join(words.split(line)) == line


@needs_data
def test_real_sentences_come_back_from_moses_words():
    corpus = ParallelCorpus.open(DATA / "multi30k-de-en", "de", "en")
    for language in ("de", "en"):
        words = Words(language)
        lines = [line for line in corpus.lines("dev", language) if not set(line) & set("'\"&-„“")]
        assert len(lines) > 700
        assert [words.join(words.split(line)) for line in lines] == lines


def test_the_first_word_gets_the_case_it_mostly_has_inside_sentences():
    truecaser = Truecaser.learn([["I", "saw", "the", "Turk"], ["We", "like", "the", "Turk"], ["Now", "THE", "end"]])
    assert truecaser.apply(["The", "Turk", "saw", "."]) == ["the", "Turk", "saw", "."]
    assert truecaser.apply(["Turk", "saw", "THE", "cat"]) == ["Turk", "saw", "THE", "cat"]
    assert truecaser.apply(["Nobody", "came"]) == ["Nobody", "came"]


def test_true_cased_sentences_get_their_capital_back():
    words = Words("en", Truecaser.learn([["Well", ",", "the", "cat", "sat"], ["So", "the", "dog"]]))
    assert words.join(words.split("The cat sat. The dog sat.")) == "The cat sat. The dog sat."


def test_a_true_caser_comes_back_from_its_text():
    truecaser = Truecaser.learn([["a", "Straße", "İstanbul", "(3/4)", "b|c"], ["x", "straße", "STRASSE"]])
    again = Truecaser(truecaser.to_text())
    assert again.to_text() == truecaser.to_text()
    sentence = ["STRAẞE", "Straße", "istanbul", "(3/4)", "b|c", "|"]
    assert again.apply(sentence) == truecaser.apply(sentence)
    assert len(again.apply(sentence)) == len(sentence)


@pytest.mark.full
def test_japanese_words_come_back_with_the_spaces_that_their_text_had(japanese):
    line = "彼 は 英語 を 話 し ま す 。"
    assert japanese.join(japanese.split(line)) == line
