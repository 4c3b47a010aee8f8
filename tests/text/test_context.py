"""Sentences in context: the ids of a ten-line loop, documents, limits, and what does not fit."""

from dataclasses import replace

import numpy as np
import pytest

from nmtlab.errors import CorpusError, RecipeError
from nmtlab.recipe import Recipe
from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.context import SEPARATOR, apart, in_context
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline

KINDS = {
    "words": TextSettings(segmentation="word", joint=False, context=1),
    "pieces": TextSettings(segmentation="bpe", vocabulary_size=60, context=1),
    "bytes": TextSettings(segmentation="byte", context=1),
}
SOURCE = "ein zwei drei vier fünf sechs sieben acht neun".split()
TARGET = "one two three four five six seven eight nine".split()


def write(folder, split: str, lines: int, seed: int) -> None:
    """Write a split whose documents are mixed with each other, and that has blank lines."""
    random = np.random.default_rng(seed)
    for side, words in (("de", SOURCE), ("en", TARGET)):
        text = [" ".join(random.choice(words, random.integers(1, 6))) for _ in range(lines)]
        text[4] = "" if side == "de" else text[4]
        (folder / f"{split}.{side}").write_text("\n".join(text) + "\n", encoding="utf-8")
    ids = random.integers(0, 3, lines)
    (folder / f"{split}.documents").write_text("\n".join(map(str, ids)) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("context")
    write(folder, "train", 60, 1)
    write(folder, "dev", 10, 2)
    return ParallelCorpus(folder, "de", "en", context=True)


@pytest.fixture(scope="module", params=KINDS)
def pipeline(request, corpus) -> Pipeline:
    return Pipeline.learn(KINDS[request.param], corpus)


def by_hand(pipeline: Pipeline, corpus: ParallelCorpus, split: str) -> list[list[int]]:
    """Return the ids of each source in its context by a loop over the lines, and of none that is blank."""
    plain, (separator,) = replace(corpus, context=False), pipeline.source.vocabulary.tag_ids([SEPARATOR])
    lines, ids = list(plain.lines(split, "de")), plain.documents(split)
    rows = []
    for number, line in enumerate(lines):
        row = pipeline.source.encode([line])[0]
        earlier = [place for place in range(number) if ids[place] == ids[number]]
        if line and earlier and lines[earlier[-1]]:
            row = [*pipeline.source.encode([lines[earlier[-1]]])[0][:-1], separator, *row]
        rows.append(row)
    return rows


def test_the_ids_are_those_of_a_loop_by_hand(pipeline, corpus, tmp_path):
    expected = by_hand(pipeline, corpus, "train")
    assert pipeline.encode_source(list(corpus.lines("train", "de"))) == expected
    encoded = EncodedCorpus.open(tmp_path, pipeline, corpus)
    assert sorted(encoded.source(n).tolist() for n in range(len(encoded))) == sorted(
        filter(lambda ids: len(ids) > 1, expected)
    )
    dev = EncodedCorpus.open(tmp_path, pipeline, corpus, "dev")
    assert [dev.source(n).tolist() for n in range(len(dev))] == by_hand(pipeline, corpus, "dev")


def test_the_first_sentence_of_a_document_is_as_without_context(pipeline, corpus):
    plain = replace(corpus, context=False)
    size = pipeline.settings.vocabulary_size - (pipeline.settings.segmentation == "bpe")  # which has the separator
    without = Pipeline.learn(pipeline.settings.model_copy(update={"context": 0, "vocabulary_size": size}), plain)
    ids = plain.documents("train")
    firsts = [ids.index(name) for name in sorted(set(ids))]
    for place in firsts:
        line, alone = (list(one.lines("train", "de"))[place] for one in (corpus, plain))
        assert line == alone
        assert pipeline.source_pieces(line) == without.source_pieces(alone)
        assert pipeline.source.vocabulary.tokens(pipeline.source_ids(line)) == without.source.vocabulary.tokens(
            without.source_ids(alone)
        )


def test_the_order_of_documents_does_not_matter(corpus, tmp_path):
    plain = replace(corpus, context=False)
    ids = np.array(plain.documents("train"))
    order = np.concatenate([np.flatnonzero(ids == name) for name in ("2", "0", "1")])
    for side in ("de", "en"):
        lines = np.array(list(plain.lines("train", side)), dtype=object)[order]
        (tmp_path / f"train.{side}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "train.documents").write_text("\n".join(ids[order]) + "\n")
    shuffled = list(ParallelCorpus(tmp_path, "de", "en", context=True).pairs("train"))
    pairs = list(corpus.pairs("train"))
    assert shuffled == [pairs[place] for place in order]


def test_no_target_sentence_is_on_the_source_side(corpus):
    read = " ".join(line for split in ("train", "dev") for line in corpus.lines(split, "de")).split()
    assert set(read) <= {*SOURCE, SEPARATOR}
    assert [target for _, target in corpus.pairs("train")] == list(corpus.lines("train", "en"))


def test_types_are_learned_and_counted_alone(pipeline, corpus):
    (separator,) = pipeline.source.vocabulary.tag_ids([SEPARATOR])
    alone = [
        ids
        for ids, (_, target) in zip(by_hand(pipeline, corpus, "train"), corpus.pairs("train"), strict=True)
        if len(ids) > 1
    ]
    counts = pipeline.source.vocabulary.counts
    assert counts[separator] == sum(separator in ids for ids in alone)
    plain = Pipeline.learn(pipeline.settings, replace(corpus, context=False))
    assert counts.tolist() == plain.source.vocabulary.counts.tolist()
    assert not pipeline.source.vocabulary.is_text[separator]
    if pipeline.joint:
        assert not pipeline.target_allowed[separator]


def test_pieces_and_words_are_one_for_each_id_and_context_belongs_to_no_word(pipeline):
    line = f"acht neun {SEPARATOR} ein zwei"
    pieces, ids = pipeline.source_pieces(line), pipeline.source_ids(line)
    words, places = pipeline.source_words(line)
    context = len(pipeline.source_pieces("acht neun"))
    assert len(pieces) == len(ids) - 1 == len(places)
    assert pieces[context] == SEPARATOR
    assert (words, places[: context + 1]) == (["ein", "zwei"], [-1] * (context + 1))
    assert places[context + 1 :] == pipeline.source_words("ein zwei")[1]
    assert pipeline.encode_source(["", f"ein {SEPARATOR} "]) == [[2], [2]]


def test_a_context_too_long_is_cut_from_the_left_and_never_the_sentence(corpus):
    pipeline = Pipeline.learn(KINDS["pieces"].model_copy(update={"max_subwords": 6}), corpus)
    context, sentence = (pipeline.source.encode([text])[0][:-1] for text in ("acht neun sieben", "ein"))
    (separator,) = pipeline.source.vocabulary.tag_ids([SEPARATOR])
    room = 6 - 1 - len(sentence)
    assert 0 < room < len(context)
    line = f"acht neun sieben {SEPARATOR} ein"
    assert pipeline.source_ids(line) == [*context[-room:], separator, *sentence, 2]
    assert len(pipeline.source_pieces(line)) == 6
    long = " ".join(SOURCE)
    assert pipeline.source_ids(f"acht {SEPARATOR} {long}") == pipeline.source_ids(long)


def test_tags_come_before_the_context(corpus):
    pipeline = Pipeline.learn(KINDS["pieces"], replace(corpus, origin="synthetic"), corpus)
    (ids,) = pipeline.encode_source([f"ein {SEPARATOR} zwei"], "", "synthetic")
    tokens = pipeline.source.vocabulary.tokens(ids)
    assert [token for token in tokens if token.startswith("<")] == ["<origin:synthetic>", SEPARATOR, "</s>"]
    assert tokens[0] == "<origin:synthetic>"


def test_a_separator_in_the_text_is_no_separator():
    assert list(in_context(["a <sep> b", "c"], ["1", "1"])) == ["a < sep > b", "a < sep > b <sep> c"]
    assert apart("a < sep > b <sep> c") == ("a < sep > b", "c")
    assert [apart(line) for line in ("a", "<sep> a", "a <sep>")] == [("", "a"), ("", "a"), ("a", "")]


def test_a_saved_pipeline_reads_context(pipeline, tmp_path):
    pipeline.save(tmp_path)
    loaded = Pipeline.load(tmp_path)
    line = f"ein {SEPARATOR} acht neun"
    assert (loaded.checksum(), loaded.source_ids(line)) == (pipeline.checksum(), pipeline.source_ids(line))


def test_a_corpus_without_documents_is_named(corpus, tmp_path):
    for side in ("de", "en"):
        (tmp_path / f"train.{side}").write_text("a\nb\n")
    text = ParallelCorpus(tmp_path, "de", "en", context=True)
    with pytest.raises(CorpusError, match=r"no train\.documents") as found:
        Pipeline.learn(KINDS["words"], text)
    assert "id of a document for each line" in found.value.remedy
    (tmp_path / "train.documents").write_text("1\n")
    with pytest.raises(CorpusError, match="1 ids, but train has 2 pairs"):
        list(text.lines("train", "de"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"model.family": "phrase"}, "neural models alone"),
        ({"text.segmentation": "imported"}, "no <sep>"),
        ({"text.annotate": 3}, "leave one out"),
        ({"text.length_bins": 10}, "to which context adds"),
        ({"corpus.source": "de", "corpus.also_sources": ["fr"], "corpus.target": "en"}, "of a sentence alone"),
        ({"training.guided_attention": 1.0}, "guided_attention"),
    ],
)
def test_what_context_excludes_is_refused_by_name(changes, problem):
    with pytest.raises(RecipeError, match=problem):
        Recipe().with_changes({"text.context": 1, **changes})


def test_a_child_reads_context_as_its_parent_does(corpus):
    parent = Pipeline.learn(KINDS["pieces"], corpus)
    child = Pipeline.learn(KINDS["pieces"], corpus, parent=parent)
    assert child.source.vocabulary.tags == parent.source.vocabulary.tags
    with pytest.raises(RecipeError, match="the parent has 1"):
        Pipeline.learn(KINDS["pieces"].model_copy(update={"context": 0}), corpus, parent=parent)
