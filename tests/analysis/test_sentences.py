"""Sentences to look at, beside what systems have made of them."""

import shutil

import pandas as pd
import pytest
from sacrebleu import sentence_chrf

from nmtlab.analysis.access.texts import Text, sentences, texts
from nmtlab.analysis.access.translations import translations
from nmtlab.errors import CorpusError
from nmtlab.runs.pack import dev_sentences, pack
from nmtlab.runs.run import Run
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.workspace import Workspace


@pytest.fixture
def run(trained, tmp_path) -> Run:
    """A run of its own without any translation, since these are kept with a run."""
    folder = shutil.copytree(
        trained[0].folder, tmp_path / "runs" / "whole", ignore=shutil.ignore_patterns("translations")
    )
    return Run(folder)


def test_sentences_stand_beside_their_translations_and_chrf(run, tiny_corpus):
    made = translations(run, tiny_corpus, "dev")
    table = sentences([run], Text(tiny_corpus, "dev", False))
    assert table.index.tolist() == list(range(1, len(made) + 1))
    assert list(table[["source", "reference"]].itertuples(index=False, name=None)) == list(tiny_corpus.pairs("dev"))
    assert table["whole"].tolist() == made
    for hypothesis, reference, score in table[["whole", "reference", "whole chrF"]].itertuples(index=False):
        assert score == round(sentence_chrf(hypothesis, [reference]).score, 1)
    assert list(table) == ["source", "reference", "whole", "whole chrF"]


def test_what_was_not_translated_before_is_not_translated_now(run, tiny_corpus):
    assert list(sentences([run], Text(tiny_corpus, "dev", False))) == ["source", "reference"]
    assert not (run.folder / "translations").exists()


def test_the_gain_is_the_last_systems_chrf_less_the_firsts(run, tiny_corpus):
    made = translations(run, tiny_corpus, "dev")
    other = Run(shutil.copytree(run.folder, run.folder.with_name("other")))
    (file,) = (other.folder / "translations").glob("*.txt")
    better = [target for _, target in tiny_corpus.pairs("dev")]
    file.write_text("".join(f"{line}\n" for line in better), encoding="utf-8")
    table = sentences([run, other], Text(tiny_corpus, "dev", False))
    assert table["other chrF"].tolist() == [100.0] * len(made)
    expected = [round(100.0 - score, 1) for score in table["whole chrF"]]
    assert table["gain"].tolist() == pytest.approx(expected)


def test_only_the_first_sentences_are_shown_of_many(run, tiny_corpus):
    translations(run, tiny_corpus, "test")
    table = sentences([run], Text(tiny_corpus, "test", False), most=3)
    whole = sentences([run], Text(tiny_corpus, "test", False))
    pd.testing.assert_frame_equal(table, whole[:3], check_index_type=False)


def test_a_run_has_the_texts_of_its_corpus_and_those_packed_with_it(run, tiny_corpus, tmp_path):
    here = Workspace(tmp_path, (tiny_corpus.folder.parent,))
    assert [text.name for text in texts(run, here)] == ["tiny test", "tiny dev"]
    small = dev_sentences(tiny_corpus, 5, "CC0", tmp_path / "small")
    packed = Run(pack(run, tmp_path / "packed", sentences=small))
    assert [text.name for text in texts(packed, here)] == ["tiny test", "tiny dev", "packed (packed dev)"]
    assert [text.name for text in texts(packed, Workspace(tmp_path))] == ["packed (packed dev)"]
    assert texts(run, Workspace(tmp_path)) == []
    (text,) = texts(packed, Workspace(tmp_path))
    assert sentences([packed], text)["dev line"].tolist() == draw_sample(tiny_corpus, "dev", 5).lines


def test_a_text_that_is_damaged_is_named(run, tiny_corpus, tmp_path):
    folder = shutil.copytree(tiny_corpus.folder, tmp_path / "tiny")
    (folder / "dev.en").write_text("one line\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"dev\.de has \d+ lines, dev\.en has 1; line n of one"):
        sentences([run], Text(type(tiny_corpus)(folder, "de", "en"), "dev", False))
