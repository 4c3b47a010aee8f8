"""Length tokens: bins by numpy's quantiles, gold ones in training, any asked for afterwards."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from nmtlab.errors import RecipeError, RunError
from nmtlab.recipe import Recipe
from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.counting import counted
from nmtlab.text.segmentation.length_bins import bin_of, length_edges, length_tags, usual_bin
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.online import OnlineModel

KINDS = {
    "words": TextSettings(segmentation="word", joint=False, length_bins=4),
    "pieces": TextSettings(segmentation="bpe", vocabulary_size=50, length_bins=4),
    "apart": TextSettings(segmentation="unigram", vocabulary_size=28, joint=False, length_bins=4, target_tag="none"),
}
WORDS = "ein zwei drei vier fünf sechs sieben acht neun".split()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> ParallelCorpus:
    """A text with many ratios of length."""
    random = np.random.default_rng(1)
    folder = tmp_path_factory.mktemp("lengths")
    for split, number in (("train", 300), ("dev", 10)):
        for side, most in (("de", 6), ("en", 9)):
            lines = [" ".join(random.choice(WORDS, random.integers(1, most))) for _ in range(number)]
            (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ParallelCorpus(folder, "de", "en")


@pytest.fixture(scope="module", params=KINDS)
def pipeline(request, corpus) -> Pipeline:
    return Pipeline.learn(KINDS[request.param], corpus)


def ratio(pipeline: Pipeline, source: str, target: str) -> float:
    return len(pipeline.target.tokenizer.split(target)) / len(pipeline.source.tokenizer.split(source))


def test_edges_are_numpys_quantiles_of_the_ratio_of_lengths(pipeline, corpus):
    ratios = [ratio(pipeline, *pair) for pair in corpus.pairs("train")]
    assert pipeline.length_edges == pytest.approx(np.quantile(ratios, [0.25, 0.5, 0.75]))


def test_bins_have_equal_mass_and_equal_ratios_stay_together():
    ratios = np.random.default_rng(3).lognormal(size=10_000)
    edges = length_edges(ratios, 10)
    assert np.bincount([bin_of(edges, one) for one in ratios]).tolist() == [1000] * 10
    tied = length_edges([1.0] * 7 + [2.0] * 3, 10)
    assert Counter(bin_of(tied, one) for one in (1.0, 2.0)) == {6: 1, 9: 1}


def test_the_usual_bin_is_that_of_the_median_pair():
    assert [usual_bin(counts) for counts in ([5, 5], [5, 5, 5], [1] * 10, [0, 9, 0], [4, 0, 5])] == [1, 1, 5, 1, 2]


def test_each_training_pair_has_the_token_of_its_bin_and_the_counts_agree(pipeline, corpus, tmp_path):
    encoded = EncodedCorpus.open(tmp_path, pipeline, corpus)
    tags = pipeline.source.vocabulary.tag_ids(length_tags(4))
    pairs = list(corpus.pairs("train"))
    expected = [tags[int(np.searchsorted(pipeline.length_edges, ratio(pipeline, *pair), "right"))] for pair in pairs]
    assert sorted(int(encoded.source(n)[0]) for n in range(len(encoded))) == sorted(expected)
    rows, targets = pipeline.encode_pairs(*zip(*pairs, strict=True))
    assert [row[0] for row in rows] == expected
    assert targets == pipeline.encode_target([target for _, target in pairs])
    plain = pipeline.encode_source([source for source, _ in pairs])
    assert [row[1:] for row in rows] == [row[1:] for row in plain]
    assert pipeline.source.vocabulary.counts[tags].tolist() == [expected.count(tag) for tag in tags]
    again = counted(pipeline, corpus)
    assert again.source.vocabulary.counts[tags].tolist() == [expected.count(tag) for tag in tags]


def test_a_corrected_sentence_is_learned_with_the_token_of_its_length(pipeline, corpus):
    pairs = list(corpus.pairs("train"))[:5]
    one = SimpleNamespace(translator=SimpleNamespace(pipeline=pipeline))
    rows, _ = pipeline.encode_pairs(*zip(*pairs, strict=True))
    assert OnlineModel._batch(one, pairs).source[:, 0].tolist() == [row[0] for row in rows]
    assert len({row[0] for row in rows}) > 1


def test_a_source_without_a_target_asks_for_the_usual_bin_or_for_any(pipeline):
    tags = pipeline.source.vocabulary.tag_ids(length_tags(4))
    assert pipeline.source_ids("ein zwei")[0] == tags[2]
    for number, tag in enumerate(tags):
        asked = pipeline.with_length_bin(number)
        assert asked.source_ids("ein zwei")[0] == tag
        assert asked.source_pieces("ein zwei")[0] == f"<length:{number}>"
        assert asked.source_words("ein zwei")[1][0] == -1
        assert asked.checksum() == pipeline.checksum()
        assert asked.with_length_bin(-1).source_ids("ein zwei")[0] == tags[2]
    assert pipeline.encode_source([""]) == [[2]]


def test_length_tokens_are_no_text_and_are_never_generated(pipeline):
    tags = pipeline.source.vocabulary.tag_ids(length_tags(4))
    assert not pipeline.source.vocabulary.is_text[tags].any()
    assert pipeline.source.text([*tags, *pipeline.source_ids("acht neun")]) == "acht neun"
    if pipeline.joint:
        assert not pipeline.target_allowed[tags].any()
    assert not set(tags) & set(pipeline.source_ids("<length:1> ein")[1:])


def test_a_saved_pipeline_has_its_bins(pipeline, tmp_path):
    pipeline.save(tmp_path)
    loaded = Pipeline.load(tmp_path)
    assert (loaded.length_edges, loaded.checksum()) == (pipeline.length_edges, pipeline.checksum())
    assert loaded.encode_pairs(["ein"], ["acht neun"]) == pipeline.encode_pairs(["ein"], ["acht neun"])


def test_they_follow_the_tags_of_language_and_origin(corpus):
    pipeline = Pipeline.learn(KINDS["pieces"], replace(corpus, origin="synthetic"), corpus)
    source, _ = pipeline.encode_pairs(["ein zwei"], ["acht"], "", "synthetic")
    named = pipeline.source.vocabulary.tokens(source[0])
    assert named[-1] == "</s>"
    assert [piece for piece in named if piece.startswith("<")][:-1][-2:] == ["<origin:synthetic>", "<length:0>"]


@pytest.mark.parametrize(
    ("bins", "number", "problem", "choice"),
    [(4, 4, "the run has 4", "0 to 3"), (0, 1, "no length tokens", "length_bins = 10")],
)
def test_a_bin_that_there_is_not_is_refused(corpus, bins, number, problem, choice):
    pipeline = Pipeline.learn(KINDS["words"].model_copy(update={"length_bins": bins}), corpus)
    with pytest.raises(RunError, match=problem) as found:
        pipeline.with_length_bin(number)
    assert choice in found.value.remedy


def test_a_bin_without_a_training_pair_is_refused(tmp_path):
    for side in ("de", "en"):
        (tmp_path / f"train.{side}").write_text("a b\n" * 7 + ("a\n" if side == "de" else "a b\n") * 3)
    pipeline = Pipeline.learn(KINDS["words"], ParallelCorpus(tmp_path, "de", "en"))
    with pytest.raises(RunError, match="no training pair has this one") as found:
        pipeline.with_length_bin(0)
    assert found.value.remedy == "choose from 2, 3"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"text.length_bins": 10, "search.length_bin": 10}, "choose from 0 to 9"),
        ({"search.length_bin": 0}, "leave it out"),
        ({"text.length_bins": 1}, "tells nothing"),
        ({"text.length_bins": 10, "text.segmentation": "imported"}, "no length tokens"),
        ({"text.length_bins": 10, "model.family": "phrase"}, "neural models alone"),
    ],
)
def test_recipes_that_do_not_fit_are_refused(changes, problem):
    with pytest.raises(RecipeError, match=problem):
        Recipe().with_changes(changes)


def test_a_child_has_as_many_bins_as_its_parent_and_the_same_edges(corpus):
    parent = Pipeline.learn(KINDS["pieces"], corpus)
    assert Pipeline.learn(KINDS["pieces"], corpus, parent=parent).length_edges == parent.length_edges
    with pytest.raises(RecipeError, match="the parent has 4") as found:
        Pipeline.learn(KINDS["pieces"].model_copy(update={"length_bins": 10}), corpus, parent=parent)
    assert found.value.remedy == "set it to 4"
