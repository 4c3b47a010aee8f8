"""Documents whose corrections a model learns from: translations, gains on the rest, and new words."""

import shutil

import pandas as pd
import pytest

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.comparison.documents import ADAPTATION, adaptation_table, gain_on_the_rest
from nmtlab.analysis.comparison.new_words import (
    dictionary_for,
    dictionary_of,
    new_word_accuracy,
    new_words,
    training_text,
    types_per_token,
    word_table,
)
from nmtlab.errors import CorpusError
from nmtlab.evaluation.scores import bleu
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.online import OnlineSettings, adapted

LINES = 12


@pytest.fixture(scope="module")
def corpus(make_corpus) -> ParallelCorpus:
    """A short text of three documents, one of a single line, another one interrupted by it."""
    corpus = ParallelCorpus.open(make_corpus())
    for code in corpus.direction:
        path = corpus.folder / f"test.{code}"
        path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:LINES]))
    return corpus


IDS = ["a"] * 4 + ["single"] + ["a"] + ["b"] * 6


@pytest.fixture
def run(zoo, workspace) -> Run:
    return zoo.copy("learned", workspace)


def test_each_document_is_translated_as_by_a_copy_that_learns_from_it_alone(run, corpus):
    found = ADAPTATION.of(run, corpus=corpus, documents=IDS, learning_rate=1.0, epochs=3)
    pairs, system = list(corpus.pairs("test")), open_model(run)
    for name in dict.fromkeys(IDS):
        rows, lines = found[found["document"] == name], [line for line, one in enumerate(IDS) if one == name]
        assert rows["line"].tolist() == [line + 1 for line in lines]
        assert rows["place"].tolist() == list(range(1, len(lines) + 1))
        own = [pairs[line] for line in lines]
        assert rows["adapted"].tolist() == adapted(system, run.recipe, name, own, OnlineSettings(1.0, 3))
    unadapted = translations(run, corpus, "test")
    assert found.sort_values("line")["unadapted"].tolist() == unadapted
    single = found[found["document"] == "single"].iloc[0]
    assert single["adapted"] == single["unadapted"]
    assert (found["adapted"] != found["unadapted"]).any()
    assert not found["diverged"].any()


@pytest.mark.full
def test_the_order_of_documents_changes_nothing_and_the_answer_is_stored(run, corpus, tmp_path):
    digest = run.checkpoints.digest
    found = ADAPTATION.of(run, corpus=corpus, documents=IDS, learning_rate=1.0, epochs=3)
    order = [*range(6, 12), *range(6)]
    other = ParallelCorpus.open(shutil.copytree(corpus.folder, tmp_path / "other"))
    for code in other.direction:
        lines = (corpus.folder / f"test.{code}").read_text().splitlines()
        (other.folder / f"test.{code}").write_text("".join(f"{lines[line]}\n" for line in order))
    ids = [IDS[line] for line in order]
    turned = ADAPTATION.of(run, corpus=other, documents=ids, learning_rate=1.0, epochs=3)
    both = (one.set_index(["document", "place"])["adapted"].sort_index() for one in (found, turned))
    pd.testing.assert_series_equal(*both)
    assert len(ADAPTATION.answers(run)) == 2
    assert ADAPTATION.of(run, corpus=corpus, documents=IDS, learning_rate=1.0, epochs=3).equals(found)
    assert ADAPTATION.stored(run, corpus=corpus, documents=["a"] * LINES, learning_rate=1.0, epochs=3) is None
    assert Run(run.folder).checkpoints.digest == digest


def test_an_adaptation_that_was_cut_off_goes_on_with_the_next_document(run, corpus):
    asked = {"corpus": corpus, "documents": IDS, "learning_rate": 0.3, "epochs": 2}
    steps = ADAPTATION.steps(run, **asked)
    assert [next(steps), next(steps)] == [0, 1]
    steps.close()
    rest = list(ADAPTATION.steps(run, **asked))
    assert rest == [1, 1, 1]
    assert ADAPTATION.stored(run, **asked)["document"].drop_duplicates().tolist() == ["a", "single", "b"]


def test_a_document_that_diverges_is_left_unadapted(run, corpus):
    found = ADAPTATION.of(run, corpus=corpus, documents=IDS, learning_rate=1e38, epochs=3)
    assert found["diverged"].tolist() == [name != "single" for name in found["document"]]
    assert found["adapted"].tolist() == found["unadapted"].tolist()


def test_ids_that_are_not_one_a_line_are_refused(run, corpus):
    with pytest.raises(CorpusError, match="documents of 2 lines, but test has 12 pairs"):
        ADAPTATION.of(run, corpus=corpus, documents=["a", "b"])


def made(adapted_lines: list[str]) -> pd.DataFrame:
    """Return translations of two documents of 8 and 10 sentences, by a run."""
    places = [*range(1, 9), *range(1, 11)]
    return pd.DataFrame(
        {
            "run": "r", "document": ["x"] * 8 + ["y"] * 10, "place": places, "line": range(1, 19),
            "source": "", "reference": "the old dog sees a red house", "unadapted": "the old dog sees a house",
            "adapted": adapted_lines, "diverged": False, "language": "en",
        }
    )  # fmt: skip


def test_the_gain_on_the_rest_is_that_of_the_sentences_from_there_on():
    right, wrong = "the old dog sees a red house", "a cat sees the old dog"
    found = made([wrong, wrong, *[right] * 6, wrong, *[right] * 9])
    gains = gain_on_the_rest(found)
    for row in gains.itertuples():
        rest = found[found["place"] > row.learned]
        scores = [bleu(rest[name].tolist(), [rest["reference"].tolist()]).value for name in ("unadapted", "adapted")]
        assert [row.unadapted, row.adapted] == pytest.approx(scores)
        assert row.gain == pytest.approx(scores[1] - scores[0])
        assert (row.sentences, row.documents) == (len(rest), rest["document"].nunique())
    assert gains["learned"].tolist() == [0, 1, 2, 3, 4, 5, 6]  # after 7, fewer than six sentences are left
    table = adaptation_table(found).iloc[0]
    assert (table["sentences"], table["documents"], table["diverged"]) == (18, 2, 0)
    assert table["gain"] == pytest.approx(gains["gain"].iloc[0])
    said = ADAPTATION.finding(found)
    assert said.startswith("BLEU on 18 sentences of 2 documents: r ")
    (trace,) = (one for one in ADAPTATION.figure(found).data if one.name == "r")
    assert list(trace.y) == gains["gain"].tolist()


SENTENCES = [
    ("a", "der wolf singt", "the wolf sings", "the dog sings", "the wolf sings"),
    ("a", "ein bach und wolf", "one brook and wolf", "one dog and dog", "one brook and dog"),
    ("a", "kind sieht bach", "child sees brook", "child sees cat", "child sees stream"),
    ("a", "bach geht", "brook goes", "goes", "brook goes"),
    ("b", "hund sieht bach", "dog sees stream", "dog sees dog", "dog sees brook"),
]


@pytest.fixture(scope="module")
def words(corpus) -> pd.DataFrame:
    columns = ["document", "source", "reference", "unadapted", "adapted"]
    found = pd.DataFrame(SENTENCES, columns=columns).assign(line=range(1, 6))
    return new_words(found, training_text([corpus], 100), corpus.direction)


def test_new_words_are_those_in_no_training_text_with_their_translations(words):
    known = words[words["word"].isin(["wolf", "bach"])]
    assert [tuple(row) for row in known[["line", "word", "reference", "copied"]].to_numpy()] == [
        (1, "wolf", "wolf", True), (2, "bach", "brook", False), (2, "wolf", "wolf", True), (3, "bach", "brook", False),
        (4, "bach", "brook", False), (5, "bach", "stream", False),
    ]  # fmt: skip
    assert set(words["word"]) <= {"wolf", "bach", "der"}
    assert known["unadapted right"].tolist() == [False] * 6
    assert known["adapted right"].tolist() == [True, True, False, False, True, False]


def test_copies_and_translations_are_counted_apart(words):
    known = words[words["word"].isin(["wolf", "bach"])]
    table = new_word_accuracy(known).set_index("words")
    assert table["occurrences"].to_dict() == {"all": 6, "copied": 2, "translated": 4}
    assert table["adapted"].to_dict() == {"all": 0.5, "copied": 0.5, "translated": 0.5}
    assert (table["unadapted"] == 0).all()
    assert new_word_accuracy(known[:0])["adapted"].isna().all()


def test_consistency_is_that_of_words_that_occur_three_times_in_their_document(words):
    ratios = types_per_token(words)
    assert ratios["reference"] == pytest.approx(1 / 3)  # brook, three times in document a
    assert ratios["adapted"] >= 1 / 3
    assert pd.isna(types_per_token(words, least=10)["reference"])


def test_a_dictionary_has_the_most_frequent_translation_in_each_document(words):
    entries = dictionary_of(words[words["word"] != "der"])
    assert entries == [("a", "wolf", "wolf"), ("a", "bach", "brook"), ("b", "bach", "stream")]
    lines = pd.DataFrame(SENTENCES, columns=["document", "source", *"rst"])
    given = dictionary_for(lines, {"bach": "creek", "fern": "fern"}, "de")
    assert given == [("a", "bach", "creek"), ("b", "bach", "creek")]
    table = word_table(words).set_index(["document", "word"])
    assert table.loc[("a", "bach"), ["occurrences", "reference", "adapted right"]].tolist() == [3, "brook", 2]
