from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.text.transliteration import UYGHUR_LATIN, Transliteration

SHARED = Path(__file__).parents[2].parent / "shared/data"
LETTERS = st.characters(codec="utf-8")
TABLES = st.dictionaries(LETTERS, st.text(LETTERS, max_size=3))


def table_file(folder: Path, text: str) -> Path:
    path = folder / "table.tsv"
    path.write_text(text, encoding="utf-8")
    return path


@given(TABLES, st.text(LETTERS), st.text(LETTERS))
def test_a_concatenation_becomes_the_concatenation(table, left, right):
    letters = Transliteration(table)
    assert letters.apply(left + right) == letters.apply(left) + letters.apply(right)


@given(TABLES, st.text(LETTERS))
def test_each_letter_is_looked_up_alone_and_an_unknown_one_stays(table, text):
    assert Transliteration(table).apply(text) == "".join(table.get(letter, letter) for letter in text)


@pytest.mark.parametrize(
    ("arabic", "latin"),
    [
        ("ئۇيغۇر", "uyghur"),
        ("ئۇيغۇرچە", "uyghurche"),
        ("يېزىقى", "yëziqi"),
        ("ناخشا", "naxsha"),
        ("قۇلاق", "qulaq"),
        ("جۇڭگو", "junggo"),
        ("ژۇرنال", "zhurnal"),
        ("ھۆكۈمەت", "hökümet"),
        ("پارلامېنت ، فىلىم ؛ ۋە ؟", "parlamënt , filim ; we ?"),
    ],
)
def test_uyghur_words_come_out_as_the_standard_writes_them(arabic, latin):
    assert UYGHUR_LATIN.apply(arabic) == latin


def test_the_uyghur_table_has_the_32_letters_of_the_alphabet():
    letters = [latin for latin in UYGHUR_LATIN.table.values() if latin.isalpha()]
    assert len(letters) == len(set(letters)) == 32


def test_real_uyghur_text_keeps_hardly_an_arabic_letter():
    path = SHARED / "ntrex-ug-en/test.ug"
    if not path.exists():
        pytest.skip("the shared Uyghur text is not here")
    text = path.read_text(encoding="utf-8")
    arabic = [sum("\u0600" <= letter <= "\u06ff" for letter in script) for script in (text, UYGHUR_LATIN.apply(text))]
    assert arabic[0] > 10_000
    assert arabic[1] < arabic[0] / 1000


def test_a_file_gives_the_same_as_a_dictionary(tmp_path):
    path = table_file(tmp_path, "ш\tsh\n\nь\t\n \t_\nя\tya\n")
    assert Transliteration.from_tsv(path).table == {"ш": "sh", "ь": "", " ": "_", "я": "ya"}
    assert Transliteration.from_tsv(path).apply("шьям в") == "shyaм_в"


@pytest.mark.parametrize(
    ("text", "problem", "remedy"),
    [
        ("а\ta\nб b\n", "line 2: not two columns", "write: letter, TAB, replacement"),
        ("а\ta\tb\n", "line 1: not two columns", "write: letter, TAB, replacement"),
        ("а\ta\n\nбв\tb\n", "line 3: 'бв' has 2 characters", "one character before the TAB"),
        ("\ta\n", "line 1: '' has 0 characters", "one character before the TAB"),
        ("а\ta\nб\tb\nа\to\n", "line 3: 'а' is there already", "each letter one line"),
    ],
)
def test_a_bad_line_is_named_with_a_remedy(tmp_path, text, problem, remedy):
    path = table_file(tmp_path, text)
    with pytest.raises(CorpusError) as error:
        Transliteration.from_tsv(path)
    assert f"{path}, {problem}" in str(error.value)
    assert remedy in error.value.remedy
    assert "\n" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"no\.tsv: not found; check"):
        Transliteration.from_tsv(tmp_path / "no.tsv")


def test_a_key_of_two_letters_is_refused():
    with pytest.raises(CorpusError, match="'ab' has 2 characters; give one character"):
        Transliteration({"ab": "c"})
