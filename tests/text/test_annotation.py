"""Suggested translations of rare source words, written beside them."""

import numpy as np
import pytest

from nmtlab.errors import NmtlabError, RecipeError, RunError
from nmtlab.recipe import named_recipe
from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.annotation import bare, suggestions_of
from nmtlab.text.segmentation.counting import counts_in
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, UNK

SOURCE = ["der Hund sieht das Haus .", "der Hund sieht die Katze , den Hund .", "der Berg , der Berg !"] * 2 + [
    "der Fluss sieht das Haus ."
]
TARGET = ["the dog sees the house .", "the dog sees the cat , the dog .", "the hill , the hill !"] * 2 + [
    "the river sees the house ."
]
SUGGESTED = {"Hund": "dog", "Katze": "cat", "Fluss": "river", "Bach": "the river", "Zug": "train"}
SETTINGS = {"annotate": 3, "annotate_from": "some.tsv"}


@pytest.fixture
def corpus(tmp_path) -> ParallelCorpus:
    for split in ("train", "dev"):
        write_lines(tmp_path / f"text/{split}.de", SOURCE)
        write_lines(tmp_path / f"text/{split}.en", TARGET)
    return ParallelCorpus.open(tmp_path / "text", "de", "en")


def learned(corpus: ParallelCorpus, kind: str = "word", **changes) -> Pipeline:
    size = {"word": 0, "bpe": 60, "unigram": 39}[kind]
    settings = TextSettings(segmentation=kind, vocabulary_size=size, **{**SETTINGS, **changes})
    return Pipeline.learn(settings, corpus, suggestions=SUGGESTED)


def shown(pipeline: Pipeline, text: str) -> str:
    return " ".join(pipeline.source_pieces(text))


def test_words_seen_too_rarely_have_a_note_and_others_do_not(corpus):
    pipeline = learned(corpus)
    assert shown(pipeline, "der Hund sieht den Fluss") == "der Hund sieht den Fluss <note> river </note>"
    assert shown(pipeline, "die Katze") == "die Katze <note> cat </note>"  # seen twice
    assert shown(pipeline, "Bach !") == "Bach <note> the river </note> !"  # never seen, and two words suggested
    assert shown(pipeline, "der Zug") == "der Zug"  # the vocabulary does not have its translation


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_subwords_of_a_word_precede_its_note_whatever_marks_are_around_it(kind, corpus):
    pipeline = learned(corpus, kind)
    plain = Pipeline.learn(TextSettings(segmentation=kind, vocabulary_size=37), corpus)
    pieces = pipeline.source_pieces("(Fluss), der Hund")
    begin, end = pieces.index("<note>"), pieces.index("</note>")
    join = pipeline.source.tokenizer.join
    assert (join(pieces[:begin]), join(pieces[begin + 1 : end]), join(pieces[end + 1 :])) == (
        "(Fluss),", "river", "der Hund",
    )  # fmt: skip
    assert not set(plain.source_pieces("(Fluss), der Hund")) & {"<note>", "</note>"}


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_ids_pieces_and_words_agree_and_text_is_never_read_as_a_tag(kind, corpus):
    pipeline = learned(corpus, kind)
    for line in [*SOURCE, "<note> Fluss </note>", "", "Bach", "Fluss Fluss"]:
        ids, pieces = pipeline.source_ids(line), pipeline.source_pieces(line)
        words, places = pipeline.source_words(line)
        assert len(ids) - 1 == len(pieces) == len(places)
        assert ids[-1] == EOS
        assert sorted(set(places)) == list(range(len(words)))
        tags = pipeline.source.vocabulary.tag_ids(("<note>", "</note>"))
        assert sum(ids.count(tag) for tag in tags) == 2 * sum(
            bare(word) in ("Fluss", "Bach", "Katze") for word in words
        )
    assert pipeline.source_ids("Fluss")[-3:-1] != pipeline.source_ids("river")[:2]  # </note> is behind it
    assert not pipeline.target_allowed[tags].any()


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_a_note_has_the_ids_that_the_target_has(kind, corpus):
    pipeline = learned(corpus, kind)
    begin, end = pipeline.source.vocabulary.tag_ids(("<note>", "</note>"))
    ids = pipeline.source_ids("Bach")
    assert ids[ids.index(begin) + 1 : ids.index(end)] == pipeline.target_ids("the river")[:-1]


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_types_are_counted_as_they_are_read(kind, corpus):
    pipeline = learned(corpus, kind)
    source, target = counts_in(pipeline, corpus)
    assert np.array_equal(pipeline.source.counts, source["de"])
    assert np.array_equal(pipeline.target.counts, target["en"])
    note = pipeline.source.vocabulary.tag_ids(("<note>",))[0]
    assert pipeline.source.counts[note] == 3  # Katze twice, Fluss once


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_a_saved_pipeline_suggests_the_same_and_a_changed_suggestion_is_noticed(kind, corpus, tmp_path):
    pipeline = learned(corpus, kind)
    pipeline.save(tmp_path / "saved")
    loaded = Pipeline.load(tmp_path / "saved")
    assert loaded.checksum() == pipeline.checksum()
    assert loaded.encode_source(SOURCE) == pipeline.encode_source(SOURCE)
    path = tmp_path / "saved/notes.tsv"
    path.write_text(path.read_text().replace("river", "hill"))
    with pytest.raises(RunError, match=r"notes\.tsv: checksum mismatch"):
        Pipeline.load(tmp_path / "saved")


def test_without_annotation_files_and_checksum_are_as_before(corpus, tmp_path):
    settings = TextSettings(segmentation="word", vocabulary_size=0)
    Pipeline.learn(settings, corpus).save(tmp_path / "plain")
    assert not (tmp_path / "plain/notes.tsv").exists()
    assert "annotate" not in (tmp_path / "plain/pipeline.json").read_text()


def test_a_note_beyond_the_limit_on_tokens_is_left_out_and_counted(corpus):
    line = "Fluss Fluss Fluss"
    whole = learned(corpus, "bpe").source.annotated(line)
    assert (len(whole.suggested), whole.left_out) == (3, 0)
    for limit, notes in ((len(whole.pieces), 3), (len(whole.pieces) - 1, 2)):
        pipeline = learned(corpus, "bpe", max_subwords=limit)
        found = pipeline.source.annotated(line)
        assert (len(found.suggested), found.left_out) == (notes, 3 - notes)
        assert pipeline.notes_left_out([line]) == 3 - notes
        assert len(pipeline.source_ids(line)) - 1 <= limit


def test_an_encoded_text_says_how_many_suggestions_were_too_long(corpus, tmp_path):
    pipeline = learned(corpus, "bpe", max_subwords=12)
    encoded = EncodedCorpus.open(tmp_path / "cache", pipeline, corpus)
    expected = sum(pipeline.source.annotated(line).left_out for line in SOURCE)
    assert expected > 0
    assert encoded.skipped["suggestions beyond the limit on tokens"] == expected
    assert max(map(len, (encoded.source(n) for n in range(len(encoded))))) <= 13


def test_suggestions_are_read_with_their_lines():
    assert suggestions_of("\ufeffHund,\tdog\nHund\thound\n\n Fluss \t the  river \n") == {
        "Hund": "dog", "Fluss": "the river",
    }  # fmt: skip
    for line in ("Hund", "ein Hund\tdog", "Hund\t", "Hund\tdog\t0.5"):
        with pytest.raises(ValueError, match="line 2 is not a source word, a tab and its translation"):
            suggestions_of(f"Fluss\triver\n{line}\n")


def test_marks_around_a_word_are_not_of_it():
    assert list(map(bare, ["Fluss", "(Fluss),", "«l'eau»", "...", "நதி", "-5%"])) == [
        "Fluss",
        "Fluss",
        "l'eau",
        "",
        "நதி",
        "5",
    ]


def test_recipes_refuse_what_cannot_be_annotated():
    recipe = named_recipe("tied-small")
    for changes, problem in (
        ({"text.annotate_from": "x"}, "annotate is 0"),
        ({"text.annotate": 3, "text.joint": False}, "set joint to true"),
    ):
        with pytest.raises(RecipeError, match=problem):
            recipe.with_changes(changes)
    with pytest.raises(RecipeError, match="for neural models alone"):
        named_recipe("moses").with_changes({"text.joint": True, "text.annotate": 3})


def test_a_pipeline_is_not_learned_without_its_suggestions(corpus):
    settings = TextSettings(segmentation="word", vocabulary_size=0, **SETTINGS)
    with pytest.raises(RecipeError, match="nothing is suggested"):
        Pipeline.learn(settings, corpus)
    with pytest.raises(NmtlabError, match="nothing is suggested, in types of the vocabulary"):
        Pipeline.learn(settings, corpus, suggestions={"Hund": "dog", "Bach": "stream"})
    assert UNK in Pipeline.learn(settings, corpus, suggestions=SUGGESTED).target_ids("stream")
