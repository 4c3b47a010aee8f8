"""Which language a line is in, on languages whose texts are known."""

import math
from pathlib import Path

import pytest

from nmtlab.errors import CorpusError
from nmtlab.evaluation.language_identification import UNDECIDED, Identifier, LanguageClassifier
from nmtlab.text.artificial import ArtificialLanguage, ArtificialSettings
from nmtlab.text.corpora.corpus import ParallelCorpus

DATA = Path(__file__).parents[2].parent / "shared/data"
TEXTS = {"en": ["the house is red", "the cat sleeps"], "de": ["das Haus ist rot", "die Katze schläft"]}


def test_lines_are_recognised_by_their_letters_and_their_words():
    classifier = LanguageClassifier(TEXTS)
    assert classifier.languages == ("en", "de")
    assert classifier.predict(["the red cat", "die rote Katze", "THE HOUSE"]) == ["en", "de", "en"]


def test_a_line_without_letters_is_undecided_and_does_not_count():
    classifier = LanguageClassifier(TEXTS)
    assert classifier.predict(["", "  ", "42 %", "…", "the house"]) == [*[UNDECIDED] * 4, "en"]
    assert classifier.predict(["1", "2"]) == [UNDECIDED] * 2
    assert classifier.predict([]) == []
    shares = classifier.accuracy({"en": ["42", "the cat", "das Haus"], "de": ["7", ""]})
    assert shares["en"] == 0.5
    assert math.isnan(shares["de"])


def test_a_language_with_more_text_is_not_more_probable_beforehand():
    much = [f"{word} is here" for word in "abcdefghij"]
    classifier = LanguageClassifier({"en": much, "de": ["das Haus"]})
    assert classifier.predict(["Haus", "ist das"]) == ["de", "de"]
    again = LanguageClassifier({"en": much * 3, "de": ["das Haus", "7", ""]})  # repeated lines and numbers do not count
    lines = ["is das", "here Haus", "x"]
    assert classifier.predict(lines) == again.predict(lines)


def test_what_cannot_be_learned_is_named():
    with pytest.raises(CorpusError, match="text of 1 language; give text of two or more"):
        LanguageClassifier({"en": ["a"]})
    with pytest.raises(CorpusError, match="no text in de; give lines with letters"):
        LanguageClassifier({"en": ["a"], "de": ["7", ""]})


def test_an_artificial_family_is_told_apart_exactly():
    settings = ArtificialSettings(vocabulary=100, names=3)
    trained, held_out = {}, {}
    for code in ("qaa", "qab", "qac", "qad"):
        language = ArtificialLanguage(code, settings)
        trained[code] = [pair.source for pair in language.pairs(400, split="train")]
        held_out[code] = [pair.source for pair in language.pairs(200, split="test")]
    trained["en"] = [pair.target for pair in ArtificialLanguage("qaa", settings).pairs(400, split="train")]
    held_out["en"] = [pair.target for pair in ArtificialLanguage("qaa", settings).pairs(200, split="test")]
    assert LanguageClassifier(trained).accuracy(held_out) == dict.fromkeys(held_out, 1.0)


@pytest.mark.full
@pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")
def test_close_relatives_are_told_apart_on_software_texts():
    trained, held_out = {}, {}
    for code in ("gl", "pt", "es"):
        corpus = ParallelCorpus.open(DATA / f"libreoffice-{code}-en")
        for language in (code, "en"):
            trained[language] = list(corpus.lines("train", language))[:4000]
            held_out[language] = list(corpus.lines("dev", language))
    shares = LanguageClassifier(trained).accuracy(held_out)
    assert shares["en"] > 0.99
    assert min(shares.values()) > 0.92


LINES = {
    "en": "The committee will meet again on Thursday to discuss the new budget.",
    "uz": "Qo'mita yangi byudjetni muhokama qilish uchun payshanba kuni yana yig'iladi.",
    "tr": "Komite yeni bütçeyi görüşmek üzere perşembe günü yeniden toplanacak.",
    "ug": "كومىتېت يېڭى خام چوتنى مۇزاكىرە قىلىش ئۈچۈن پەيشەنبە كۈنى يەنە يىغىلىدۇ.",
}


@pytest.fixture(scope="module")
def identifier() -> Identifier:
    pytest.importorskip("py3langid", reason="needs py3langid")
    return Identifier()


def test_a_line_is_in_its_language_and_in_no_other(identifier):
    for language, line in LINES.items():
        assert [other for other in LINES if not identifier.excludes(line, other)] == [language]
    assert not identifier.excludes(LINES["en"], "eng_Latn")


def test_nothing_is_said_of_an_unknown_language_or_a_line_without_letters(identifier):
    assert not identifier.knows("qaa")
    assert not identifier.excludes(LINES["tr"], "qaa")
    assert identifier.knows("uzn_Latn")
    assert not identifier.excludes("2019: 100 %", "en")
    assert not identifier.excludes("", "en")
