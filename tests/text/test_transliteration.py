from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtlab.errors import CorpusError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.transliteration import UYGHUR_LATIN, Transliteration, romanised, transliterated
from nmtlab.text.segmentation.vocabulary import UNK

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
        ("а\ta\nб\tb\nа\to\n", "line 3: 'а' is repeated", "each letter one line"),
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


# In a pipeline


@pytest.fixture(scope="module")
def turkic(tmp_path_factory):
    """Uyghur in Arabic letters, and Turkish in Latin ones, with shared stems."""
    uyghur = ["قار ياغدى", "ئات قارا", "بىر ئات كەلدى"] * 6
    turkish = ["kar yağdı", "at kara", "bir at geldi"] * 6
    english = ["snow fell", "the horse is black", "a horse came"] * 6
    corpora = []
    for code, lines in (("ug", uyghur), ("tr", turkish)):
        folder = tmp_path_factory.mktemp(code)
        write_lines(folder / f"train.{code}", lines)
        write_lines(folder / "train.en", english)
        corpora.append(ParallelCorpus.open(folder, code, "en"))
    return corpora


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("name", ["uyghur-latin", pytest.param("uroman", marks=pytest.mark.full)])
def test_a_source_is_segmented_in_latin_letters_and_shown_as_it_is_written(turkic, tmp_path, name, joint):
    settings = TextSettings(vocabulary_size=45, transliteration=name, joint=joint)
    pipeline = Pipeline.learn(settings, *turkic)
    pipeline.save(tmp_path)
    for one in (pipeline, Pipeline.load(tmp_path)):
        words, places = one.source_words("ئات قارا")
        assert words == ["ئات", "قارا"]
        assert len(places) == len(one.source_pieces("ئات قارا")) == len(one.source_ids("ئات قارا")) - 1
        assert "".join(one.source_pieces("ئات قارا")).replace("▁", " ").split()[1] == "qara"
        assert UNK not in one.source_ids("ئات قارا")
        assert one.source_words("at kara")[0] == ["at", "kara"]
        assert one.target.text(one.target_ids("a horse came")) == "a horse came"
    plain = Pipeline.learn(settings.model_copy(update={"transliteration": "none", "vocabulary_size": 60}), *turkic)
    shared = [set(one.source_ids("ئات")) & set(one.source_ids("at")) - {2} for one in (pipeline, plain)]
    assert shared[0] if name == "uyghur-latin" else shared[0] >= shared[1]
    assert not shared[1]


@pytest.fixture(scope="module")
def uroman() -> None:
    """Load its tables, which takes seconds."""
    romanised("қ")


@pytest.mark.full
@pytest.mark.usefixtures("uroman")
def test_uroman_leaves_latin_words_alone_and_glues_what_it_spaces():
    assert romanised("Yağdı,") == "Yağdı,"
    assert romanised("қазақ") == "kazak"
    assert " " not in romanised("日本語")
    assert transliterated("қазақ تىل ...", romanised).split()[2] == "..."


def test_pairs_of_too_many_subwords_are_left_out_and_counted(turkic, tmp_path):
    settings = TextSettings(vocabulary_size=45, transliteration="uyghur-latin", max_subwords=8)
    pipeline = Pipeline.learn(settings, *turkic)
    encoded = EncodedCorpus.open(tmp_path, pipeline, turkic[0])
    lengths = [
        max(len(pipeline.source_ids(source)), len(pipeline.target_ids(target))) - 1
        for source, target in turkic[0].pairs("train")
    ]
    assert 0 < len(encoded) == sum(length <= 8 for length in lengths) < 18
    assert encoded.skipped == {"too many subwords": 18 - len(encoded)}


def test_transliteration_is_for_subwords():
    with pytest.raises(ValueError, match="transliteration needs subwords"):
        TextSettings(segmentation="word", transliteration="uroman")
