"""`nmtlab adapt`: documents, dictionaries, and what it says of new words."""

import json
import shutil
from pathlib import Path

import pytest

from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

SIZE = 8


@pytest.fixture
def documents(data, tiny_corpus) -> ParallelCorpus:
    """The tiny corpus with two documents of new words in its test."""
    folder = Path(shutil.copytree(tiny_corpus.folder, data / "corpora/documents"))
    for code, word in (("de", "bach"), ("en", "brook")):
        lines = (folder / f"test.{code}").read_text().splitlines()[:SIZE]
        (folder / f"test.{code}").write_text("".join(f"{line} {word}\n" for line in lines))
    (folder / "test.documents").write_text("one\n" * 5 + "two\n" * 3)
    return ParallelCorpus.open(folder)


@pytest.mark.full  # translates two documents several times
def test_scores_before_and_after_and_new_words_are_told(nmtlab, documents, data):
    digest = Run(data / "runs/whole").checkpoints.digest
    said = nmtlab("adapt", "whole", "documents", "--learning-rate", 0.2)
    assert said.code == 0, said.err
    assert "BLEU on documents test, 2 documents" in said.out
    assert "chrF on documents test, 2 documents" in said.out
    assert "New words that are right" in said.out
    assert "New words: 2 of 2" in said.out
    answer = json.loads(nmtlab("adapt", "whole", "documents", "--learning-rate", 0.2, "--json").out)
    assert (answer["sentences"], answer["documents"], answer["dictionary"], answer["diverged"]) == (SIZE, 2, 0, [])
    assert [one["system"] for one in answer["bleu"]] == ["unadapted", "adapted"]
    assert answer["new_words"][0]["occurrences"] == SIZE
    assert answer["missing"] == {}
    assert Run(data / "runs/whole").checkpoints.digest == digest


@pytest.mark.full
def test_rate_0_changes_nothing(nmtlab, documents):
    answer = json.loads(nmtlab("adapt", "whole", "documents", "--learning-rate", 0, "--json").out)
    before, after = answer["bleu"]
    assert before["score"] == after["score"]
    assert after["difference"] == 0


@pytest.mark.full  # translates two documents several times
def test_a_dictionary_is_read_or_made_from_the_references(nmtlab, documents, tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("bach\tbrook\nhund\tdog\nnowhere\tnever\n", encoding="utf-8")
    given = json.loads(nmtlab("adapt", "whole", "documents", "--dictionary", path, "--json").out)
    own = json.loads(nmtlab("adapt", "whole", "documents", "--dictionary-from-references", "--json").out)
    assert own["dictionary"] == 2  # bach, in either document
    assert given["dictionary"] >= own["dictionary"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("bach brook\n", (), "line 1: not a word and a translation; write a word, a tab and its translation on each"),
        ("bach\tbrook\n", ("--dictionary-from-references",), "two dictionaries; choose one of them"),
    ],
)
def test_a_dictionary_that_is_none_is_refused(nmtlab, documents, tmp_path, content, options, message):
    path = tmp_path / "words.tsv"
    path.write_text(content, encoding="utf-8")
    said = nmtlab("adapt", "whole", "documents", "--dictionary", path, *options)
    assert said.code == 2
    assert message in said.err


def test_a_corpus_without_documents_is_refused(nmtlab):
    said = nmtlab("adapt", "whole", "tiny")
    assert said.code == 2
    assert "no test.documents; add it, with the id of a document for each line of test" in said.err


def test_without_the_training_text_it_is_not_known_which_words_are_new(nmtlab, documents, monkeypatch, tmp_path):
    monkeypatch.setenv("NMTLAB_CORPORA", str(tmp_path))
    said = nmtlab("adapt", "whole", "documents")
    assert said.code == 0, said.err
    assert "no accuracy on new words: the training text of the run is not here" in said.out
    refused = nmtlab("adapt", "whole", "documents", "--dictionary-from-references")
    assert refused.code == 2
    assert "give a --dictionary" in refused.err
