"""Neighbours in source vectors, also across languages whose vectors have units of their own."""

import pandas as pd
import pytest
import torch
from torch import Tensor

from nmtlab.analysis.languages.cognates import cognate_neighbours
from nmtlab.analysis.states.neighbours import source_neighbours
from nmtlab.errors import NmtlabError
from nmtlab.models.build import model_for
from nmtlab.recipe import SearchSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.translation import Translator

TEXTS = {
    "gl": ["a casa vermella", "o can corre", "a casa vella", "o can vello"],
    "pt": ["a casa vermelha", "o cão corre", "a casa velha", "o cão velho"],
    "en": ["the red house", "the dog runs", "the old house", "the old dog"],
}
SPECIAL, TIMES = 4, 5
EVERYTHING = 1000
WORD = "▁casa"


@pytest.fixture(scope="module")
def corpora(tmp_path_factory) -> list[ParallelCorpus]:
    """Galician and Portuguese, into English."""
    folder = tmp_path_factory.mktemp("texts")
    for code in ("gl", "pt"):
        for language in (code, "en"):
            write_lines(folder / code / f"train.{language}", TEXTS[language] * TIMES)
    return [ParallelCorpus.open(folder / code, code, "en") for code in ("gl", "pt")]


def system_of(corpora: list[ParallelCorpus], recipe, share: float, **more) -> Translator:
    """Return a system with random weights and, in source vectors, a share of common units."""
    changes = {"text.segmentation": "bpe", "text.vocabulary_size": 60, "model.embedding_share": share, **more}
    recipe = recipe.with_changes(changes)
    pipeline = Pipeline.learn(recipe.text, *corpora)
    torch.manual_seed(1)
    return Translator(model_for(recipe, pipeline).eval(), pipeline, SearchSettings())


@pytest.fixture
def halves(corpora, tiny_recipe) -> Translator:
    return system_of(corpora, tiny_recipe, 0.5)


def parts(system: Translator, *languages: str) -> list[Tensor]:
    """Return the shared units of the source vectors, and those of languages."""
    table = system.model.source_embedding
    return [table.weight.detach(), *(table.private[f"of_{code}"].detach() for code in languages)]


def by_cosine(vector: Tensor, others: dict[tuple, Tensor]) -> list[tuple]:
    """Return the names of some vectors, the nearest first, with their cosines, one by one."""
    cosines = {name: float(torch.cosine_similarity(vector, other, dim=0)) for name, other in others.items()}
    return sorted(cosines.items(), key=lambda item: -item[1])


def occurring(system: Translator, language: str) -> list[int]:
    return sorted({number for row in system.pipeline.source.encode(TEXTS[language]) for number in row[:-1]})


@pytest.mark.parametrize("model", [{}, {"model.shared_embeddings": False}])
def test_with_all_units_shared_the_nearest_types_are_those_of_a_sort_of_all_cosines(corpora, tiny_recipe, model):
    system = system_of(corpora, tiny_recipe, 1.0, **model)
    vocabulary = system.pipeline.source.vocabulary
    table = system.model.source_embedding.weight.detach().double()
    asked = vocabulary.types.index(WORD)
    others = {(word,): table[n] for n, word in enumerate(vocabulary.types) if n >= SPECIAL and n != asked}
    expected = by_cosine(table[asked], others)
    for source in ("gl", "pt"):
        frame = source_neighbours(system.directed(source, "en"), WORD, k=EVERYTHING)
        assert list(frame) == ["word", "cos", "count"]
        assert frame["word"].tolist() == [word for (word,), _ in expected]
        assert frame["cos"].tolist() == pytest.approx([cosine for _, cosine in expected])
        counts = dict(zip(vocabulary.types, vocabulary.counts.tolist(), strict=True))
        assert frame["count"].tolist() == [counts[word] for word in frame["word"]]


@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("model", [{}, {"model.shared_embeddings": False}])
@pytest.mark.parametrize("source", ["gl", "pt"])
def test_a_vector_of_each_language_is_compared_with_that_of_the_language_in_use(
    corpora, tiny_recipe, share, model, source
):
    system = system_of(corpora, tiny_recipe, share, **model).directed(source, "en")
    vocabulary = system.pipeline.source.vocabulary
    embedding = system.model.source_embedding
    tables = {}
    for code in ("gl", "pt"):
        joined = [embedding.private[f"of_{code}"], *([] if embedding.weight is None else [embedding.weight])]
        tables[code] = torch.cat(joined, dim=1).detach().double()  # the order of units does not matter
    asked = vocabulary.types.index(WORD)
    others = {(vocabulary.types[n], code): tables[code][n] for code in tables for n in occurring(system, code)}
    del others[WORD, source]
    expected = by_cosine(tables[source][asked], others)
    frame = source_neighbours(system, WORD, k=EVERYTHING)
    assert list(zip(frame["word"], frame["language"], strict=True)) == [name for name, _ in expected]
    assert frame["cos"].tolist() == pytest.approx([cosine for _, cosine in expected])
    assert len(set(occurring(system, "gl")) ^ set(occurring(system, "pt"))) > 1
    for word, language, _, count in frame.itertuples(index=False):
        encoded = system.pipeline.source.encode(TEXTS[language] * TIMES)
        assert count == sum(ids.count(vocabulary.types.index(word)) for ids in encoded)


def test_a_planted_pair_of_vectors_is_found_across_the_languages(halves):
    vocabulary = halves.pipeline.source.vocabulary
    ours = vocabulary.types.index(WORD)
    theirs = next(n for n in occurring(halves, "pt") if n != ours)
    shared, of_gl, of_pt = parts(halves, "gl", "pt")
    shared[theirs], of_pt[theirs] = shared[ours], of_gl[ours]
    of_pt[ours] = -of_gl[ours]
    nearest = source_neighbours(halves, WORD, k=1).iloc[0]
    assert (nearest["word"], nearest["language"]) == (vocabulary.types[theirs], "pt")
    assert nearest["cos"] == pytest.approx(1)
    back = source_neighbours(halves.directed("pt", "en"), vocabulary.types[theirs], k=1).iloc[0]
    assert (back["word"], back["language"], back["cos"]) == (WORD, "gl", pytest.approx(1))


def test_with_the_same_private_units_neighbours_are_those_of_one_table(halves, corpora, tiny_recipe):
    shared, of_gl, of_pt = parts(halves, "gl", "pt")
    of_pt.copy_(of_gl)
    one = system_of(corpora, tiny_recipe, 1.0)
    one.model.source_embedding.weight.data = torch.cat((shared, of_gl), dim=1)
    expected = source_neighbours(one, WORD, k=EVERYTHING)
    frame = source_neighbours(halves, WORD, k=EVERYTHING)
    frame = frame[frame["word"] != WORD].drop_duplicates("word")
    expected = expected[expected["word"].isin(frame["word"])]
    pd.testing.assert_frame_equal(
        frame[["word", "cos"]].reset_index(drop=True), expected[["word", "cos"]].reset_index(drop=True)
    )


def test_private_units_of_one_source_language_make_one_table(corpora, tiny_recipe):
    system = system_of(corpora[:1], tiny_recipe, 0.5)
    assert list(source_neighbours(system, WORD)) == ["word", "cos", "count"]


def test_a_word_that_is_no_type_is_refused(halves):
    with pytest.raises(NmtlabError, match="word 'xyz': not in the gl vocabulary"):
        source_neighbours(halves, "xyz")


# Words of artificial languages, of several subwords


def cognates_found(family, system: Translator) -> pd.DataFrame:
    table = cognate_neighbours(system, system, family.child, family.parent)
    return table.set_index(["vectors", "kind"])["precision"]


@pytest.mark.full
def test_words_are_compared_in_the_vectors_of_their_own_languages(family, tiny_recipe):
    corpora, more = [family.parent, family.child], {"text.vocabulary_size": 300, "model.shared_embeddings": False}
    system = system_of(corpora, tiny_recipe, 0.5, **more)
    shared, of_parent, of_child = parts(system, "qaa", "qab")
    shared.zero_()
    generator = torch.Generator().manual_seed(2)
    of_child.copy_(torch.randn(of_child.shape, generator=generator))
    of_parent.copy_(of_child)
    alike = cognates_found(family, system)
    assert alike["child", "cognate"] > 0.2  # by their spelling
    of_parent.copy_(torch.randn(of_child.shape, generator=generator))
    apart = cognates_found(family, system)
    for vectors in ("child", "parent"):
        assert apart[vectors, "cognate"] < 0.1 < alike[vectors, "cognate"]
    pd.testing.assert_series_equal(apart["spelling alone"], alike["spelling alone"])
