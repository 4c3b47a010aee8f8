"""Words with a cognate in the parent's language: which they are, whether they are translated, and their neighbours."""

import pytest

from nmtlab.analysis.languages.cognates import cognate_neighbours, cognate_recall, cognates
from nmtlab.errors import CorpusError
from nmtlab.text.artificial import ArtificialLanguage, ArtificialSettings


@pytest.mark.full
def test_cognates_are_the_stems_that_both_languages_inherited(family):
    table = cognates(family.child, family.parent)
    settings = {"vocabulary": 100, "names": 3}
    parent = ArtificialLanguage("qaa", ArtificialSettings(**settings, cognates=0.6)).lexicon()
    origin = {(entry.group, entry.target): entry.origin for entry in parent}
    for row in table.itertuples():
        expected = {"inherited": "cognate", "own": "no cognate", "borrowed": "name"}[origin[row.group, row.target]]
        assert row.kind == expected
    shares = table[table["kind"] != "name"]["kind"].value_counts(normalize=True)
    assert shares["cognate"] == pytest.approx(0.6, abs=0.1)


def test_a_perfect_translation_has_every_linked_word_and_an_empty_one_none(family, monkeypatch):
    reference = list(family.child.lines("test", "en"))
    for hypotheses, recall in ((reference, 1), ([""] * len(reference), 0)):
        monkeypatch.setattr("nmtlab.analysis.languages.cognates.translations", lambda *_, text=hypotheses: text)
        table = cognate_recall(family.child_run, family.child, family.parent)
        assert set(table["recall"]) == {recall}
        assert set(table["kind"]) == {"cognate", "no cognate", "name"}
        assert (table["right"] == recall * table["words"]).all()


def test_recall_counts_each_word_of_a_translation_once(family, monkeypatch):
    reference = list(family.child.lines("test", "en"))
    halves = [" ".join(line.split(" ")[: len(line.split(" ")) // 2]) for line in reference]
    monkeypatch.setattr("nmtlab.analysis.languages.cognates.translations", lambda *_: halves)
    table = cognate_recall(family.child_run, family.child, family.parent)
    assert 0.3 < table["right"].sum() / table["words"].sum() < 0.65


def test_real_translations_can_be_judged(family):
    table = cognate_recall(family.child_run, family.child, family.parent)
    assert table["recall"].between(0, 1).all()


def test_the_nearest_word_is_the_translation_where_the_languages_are_the_same(family):
    table = cognate_neighbours(family.child_run, family.parent_run, family.parent, family.parent)
    assert set(table["vectors"]) == {"spelling alone", "parent", "child"}
    child = table[table["vectors"] == "child"]
    assert child["right"].sum() >= 0.97 * child["words"].sum()  # a few words have the same subwords in another order


def test_words_without_a_cognate_are_not_found_by_their_spelling(family):
    table = cognate_neighbours(family.child_run, family.parent_run, family.child, family.parent)
    by = table.set_index(["kind", "vectors"])["precision"]
    assert by["cognate", "spelling alone"] > by["no cognate", "spelling alone"] + 0.1


def test_a_natural_language_has_no_gold_lexicon(family, tiny_corpus):
    with pytest.raises(CorpusError, match="no gold/lexicon"):
        cognates(tiny_corpus, family.parent)
