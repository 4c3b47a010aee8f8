import random
from pathlib import Path

import pytest

from nmtlab.analysis.access.ceiling import word_ceiling
from nmtlab.recipe import named_recipe
from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tokenizers import Words, moses_words, plain

DATA = Path(__file__).parents[2].parent / "shared/data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")


def _lines(corpus: str, language: str) -> list[str]:
    return list(map(plain, ParallelCorpus.open(DATA / corpus).lines("test", language)))


@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("fa", "می\u200cخواهم"),
        ("si", "ශ්\u200dරී"),
        ("yo", "o\u0323\u0300ro\u0323\u0300"),
        ("km", "ខ្មែរ"),
        ("my", "မြန်မာ"),
        ("th", "ท่านน้ำ"),
        ("lo", "ນ້ຳ"),
        ("bo", "བོད་ཡིག"),
        ("gn", "g\u0303uarani"),
        ("ff", "𞤀𞤣𞤤𞤢𞤥"),
        ("ko", "학생입니다"),
        ("uz", "o‘zbek"),
        ("uz", "o'zbek"),
        ("tr", "Ankara'da"),
        ("tr", "2018'de"),
        ("he", 'צה"ל'),
        ("ca", "col·lecció"),
        ("fi", "EU:n"),
        ("en", "don’t"),
    ],
)
def test_what_is_a_word_in_unicode_is_not_cut(language, word):
    words = Words(language)
    assert words.split(f"({word}), {word}.") == ["(", word, ")", ",", word, "."]
    assert words.join(words.split(f"({word}), {word}.")) == f"({word}), {word}."


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("ar", "هل؟ نعم، لا؛ أجل."),
        ("ur", "وہ آیا۔ پھر گیا۔"),
        ("hi", "वह आया। वह गया॥"),
        ("am", "ሰላም። ደህና፣ ነው፤"),
        ("bo", "བོད་ཡིག་དང་། རྒྱ་ཡིག"),
        ("uz", "U “ha” dedi, «yoʻq» emas."),
        ("de", "Er sagte: „Ja“, um 12:55 Uhr, beim 2:0-Sieg."),
        ("de", "Das kostet 5 € und/oder 7 €."),
        ("en", 'He said "so", and paid $5 (50%) & left [it].'),
        ("tr", "Ankara'da %16 'evet' dedi."),
        ("fr", "« Oui » : l'eau d'ici ?"),
        ("it", "L'acqua dell'isola."),
        ("km", "ខ្ញុំ\u200bទៅ\u200bផ្ទះ"),
    ],
)
def test_what_was_cut_off_is_joined_again(language, line):
    words = Words(language)
    assert words.join(words.split(line)) == line


def test_a_quotation_mark_without_its_pair_closes_at_the_end():
    assert Words("en").join(["It", "is", "so", ".", '"']) == 'It is so."'
    assert Words("en").join(['"', "It", "is", "so", "."]) == '"It is so.'


def test_codes_of_three_letters_have_the_rules_of_their_language(japanese):
    assert Words("fra").split("l'eau d'ici") == Words("fr").split("l'eau d'ici") == ["l'", "eau", "d'", "ici"]
    assert Words("deu_Latn").split("am 3. Mai") == Words("de").split("am 3. Mai") == ["am", "3.", "Mai"]
    written = "彼 は 英語 を 話 し ま す 。".split()
    assert Words("jpn").join(written) == japanese.join(written) == " ".join(written)


def test_tokenized_scores_keep_moses_rules_under_all_codes_of_a_language():
    assert moses_words("tr").split("Ankara'da") == ["Ankara", "'", "da"]
    assert moses_words("fra").split("l'eau") == moses_words("fr").split("l'eau") == ["l'", "eau"]


def test_an_earlier_pipeline_keeps_moses_rules_and_its_checksum(tmp_path):
    for language, line in (("tr", "Ankara'da"), ("en", "in Ankara")):
        write_lines(tmp_path / f"train.{language}", [line])
    corpus = ParallelCorpus.open(tmp_path)
    before, after = (
        Pipeline.learn(TextSettings(segmentation="word", joint=False, word_rules=rules), corpus)
        for rules in ("moses", "unicode")
    )
    for pipeline, words in ((before, ["Ankara", "'", "da"]), (after, ["Ankara'da"])):
        pipeline.save(tmp_path / "saved")
        written = (tmp_path / "saved/pipeline.json").read_text(encoding="utf-8")
        assert ("word_rules" in written) == (pipeline is after)
        again = Pipeline.load(tmp_path / "saved")
        assert again.source_pieces("Ankara'da") == words
        assert again.checksum() == pipeline.checksum()


def test_new_word_systems_have_whole_words():
    for name in ("tied", "fixnorm", "fixnorm-lex", "untied", "arthur", "moses"):
        assert named_recipe(name).text.word_rules == "unicode"


def test_the_ceiling_is_the_bleu_of_what_comes_back():
    lines = ["Ankara'da 5 kişi var dedi ve gitti .", "Bu iyi bir gün dedi ve gitti ."]
    assert word_ceiling([line.replace(" .", ".") for line in lines], "tr") == pytest.approx(100)
    assert word_ceiling(["A b c d e 'f g"], "tr", "moses") == pytest.approx(100)
    assert word_ceiling(["Ankara'da bir ev var"], "tr", "moses") < 100
    assert word_ceiling(["a b"], "tr") == 100


@pytest.mark.full
@needs_data
@pytest.mark.parametrize(
    ("language", "least"),
    [("uz", 98.6), ("ar", 98.8), ("ur", 99.8), ("tr", 99.9), ("he", 97.1), ("ha", 99.5), ("hu", 99.7), ("ug", 89.4)],
)
def test_real_text_comes_back_from_words(language, least):
    assert word_ceiling(_lines(f"ntrex-{language}-en", language), language) >= least


@needs_data
@pytest.mark.parametrize("language", ["gl", "vi", "ja"])
def test_words_that_moses_has_whole_are_its_words(language):
    lines = random.Random(1).sample(_lines(f"ntrex-{language}-en", language), 200)
    ours, of_moses = Words(language), moses_words(language)
    assert [ours.split(line) for line in lines] == [of_moses.split(line) for line in lines]
