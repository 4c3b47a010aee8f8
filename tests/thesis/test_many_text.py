"""The texts of many languages: their sizes and directions, and that no dev or test text is in any training text."""

from dataclasses import replace
from pathlib import Path

import pytest

from nmtlab.text.corpora.cleaning import normalise
from nmtlab.text.corpora.corpus import SPLITS, ParallelCorpus
from nmtlab.thesis.tables.many_text import ARTIFICIAL, IBERIAN, TINY, TURKIC, ManyTexts
from nmtlab.workspace import Workspace

DATA = Path(__file__).parents[2].parent / "shared/data"
real = pytest.mark.skipif(not DATA.is_dir(), reason="no real corpora beside the checkout")


def smaller(texts: ManyTexts, train: int, held_out: int) -> ManyTexts:
    """Return texts whose largest has so many training pairs, and the others in proportion."""
    most = texts.into_english[0].train
    sizes = {"dev": held_out, "test": held_out}
    return ManyTexts(
        "texts",
        tuple(replace(one, train=one.train * train // most, **sizes) for one in texts.into_english),
        replace(texts.together, train=1, **sizes),
    )


def opened(texts: ManyTexts, workspace: Workspace) -> list[ParallelCorpus]:
    return [corpus.open(workspace) for corpus in (*texts.into_english, texts.together)]


def english(corpus: ParallelCorpus, split: str) -> set[str]:
    """Return the English sentences of a split, by their letters and digits alone."""
    return {"".join(filter(str.isalnum, normalise(line))) for line in corpus.lines(split, "en")} - {""}


def leaks(corpora: list[ParallelCorpus]) -> dict[tuple[str, str, str], int]:
    trained = {corpus.name: english(corpus, "train") for corpus in corpora[:-1]}
    held_out = {(corpus.name, split): english(corpus, split) for corpus in corpora for split in SPLITS[1:]}
    shared = {(*where, name): len(there & seen) for where, there in held_out.items() for name, seen in trained.items()}
    return {where: number for where, number in shared.items() if number}


@pytest.mark.parametrize(
    ("texts", "languages"),
    [
        (IBERIAN, ("pt", "es", "gl")),
        (TURKIC, ("tr", "ug", "uz")),
        (ARTIFICIAL, ("qaa", "qac", "qad", "qab")),
        (TINY, ("qaa", "qab")),
    ],
    ids=["iberian", "turkic", "artificial", "tiny"],
)
def test_each_language_has_english_both_ways_and_the_others_without_training(texts, languages):
    assert texts.languages == languages
    directions = [(corpus.source, corpus.target) for corpus in texts.both_ways]
    assert directions == [(code, "en") for code in languages] + [("en", code) for code in languages]
    zero_shot = [(corpus.source, corpus.target) for corpus in texts.zero_shot]
    assert len(zero_shot) == len(set(zero_shot)) == len(languages) * (len(languages) - 1)
    assert not any("en" in direction for direction in zero_shot)
    assert {corpus.name for corpus in texts.zero_shot} == {texts.together.name}


@pytest.mark.full
@real
@pytest.mark.parametrize(
    ("texts", "sizes", "common"),
    [
        (IBERIAN, {"pt": (20_000, 200, 500), "es": (10_000, 200, 500), "gl": (4000, 200, 500)}, 577),
        (TURKIC, {"tr": (10_000, 60, 500), "ug": (4942, 60, 169), "uz": (1526, 60, 65)}, 63),
    ],
    ids=["iberian", "turkic"],
)
def test_no_english_of_dev_or_test_of_a_real_language_is_in_any_training_text(tmp_path, texts, sizes, common):
    corpora = opened(texts, Workspace(tmp_path, (DATA,)))
    found = {corpus.source: tuple(corpus.check().values()) for corpus in corpora[:-1]}
    assert found == sizes
    assert corpora[-1].count("test") == common
    assert leaks(corpora) == {}
    for corpus in texts.zero_shot:
        assert corpus.open(Workspace(tmp_path, (DATA,))).count("test") == common


@pytest.mark.full
@pytest.mark.parametrize(
    "texts", [smaller(ARTIFICIAL, 3200, 80), TINY, smaller(TINY, 150, 20)], ids=["artificial", "tiny", "tinier"]
)
def test_no_english_of_dev_or_test_of_an_artificial_language_is_in_any_training_text(tmp_path, texts):
    assert leaks(opened(texts, Workspace(tmp_path))) == {}


@pytest.mark.full
def test_artificial_training_texts_differ_by_language_and_the_common_test_is_the_same_in_all(tmp_path):
    workspace = Workspace(tmp_path)
    texts = smaller(ARTIFICIAL, 800, 30)
    *corpora, together = opened(texts, workspace)
    trained = [english(corpus, "train") for corpus in corpora]
    assert [corpus.count("train") for corpus in corpora] == [800, 400, 200, 100]
    for number, some in enumerate(trained):
        others = set().union(*trained[:number], *trained[number + 1 :])
        assert len(some & others) < 0.1 * len(some)  # short sentences may be drawn twice
    stems = {}
    for code in texts.languages:
        lexicon = (together.folder / f"gold/lexicon.{code}-en.tsv").read_text(encoding="utf-8").splitlines()[1:]
        stems[code] = {line.split("\t")[-1] for line in lexicon}
    assert "inherited" in stems["qaa"] & stems["qab"] & stems["qac"]
    assert "inherited" not in stems["qad"]
    lines = {code: list(together.lines("test", code)) for code in (*texts.languages, "en")}
    assert {len(some) for some in lines.values()} == {30}
    assert len(set(map(tuple, lines.values()))) == 5
