"""Translations like their source, counted."""

from itertools import islice, product

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.languages.noise import (
    NOISE_EFFECTS,
    effect_shares,
    effects_figure,
    effects_finding,
    nearer_source,
    source_copies,
)
from nmtlab.analysis.languages.off_target import classifier_of, off_target_lines
from nmtlab.analysis.metrics import find_metric, sums_among, value_of
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import write_lines

SOURCES = ["ein rotes Haus .", "zwei Hunde", "ja", "eins zwei drei vier"]
REFERENCES = ["a red house .", "two dogs", "yes", "one two three four"]


@pytest.fixture
def text(tmp_path) -> ParallelCorpus:
    """Four sentences."""
    for code, lines in (("de", SOURCES), ("en", REFERENCES)):
        write_lines(tmp_path / f"train.{code}", lines)
        write_lines(tmp_path / f"test.{code}", lines)
    return ParallelCorpus.open(tmp_path, "de", "en")


def test_a_copy_is_the_source_up_to_white_space(text):
    assert source_copies(SOURCES, text).tolist() == [1, 1, 1, 1]
    assert source_copies(REFERENCES, text).tolist() == [0, 0, 0, 0]
    assert source_copies([" ein rotes  Haus.", "zwei hunde", "", "eins"], text).tolist() == [1, 0, 0, 0]


def test_what_needs_fewer_edits_to_the_source_is_nearer_to_it(text):
    assert nearer_source(SOURCES, text).tolist() == [1, 1, 1, 1]
    assert nearer_source(REFERENCES, text).tolist() == [0, 0, 0, 0]
    # three of four words, one of each, none at all, and the words of the source in a different order
    lines = ["ein rotes house .", "zwei dogs", "", "vier eins zwei drei"]
    assert nearer_source(lines, text).tolist() == [1, 0, 0, 1]


def test_a_copy_that_is_the_right_translation_is_none(tmp_path):
    for code, lines in (("de", ["OK", "", "Anna"]), ("en", ["OK", "", "Ann"])):
        write_lines(tmp_path / f"test.{code}", lines)
    assert source_copies(["OK", "", "Anna"], ParallelCorpus.open(tmp_path, "de", "en")).tolist() == [0, 0, 1]


def test_what_has_nothing_of_its_source_is_not_nearer_to_it_however_long(tmp_path):
    for code, lines in (("de", ["eins zwei drei", "eins zwei drei"]), ("en", ["one", "one"])):
        write_lines(tmp_path / f"test.{code}", lines)
    found = nearer_source(["u v w x y z", "u zwei w x"], ParallelCorpus.open(tmp_path, "de", "en"))
    assert found.tolist() == [0, 0]  # four edits to three words, two of which are wrong


def test_text_without_spaces_is_compared_by_characters(tmp_path):
    for code, line in (("zh", "我喜欢红色的房子"), ("ja", "赤い家が好きです")):
        write_lines(tmp_path / f"test.{code}", [line])
    text = ParallelCorpus.open(tmp_path, "zh", "ja")
    assert nearer_source(["我喜欢红色的房"], text).tolist() == [1]
    assert nearer_source(["赤い家が好き"], text).tolist() == [0]


def test_the_marks_of_a_runs_translations_are_stored_and_quoted_as_metrics(family, tmp_path):
    run, languages = family.child_run, family.child.direction
    for split, code in product(("train", "test"), languages):
        write_lines(tmp_path / f"{split}.{code}", islice(family.child.lines(split, code), 8))
    corpus = ParallelCorpus.open(tmp_path, *languages)
    found, lines = NOISE_EFFECTS.of(run, corpus=corpus), translations(run, corpus, "test")
    assert found["line"].tolist() == [*range(1, len(lines) + 1)]
    np.testing.assert_array_equal(found["other"], off_target_lines(lines, corpus.target, classifier_of((corpus,))))
    assert NOISE_EFFECTS.stored(run, corpus=corpus).equals(found)
    for key, column in (("source-copies", "copied"), ("nearer-source", "nearer")):
        metric = find_metric(key)
        assert value_of(metric, run, corpus) == pytest.approx(100 * found[column].mean())
        sums = sums_among(metric, lines, None, corpus)
        assert sums.sum(axis=0).tolist() == [100 * found[column].sum(), len(lines)]


def test_runs_are_compared_by_their_shares():
    marks = {"line": [1, 2, 3, 4], "copied": [1.0, 0.0, 0.0, 0.0], "nearer": [1.0, 1.0, 0.0, 0.0]}
    copying = pd.DataFrame({**marks, "other": [1.0, 1.0, 1.0, np.nan], "run": "copying"})
    clean = copying.assign(copied=0.0, nearer=0.0, other=0.0, run="clean")
    found = pd.concat([clean, copying])
    assert effect_shares(found).to_dict("list") == {
        "run": ["clean", "copying"], "lines": [4, 4], "copied": [0.0, 25.0], "nearer": [0.0, 50.0],
        "other": [0.0, 100.0],
    }  # fmt: skip
    assert [list(bars.y) for bars in effects_figure(found).data] == [[0.0, 25.0], [0.0, 50.0], [0.0, 100.0]]
    assert effects_finding(found) == (
        "copying: 25 % of the translations are copies of their source, 50 % are nearer to it than to the reference, "
        "and 100 % are in the source language. No other run here has more that are nearer to the source."
    )
