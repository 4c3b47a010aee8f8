"""Control tokens: never split, never found in text, never generated."""

import numpy as np
import pytest
import torch

from nmtlab.errors import RecipeError, RunError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.batching.encoded import EncodedCorpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tags import language_tag, origin_tag, tags_for
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS, UNK

GALICIAN = [
    "a casa vermella",
    "o can <2en> corre",
    "a casa <origin:web> vella",
    "o can vello",
    "1 < 2 > : origin web",
    "",
]
ENGLISH = [
    "the red house",
    "the dog <2en> runs",
    "the old <origin:web> house",
    "the old dog",
    "1 < 2 > 3 : g w",
    "nothing",
]

SETTINGS = {
    "joint bpe": TextSettings(segmentation="bpe", vocabulary_size=60),
    "separate bpe": TextSettings(segmentation="bpe", vocabulary_size=45, joint=False),
    "joint unigram": TextSettings(segmentation="unigram", vocabulary_size=36),
    "everything allowed": TextSettings(segmentation="bpe", vocabulary_size=60, target_vocabulary_mask=False),
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory):
    """Galician and English in both directions, and a text of another origin."""
    folder = tmp_path_factory.mktemp("texts")
    for language, lines in (("gl", GALICIAN), ("en", ENGLISH)):
        write_lines(folder / f"train.{language}", lines * 5)
    return [
        ParallelCorpus.open(folder, "gl", "en"),
        ParallelCorpus.open(folder, "en", "gl"),
        ParallelCorpus.open(folder, "gl", "en", origin="web"),
    ]


@pytest.fixture(scope="module", params=SETTINGS)
def pipeline(request, corpora):
    return Pipeline.learn(SETTINGS[request.param], *corpora)


TAGS = ("<2en>", "<2gl>", "<origin:web>")


def test_tags_follow_the_special_types_and_are_counted_by_sentences(pipeline):
    vocabulary = pipeline.source.vocabulary
    assert vocabulary.types[: len(SPECIALS) + 3] == (*SPECIALS, *TAGS)
    assert vocabulary.reserved == 7
    assert dict(zip(TAGS, vocabulary.counts[4:7].tolist(), strict=True)) == dict(zip(TAGS, (50, 25, 25), strict=True))
    joint = pipeline.joint
    assert pipeline.target.vocabulary.tags == (TAGS if joint else ())
    assert not joint or pipeline.target.counts[4:7].tolist() == [0, 0, 0]


def test_a_source_sentence_begins_with_the_tags_of_its_target_language_and_origin(pipeline):
    ids = pipeline.encode_source(["a casa", ""])
    assert ids[0][0] == 4
    assert ids[0][-1] == EOS
    assert ids[1] == [EOS]
    assert pipeline.source_ids("a casa", "gl") == [5, *ids[0][1:]]
    assert pipeline.encode_source(["a casa"], "en", "web") == [[4, 6, *ids[0][1:]]]
    assert pipeline.source_pieces("a casa", "gl")[0] == "<2gl>"
    assert len(pipeline.source_pieces("a casa", "gl")) == len(ids[0]) - 1
    assert pipeline.source.text(ids[0]) == "a casa"


def test_text_that_looks_like_a_tag_is_text(pipeline):
    for line in ("o can <2en> corre", "<2en>", "a <origin:web> casa <2gl>"):
        ids = pipeline.source_ids(line)
        assert ids[0] == 4
        assert not set(ids[1:]) & {4, 5, 6}
        assert pipeline.source.text(ids) == line
        assert not set(pipeline.target_ids(line)) & {4, 5, 6} or not pipeline.joint


def test_tags_are_never_generated_whatever_the_mask(pipeline):
    allowed = pipeline.target_allowed
    assert not allowed[[PAD, BOS]].any()
    assert allowed[[EOS, UNK]].all()
    if pipeline.joint:
        assert not allowed[4:7].any()


def test_tags_are_of_no_word(pipeline):
    words, places = pipeline.source_words("a casa vermella", "gl")
    assert words == ["a", "casa", "vermella"]
    assert places[0] == -1
    assert places[1:] == pipeline.source.tokenizer.words("a casa vermella")[1]
    assert pipeline.source_words("") == ([], [])


def test_a_pipeline_with_tags_comes_back_as_it_was_saved(pipeline, tmp_path):
    pipeline.save(tmp_path)
    loaded = Pipeline.load(tmp_path)
    assert loaded.checksum() == pipeline.checksum()
    assert loaded.source.languages == ("gl", "en")
    assert loaded.target.languages == ("en", "gl")
    assert loaded.languages == ("gl", "en")
    assert loaded.source_ids("o can", "gl") == pipeline.source_ids("o can", "gl")
    assert np.array_equal(loaded.target_allowed, pipeline.target_allowed)


def test_encoded_texts_have_their_tags(pipeline, corpora, tmp_path):
    for corpus, tags in zip(corpora, ([4], [5], [4, 6]), strict=True):
        encoded = EncodedCorpus.open(tmp_path, pipeline, corpus)
        for number in range(len(encoded)):
            assert encoded.source(number).tolist()[: len(tags)] == tags
            assert not set(encoded.target(number).tolist()) & {4, 5, 6} or not pipeline.joint


def test_a_language_that_is_not_translated_into_is_refused(pipeline):
    with pytest.raises(RunError, match="language 'pt': the run does not translate into it; choose from en, gl"):
        pipeline.source_ids("a casa", "pt")


def test_one_direction_needs_no_language_tag(corpora):
    assert tags_for([corpora[0], corpora[0]]) == ()
    assert tags_for([corpora[0], corpora[2]]) == (origin_tag("web"),)
    assert tags_for(corpora) == (language_tag("en"), language_tag("gl"), origin_tag("web"))


def test_words_may_have_an_origin_but_only_one_language_a_side(corpora):
    words = TextSettings(segmentation="word", vocabulary_size=0, joint=False)
    pipeline = Pipeline.learn(words, corpora[0], corpora[2])
    assert pipeline.source.vocabulary.tags == ("<origin:web>",)
    assert pipeline.target.vocabulary.tags == ()
    assert pipeline.encode_source(["a casa"], origin="web")[0][0] == 4
    assert UNK not in pipeline.source_ids("o can")
    with pytest.raises(RecipeError, match=r"text.segmentation = 'word': .* several languages \(en, gl\); set it to"):
        Pipeline.learn(words, *corpora)


def test_tags_count_among_the_types_of_a_vocabulary(corpora):
    settings = TextSettings(segmentation="word", vocabulary_size=5, joint=False)
    pipeline = Pipeline.learn(settings.model_copy(update={"vocabulary_size": 7}), corpora[0], corpora[2])
    assert pipeline.source.size == 7
    assert pipeline.target.size == 7
    with pytest.raises(RecipeError, match=r"vocabulary_size = 5: no room for words.*set it to at least 6"):
        Pipeline.learn(settings, corpora[0], corpora[2])


def test_a_search_never_says_a_tag(corpora):
    """Beams of an untrained model whose output favours the tags."""
    from nmtlab.models.build import ModelText, build_model
    from nmtlab.recipe import SearchSettings, TransformerSettings
    from nmtlab.translation import Translator

    pipeline = Pipeline.learn(SETTINGS["everything allowed"], *corpora)
    torch.manual_seed(1)
    settings = TransformerSettings(d_model=16, d_ff=16, heads=2, encoder_layers=1, decoder_layers=1)
    model = build_model(settings, ModelText(pipeline.source.size, pipeline.target_allowed, joint=True))
    with torch.no_grad():
        model.target_embedding.weight[4:7] *= 50
    for translation in Translator(model, pipeline, SearchSettings(beam_size=4)).translate(GALICIAN, n_best=4):
        assert all(token >= 7 or token == UNK for found in translation.hypotheses for token in found.tokens)
