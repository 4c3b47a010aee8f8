import random
from pathlib import Path

import numpy as np
import pytest
from support.full_disk import files_of_at_most

from nmtlab.errors import CorpusError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tokenizers import Words
from nmtlab.text.segmentation.vocabulary import EOS, PAD, UNK, Vocabulary

WORDS = TextSettings(segmentation="word", vocabulary_size=0, joint=False, max_words=10)
SUBWORDS = TextSettings(segmentation="bpe", vocabulary_size=50, max_words=10)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return a corpus of 300 pairs, 2 of them with a blank side and 3 too long."""
    folder = tmp_path_factory.mktemp("corpus")
    choose = random.Random(3)
    sides = {"xx": "ba de fi gu ka lo mu", "yy": "pi ra su ti wo za ne"}
    for language, words in sides.items():
        rare = [f"{language}{number}" for number in range(90)]
        lines = [
            " ".join(choose.choices([*words.split(), choose.choice(rare)], k=choose.randint(1, 8))) for _ in range(300)
        ]
        for number in (10, 20, 30) if language == "xx" else ():
            lines[number] = "ba " * 11
        lines[5 if language == "xx" else 6] = ""
        write_lines(folder / f"train.{language}", lines)
        write_lines(folder / f"dev.{language}", [*lines[:20], "ba " * 30, ""])
    return ParallelCorpus.open(folder, "xx", "yy")


@pytest.fixture(scope="module", params=[WORDS, SUBWORDS], ids=["words", "subwords"])
def pipeline(request, corpus):
    return Pipeline.learn(request.param, corpus)


@pytest.mark.parametrize("settings", [WORDS, SUBWORDS], ids=["words", "subwords"])
def test_pairs_with_too_long_a_target_are_left_out_of_training_alone_and_counted(settings, corpus, tmp_path):
    pipeline = Pipeline.learn(settings.model_copy(update={"max_target_tokens": 6}), corpus)
    encoded = EncodedCorpus.open(tmp_path, pipeline, corpus)
    short = [pair for pair in kept(corpus) if len(pipeline.target_ids(pair[1])) - 1 <= 6]
    assert sentences(encoded.shards[0].target) == [pipeline.target_ids(target) for _, target in short]
    assert encoded.shards[0].source.lengths.max() - 1 > 6  # the source may be longer
    assert encoded.skipped["too many target tokens"] == 295 - len(short)
    assert 50 < len(short) < 295
    assert len(EncodedCorpus.open(tmp_path, pipeline, corpus, "dev")) == 22


def kept(corpus):
    return [pair for pair in corpus.pairs("train") if all(1 <= len(side.split()) <= 10 for side in pair)]


def sentences(side):
    return [side.sentence(number).tolist() for number in range(len(side.lengths))]


def test_the_ids_are_those_of_the_pipeline_line_by_line(pipeline, corpus, tmp_path):
    encoded = EncodedCorpus.open(tmp_path, pipeline, corpus)
    pairs = kept(corpus)
    assert len(encoded) == len(pairs) == 295
    for number, (source, target) in enumerate(pairs):
        assert encoded.source(number).tolist() == pipeline.source_ids(source)
        assert encoded.target(number).tolist() == pipeline.target_ids(target)


def test_lengths_count_eos(pipeline, corpus, tmp_path):
    encoded = EncodedCorpus.open(tmp_path, pipeline, corpus)
    pairs = kept(corpus)
    assert encoded.shards[0].source.lengths.tolist() == [len(pipeline.source_ids(source)) for source, _ in pairs]
    assert encoded.shards[0].target.lengths.tolist() == [len(pipeline.target_ids(target)) for _, target in pairs]
    assert encoded.shards[0].source.lengths.dtype == encoded.shards[0].target.lengths.dtype == np.int32


def test_pairs_left_out_are_counted_by_reason(pipeline, corpus, tmp_path):
    assert sorted(EncodedCorpus.open(tmp_path, pipeline, corpus).skipped.values()) == [2, 3]
    assert EncodedCorpus.open(tmp_path, pipeline, corpus).skipped["too long"] == 3


def test_dev_is_taken_whole(pipeline, corpus, tmp_path):
    encoded = EncodedCorpus.open(tmp_path, pipeline, corpus, split="dev")
    pairs = list(corpus.pairs("dev"))
    assert sentences(encoded.shards[0].source) == [pipeline.source_ids(source) for source, _ in pairs]
    assert sentences(encoded.shards[0].target) == [pipeline.target_ids(target) for _, target in pairs]
    assert encoded.source(21).tolist() == [EOS]
    assert encoded.skipped == {}


def test_rare_types_of_the_copy_are_unk(pipeline, corpus, tmp_path):
    settings = pipeline.settings.model_copy(update={"unk_copy_threshold": 30})
    doubled = Pipeline.learn(settings, corpus)
    encoded = EncodedCorpus.open(tmp_path, doubled, corpus)
    pairs = kept(corpus)
    assert len(encoded) == 2 * len(pairs)
    changed = 0
    for side, lines, encode, counts in (
        (encoded.shards[0].source, [pair[0] for pair in pairs], doubled.source_ids, doubled.source.counts),
        (encoded.shards[0].target, [pair[1] for pair in pairs], doubled.target_ids, doubled.target.counts),
    ):
        first = [encode(line) for line in lines]
        second = [[UNK if number > UNK and counts[number] < 30 else number for number in ids] for ids in first]
        assert sentences(side) == first + second
        assert side.offsets.tolist() == np.cumsum([0, *map(len, first + second)]).tolist()
        changed += first != second
    assert changed == 2
    assert encoded.skipped["too long"] == 3


def test_dev_has_no_copy(corpus, tmp_path):
    doubled = Pipeline.learn(WORDS.model_copy(update={"unk_copy_threshold": 30}), corpus)
    assert len(EncodedCorpus.open(tmp_path, doubled, corpus, split="dev")) == corpus.count("dev")


def test_what_is_encoded_once_is_not_encoded_again(pipeline, corpus, tmp_path):
    progress = []
    first = EncodedCorpus.open(tmp_path / "deep/cache", pipeline, corpus, on_progress=progress.append)
    assert progress[-1] == 295
    second = EncodedCorpus.open(tmp_path / "deep/cache", pipeline, corpus, on_progress=progress.append)
    assert progress.count(295) == 1
    assert sentences(first.shards[0].source) == sentences(second.shards[0].source)
    assert len(list((tmp_path / "deep/cache").iterdir())) == 1


def test_other_text_another_split_or_another_pipeline_are_encoded_for_themselves(corpus, tmp_path):
    words, subwords = (Pipeline.learn(settings, corpus) for settings in (WORDS, SUBWORDS))
    write_lines(tmp_path / "train.xx", ["ba de"])
    write_lines(tmp_path / "train.yy", ["pi ra"])
    other = ParallelCorpus.open(tmp_path, "xx", "yy")
    cache = tmp_path / "cache"
    assert len(EncodedCorpus.open(cache, words, corpus)) == 295
    assert len(EncodedCorpus.open(cache, words, corpus, split="dev")) == 22
    assert EncodedCorpus.open(cache, subwords, corpus).shards[0].source.lengths.sum() > 0
    assert len(EncodedCorpus.open(cache, words, other)) == 1
    assert len(list(cache.iterdir())) == 4


DAMAGE = {
    "cut off": lambda content: content[:-1],
    "longer": lambda content: content + b"x",
    "flipped": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
}


@pytest.mark.parametrize("damage", ["missing", *DAMAGE])
def test_a_damaged_cache_is_built_again(damage, pipeline, corpus, tmp_path):
    whole = sentences(EncodedCorpus.open(tmp_path, pipeline, corpus).shards[0].target)
    names = [path.relative_to(tmp_path) for path in tmp_path.glob("*/*")]
    assert len(names) == 7
    for name in names:
        path: Path = tmp_path / name
        content = path.read_bytes()
        path.unlink()
        if damage != "missing":
            path.write_bytes(DAMAGE[damage](content))
        assert sentences(EncodedCorpus.open(tmp_path, pipeline, corpus).shards[0].target) == whole
        assert path.read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 1


def test_the_two_directions_of_a_text_are_encoded_for_themselves(tmp_path):
    write_lines(tmp_path / "train.xx", ["ba de", "de"])
    write_lines(tmp_path / "train.yy", ["pi", "pi ra"])
    there, back = (ParallelCorpus.open(tmp_path, *languages) for languages in (("xx", "yy"), ("yy", "xx")))
    pipeline = Pipeline.learn(TextSettings(vocabulary_size=16), there, back)
    first = EncodedCorpus.open(tmp_path / "cache", pipeline, there)
    swapped = EncodedCorpus.open(tmp_path / "cache", pipeline, back)
    assert sentences(first.shards[0].source) != sentences(swapped.shards[0].source)
    again = EncodedCorpus.open(tmp_path / "cache", pipeline, there)
    assert sentences(again.shards[0].source) == sentences(first.shards[0].source)


@pytest.mark.parametrize("size", [0, 300])
def test_on_a_full_disk_the_file_is_named_and_nothing_is_left(size, pipeline, corpus, tmp_path):
    with files_of_at_most(size), pytest.raises(OSError, match="too large") as caught:
        EncodedCorpus.open(tmp_path, pipeline, corpus)
    assert Path(caught.value.filename).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_two_who_build_the_same_at_once_both_get_it(pipeline, corpus, tmp_path):
    others = []

    def meanwhile(pairs):
        if not others:
            others.append(None)
            others[0] = EncodedCorpus.open(tmp_path, pipeline, corpus)

    mine = EncodedCorpus.open(tmp_path, pipeline, corpus, on_progress=meanwhile)
    assert sentences(mine.shards[0].source) == sentences(others[0].shards[0].source)
    assert len(list(tmp_path.iterdir())) == 1


def test_an_interrupted_build_leaves_nothing_behind(pipeline, corpus, tmp_path):
    def interrupt(pairs):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        EncodedCorpus.open(tmp_path, pipeline, corpus, on_progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_text_with_no_usable_pair_is_refused(pipeline, tmp_path):
    write_lines(tmp_path / "train.xx", ["", "ba"])
    write_lines(tmp_path / "train.yy", ["pi", " "])
    with pytest.raises(CorpusError, match=r"train has no usable pair; add text, or raise text\.max_words") as caught:
        EncodedCorpus.open(tmp_path / "cache", pipeline, ParallelCorpus.open(tmp_path, "xx", "yy"))
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(("types", "dtype"), [(65_532, "uint16"), (65_533, "int32")])
def test_ids_are_as_small_as_the_vocabulary_allows(types, dtype, tmp_path):
    counts = {f"w{number}": 1 for number in range(types)}
    source = Side("xx", Words("xx"), Vocabulary.of_words(counts, counts, types))
    target = Side("yy", Words("yy"), Vocabulary.of_words(["pi"], {"pi": types}, types))
    write_lines(tmp_path / "train.xx", [f"w0 w{types - 1}"])
    write_lines(tmp_path / "train.yy", ["pi"])
    corpus = ParallelCorpus.open(tmp_path, "xx", "yy")
    encoded = EncodedCorpus.open(tmp_path / "cache", Pipeline(WORDS, source, target), corpus)
    assert encoded.shards[0].source.ids.dtype == dtype
    assert encoded.shards[0].target.ids.dtype == "uint16"
    assert encoded.source(0).tolist() == [4, types + 3, EOS]


def test_sentences_are_filled_up_with_padding(pipeline, corpus, tmp_path):
    side = EncodedCorpus.open(tmp_path, pipeline, corpus).shards[0].source
    numbers = np.array([17, 3, 250], dtype=np.uint32)
    rows = side.padded(numbers)
    assert rows.dtype == np.int64
    assert rows.shape == (3, side.lengths[numbers].max())
    for row, number in zip(rows, numbers, strict=True):
        ids = side.sentence(number).tolist()
        assert row.tolist() == ids + [PAD] * (rows.shape[1] - len(ids))
