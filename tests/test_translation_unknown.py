"""Source words copied for UNKs, with known alignments."""

import numpy as np
import pytest
import torch
from support.pointing_model import PointingModel

from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import ConvSettings, RnnSettings, SearchSettings, TextSettings, TransformerSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.text.checks.inspection import DevText
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.training.validation import decoded_scores
from nmtlab.translation import Translator

COPYING = SearchSettings(beam_size=1, replace_unknown=True)
GERMAN = ["ein Hund sieht ein Kind", "ein Hund singt", "ein Kind singt", "Hund und Kind", "ein Kind und ein Hund"]
ENGLISH = ["a dog sees a child", "a dog sings", "a child sings", "dog and child", "a child and a dog"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("german")
    for language, lines in (("de", GERMAN), ("en", ENGLISH)):
        (folder / f"train.{language}").write_text("\n".join(lines * 4) + "\n", encoding="utf-8")
    return ParallelCorpus.open(folder)


@pytest.fixture(scope="module")
def words(corpus) -> Pipeline:
    settings = TextSettings(
        segmentation="word", vocabulary_size=0, joint=False, target_vocabulary_mask=False, truecase=True
    )
    return Pipeline.learn(settings, corpus)


@pytest.fixture(scope="module")
def pieces(corpus) -> Pipeline:
    return Pipeline.learn(
        TextSettings(segmentation="bpe", vocabulary_size=50, joint=True, target_vocabulary_mask=False), corpus
    )


def scripted(pipeline: Pipeline, sentences: dict[str, tuple[str, list[list[float]]]], settings=COPYING) -> Translator:
    """Return a translator that generates given words, `?` for UNK, with these weights on the source pieces."""
    types = pipeline.target.vocabulary.types
    said, weights = {}, {}
    for source, (target, rows) in sentences.items():
        key = tuple(pipeline.source_ids(source)[:-1])
        said[key] = [UNK if word == "?" else types.index(word) for word in target.split()]
        weights[key] = rows
    return Translator(PointingModel(len(types), said, weights), pipeline, settings)


def test_each_unk_becomes_the_word_with_most_attention(words):
    source = "aber die Deutsche Telekom sieht ein Kind"
    rows = [[0, 0.1, 0.7, 0.2], [0.1, 0, 0.2, 0.6, 0.1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1]]
    system = scripted(words, {source: ("? ? sees a child", rows)})
    (translation,) = system.translate([source])
    assert translation.text == "Deutsche Telekom sees a child"
    assert translation.replacements == [((0, 2, "Deutsche"), (1, 3, "Telekom"))]


def test_of_an_ensemble_each_unk_becomes_the_word_with_most_attention(words):
    source = "Deutsche Telekom"
    alone = scripted(words, {source: ("? ?", [[0.6, 0.4], [0.1, 0.5, 0.4]])})
    system = Translator(Ensemble([alone.model, alone.model]), words, COPYING)
    assert system.translate([source])[0].text == alone.translate([source])[0].text == "Deutsche Telekom"


def test_attention_shifted_to_the_left_copies_the_wrong_words(words):
    source = "aber Deutsche Telekom"
    system = scripted(words, {source: ("? ?", [[0.6, 0.4], [0.1, 0.5, 0.4]])})
    assert system.translate([source])[0].text == "Aber Deutsche"  # true case is undone


def test_the_end_of_the_sentence_is_never_copied(words):
    source = "Ungeheuer singt"
    system = scripted(words, {source: ("? sings", [[0.2, 0.1, 0.7]])})
    assert system.translate([source])[0].replacements == [((0, 0, "Ungeheuer"),)]


def test_a_word_is_copied_as_it_is_written(words):
    source = "Ein Ungetüm-2, sieht"
    assert words.source_pieces(source)[0] == "ein"
    system = scripted(words, {source: ("a ? ?", [[1, 0], [0, 1], [1, 0]])})
    assert [r.word for r in system.translate([source])[0].replacements[0]] == ["Ungetüm-2", "Ein"]


def test_of_a_subword_system_whole_words_are_copied(pieces):
    source = "ein Hundekind"
    _, places = pieces.source_words(source)
    assert len(places) > places.index(1) + 2
    first = [0.4] + [0.0] * (places.index(1) - 1)
    split_up = [0.5 / (len(places) - len(first))] * (len(places) - len(first))
    system = scripted(pieces, {source: ("?", [[*first, *split_up, 0.1]])})
    (translation,) = system.translate([source])
    assert translation.replacements == [((0, 1, "Hundekind"),)]
    assert translation.text == "Hundekind"


def test_unks_stay_where_replacing_was_not_asked_for(words):
    source = "Ungeheuer singt"
    settings = SearchSettings(beam_size=1)
    (translation,) = scripted(words, {source: ("? sings", [[1.0]])}, settings).translate([source])
    assert translation.text == "<unk> sings"
    assert translation.replacements == [()]


def test_lines_keep_their_own_words_whatever_their_length(words):
    sentences = {
        "Max und Moritz": ("? and ?", [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        "ein Hund": ("a dog", [[1, 0], [0, 1]]),
        "Witwe Bolte sieht ein Kind": ("? ? sees", [[1, 0], [0, 1], [0, 0, 1]]),
    }
    lines = ["Witwe Bolte sieht ein Kind", "", "ein Hund", "Max und Moritz", " "]
    system = scripted(words, sentences)
    system.model.train()
    found = system.translate(lines)
    assert [t.text for t in found] == ["Witwe Bolte sees", "", "A dog", "Max and Moritz", ""]
    assert [t.replacements for t in found] == [
        [((0, 0, "Witwe"), (1, 1, "Bolte"))], [], [()], [((0, 0, "Max"), (2, 2, "Moritz"))], [],
    ]  # fmt: skip
    assert system.model.training


def test_each_of_the_n_best_has_its_own_words(words):
    source = "Max sieht"
    settings = SearchSettings(beam_size=12, replace_unknown=True, score="log-prob")
    system = scripted(words, {source: ("dog sees", [[1, 0], [0, 1]])}, settings)
    (translation,) = system.translate([source], n_best=12)
    assert len(translation.texts) == len(translation.replacements) == 12
    for text, hypothesis, replaced in zip(
        translation.texts, translation.hypotheses, translation.replacements, strict=True
    ):
        unknown = [t for t, token in enumerate(hypothesis.tokens) if token == UNK]
        assert [r.target_position for r in replaced] == unknown
        assert all(r.word == ["Max", "sieht"][min(r.target_position, 1)] for r in replaced)
        assert "<unk>" not in text
    assert any(translation.replacements)


def test_a_translation_cut_off_at_the_limit_is_replaced_too(words):
    source = "Max"
    settings = SearchSettings(beam_size=1, replace_unknown=True, extra_length=0)
    (translation,) = scripted(words, {source: ("? dog", [[1.0]])}, settings).translate([source])
    assert not translation.hypotheses[0].finished
    assert translation.text == "Max"


@pytest.mark.parametrize(
    ("model_settings", "bias"),
    [
        (TransformerSettings(d_model=8, d_ff=16, heads=2, encoder_layers=1, decoder_layers=2), "output_layer.bias"),
        (RnnSettings(d_model=8, layers=2), "output_bias"),
        (ConvSettings(d_model=8, decoder_layers=2), "output_layer.bias"),
    ],
    ids=["transformer", "rnn", "conv"],
)
def test_the_words_are_those_that_beam_search_itself_looked_at(words, model_settings, bias):
    torch.manual_seed(5)
    model = build_model(model_settings, ModelText(words.source.size, words.target_allowed, False)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.4)
        model.get_parameter(bias)[UNK] += 5
    settings = SearchSettings(beam_size=6, replace_unknown=True, extra_length=4)
    copied = 0
    for line, translation in zip(GERMAN, Translator(model, words, settings).translate(GERMAN, n_best=6), strict=True):
        source, (written, _) = words.source_ids(line), words.source_words(line)
        (searched,) = beam_search(model, model.encode(torch.tensor([source])), settings, n_best=6, record=True)
        for hypothesis, replaced in zip(searched.hypotheses, translation.replacements, strict=True):
            weights = hypothesis.attention[-1].mean(0)[:, :-1]
            expected = [(t, int(np.argmax(weights[t]))) for t, token in enumerate(hypothesis.tokens) if token == UNK]
            assert list(replaced) == [(t, i, written[i]) for t, i in expected]
            copied += len(replaced)
    assert copied > 5


def test_dev_bleu_is_measured_without_replacement(words, tiny_recipe):
    source = "Max und Moritz sieht ein Kind"
    rows = np.eye(6).tolist()
    system = scripted(words, {source: ("? and ? sees a child", rows)})
    dev = DevText([source], [["Max and Moritz sees a child"]])
    recipe = tiny_recipe.with_changes({"training.validation_beam_size": 1, "search.replace_unknown": True})
    without, _ = decoded_scores(
        system.model, words, dev, tiny_recipe.with_changes({"training.validation_beam_size": 1})
    )
    assert system.translate(dev.source)[0].text == dev.references[0][0]
    assert decoded_scores(system.model, words, dev, recipe)[0] == without < 100


def test_what_a_person_has_begun_with_stays_as_it_was_written(words):
    torch.manual_seed(1)
    model = build_model(RnnSettings(d_model=8), ModelText(words.source.size, words.target_allowed, joint=False))
    system = Translator(model, words, SearchSettings(beam_size=2, extra_length=2))
    for settings in (system.settings, COPYING):
        system.settings = settings
        (translation,) = system.translate(["ein Hund singt"], prefixes=["the Deutsche dog"])
        assert translation.text.startswith("The Deutsche dog")  # a sentence begins with a capital
        assert translation.replacements[0][:2] == ((0, None, "the"), (1, None, "Deutsche"))
        assert translation.hypotheses[0].tokens[:2] == (UNK, UNK)
