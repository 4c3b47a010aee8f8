"""Bytes as types: any text is written without UNK, and read back as it was."""

from dataclasses import replace

import numpy as np
import pytest

from nmtlab.errors import RecipeError, RunError
from nmtlab.recipe import Recipe
from nmtlab.recipe.text import TextSettings
from nmtlab.systems import open_model
from nmtlab.text.segmentation.byte_pieces import BYTES, Bytes
from nmtlab.text.segmentation.extending import has_bytes, with_letters
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK
from nmtlab.training.setup import train

SETTINGS = TextSettings(segmentation="byte")
TEXTS = ["ein Hund", "ਪੰਜਾਬੀ ಕನ್ನಡ", "a<0xE2>▁b <unk> </s>", "1\u00a0000 €", "🙂 e\u0301", "\ud800x", "İıŞ"]


def test_there_are_256_types_and_a_letter_of_ascii_is_its_own():
    assert len(set(BYTES)) == 256
    assert (BYTES[ord("A")], BYTES[ord("<")], BYTES[ord(" ")], BYTES[0xE2]) == ("A", "<", "▁", "<0xE2>")
    assert not set(BYTES) & {*SPECIALS}


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_bytes_behind_the_special_types_and_pieces_are_read_back(text):
    pieces = Bytes(["<2en>"])
    plain = " ".join(text.encode(errors="replace").decode().replace("▁", " ").split())
    assert pieces.ids([text]) == [[*(5 + byte for byte in plain.encode()), EOS]]
    assert pieces.join(pieces.split(text)) == plain
    assert [pieces.types[number] for number in pieces.ids([text])[0][:-1]] == pieces.split(text)
    words, places = pieces.words(text)
    assert words == plain.split()
    assert len(places) == len(pieces.split(text))
    rebuilt = [
        pieces.join([p for p, at in zip(pieces.split(text), places, strict=True) if at == n]) for n in range(len(words))
    ]
    assert rebuilt == words


def test_every_byte_can_be_written_and_what_is_no_utf_8_is_replaced():
    pieces = Bytes()
    assert pieces.join([BYTES[0xC3], BYTES[0xA9], BYTES[0xC3]]) == "é\ufffd"
    assert pieces.join(["a", pieces.whole("b c")]) == "a b c"
    assert pieces.ids([""]) == [[EOS]]


@pytest.mark.parametrize("joint", [True, False])
def test_a_pipeline_of_bytes_has_no_unknown_types_and_is_read_as_it_was_saved(tiny_corpus, tmp_path, joint):
    pipeline = Pipeline.learn(SETTINGS.model_copy(update={"joint": joint, "vocabulary_size": 5}), tiny_corpus)
    assert pipeline.source.size == pipeline.target.size == 260
    assert pipeline.source.vocabulary.counts[UNK] == 0
    for text in TEXTS:
        assert UNK not in pipeline.source_ids(text)
        assert UNK not in pipeline.target_ids(text)
    counts = np.bincount([byte for source, _ in tiny_corpus.pairs("train") for byte in source.encode()], minlength=256)
    assert pipeline.source.vocabulary.counts[4:].tolist() == counts.tolist()
    pipeline.save(tmp_path)
    loaded = Pipeline.load(tmp_path)
    assert loaded.checksum() == pipeline.checksum()
    assert loaded.source_ids(TEXTS[1]) == pipeline.source_ids(TEXTS[1])
    assert has_bytes(loaded.source)
    assert with_letters(loaded, [tiny_corpus]).source.size == 260


def test_tags_come_before_the_bytes(tiny_corpus, tmp_path):
    settings = SETTINGS.model_copy(update={"length_bins": 2})
    pipeline = Pipeline.learn(settings, replace(tiny_corpus, origin="synthetic"))
    assert pipeline.source_pieces("ab") == ["<length:1>", "a", "b"]
    assert pipeline.source.vocabulary.types[4:8] == ("<origin:synthetic>", "<length:0>", "<length:1>", "<0x00>")
    pipeline.save(tmp_path)
    assert Pipeline.load(tmp_path).source_ids("ab") == pipeline.source_ids("ab")


def test_files_of_other_types_are_refused(tiny_corpus, tmp_path, monkeypatch):
    Pipeline.learn(SETTINGS, tiny_corpus).save(tmp_path)
    monkeypatch.setattr("nmtlab.text.segmentation.byte_pieces.BYTES", BYTES[::-1])
    with pytest.raises(RunError, match="not the bytes"):
        Pipeline.load(tmp_path)


def test_a_system_is_trained_on_bytes_and_translates_any_text(tiny_recipe, tiny_corpus, workspace):
    changes = {"text.segmentation": "byte", "training.max_evaluations": 1, "search.extra_length": 5}
    run = train("bytes", tiny_recipe.with_changes(changes), tiny_corpus, workspace)
    found = open_model(run).translate(["ein hund", "", "ਪੰਜਾਬੀ"])
    assert found[1].text == ""
    assert all("<unk>" not in one.text for one in found)


def test_a_child_of_bytes_needs_a_parent_of_bytes(tiny_corpus):
    parent = Pipeline.learn(SETTINGS, tiny_corpus)
    assert (
        Pipeline.learn(SETTINGS, tiny_corpus, parent=parent).source.vocabulary.types == parent.source.vocabulary.types
    )
    with pytest.raises(RecipeError, match="set it to byte"):
        Pipeline.learn(TextSettings(vocabulary_size=50), tiny_corpus, parent=parent)
    words = Pipeline.learn(TextSettings(segmentation="word"), tiny_corpus)
    with pytest.raises(RecipeError, match="set it to word"):
        Pipeline.learn(SETTINGS, tiny_corpus, parent=words)


@pytest.mark.parametrize(
    "changes", [{"transliteration": "uroman"}, {"unk_copy_threshold": 2}, {"min_frequency": 2}, {"truecase": True}]
)
def test_settings_that_do_not_fit_bytes_are_refused(changes):
    changed = {f"text.{name}": value for name, value in changes.items()}
    with pytest.raises(RecipeError, match=next(iter(changes))):
        Recipe().with_changes({"text.segmentation": "byte", **changed})
