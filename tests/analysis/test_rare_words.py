"""Rare words and names in a run's translations."""

import shutil
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.lexical.rare_words import (
    confusions,
    name_accuracy,
    name_translations,
    training_counts,
    word_accuracy,
)
from nmtlab.errors import CorpusError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

TRAIN = ["Chan sees Fauci, Chan and Chan.", "Berlin sees Chan.", "Jenner, Chan and Berlin."]
SOURCE = ["Fauchining", "Chan Fauchi", "Jennerdan Toshkent", "Fauchi", "Fauchi Berlin"]
REFERENCE = ["Fauci left.", "Chan met Fauci.", "Jenner left Tashkent.", "it was Fauci.", "Fauci, in Berlin."]
TRANSLATION = ["Chan left.", "Chan met Chan.", "<unk>, Toshkent.", "it was Fauci.", "in Paris."]
NAMES = [
    ("Fauchi", "Fauci", "scientist"), ("Chan", "Chan", "scientist"), ("Jenner", "Jenner", "scientist"),
    ("Toshkent", "Tashkent", "city"), ("Berlin", "Berlin", "city"),
]  # fmt: skip


@pytest.fixture
def corpus(tmp_path) -> ParallelCorpus:
    folder = tmp_path / "names"
    (folder / "gold").mkdir(parents=True)
    for name, lines in {"train.de": TRAIN, "train.en": TRAIN, "test.de": SOURCE, "test.en": REFERENCE}.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = ["source\ttarget\tclass", *map("\t".join, NAMES)]
    (folder / "gold/names.de-en.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return ParallelCorpus.open(folder)


@pytest.fixture
def run(trained, corpus, tmp_path) -> Run:
    """A run whose kept translations of the corpus' test text are TRANSLATION."""
    copied = Run(shutil.copytree(trained[0].folder, tmp_path / "run"))
    before = {path.name for path in copied.folder.glob("translations/*.txt")}
    translations(copied, corpus, "test")
    (kept,) = {path.name for path in copied.folder.glob("translations/*.txt")} - before
    copied.notes.save_translation(kept, TRANSLATION)
    return copied


def test_training_words_are_counted_without_their_punctuation(corpus):
    counts = training_counts(corpus, max_words=250)
    assert [counts[word] for word in ("Chan", "Berlin", "Fauci", "Jenner", "sees", ",", ".", "Tashkent")] == [
        5, 2, 1, 1, 2, 2, 3, 0,
    ]  # fmt: skip


def test_words_of_pairs_that_training_leaves_out_are_not_counted(corpus):
    lengths = [max(len(side.split()) for side in pair) for pair in corpus.pairs("train")]
    longest = max(lengths)
    assert lengths.count(longest) < len(lengths)
    fewer, whole = (training_counts(corpus, limit) for limit in (longest - 1, longest))
    assert fewer < whole == training_counts(corpus, 250)


def test_words_of_translations_are_counted_by_training_frequency(run, corpus):
    frame = word_accuracy(run, corpus).set_index("frequency")
    # Unseen: left met left Tashkent it was in, of which the translation has one "left", met, it, was, in;
    # and of its own <unk>, Toshkent, Paris.
    assert frame.loc["0", ["words", "produced", "matched"]].tolist() == [7, 8, 5]
    # Seen once: Fauci four times, of which one is right, and Jenner.
    assert frame.loc["1", ["words", "produced", "matched"]].tolist() == [5, 1, 1]
    # Two to four times: five full stops, a comma in different sentences, and Berlin.
    assert frame.loc["2-4", ["words", "produced", "matched"]].tolist() == [7, 6, 5]
    assert frame.loc["5-9", ["words", "produced", "matched"]].tolist() == [1, 3, 1]
    assert frame.loc["1", ["recall", "precision", "f1"]].tolist() == pytest.approx([0.2, 1.0, 1 / 3])
    assert np.isnan(frame.loc["100+", "recall"])


def test_buckets_can_be_chosen(run, corpus):
    frame = word_accuracy(run, corpus, edges=(0, 1))
    assert frame["frequency"].tolist() == ["0", "1+"]
    assert frame["words"].tolist() == [7, 13]


def test_each_name_has_its_outcome(run, corpus):
    frame = name_translations(run, corpus)
    columns = ["line", "name", "class", "count", "outcome", "produced", "produced_count", "more_frequent"]
    assert frame.columns.tolist() == columns
    assert frame.to_numpy().tolist() == [
        [1, "Fauci", "scientist", 1, "confused", "Chan", 5, True],
        [2, "Chan", "scientist", 5, "right", "", 0, False],
        [2, "Fauci", "scientist", 1, "confused", "Chan", 5, True],
        [3, "Jenner", "scientist", 1, "unknown", "", 0, False],
        [3, "Tashkent", "city", 0, "unknown", "", 0, False],
        [4, "Fauci", "scientist", 1, "right", "", 0, False],
        [5, "Fauci", "scientist", 1, "missing", "", 0, False],
        [5, "Berlin", "city", 2, "missing", "", 0, False],
    ]


def test_a_persons_own_words_need_no_source_forms(run, corpus):
    own = pd.DataFrame({"target": ["Fauci", "Tashkent", "Paris", "Berlin"], "class": ["person", *["place"] * 3]})
    frame = name_translations(run, corpus, names=own)
    assert frame[["name", "outcome", "produced"]].to_numpy().tolist() == [
        ["Fauci", "missing", ""], ["Fauci", "missing", ""], ["Tashkent", "unknown", ""], ["Fauci", "right", ""],
        ["Fauci", "missing", ""], ["Berlin", "confused", "Paris"],
    ]  # fmt: skip


def test_names_are_counted_by_their_training_frequency(run, corpus):
    frame = name_accuracy(name_translations(run, corpus))
    assert frame.to_dict("records") == [
        {"frequency": "0", "names": 1, "right": 0.0, "confused": 0.0, "unknown": 1.0, "missing": 0.0},
        {"frequency": "1", "names": 5, "right": 0.2, "confused": 0.4, "unknown": 0.2, "missing": 0.2},
        {"frequency": "2-4", "names": 1, "right": 0.0, "confused": 0.0, "unknown": 0.0, "missing": 1.0},
        {"frequency": "5-9", "names": 1, "right": 1.0, "confused": 0.0, "unknown": 0.0, "missing": 0.0},
    ]


def test_confusions_are_counted_name_by_name(run, corpus):
    outcomes = name_translations(run, corpus)
    own = {"class": "city", "name": "Aden", "count": 9, "outcome": "confused", "produced": "Rome", "produced_count": 3}
    table = confusions(pd.concat([pd.DataFrame([own | {"line": 6, "more_frequent": False}]), outcomes]))
    assert table.to_dict("records") == [
        {"class": "scientist", "name": "Fauci", "produced": "Chan", "times": 2, "count": 1, "produced_count": 5,
         "more_frequent": True},
        {"class": "city", "name": "Aden", "produced": "Rome", "times": 1, "count": 9, "produced_count": 3,
         "more_frequent": False},
    ]  # fmt: skip


def test_a_text_without_names_or_confusions_gives_empty_tables(run, corpus):
    outcomes = name_translations(run, corpus, names=pd.DataFrame({"target": ["Oslo"], "class": ["city"]}))
    assert len(outcomes) == len(name_accuracy(outcomes)) == len(confusions(outcomes)) == 0
    assert confusions(outcomes).columns.tolist() == [
        "class", "name", "produced", "times", "count", "produced_count", "more_frequent",
    ]  # fmt: skip


def test_a_corpus_without_gold_names_is_refused(trained, tiny_corpus):
    with pytest.raises(CorpusError, match=r"corpus 'tiny': no gold/names\.de-en\.tsv; choose a corpus of artificial"):
        name_translations(trained[0], tiny_corpus)


def test_accuracy_of_real_translations_is_a_recount_of_their_words(zoo, workspace, tiny_corpus):
    run = zoo.copy("trained", workspace)
    frame = word_accuracy(run, tiny_corpus)
    pairs = zip(translations(run, tiny_corpus, "test"), tiny_corpus.lines("test", "en"), strict=True)
    matched = sum((Counter(a.split()) & Counter(b.split())).total() for a, b in pairs)
    assert frame["matched"].sum() == matched
