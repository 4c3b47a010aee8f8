"""In one direction of a system of several languages, words are counted in the texts of its two languages."""

from collections import Counter

import pytest
import torch

from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.languages.shared_words import shared_types
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.analysis.lexical.embedding_norms import word_norms
from nmtlab.analysis.lexical.lexicon import system_translations
from nmtlab.analysis.lexical.logits import decompose
from nmtlab.analysis.lexical.tokens import token_probabilities
from nmtlab.analysis.states.neighbours import neighbours
from nmtlab.errors import NmtlabError
from nmtlab.recipe import SearchSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.training.prepare import model_for
from nmtlab.translation import Translator

TEXTS = {
    "gl": ["a casa vermella", "o can corre", "a casa vella", "o can vello"],
    "pt": ["a casa vermelha", "o cão corre", "a casa velha", "o cão velho"],
    "en": ["the red house", "the dog runs", "the old house", "the old dog"],
}
TIMES = {"gl": 5, "pt": 2}
RECIPE = named_recipe("fixnorm-lex-bpe").with_changes(
    {"text.vocabulary_size": 60, "text.joint": True, "model.d_model": 8}
)
EVERYTHING = 1000


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> dict[tuple[str, str], ParallelCorpus]:
    """Galician and, with less text, Portuguese, from and into English."""
    folder = tmp_path_factory.mktemp("texts")
    for code, times in TIMES.items():
        for split in ("train", "dev"):
            write_lines(folder / code / f"{split}.{code}", TEXTS[code] * times)
            write_lines(folder / code / f"{split}.en", TEXTS["en"] * times)
    directions = [direction for code in TIMES for direction in (("en", code), (code, "en"))]
    return {one: ParallelCorpus.open(folder / max(one, key="en".__ne__), *one) for one in directions}


@pytest.fixture(scope="module")
def system(corpora) -> Translator:
    pipeline = Pipeline.learn(RECIPE.text, *corpora.values())
    torch.manual_seed(1)
    return Translator(model_for(RECIPE, pipeline).eval(), pipeline, SearchSettings())


def counted(system: Translator, language: str) -> Counter[str]:
    """Return how often each type occurs in the training text of a language, by hand."""
    times = sum(TIMES.values()) if language == "en" else TIMES[language]
    pipeline = system.pipeline
    rows = pipeline.encode_target(TEXTS[language] * times)
    return Counter(pipeline.target.vocabulary.types[number] for row in rows for number in row)


SHOWN = {
    "neighbours": lambda system, _: neighbours(system, "</s>", k=EVERYTHING)[["word", "count"]],
    "norms": lambda system, _: word_norms(system)[["word", "count"]],
    "tokens": lambda system, pair: token_probabilities(system, *pair)[["piece", "count"]],
    "logits": lambda system, pair: decompose(system, *pair, 0, top=EVERYTHING)[["word", "count"]],
    "attention": lambda system, pair: attention(system, *pair)[["target_piece", "target_count"]],
}


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("target", ["gl", "pt"])
def test_target_words_are_counted_in_the_language_of_the_direction(system, name, target):
    frame = SHOWN[name](system.directed("en", target), (TEXTS["en"][0], TEXTS[target][0]))
    expected = counted(system, target)
    assert len(frame) > 1
    assert all(count == expected[word] for word, count in frame.itertuples(index=False))


def test_a_word_of_another_language_cannot_be_produced_and_has_no_neighbours(system):
    into = {language: system.directed("en", language) for language in ("gl", "pt")}
    pieces = counted(system, "pt").keys() - counted(system, "gl").keys()
    word = min(piece for piece in pieces if f"▁{piece}" not in system.pipeline.target.vocabulary.types)
    assert len(neighbours(into["pt"], word))
    assert word not in set(neighbours(into["gl"], "</s>", k=EVERYTHING)["word"])
    refused = pytest.raises(NmtlabError, match="the system cannot produce it; choose a word of the training text in gl")
    with refused:
        neighbours(into["gl"], word)
    with refused:
        decompose(into["gl"], TEXTS["en"][0], TEXTS["gl"][0], 0, also=[word])


@pytest.mark.parametrize("target", ["gl", "pt"])
def test_a_rare_word_is_rare_in_the_language_of_the_direction(system, corpora, target):
    expected = counted(system, target)
    below = 9
    frame = rare_choices(system, corpora["en", target], "dev", below=below)
    pieces = {piece for line in TEXTS[target] for piece in system.pipeline.target.tokenizer.split(line)}
    assert set(frame["gold"]) == {piece for piece in pieces if expected[piece] < below}
    assert all(frame["gold_count"] == frame["gold"].map(expected))
    assert all(
        count == expected[word] for word, count in zip(frame["preferred"], frame["preferred_count"], strict=True)
    )


@pytest.mark.parametrize("source", ["gl", "pt"])
def test_source_words_are_counted_in_the_language_of_the_direction(system, source):
    directed, expected = system.directed(source, "en"), counted(system, source)
    lexicon = system_translations(directed, k=1)
    assert set(lexicon["source"]) == set(expected) - {"</s>"}
    assert all(lexicon["count"] == lexicon["source"].map(expected))
    frame = attention(directed, TEXTS[source][0], TEXTS["en"][0])
    tag, *pieces = frame[["source_piece", "source_count"]].drop_duplicates().itertuples(index=False)
    assert tuple(tag) == ("<2en>", 4 * sum(TIMES.values()))
    assert all(count == expected[piece] for piece, count in pieces)


@pytest.mark.parametrize("source", ["gl", "pt"])
def test_the_shared_types_of_a_child_are_those_of_the_corpus(system, corpora, source, tmp_path):
    parent = Pipeline.learn(RECIPE.text, corpora["gl", "en"], parent=system.pipeline)
    runs = [Run.create(tmp_path / name, RECIPE, {}, one) for name, one in (("child", system.pipeline), ("gl", parent))]
    table = shared_types(runs[0], corpora[source, "en"], runs[1]).set_index("split")
    types, known = (set(counted(system, code)) - {"</s>"} for code in (source, "gl"))
    assert table.loc["train", ["types", "shared_types"]].tolist() == [len(types), len(types & known)]
