import hashlib
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from nmtlab.errors import CorpusError, RecipeError, RunError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.learning import sample, usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, UNK

DATA = Path(__file__).parents[2].parent / "shared/data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")

SETTINGS = {
    "joint bpe": TextSettings(segmentation="bpe", vocabulary_size=90),
    "separate bpe": TextSettings(segmentation="bpe", vocabulary_size=60, joint=False),
    "joint unigram": TextSettings(segmentation="unigram", vocabulary_size=80),
    "words": TextSettings(segmentation="word", vocabulary_size=0, joint=False, min_frequency=3),
    "joint words": TextSettings(segmentation="word", vocabulary_size=40),
    "true-cased words": TextSettings(segmentation="word", vocabulary_size=50, joint=False, truecase=True),
}
by_name = pytest.mark.parametrize("name", SETTINGS)

_SOURCE_WORDS = ["bir", "iki", "kedi", "köpek", "gördü", "evde", "Ankara", "büyük", "küçük", "koştu,", "ve", "su"]
_TARGET_WORDS = ["the", "a", "cat", "dog", "saw", "ran", "at", "home", "Ankara", "big,", "and", "water's", "one-two"]


def grow(folder, pairs=200, seed=1):
    """Write a small corpus with a long tail of rare words, some blank lines and some long ones."""
    choose = random.Random(seed)

    def sentence(words, rare):
        tail = [f"{rare}{choose.randrange(60)}"] if choose.random() < 0.4 else []
        return " ".join(choose.choices(words, k=choose.randint(1, 8)) + tail).capitalize() + "."

    sources = [sentence(_SOURCE_WORDS, "x") for _ in range(pairs)]
    targets = [sentence(_TARGET_WORDS, "y") for _ in range(pairs)]
    sources[3], targets[5], targets[7] = "", " \t", "long " * 300
    for split, count in (("train", pairs), ("dev", 20)):
        write_lines(folder / f"{split}.tr", sources[:count])
        write_lines(folder / f"{split}.en", targets[:count])
    return ParallelCorpus.open(folder, "tr", "en")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return grow(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def learned(corpus):
    return {name: Pipeline.learn(settings, corpus) for name, settings in SETTINGS.items()}


def usable(corpus, max_words=250):
    pairs = list(corpus.pairs("train"))
    return [pair for pair in pairs if all(0 < len(side.split()) <= max_words for side in pair)]


@by_name
def test_a_pipeline_comes_back_whole(name, corpus, learned, tmp_path):
    pipeline = learned[name]
    pipeline.save(tmp_path / "vocabulary")
    again = Pipeline.load(tmp_path / "vocabulary")
    lines = [line for pair in corpus.pairs("dev") for line in pair] + ["Ünknøwn 漢字 <s>"]
    assert again.settings == SETTINGS[name]
    assert again.checksum() == pipeline.checksum()
    assert again.encode_source(lines) == pipeline.encode_source(lines)
    assert again.encode_target(lines) == pipeline.encode_target(lines)
    assert [again.target.text(ids) for ids in again.encode_target(lines)] == [
        pipeline.target.text(ids) for ids in pipeline.encode_target(lines)
    ]
    assert again.source.counts.tolist() == pipeline.source.counts.tolist()
    assert again.target.counts.tolist() == pipeline.target.counts.tolist()
    assert again.target_allowed.tolist() == pipeline.target_allowed.tolist()


@by_name
def test_the_same_text_gives_the_same_pipeline(name, corpus, learned):
    assert Pipeline.learn(SETTINGS[name], corpus).checksum() == learned[name].checksum()


def test_other_text_settings_or_direction_give_another_checksum(learned, corpus, tmp_path):
    other_text = grow(tmp_path, seed=2)
    backwards = ParallelCorpus.open(corpus.folder, "en", "tr")
    settings = SETTINGS["words"]
    pipelines = [
        *learned.values(),
        *(Pipeline.learn(settings, text) for text in (other_text, backwards)),
        Pipeline.learn(settings.model_copy(update={"max_words": 100}), corpus),
    ]
    assert len({pipeline.checksum() for pipeline in pipelines}) == len(pipelines)


@by_name
@pytest.mark.parametrize("damage", ["missing", "changed", "cut off", "empty"])
def test_a_missing_or_damaged_file_is_named(name, damage, learned, tmp_path):
    learned[name].save(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        content = path.read_bytes()
        if damage == "missing":
            path.unlink()
        else:
            changed = bytes([content[0] ^ 1]) + content[1:]
            path.write_bytes({"changed": changed, "cut off": content[:-1], "empty": b""}[damage])
        with pytest.raises(RunError, match="restore it from a copy of the run") as caught:
            Pipeline.load(tmp_path)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
        path.write_bytes(content)
    Pipeline.load(tmp_path)


def test_a_folder_without_a_pipeline_is_named(tmp_path):
    with pytest.raises(RunError, match=r"nowhere.pipeline\.json: missing; restore it"):
        Pipeline.load(tmp_path / "nowhere")


def test_a_damaged_file_is_found_even_if_its_checksum_was_forged(learned, tmp_path):
    learned["words"].save(tmp_path)
    good = (tmp_path / "target.tsv").read_bytes()
    bad = good.replace(b"\n", b" \n", 6)
    (tmp_path / "target.tsv").write_bytes(bad)
    manifest = (tmp_path / "pipeline.json").read_text()
    forged = manifest.replace(hashlib.sha256(good).hexdigest(), hashlib.sha256(bad).hexdigest())
    (tmp_path / "pipeline.json").write_text(forged)
    with pytest.raises(RunError, match=r"target\.tsv, line 1: not a type and a count"):
        Pipeline.load(tmp_path)


@by_name
def test_every_sentence_ends_with_eos_and_has_an_id_for_each_piece(name, corpus, learned):
    pipeline = learned[name]
    for source, target in corpus.pairs("dev"):
        ids = pipeline.source_ids(source)
        words, places = pipeline.source_words(source)
        assert ids[-1] == EOS
        assert len(ids) - 1 == len(pipeline.source_pieces(source)) == len(places)
        assert set(places) == set(range(len(words)))
        assert pipeline.encode_target([target, source]) == [pipeline.target_ids(target), pipeline.target_ids(source)]
        assert max(ids) < pipeline.source.size


@pytest.mark.parametrize("name", ["joint bpe", "separate bpe", "joint unigram"])
def test_known_subwords_come_back_as_text(name, corpus, learned):
    for source, target in usable(corpus):
        assert learned[name].source.text(learned[name].source_ids(source)) == " ".join(source.split())
        assert learned[name].target.text(learned[name].target_ids(target)) == " ".join(target.split())


def test_known_words_come_back_as_text(corpus):
    settings = TextSettings(segmentation="word", vocabulary_size=0, joint=False, truecase=True)
    pipeline = Pipeline.learn(settings, corpus)
    for _, target in usable(corpus):
        assert pipeline.target.text(pipeline.target_ids(target)) == target


@by_name
def test_a_word_as_long_as_a_file_is_refused_where_each_letter_is_a_token(name, learned):
    pipeline, line = learned[name], "a" * 1_000_000
    for encode in (pipeline.encode_source, pipeline.encode_target):
        if pipeline.settings.segmentation == "word":
            assert len(encode([line])[0]) == 2
        else:
            with pytest.raises(CorpusError, match=r"'a{30}\.\.\.': [\d,]+ tokens, more than 10,000; put one sentence"):
                encode(["a", line])


@by_name
def test_a_blank_line_stays_blank(name, learned):
    pipeline = learned[name]
    assert pipeline.source_ids("") == pipeline.target_ids(" \t ") == pipeline.source_ids("\u200b ▁") == [EOS]
    assert pipeline.encode_filled(["", "a", "\u00ad", "b"])[0] == [1, 3]
    assert pipeline.source.text([EOS]) == pipeline.target.text([BOS, EOS, PAD]) == ""
    assert pipeline.source_pieces("") == pipeline.target.pieces([EOS]) == []


@by_name
def test_padding_and_limits_are_not_text(name, learned):
    pipeline = learned[name]
    ids = pipeline.target_ids("the cat saw")
    padded = np.array([BOS, *ids, PAD, PAD])
    assert pipeline.target.text(padded) == pipeline.target.text(ids)
    assert pipeline.target.pieces(padded) == pipeline.target.pieces(ids)
    assert len(pipeline.target.pieces(padded)) == len(ids) - 1


@by_name
def test_unknown_words_are_replaced_in_turn(name, learned):
    pipeline = learned[name]
    cat = pipeline.target_ids("cat")[:-1]
    ids = [*cat, UNK, *cat, UNK, UNK, EOS]
    capital = "Cat" if SETTINGS[name].truecase else "cat"
    assert pipeline.target.text(ids) == f"{capital} <unk> cat <unk> <unk>"
    assert pipeline.target.text(ids, ["Kedi", "New York"]) == f"{capital} Kedi cat New York <unk>"


@by_name
def test_counts_are_those_of_the_usable_training_text(name, corpus, learned):
    pipeline = learned[name]
    sources, targets = zip(*usable(corpus), strict=True)
    for lines, encode, counts in (
        (sources, pipeline.source_ids, pipeline.source.counts),
        (targets, pipeline.target_ids, pipeline.target.counts),
    ):
        seen = Counter(number for line in lines for number in encode(line))
        assert counts.dtype == np.int64
        assert counts.tolist() == [seen[number] for number in range(len(counts))]


@by_name
def test_targets_never_seen_in_training_are_masked(name, corpus, learned):
    pipeline = learned[name]
    seen = {number for _, target in usable(corpus) for number in pipeline.target_ids(target)}
    expected = [number in seen | {EOS, UNK} for number in range(pipeline.target.size)]
    assert pipeline.target_allowed.tolist() == expected
    assert False in expected[4:] or not pipeline.joint  # there are Turkish types to be masked


def test_without_a_mask_all_but_padding_and_bos_are_allowed(corpus):
    pipeline = Pipeline.learn(SETTINGS["joint bpe"].model_copy(update={"target_vocabulary_mask": False}), corpus)
    assert np.flatnonzero(~pipeline.target_allowed).tolist() == [PAD, BOS]


def test_joint_sides_have_the_same_types_and_separate_ones_their_own(learned):
    for name, pipeline in learned.items():
        assert pipeline.joint == ("joint" in name)
        assert (pipeline.source.vocabulary.types == pipeline.target.vocabulary.types) == pipeline.joint
    assert learned["joint words"].source.size == learned["joint words"].target.size == 40


def test_rare_words_are_unk(corpus, learned):
    pipeline = learned["words"]
    frequencies = Counter(word for _, target in usable(corpus) for word in pipeline.target.tokenizer.split(target))
    for word, count in frequencies.items():
        assert (pipeline.target_ids(word)[0] == UNK) == (count < 3)


def test_pairs_with_too_many_words_are_not_learned_from(tmp_path):
    write_lines(tmp_path / "train.tr", ["a b", "a b c", "d"])
    write_lines(tmp_path / "train.en", ["x y", "x", "x y z"])
    corpus = ParallelCorpus.open(tmp_path, "tr", "en")
    settings = TextSettings(segmentation="word", vocabulary_size=0, joint=False, max_words=2)
    pipeline = Pipeline.learn(settings, corpus)
    assert pipeline.source.vocabulary.types[4:] == ("a", "b")
    assert pipeline.target.vocabulary.types[4:] == ("x", "y")
    left_out = Counter()
    assert list(usable_pairs(corpus, 2, left_out)) == [("a b", "x y")]
    assert left_out.total() == 2


@by_name
def test_a_corpus_with_no_usable_pair_is_refused(name, tmp_path):
    write_lines(tmp_path / "train.tr", ["a b", "a b c"])
    write_lines(tmp_path / "train.en", ["", "x"])
    settings = SETTINGS[name].model_copy(update={"max_words": 2})
    with pytest.raises(CorpusError, match=r"train has no usable pair \(1 .*, 1 too long\); .*text\.max_words"):
        Pipeline.learn(settings, ParallelCorpus.open(tmp_path, "tr", "en"))


def test_a_vocabulary_that_fits_no_subwords_is_refused(corpus):
    with pytest.raises(RecipeError, match=r"^text\.vocabulary_size = 8000: .*; set it to at most \d+"):
        Pipeline.learn(TextSettings(), corpus)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary_size": 4}, r"^text\.vocabulary_size = 4: no room for words .*; set it to at least 5, or to 0"),
        ({"min_frequency": 10_000}, r"^text\.min_frequency = 10000: no word .*; set it to at most \d+"),
    ],
)
def test_settings_that_leave_no_word_are_refused(change, message, corpus):
    with pytest.raises(RecipeError, match=message):
        Pipeline.learn(TextSettings(segmentation="word", **change), corpus)


@pytest.mark.parametrize(("count", "most"), [(1000, 100), (1000, 1), (1000, 999), (10, 10), (10, 50), (0, 5)])
def test_a_sample_has_the_size_asked_for_and_keeps_the_order(count, most):
    chosen = list(sample(range(count), count, most))
    assert len(chosen) == min(count, most)
    assert chosen == sorted(set(chosen))
    assert chosen == list(sample(range(count), count, most))


def test_a_sample_is_taken_evenly_from_the_whole_text():
    tenths = Counter(item // 1000 for item in sample(range(10_000), 10_000, 2000))
    assert all(120 < tenths[tenth] < 280 for tenth in range(10))  # six standard deviations


@pytest.mark.full
@needs_data
@pytest.mark.parametrize(
    ("folder", "source", "target"), [("software-ug-en", "ug", "en"), ("tatoeba-ja-en", "ja", "en")]
)
def test_real_text_of_other_scripts_comes_back(folder, source, target):
    corpus = ParallelCorpus.open(DATA / folder, source, target)
    pipeline = Pipeline.learn(TextSettings(vocabulary_size=5000), corpus)
    for pair in corpus.pairs("dev"):
        for text, ids, back in (
            (pair[0], pipeline.source_ids(pair[0]), pipeline.source.text),
            (pair[1], pipeline.target_ids(pair[1]), pipeline.target.text),
        ):
            if UNK not in ids:
                assert back(ids) == " ".join(text.split())
    assert pipeline.source.counts[EOS] == pipeline.target.counts[EOS] == len(usable(corpus))
    assert pipeline.source.counts[UNK] == pipeline.target.counts[UNK] == 0
