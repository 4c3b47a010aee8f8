"""Copied words against gold links: by hand, and on a corpus whose links are known."""

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.access.word_pairs import WordPair, forced_attention, word_pairs
from nmtlab.analysis.lexical.lexical_choice import (
    in_reference,
    reference_unknowns,
)
from nmtlab.errors import CorpusError, RunError
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.workspace import Workspace

SOURCE = "But Deutsche Telekom said no".split()
TARGET = "tuy Deutsche Telekom nói không".split()


def news(links: set, unknown: str = "Deutsche Telekom") -> WordPair:
    return WordPair(
        line=4,
        source=" ".join(SOURCE),
        source_words=SOURCE,
        target_words=TARGET,
        source_places=list(range(5)),
        target_places=list(range(5)),
        source_ids=[],
        target_ids=[],
        unknown=np.array([word in unknown.split() for word in TARGET]),
        links=links,
    )


STRAIGHT = {(i, i) for i in range(5)}


def test_the_shifted_attention_of_the_thesis_copies_but_deutsche():
    left = np.eye(5)[[0, 0, 1, 2, 3]]
    rows = list(in_reference(news(STRAIGHT), left))
    assert [row["target_words"] for row in rows] == ["Deutsche", "Telekom"]
    assert [row["source_word"] for row in rows] == ["But", "Deutsche"]
    assert [(row["linked"], row["correct"], row["same"]) for row in rows] == [(True, False, False)] * 2
    assert [(row["line"], row["target_position"], row["source_position"]) for row in rows] == [(4, 1, 0), (4, 2, 1)]


def test_attention_in_its_place_copies_the_right_words():
    rows = list(in_reference(news(STRAIGHT), np.eye(5)))
    assert [row["source_word"] for row in rows] == ["Deutsche", "Telekom"]
    assert all(row["correct"] and row["same"] and row["linked"] for row in rows)


def test_any_link_of_the_word_makes_it_right_and_without_links_nothing_is_known():
    rows = list(in_reference(news({(0, 1), (3, 1)}), np.eye(5)[[0, 3, 2, 3, 4]]))
    assert [(row["linked"], row["correct"], row["same"]) for row in rows] == [(True, True, False), (False, False, True)]


# On a corpus that is translated word for word


@pytest.fixture(scope="module")
def links(tiny_corpus) -> list[frozenset]:
    return [frozenset((i, i) for i in range(len(s.split()))) for s, _ in tiny_corpus.pairs("test")]


@pytest.fixture(scope="module")
def run(zoo, tmp_path_factory) -> Run:
    """A system that knows eight words of each language."""
    return zoo.copy("words", Workspace(tmp_path_factory.mktemp("words")))


def test_every_unknown_word_of_the_references_is_asked_about(run, tiny_corpus, links):
    frame = reference_unknowns(run, tiny_corpus, "test", links)
    pairs = word_pairs(run, tiny_corpus, "test", links)
    weights = dict(zip([p.line for p in pairs], forced_attention(open_system(run), pairs), strict=True))
    expected = []
    for line, (source, target) in enumerate(tiny_corpus.pairs("test"), start=1):
        ids = run.pipeline.target_ids(target)
        for j, word in enumerate(target.split()):
            if ids[j] == UNK:
                i = int(weights[line][j].argmax())
                expected.append((run.name, line, j, word, i, source.split()[i], True, i == j, False))
    assert list(frame.itertuples(index=False, name=None)) == expected
    assert 0 < len(frame) < sum(len(pair.target_words) for pair in pairs)


def test_a_limit_takes_the_first_lines(run, tiny_corpus, links):
    whole = reference_unknowns(run, tiny_corpus, "test", links)
    first = reference_unknowns(run, tiny_corpus, "test", links, limit=6)
    assert 0 < len(first) < len(whole)
    pd.testing.assert_frame_equal(first, whole[whole["line"] <= 6])


def test_a_system_without_unknown_words_has_an_empty_table(tiny_corpus, tiny_recipe, trained, links):
    whole, _ = trained
    frame = reference_unknowns(whole, tiny_corpus, "test", links)
    assert frame.empty
    assert "correct" in frame


def test_what_cannot_be_asked_is_refused(run, tiny_corpus, links, tmp_path):
    with pytest.raises(CorpusError, match=r"links of 0 pairs, but test of corpus 'tiny' has .*; give a set of links"):
        reference_unknowns(run, tiny_corpus, "test", [])
    phrases = Run.create(tmp_path / "moses", run.recipe.with_changes({"model.family": "phrase"}), {}, run.pipeline)
    with pytest.raises(RunError, match=r"run 'moses': a phrase-based system .*; choose a transformer or an rnn"):
        reference_unknowns(phrases, tiny_corpus, "test", links)
