import math
from collections import Counter
from importlib.util import find_spec

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.evaluation import bleu, bleu_metric, chrf, default_tokenizer, tokenized_bleu


def multi_bleu(hypotheses, reference_sets):
    """multi-bleu.perl, from the formula of Papineni et al. 2002: brevity penalty and four clipped precisions."""
    length, reference_length = 0, 0
    matched, total = [0] * 4, [0] * 4
    for words, *references in zip(
        map(perl_split, hypotheses), *(map(perl_split, references) for references in reference_sets), strict=True
    ):
        length += len(words)
        reference_length += min((abs(len(words) - len(other)), len(other)) for other in references)[1]
        for n in range(4):
            allowed = Counter()
            for other in references:
                allowed |= ngrams(other, n + 1)
            matched[n] += (ngrams(words, n + 1) & allowed).total()
            total[n] += ngrams(words, n + 1).total()
    if 0 in matched:
        return 0.0
    brevity = min(1.0, math.exp(1 - reference_length / length))
    return 100 * brevity * math.exp(sum(math.log(m / t) for m, t in zip(matched, total, strict=True)) / 4)


def perl_split(line):
    return line.encode().split()


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


sentences = st.lists(st.sampled_from(["a", "b", "c", "A", ".", "@-@"]), max_size=9).map(" ".join)
corpora = st.integers(1, 4).flatmap(
    lambda size: st.lists(st.lists(sentences, min_size=size, max_size=size), min_size=2, max_size=4)
)


@given(corpora)
def test_tokenized_bleu_is_the_published_formula(corpus):
    hypotheses, *references = corpus
    assert tokenized_bleu(hypotheses, references).value == pytest.approx(multi_bleu(hypotheses, references))


def test_tokenized_bleu_of_a_case_worked_by_hand():
    # matches 6/7, 4/6, 2/5, 1/4; hypothesis 7 tokens, reference 8
    hypothesis, reference = ["the cat sat on a mat ."], [["the cat sat on the big mat ."]]
    expected = 100 * math.exp(1 - 8 / 7) * (6 / 7 * 4 / 6 * 2 / 5 * 1 / 4) ** 0.25
    assert tokenized_bleu(hypothesis, reference).value == pytest.approx(expected)


def test_a_perfect_translation_scores_100_in_every_metric():
    text = ["The cat sat on the mat.", "It was happy, too."]
    for score in (bleu(text, [text]), chrf(text, [text]), tokenized_bleu(text, [text])):
        assert score.value == pytest.approx(100)


def test_without_a_matching_four_gram_tokenized_bleu_is_0_where_sacrebleu_smooths():
    hypothesis, reference = ["a b c x d e f"], [["a b c y d e f"]]
    assert tokenized_bleu(hypothesis, reference).value == 0
    assert bleu(hypothesis, reference).value > 0


def test_an_empty_translation_scores_0_and_is_no_error():
    assert tokenized_bleu([""], [["a b c d"]]).value == 0
    assert bleu([""], [["a b c d"]]).value == 0
    assert chrf([""], [["abcd"]]).value == 0


def test_a_longer_translation_is_not_penalised_and_a_shorter_one_is():
    reference = [["a b c d e f g h"]]
    assert tokenized_bleu(["a b c d e f g h i"], reference).value == pytest.approx(
        100 * (8 / 9 * 7 / 8 * 6 / 7 * 5 / 6) ** 0.25
    )
    assert tokenized_bleu(["a b c d e f"], reference).value == pytest.approx(100 * math.exp(1 - 8 / 6))


def test_the_reference_closest_in_length_counts_and_of_two_the_shorter():
    hypothesis = ["a b c d e f"]
    nearest = [["a b c d e f g"], ["a b c d e f g h i j k l"]]
    assert tokenized_bleu(hypothesis, nearest).value == pytest.approx(100 * math.exp(1 - 7 / 6))
    tied = [["a b c d e f g h"], ["a b c d"]]
    assert tokenized_bleu(hypothesis, tied).value == pytest.approx(100)


def test_tokenized_bleu_keeps_case_and_tokens_as_they_are():
    assert tokenized_bleu(["the cat sat on it"], [["The cat sat on it"]]).value < 100
    assert tokenized_bleu(["it's here , now ."], [["it 's here , now ."]]).value < 100
    assert bleu(["it's here, now."], [["it's here , now ."]]).value == pytest.approx(100)


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2009", "\u0085", "\x1c"])
def test_only_the_spaces_of_perl_split_tokens(space):
    hypothesis, reference = [f"10{space}km a b c d"], [["10 km a b c d"]]
    assert tokenized_bleu(hypothesis, [hypothesis]).value == pytest.approx(100)
    assert tokenized_bleu(hypothesis, reference).value == pytest.approx(multi_bleu(hypothesis, reference))
    assert tokenized_bleu(hypothesis, reference).value < 100


def test_each_score_names_how_it_was_computed():
    text = ["a b c d"]
    assert "tok:13a|smooth:exp" in bleu(text, [text]).signature
    assert "nrefs:2" in bleu(text, [text, text]).signature
    assert "tok:char" in bleu(text, [text], tokenize="char").signature
    assert "case:mixed|eff:no|tok:none|smooth:none" in tokenized_bleu(text, [text]).signature
    assert "nc:6|nw:0|space:no" in chrf(text, [text]).signature


def test_bleu_is_sacrebleus():
    hypotheses, references = ["Hello, world!", "A dog runs."], [["Hello world!", "The dog runs."]]
    assert bleu(hypotheses, references).value == BLEU().corpus_score(hypotheses, references).score


def test_chrf_of_a_case_worked_by_hand():
    # orders 1 to 4 only, since the words have four letters: precision = recall = (3/4 + 2/3 + 1/2 + 0) / 4
    assert chrf(["abcd"], [["abcx"]]).value == pytest.approx(100 * (3 / 4 + 2 / 3 + 1 / 2) / 4)


@pytest.mark.parametrize(
    "language",
    [
        "ja",
        "ja-JP",
        "yue_HK",
        "JA",
        "th",
        "jpn_Jpan",
        "tha_Thai",
        "khm",
        "mya",
        "lao",
        "wuu",
        "bod",
        "dz",
        "shn",
        "nan",
    ],
)
def test_languages_without_spaces_are_scored_by_characters(language):
    assert default_tokenizer(language) == "char"
    assert bleu(["猫がいる"], [["猫がいた"]], default_tokenizer(language)).value > 0


@pytest.mark.parametrize("language", ["zh", "zh-Hans", "zh_CN", "ZH_tw", "zho_Hans", "cmn", "cmn_Hans"])
def test_chinese_is_scored_by_sacrebleus_tokenizer_for_it_whatever_its_script_and_country(language):
    assert default_tokenizer(language) == "zh"
    assert bleu(["他有一只黑色的猫"], [["他有一只黑色的狗"]], default_tokenizer(language)).value > 50


@pytest.mark.parametrize(
    "language", ["en", "vi", "ug", "ta", "tr-TR", "uz_Cyrl", "EN", "eng_Latn", "qaa", "qab-x", "nan_Latn"]
)
def test_other_languages_are_scored_by_13a(language):
    assert default_tokenizer(language) == "13a"


@pytest.mark.parametrize("score", [bleu, chrf, tokenized_bleu])
def test_a_difference_in_number_is_refused_with_both_counts(score):
    with pytest.raises(CorpusError, match=r"3 hypotheses but 2 references in set 2; give one reference"):
        score(["a", "b", "c"], [["a", "b", "c"], ["a", "b"]])


@pytest.mark.parametrize("score", [bleu, chrf, tokenized_bleu])
def test_nothing_to_score_is_refused(score):
    with pytest.raises(CorpusError, match="0 hypotheses and 1 reference sets: nothing to score; give at least one"):
        score([], [[]])
    with pytest.raises(CorpusError, match="1 hypotheses and 0 reference sets"):
        score(["a"], [])


def test_references_given_without_their_list_are_refused():
    with pytest.raises(CorpusError, match=r"reference set 1 is a single string; give a list of reference sets"):
        bleu(["a b"], ["a b"])


def test_an_unknown_tokenizer_is_refused_with_the_known_ones():
    with pytest.raises(NmtlabError, match=r"BLEU tokenizer 'spm': unknown; use one of 13a, intl, char"):
        bleu_metric("spm")


@pytest.mark.skipif(find_spec("mecab_ko") is not None, reason="sacrebleu[ko] is installed")
def test_a_tokenizer_without_its_package_says_what_to_install():
    with pytest.raises(NmtlabError, match=r"'ko-mecab'.*missing; pip install 'sacrebleu\[ko\]'"):
        bleu_metric("ko-mecab")
