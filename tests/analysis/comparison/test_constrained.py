"""Translations in which a dictionary's words must occur, and the numbers of translated documents that tables quote."""

import pytest

from nmtlab.analysis.comparison.constrained import CONSTRAINED
from nmtlab.analysis.comparison.documents import ADAPTATION
from nmtlab.analysis.comparison.new_words import new_words
from nmtlab.analysis.metrics import find_metric, value_of
from nmtlab.evaluation.scores import bleu
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus

LINES = 9
IDS = ["a"] * 3 + ["b"] * 3 + ["a"] * 3


@pytest.fixture
def corpus(make_corpus) -> ParallelCorpus:
    """A short text of two documents, one of which interrupts the other."""
    corpus = ParallelCorpus.open(make_corpus())
    for code in corpus.direction:
        path = corpus.folder / f"test.{code}"
        path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:LINES]))
    (corpus.folder / "test.documents").write_text("".join(f"{name}\n" for name in IDS))
    return corpus


@pytest.fixture
def run(zoo, workspace) -> Run:
    return zoo.copy("learned", workspace)


def test_a_translation_has_the_dictionarys_words_of_its_document_that_the_run_can_write(run, corpus):
    system = open_model(run)
    source = next(iter(corpus.lines("test", corpus.source))).split()[0]
    first = next(iter(corpus.lines("train", corpus.target))).split()[0]
    assert system.can_write(first)
    assert not system.can_write("")
    assert not system.can_write("ಠ")
    found = CONSTRAINED.of(run, corpus=corpus, documents=IDS, dictionary=[("a", source, first), ("b", source, "ಠ")])
    has = [source in line.split() for line in found["source"]]
    for row, holds in zip(found.itertuples(), has, strict=True):
        if holds and row.document == "a":
            assert first in row.constrained.split()
    free = [one.text for one in system.translate(found["source"].tolist())]
    others = [index for index, (name, holds) in enumerate(zip(IDS, has, strict=True)) if name == "b" or not holds]
    assert any(has)
    assert others
    assert [found["constrained"][index] for index in others] == [free[index] for index in others]


def test_bleu_of_adapted_documents_is_that_of_each_line_against_its_reference(run, corpus):
    found = ADAPTATION.of(run, corpus=corpus, documents=IDS, learning_rate=0.1).sort_values("line")
    assert value_of(find_metric("bleu-online"), run, corpus) == pytest.approx(
        bleu(found["adapted"].tolist(), corpus.references("test")).value
    )


def test_the_share_of_new_words_that_are_right_is_of_each_occurrence_in_the_test_text(run, corpus):
    train = corpus.folder / f"train.{corpus.source}"
    line = next(iter(corpus.lines("test", corpus.source)))
    train.write_text("".join(one.replace(line.split()[0], "x") + "\n" for one in train.read_text().splitlines()))
    found = ADAPTATION.of(run, corpus=corpus, documents=IDS, learning_rate=0.1)
    words = new_words(found, list(corpus.pairs("train")), corpus.direction)
    assert len(words)
    assert value_of(find_metric("new-words"), run, corpus) == pytest.approx(100 * words["unadapted right"].mean())
    assert value_of(find_metric("new-words-online"), run, corpus) == pytest.approx(100 * words["adapted right"].mean())
