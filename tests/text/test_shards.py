"""A large text is dealt out to shards that each look like the whole."""

import numpy as np
import pytest

from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching import shards as shards_module
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline

PAIRS = 1000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A text whose lines say where they stand, in words of 1 to 9 pieces."""
    folder = tmp_path_factory.mktemp("numbered")
    write_lines(folder / "train.xx", [" ".join([f"s{n}"] * (1 + n % 9)) for n in range(PAIRS)])
    write_lines(folder / "train.yy", [" ".join([f"t{n}"] * (1 + n % 4)) for n in range(PAIRS)])
    return ParallelCorpus.open(folder, "xx", "yy")


@pytest.fixture(scope="module")
def pipeline(corpus):
    return Pipeline.learn(TextSettings(segmentation="word", vocabulary_size=0, joint=False), corpus)


def encoded(tmp_path, monkeypatch, pipeline, corpus, shard_pairs: int, dealt: int = 70) -> EncodedCorpus:
    monkeypatch.setattr(shards_module, "SHARD_PAIRS", shard_pairs)
    monkeypatch.setattr(shards_module, "_DEALT", dealt)
    return EncodedCorpus.open(tmp_path, pipeline, corpus)


def texts(encoded: EncodedCorpus, pipeline: Pipeline) -> list[tuple[str, str]]:
    numbers = range(len(encoded))
    return [(pipeline.source.text(encoded.source(n)), pipeline.target.text(encoded.target(n))) for n in numbers]


@pytest.mark.full
@pytest.mark.parametrize("shard_pairs", [1, 7, 90, 999])
def test_every_pair_is_in_one_shard_beside_its_translation(tmp_path, monkeypatch, pipeline, corpus, shard_pairs):
    found = encoded(tmp_path, monkeypatch, pipeline, corpus, shard_pairs)
    assert sorted(texts(found, pipeline)) == sorted(corpus.pairs("train"))
    assert len(found.shards) == -(-PAIRS // shard_pairs)
    assert len(found) == PAIRS


def test_shards_are_of_like_size_and_of_all_parts_of_the_text(tmp_path, monkeypatch, pipeline, corpus):
    found = encoded(tmp_path, monkeypatch, pipeline, corpus, 250)
    assert [len(shard) for shard in found.shards] == [250] * 4
    places = np.array([int(source.split()[0][1:]) for source, _ in texts(found, pipeline)])
    means = [chunk.mean() for chunk in np.split(places, np.cumsum([len(shard) for shard in found.shards])[:-1])]
    assert all(abs(mean - PAIRS / 2) < 5 * PAIRS / (12 * 250) ** 0.5 for mean in means)


def test_a_text_that_fits_in_one_shard_stays_in_its_order(tmp_path, monkeypatch, pipeline, corpus):
    found = encoded(tmp_path, monkeypatch, pipeline, corpus, PAIRS)
    assert len(found.shards) == 1
    assert texts(found, pipeline) == list(corpus.pairs("train"))


def test_a_text_is_dealt_out_in_the_same_way_each_time(tmp_path, monkeypatch, pipeline, corpus):
    first, second = (encoded(tmp_path / name, monkeypatch, pipeline, corpus, 90) for name in ("a", "b"))
    for one, other in zip(first.shards, second.shards, strict=True):
        assert one.source.ids.tolist() == other.source.ids.tolist()
        assert one.target.ids.tolist() == other.target.ids.tolist()


def test_a_copy_with_unknown_words_is_dealt_out_too(tmp_path, monkeypatch, corpus):
    settings = TextSettings(segmentation="word", vocabulary_size=0, joint=False, unk_copy_threshold=2)
    doubled = Pipeline.learn(settings, corpus)
    found = encoded(tmp_path, monkeypatch, doubled, corpus, 300)
    assert len(found) == 2 * PAIRS
    unknown = [source for source, _ in texts(found, doubled) if source == "<unk>"]
    assert len(unknown) == len([n for n in range(PAIRS) if n % 9 == 0])
