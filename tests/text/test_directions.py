"""Pipelines and text checks of a training in several directions."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from support.packed import RUNS, packed_folders

from nmtlab.errors import CorpusError, RunError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.checks.inspection import check_texts
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

GALICIAN = ["a casa vermella", "o can corre", "a casa vella", "o can vello"]
PORTUGUESE = ["a casa vermelha", "o cão corre", "a casa velha", "o cão velho"]
ENGLISH = ["the red house", "the dog runs", "the old house", "the old dog"]


def write(folder: Path, split: str, **sides: list[str]) -> Path:
    for language, lines in sides.items():
        write_lines(folder / f"{split}.{language}", lines)
    return folder


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """English into Galician and into Portuguese, and back."""
    folder = tmp_path_factory.mktemp("texts")
    write(folder / "gl-en", "train", gl=GALICIAN * 5, en=ENGLISH * 5)
    write(folder / "pt-en", "train", pt=PORTUGUESE * 5, en=ENGLISH * 5)
    directions = (("en", "gl"), ("en", "pt"), ("gl", "en"), ("pt", "en"))
    return [ParallelCorpus.open(folder / f"{max(way, key='en'.__ne__)}-en", *way) for way in directions]


def settings(**more) -> TextSettings:
    return TextSettings(segmentation="bpe", vocabulary_size=60, **more)


@pytest.fixture(scope="module")
def pipeline(corpora):
    return Pipeline.learn(settings(), *corpora)


def test_a_type_of_one_language_is_not_generated_in_another(pipeline):
    allowed = pipeline.allowed_by_language
    assert list(allowed) == ["gl", "pt", "en"]
    with_tilde = ["ã" in word for word in pipeline.target.vocabulary.types]
    assert [bool(mask[with_tilde].any()) for mask in allowed.values()] == [False, True, False]
    for language, mask in allowed.items():
        assert np.array_equal(pipeline.directed("en", language).target_allowed, mask)
        assert mask[[EOS, UNK]].all()
        assert not mask[[PAD, BOS, *range(4, pipeline.target.vocabulary.reserved)]].any()
    assert np.array_equal(pipeline.target_allowed, allowed["gl"])


def test_counts_by_language_are_of_the_text_in_each(pipeline):
    for side in (pipeline.source, pipeline.target):
        text = slice(side.vocabulary.reserved, None)
        assert np.array_equal(sum(side.language_counts.values())[text], side.vocabulary.counts[text])
        assert {language: counts[EOS] for language, counts in side.language_counts.items()} == {
            language: 40 if language == "en" else 20 for language in side.languages
        }


def test_the_counts_of_a_directed_pipeline_are_those_of_the_text_in_its_languages(corpora, pipeline):
    for source, target in (("en", "gl"), ("en", "pt"), ("gl", "en"), ("pt", "gl")):
        directed = pipeline.directed(source, target)
        for counts, language, side in (
            (directed.source.counts, source, 0), (directed.target.counts, target, 1),
        ):  # fmt: skip
            texts = [corpus for corpus in corpora if corpus.direction[side] == language]
            lines = [line for corpus in texts for line in corpus.lines("train", language)]
            ids = [number for row in pipeline.encode_target(lines) for number in row]
            expected = np.bincount(ids, minlength=pipeline.target.size)
            expected[4:7] = (pipeline.target if side else pipeline.source).vocabulary.counts[4:7]
            assert counts.tolist() == expected.tolist()
    assert pipeline.source.counts[4:7].tolist() == [20, 20, 40]  # tags belong to no language
    assert pipeline.directed("en", "pt").target.counts.sum() < pipeline.target.vocabulary.counts.sum()


def test_counts_of_one_language_and_of_an_old_pipeline_are_those_of_the_vocabulary(corpora, pipeline):
    old = replace(pipeline, target=replace(pipeline.target, language_counts={})).directed("en", "pt")
    for one in (Pipeline.learn(settings(), corpora[0]), old):
        assert np.array_equal(one.target.counts, one.target.vocabulary.counts)


def test_without_the_setting_every_language_may_generate_every_type(corpora):
    pipeline = Pipeline.learn(settings(target_vocabulary_mask=False), *corpora)
    reserved = pipeline.target.vocabulary.reserved
    assert all(mask[reserved:].all() for mask in pipeline.allowed_by_language.values())


def test_a_directed_pipeline_works_in_its_direction_and_is_saved_as_ever(pipeline, tmp_path):
    other = pipeline.directed("gl", "pt")  # never trained
    assert pipeline.languages == ("en", "gl")
    assert other.languages == ("gl", "pt")
    assert other.target.languages == pipeline.target.languages
    assert other.source_pieces("a casa")[0] == "<2pt>"
    assert other.source_ids("a casa") == pipeline.source_ids("a casa", "pt")
    assert other.checksum() == pipeline.checksum()
    other.save(tmp_path / "other")
    pipeline.save(tmp_path / "first")
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()
    assert Pipeline.load(tmp_path / "other").languages == ("en", "gl")


def test_a_pipeline_of_several_languages_comes_back_with_its_counts(pipeline, tmp_path):
    pipeline.save(tmp_path)
    assert (tmp_path / "target.languages.tsv").read_text(encoding="utf-8").startswith("gl\tpt\ten\n")
    again = Pipeline.load(tmp_path)
    assert again.checksum() == pipeline.checksum()
    for language, mask in pipeline.allowed_by_language.items():
        assert np.array_equal(again.allowed_by_language[language], mask)
    path = tmp_path / "target.languages.tsv"
    path.write_text(path.read_text(encoding="utf-8").replace("gl", "pt", 1), encoding="utf-8")
    with pytest.raises(RunError, match=r"target.languages.tsv: checksum mismatch"):
        Pipeline.load(tmp_path)


def test_an_old_pipeline_without_counts_by_language_allows_the_types_of_all(pipeline, tmp_path):
    old = replace(pipeline, target=replace(pipeline.target, language_counts={}))
    old.save(tmp_path)
    assert not (tmp_path / "target.languages.tsv").exists()
    union = np.any(list(pipeline.allowed_by_language.values()), axis=0)
    assert all(np.array_equal(mask, union) for mask in Pipeline.load(tmp_path).allowed_by_language.values())


def test_the_target_language_may_be_the_first_token_of_the_decoder(corpora):
    pipeline = Pipeline.learn(settings(target_tag="decoder"), *corpora)
    types = pipeline.target.vocabulary.types
    assert {language: types[number] for language, number in pipeline.first_tokens.items()} == {
        "gl": "<2gl>", "pt": "<2pt>", "en": "<2en>",
    }  # fmt: skip
    assert pipeline.source_pieces("a casa", "pt")[0] != "<2pt>"
    assert pipeline.source_ids("a casa", "pt") == pipeline.source_ids("a casa", "gl")
    assert pipeline.source.counts[4:7].tolist() == [0, 0, 0]


def test_the_target_language_may_have_no_tag(corpora):
    pipeline = Pipeline.learn(settings(target_tag="none"), *corpora)
    assert pipeline.source.vocabulary.tags == ()
    assert pipeline.first_tokens == {}
    assert pipeline.source_ids("a casa", "pt") == pipeline.source_ids("a casa", "gl")


def test_a_tag_before_the_source_is_no_first_token(pipeline):
    assert pipeline.first_tokens == {}


def test_a_direction_that_the_pipeline_does_not_know_is_refused(pipeline):
    with pytest.raises(RunError, match=r"language 'uz': .* choose from en, gl, pt"):
        pipeline.directed("uz", "en")
    with pytest.raises(RunError, match=r"language 'fr': .* choose from gl, pt, en"):
        pipeline.directed("en", "fr")


def test_a_pipeline_of_one_direction_has_the_files_and_the_checksum_that_it_had(corpora, tmp_path):
    pipeline = Pipeline.learn(settings(), corpora[0])
    pipeline.save(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "joint.model", "pipeline.json", "source.tsv", "target.tsv",
    ]  # fmt: skip
    assert "target_tag" not in (tmp_path / "pipeline.json").read_text(encoding="utf-8")
    assert pipeline.source.language_counts == {}
    assert Pipeline.learn(settings(target_tag="none"), corpora[0]).checksum() != pipeline.checksum()


@pytest.mark.skipif(not RUNS.is_dir(), reason="no gallery beside the code")
def test_pipelines_saved_before_there_were_tags_of_other_kinds_keep_their_checksum():
    pipelines = [folder / "vocabulary" / "pipeline.json" for folder in packed_folders()]
    saved = [path for path in pipelines if path.exists() and '"schema": 2' in path.read_text()]
    assert saved
    for path in saved:
        assert Pipeline.load(path.parent).checksum() == sha256(path.read_bytes()).hexdigest()


def test_each_direction_has_the_dev_text_of_its_first_corpus_with_some(corpora, tmp_path):
    first = write(tmp_path / "gl-en", "train", gl=GALICIAN[:2], en=ENGLISH[:2])
    write(first, "dev", gl=["sol", "lúa"], en=["sun", "moon"])
    second = write(tmp_path / "more", "train", gl=["rúa", "mesa"], en=["street", "table"])
    write(second, "dev", gl=["mar"], en=["sea"])
    opened = [ParallelCorpus.open(*one) for one in ((first,), (first, "en", "gl"), (second,), (second, "en", "gl"))]
    dev, overlap = check_texts([*opened, corpora[1]], allow_overlap=True)
    assert list(dev) == [("gl", "en"), ("en", "gl")]
    assert dev["en", "gl"].source == ["sun", "moon"]
    assert dev["en", "gl"].references == [["sol", "lúa"]]
    assert overlap == {}


def test_a_dev_pair_that_is_trained_on_in_the_other_direction_is_found(tmp_path):
    first = write(tmp_path / "first", "train", gl=["rúa", "mesa"], en=["street", "table"])
    write(first, "dev", gl=["sol", "lúa"], en=["sun", "moon"])
    second = write(tmp_path / "second", "train", gl=["mar", "lúa"], en=["sea", "moon"])
    corpora = [ParallelCorpus.open(first, "gl", "en"), ParallelCorpus.open(second, "en", "gl")]
    with pytest.raises(CorpusError, match="'first': 1 pair of dev is in a training text too, first at dev line 2"):
        check_texts(corpora)
    assert check_texts(corpora, allow_overlap=True)[1]["dev"] == 1


def test_a_target_sentence_that_another_corpus_trains_on_is_counted(tmp_path):
    first = write(tmp_path / "gl-en", "train", gl=["rúa", "mesa"], en=["street", "table"])
    write(first, "dev", gl=["sol", "lúa", "sol"], en=["The sun", "moon", "the  SUN"])
    second = write(tmp_path / "pt-en", "train", pt=["o sol", "rua"], en=["the sun", "road"])
    write(second, "test", pt=["tábua"], en=["table"])
    ways = ((first, "gl", "en"), (second, "en", "pt"), (second, "pt", "en"))
    corpora = [ParallelCorpus.open(*way) for way in ways]
    with pytest.raises(CorpusError, match="'gl-en': 2 en sentences of dev are in the training text of another corpus"):
        check_texts(corpora)
    assert check_texts(corpora, allow_overlap=True)[1] == {
        "dev (target side, in another corpus)": 2,
        "test of pt-en pt-en (target side, in another corpus)": 1,
    }


def test_a_corpus_trained_on_in_both_directions_has_no_overlap_with_itself(tmp_path):
    folder = write(tmp_path / "gl-en", "train", gl=["o sol", "mesa"], en=["sun", "table"])
    write(folder, "dev", gl=["sol", "lúa"], en=["Sun", "moon"])
    corpora = [ParallelCorpus.open(folder, "gl", "en"), ParallelCorpus.open(folder, "en", "gl")]
    assert check_texts(corpora)[1] == {}
