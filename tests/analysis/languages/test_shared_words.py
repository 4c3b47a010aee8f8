"""Words that two languages share, and what they mean in each."""

from itertools import permutations

import pytest

from nmtlab.analysis.languages.shared_words import KINDS, overlap_matrix, word_kinds, word_lists
from nmtlab.errors import CorpusError
from nmtlab.text.artificial import ArtificialLanguage, ArtificialSettings, write_corpus
from nmtlab.text.checks.overlap import overlap, segmentations
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines

HALF = ArtificialSettings(cognates=0.5)

# Three words each: one of the same meaning, a false friend, and one of this language alone; and a name.
HERE = {"gato": "cat", "pan": "bread", "luz": "light", "OpenPGP": "OpenPGP"}
THERE = {"gato": "cat", "pan": "cloth", "ruz": "light", "OpenPGP": "OpenPGP"}


def write_language(folder, code, meanings, rare=()):
    """Every sentence of one to three words, translated word for word, and rare words in sentences of their own."""
    sentences = [words for length in (1, 2, 3) for words in permutations(meanings, length)]
    source = [" ".join(words) for words in sentences]
    target = [" ".join(meanings[word] for word in words) for words in sentences]
    write_lines(folder / f"train.{code}", [*source, *(word for word, _ in rare)])
    write_lines(folder / "train.en", [*target, *(meaning for _, meaning in rare)])
    return ParallelCorpus.open(folder, code, "en")


@pytest.fixture(scope="module")
def strangers(tmp_path_factory):
    """The parent and the child of three words each."""
    here, there = (tmp_path_factory.mktemp(code) for code in ("here", "there"))
    parent = write_language(there, "tt", THERE, [("sal", "room"), ("mel", "honey")])
    return parent, write_language(here, "hh", HERE, [("Sal", "salt"), ("mel", "honey")])


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Return a function that makes a corpus of Nara once: at a distance from its family, from a number of sentence."""
    folder, made = tmp_path_factory.mktemp("grown"), {}

    def make(settings=None, start=0):
        name = f"{settings.cognates if settings else 1}-{start}"
        if name not in made:
            write_corpus(folder / name, ["qaa"], settings, train=1000, dev=1, test=1, start=start)
            made[name] = ParallelCorpus.open(folder / name)
        return made[name]

    return make


def test_a_false_friend_is_a_lookalike_and_the_other_words_are_what_they_are(strangers):
    lists = word_lists(*strangers).set_index("word")
    assert lists["kind"].to_dict() == {
        "gato": "shared",
        "pan": "lookalike",
        "luz": "only here",
        "openpgp": "shared",
        "sal": "unclear",
        "mel": "shared",
    }
    assert lists.loc["pan", ["translation", "parent_translation"]].tolist() == ["bread", "cloth"]
    assert lists.loc["luz", ["translation", "parent_translation"]].tolist() == ["light", ""]
    assert lists.loc["pan", "agreement"] < 0.1 < 0.9 < lists.loc["gato", "agreement"]


def test_words_are_counted_in_both_texts_and_come_by_count(strangers):
    lists = word_lists(*strangers)
    # A word is in one sentence of one word, in 6 of two and in 18 of three.
    assert lists["word"].tolist() == ["gato", "luz", "openpgp", "pan", "mel", "sal"]
    assert lists["count"].tolist() == [25, 25, 25, 25, 1, 1]
    assert lists["parent_count"].tolist() == [25, 0, 25, 25, 1, 1]


def test_a_word_that_is_also_a_target_word_is_marked(strangers):
    lists = word_lists(*strangers)
    assert lists.loc[lists["in_target"], "word"].tolist() == ["openpgp"]
    kinds = word_kinds(lists).set_index(["words", "kind"])
    assert kinds.loc["all"].index.tolist() == list(KINDS)
    assert kinds.loc[("all", "shared"), ["types", "tokens"]].tolist() == [3, 51]
    assert kinds.loc[("not in the target text", "shared"), ["types", "type_share"]].tolist() == [2, 2 / 5]
    assert kinds.loc[("all", "lookalike"), "token_share"] == pytest.approx(25 / 102)


def test_how_many_occurrences_make_a_lookalike_can_be_set(strangers):
    kinds = {most: word_lists(*strangers, min_count=most).set_index("word")["kind"] for most in (1, 26)}
    assert kinds[1]["sal"] == "lookalike"
    assert kinds[26]["pan"] == "unclear"


def test_translations_with_most_of_their_probability_in_common_mean_the_same(strangers):
    """With nothing in common asked for, every word of both texts that has translations is shared."""
    kinds = word_lists(*strangers, min_agreement=0.0).set_index("word")["kind"]
    assert kinds["pan"] == "shared"
    assert kinds["luz"] == "only here"


def test_a_turkish_capital_i_is_the_same_letter_as_a_small_one(tmp_path):
    corpora = []
    for code, word in (("tr", "İndeks"), ("uz", "indeks")):
        folder = tmp_path / code
        folder.mkdir()
        corpora.append(write_language(folder, code, {word: "index", "bu": "this"}))
    assert set(word_lists(*corpora)["kind"]) == {"shared"}


def test_only_so_many_pairs_are_aligned_and_all_are_counted(strangers):
    lists = word_lists(*strangers, max_pairs=5)
    assert lists["count"].sum() == 102
    assert (lists["translation"] == "").any()


@pytest.mark.full
def test_a_language_shares_all_its_words_with_itself(grown):
    lists = word_lists(grown(), grown())
    assert (lists["translation"] == lists["parent_translation"]).all()
    translated = lists[lists["translation"] != ""]  # eflomal leaves a few rare words without translation
    assert len(translated) > 0.99 * len(lists)
    assert set(translated["kind"]) == {"shared"}


@pytest.mark.full
def test_words_of_other_sentences_of_the_same_language_mean_the_same(grown):
    lists = word_lists(grown(start=100_000), grown())
    tokens = lists.groupby("kind")["count"].sum()
    judged = tokens["shared"] + tokens.get("lookalike", 0)
    assert tokens["shared"] > 0.95 * judged
    assert judged > 0.75 * tokens.sum()


@pytest.mark.full
def test_inherited_words_of_an_artificial_relative_are_shared_and_those_of_one_language_are_not(grown):
    lists = word_lists(grown(HALF), grown()).set_index("word")
    entries = zip(ArtificialLanguage("qaa").lexicon(), ArtificialLanguage("qaa", HALF).lexicon(), strict=True)
    kinds = {"inherited": [], "own": []}
    for here, there in entries:
        if there.origin in kinds and here.stem in lists.index:
            word = lists.loc[here.stem]
            if there.origin == "own" or word["parent_count"] >= 5:
                kinds[there.origin].append(word["kind"])
    assert min(map(len, kinds.values())) > 50
    assert kinds["inherited"].count("shared") > 0.9 * len(kinds["inherited"])
    assert kinds["own"].count("only here") > 0.9 * len(kinds["own"])


def test_the_same_text_gives_the_same_lists(strangers):
    assert word_lists(*strangers).equals(word_lists(*strangers))


def test_the_share_of_each_language_in_each_other_is_the_one_counted_by_hand(tmp_path):
    corpora = []
    for code, lines in (("aa", ["a b c", "a 7"]), ("bb", ["a b", "d 7"]), ("cc", ["e"])):
        (tmp_path / code).mkdir()
        write_lines(tmp_path / code / f"train.{code}", lines)
        write_lines(tmp_path / code / "train.en", ["one 7"] * len(lines))
        corpora.append(ParallelCorpus.open(tmp_path / code, code, "en"))
    frame = overlap_matrix(corpora, sizes=()).set_index(["segmentation", "language", "other_language"])
    # The first text has a twice, b, c and 7, and the second a, b, d and 7; 7 is on the target side too.
    counted = ["types", "shared_types", "tokens", "shared_tokens"]
    assert frame.loc[("words", "aa", "bb"), counted].tolist() == [4, 3, 5, 4]
    assert frame.loc[("words", "bb", "aa"), counted].tolist() == [4, 3, 4, 3]
    assert frame.loc[("words not in the target text", "aa", "bb"), counted].tolist() == [3, 2, 4, 3]
    assert frame.loc[("words", "aa", "cc"), ["type_share", "token_share"]].tolist() == [0, 0]
    assert frame.loc[("words", "aa", "bb"), ["type_share", "token_share"]].tolist() == [0.75, 0.8]
    pairs = [(one, other) for one in ("aa", "bb", "cc") for other in ("aa", "bb", "cc") if one != other]
    assert frame.loc["words"].index.tolist() == pairs


def test_a_matrix_of_two_languages_is_their_overlap(strangers):
    parent, child = strangers
    frame = overlap_matrix([child, parent], sizes=(40,))
    row = frame[(frame["language"] == "hh") & (frame["segmentation"] != "words not in the target text")]
    known = overlap(segmentations((child, parent), (40,)), parent, child)
    assert row["segmentation"].tolist() == known["segmentation"].tolist() == ["words", "bpe 40"]
    for column in ("types", "shared_types", "tokens", "shared_tokens", "token_share"):
        assert row[column].tolist() == known[column].tolist()


@pytest.mark.full
def test_closer_artificial_relatives_share_more_words(grown):
    relatives = [grown(ArtificialSettings(cognates=share)) for share in (0.0, 0.5)]
    shares = [overlap_matrix([grown(), relative], sizes=()).set_index("segmentation") for relative in relatives]
    stranger, close = (frame["type_share"]["words not in the target text"].iloc[0] for frame in shares)
    assert stranger < 0.2 < close


def test_subwords_of_another_script_are_shared_after_transliteration(tmp_path):
    corpora = []
    for code in ("qaa", "qac"):
        write_corpus(tmp_path / code, [code], train=400, dev=1, test=1)
        corpora.append(ParallelCorpus.open(tmp_path / code))
    shares = [
        overlap_matrix(corpora, sizes=(300,), transliteration=name).set_index("segmentation")["token_share"]
        for name in ("none", "uyghur-latin")
    ]
    assert shares[0]["bpe 300"].iloc[1] < 0.5 < shares[1]["bpe 300"].iloc[1]


@pytest.mark.parametrize("measure", [lambda texts: overlap_matrix(texts), lambda texts: word_lists(*texts)])
def test_texts_into_several_languages_are_refused(strangers, measure):
    parent, child = strangers
    swapped = ParallelCorpus.open(parent.folder, "en", "tt")
    with pytest.raises(CorpusError, match="the target languages are en, tt; give corpora into one target language"):
        measure([swapped, child])


def test_a_single_text_is_refused(strangers):
    with pytest.raises(CorpusError, match="shared words: 1 corpus given; give two or more"):
        overlap_matrix(strangers[:1])
