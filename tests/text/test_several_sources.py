"""Text of several sources: rows with missing sentences, their subwords, shards and batches."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.recipe import Recipe, TextSettings
from nmtlab.text.batching import shards
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.corpora.multi_parallel import join_languages
from nmtlab.text.segmentation.learning import usable_rows
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tags import NULL
from nmtlab.text.segmentation.vocabulary import EOS, PAD

ROWS = [
    ("un can", "um cão", "a dog"), ("", "um gato", "a cat"), ("unha casa", "", "a house"), ("", "", "nothing"),
    ("dous cans", "dois cães", ""), ("tres", "três " * 12, "three"), ("o can corre", "o cão corre", "the dog runs"),
]  # fmt: skip
KEPT = [ROWS[0], ROWS[1], ROWS[2], ROWS[6]]
SETTINGS = TextSettings(vocabulary_size=60, max_words=10)


@pytest.fixture
def corpus(tmp_path) -> ParallelCorpus:
    for language, lines in zip(("gl", "pt", "en"), zip(*ROWS, strict=True), strict=True):
        write_lines(tmp_path / f"train.{language}", lines)
        write_lines(tmp_path / f"dev.{language}", lines[:3])
    return ParallelCorpus(tmp_path, "gl", "en", also=("pt",))


def test_rows_without_a_target_or_without_any_source_or_too_long_are_left_out_and_counted(corpus):
    skipped: Counter[str] = Counter()
    assert list(usable_rows(corpus, 10, skipped)) == KEPT
    assert skipped == {"blank side": 2, "too long": 1}


def test_sources_with_other_numbers_of_lines_are_refused_with_both_numbers(corpus):
    write_lines(corpus.folder / "train.pt", ["um"])
    with pytest.raises(CorpusError, match=r"train.pt has 1 lines, train.en has 7"):
        list(corpus.rows("train"))
    with pytest.raises(CorpusError, match=r"train.pt has 1 lines, train.en has 7"):
        corpus.check()
    with pytest.raises(CorpusError, match=r"no dev.es"):
        list(replace(corpus, also=("es",)).rows("dev"))


def test_the_checksum_is_that_of_one_source_and_changes_with_the_text_of_another(corpus):
    alone, together = replace(corpus, also=()), corpus.checksum()
    before = alone.checksum()
    assert together != before
    write_lines(corpus.folder / "dev.pt", ["um", "dois", "três"])
    assert corpus.checksum() != together
    assert alone.checksum() == before


def test_subwords_are_of_all_sources_and_targets_are_counted_once(corpus):
    pipeline = Pipeline.learn(SETTINGS, corpus)
    source, target = pipeline.source, pipeline.target
    assert source.languages == ("gl", "pt")
    counts = np.zeros(source.size, dtype=int)
    for side in (0, 1):
        for ids in pipeline.encode_source([row[side] for row in KEPT if row[side]]):
            np.add.at(counts, ids, 1)
    (null,) = source.vocabulary.tag_ids([NULL])
    counts[null] = 2
    assert source.vocabulary.counts.tolist() == counts.tolist()
    counted = np.zeros(target.size, dtype=int)
    for ids in pipeline.encode_target([row[2] for row in KEPT]):
        np.add.at(counted, ids, 1)
    assert target.vocabulary.counts.tolist() == counted.tolist()
    assert not pipeline.target_allowed[null]


def test_a_missing_source_is_one_reserved_token_and_a_line_without_any_is_left_out(corpus):
    pipeline = Pipeline.learn(SETTINGS, corpus)
    (null,) = pipeline.source.vocabulary.tag_ids([NULL])
    filled, (first, second) = pipeline.encode_filled(["un can", "", " ", "can"], ["", "um cão", "", "cão"])
    assert filled == [0, 1, 3]
    assert second[0] == first[1] == [null, EOS]
    assert first[0] == pipeline.source_ids("un can")
    assert second[1:] == pipeline.encode_source(["um cão", "cão"])
    words, places = pipeline.words_of_sources(["un can", "", "cão"])
    assert words == ["un", "can", "cão"]
    assert len(places) + 1 == len(first[0]) + 2 + len(second[2])
    assert [place for place in dict.fromkeys(places) if place >= 0] == [0, 1, 2]
    one = Pipeline.learn(SETTINGS, replace(corpus, also=()))
    with pytest.raises(RunError, match=r"2 sources, and the run reads one"):
        one.encode_filled(["un can"], ["um cão"])


@pytest.mark.parametrize("unknown", [0, 2])
def test_shards_and_batches_have_the_ids_of_every_source(corpus, tmp_path, monkeypatch, unknown):
    monkeypatch.setattr(shards, "SHARD_PAIRS", 2)
    pipeline = Pipeline.learn(SETTINGS.model_copy(update={"unk_copy_threshold": unknown}), corpus)
    for _ in range(2):  # built, then from the cache
        text = EncodedCorpus.open(tmp_path / "cache", pipeline, corpus)
    assert len(text.shards) > 1
    sides = [
        *pipeline.encode_sources(list(zip(*KEPT, strict=True))[:2]),
        pipeline.encode_target([row[2] for row in KEPT]),
    ]
    expected = sorted(map(list, zip(*sides, strict=True)))
    found = []
    for batch in Batches(Mixture([text]), batch_tokens=1000, seed=1).epoch(0):
        (more,) = batch.more_sources
        for row in range(batch.rows):
            found.append([ids[row][ids[row] != PAD].tolist() for ids in (batch.source, more, batch.target)])
    assert len(found) == len(KEPT) * (2 if unknown else 1)
    assert all(row in found for row in expected)
    assert text.skipped == {"blank side": 2, "too long": 1}


def test_the_longest_source_decides_which_batch_a_row_is_in(corpus, tmp_path):
    pipeline = Pipeline.learn(SETTINGS, corpus)
    mixture = Mixture([EncodedCorpus.open(tmp_path / "cache", pipeline, corpus)])
    sources, _ = mixture.lengths(np.arange(4))
    batch = mixture.batch(np.arange(4))
    lengths = np.maximum(*[(ids != PAD).sum(1) for ids in batch.sources])
    assert sources.tolist() == lengths.tolist()
    cut = batch.cut(slice(1, 3))
    assert [ids.tolist() for ids in cut.sources] == [ids[1:3].tolist() for ids in batch.sources]
    assert batch.source_tokens == sum((ids != PAD).sum() for ids in batch.sources)


def test_words_of_several_languages_are_refused(corpus):
    with pytest.raises(RecipeError, match=r"the source side has several languages \(gl, pt\)"):
        Pipeline.learn(TextSettings(segmentation="word", vocabulary_size=0), corpus)


def test_joined_languages_keep_sentences_that_only_some_have_if_asked_for(tmp_path):
    texts = {"gl": [("can", "dog"), ("gato", "cat")], "pt": [("casa", "house"), ("cão", "dog")]}
    parts = []
    for code, pairs in texts.items():
        folder = Path(tmp_path / code)
        folder.mkdir()
        for language, lines in zip((code, "en"), zip(*pairs, strict=True), strict=True):
            write_lines(folder / f"train.{language}", lines)
        write_lines(folder / f"test.{code}", ["" if code == "gl" else "um"] * 1 + ["dous"])
        write_lines(folder / "test.en", ["one", "two"])
        parts.append(ParallelCorpus(folder, code, "en"))
    report = join_languages(tmp_path / "all", parts, allow_missing=True)
    together = ParallelCorpus(tmp_path / "all", "gl", "en", also=("pt",))
    assert list(together.rows("train")) == [("can", "cão", "dog"), ("gato", "", "cat"), ("", "casa", "house")]
    assert list(together.rows("test")) == [("dous", "dous", "two"), ("", "um", "one")]
    assert report.kept == {"train": 3, "dev": 0, "test": 2}
    assert report.options["allow_missing"]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model.family": "conv"}, "corpus.also_sources needs a model that combines sources"),
        ({"model.family": "phrase"}, "corpus.also_sources needs a model that combines sources"),
        ({"model.plan_length": True}, "model.plan_length is of one source"),
        ({"model.family": "rnn", "model.attention": "none"}, "but model.attention is 'none'"),
        ({"model.family": "rnn", "model.lexicon": "table"}, "model.lexicon 'table' is of one source"),
        ({"model.family": "rnn", "model.lexicon": "module", "model.fixnorm": True}, "set model.combine to 'joint'"),
        ({"model.family": "rnn", "model.combine": "flat", "model.attention": "additive"}, "'flat' needs a product"),
        ({"transfer.parent": "run"}, "a run of several sources starts from no other"),
        ({"corpus.also_sources": ["gl"]}, "language 'gl' is named twice"),
        ({"more_corpora": [{"source": "es", "target": "en"}]}, "every corpus needs the same sources"),
    ],
)
def test_what_several_sources_exclude_is_refused_by_name(changes, problem):
    recipe = Recipe().with_changes({"corpus.source": "gl", "corpus.target": "en", "corpus.also_sources": ["pt"]})
    with pytest.raises(RecipeError, match=re.escape(problem)):
        recipe.with_changes(changes)
