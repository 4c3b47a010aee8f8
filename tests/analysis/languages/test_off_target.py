"""Translations into the wrong language, counted."""

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.languages.off_target import (
    OFF_TARGET_OF,
    classifier_of,
    off_target,
    off_target_lines,
)
from nmtlab.errors import CorpusError
from nmtlab.evaluation.language_identification import LanguageClassifier

CLASSIFIER = LanguageClassifier(
    {"en": ["the house is red", "a cat sleeps"], "de": ["das Haus ist rot"], "fr": ["la maison est rouge"]}
)


def test_lines_in_another_language_are_counted_and_the_commonest_is_named():
    lines = ["the house", "das Haus", "ist rot", "la maison", "", "  ", "42", "a cat"]
    (row,) = off_target(lines, ["the house", "das Haus", "7", "a cat"], "en", CLASSIFIER).to_dict("records")
    assert row == {
        "target": "en", "lines": 8, "blank": 2, "undecided": 1, "decided": 5, "off_target": 3, "share": 0.6,
        "instead": "de", "instead_share": 0.4, "reference_share": pytest.approx(1 / 3),
        "accuracy": pytest.approx(2 / 3),
    }  # fmt: skip


def test_each_line_is_marked_as_it_is_counted():
    lines = ["the house", "das Haus", "ist rot", "la maison", "", "  ", "42", "a cat"]
    marks = off_target_lines(lines, "en", CLASSIFIER)
    np.testing.assert_array_equal(marks, [0, 1, 1, 1, np.nan, np.nan, np.nan, 0])
    assert np.nanmean(marks) == off_target(lines, lines, "en", CLASSIFIER)["share"].item()


def test_a_perfect_translation_has_the_share_of_its_references():
    references = ["the house is red", "a cat", "rot"]
    (row,) = off_target(references, references, "en", CLASSIFIER).to_dict("records")
    assert row["share"] == pytest.approx(1 / 3) == row["reference_share"]
    (row,) = off_target(references[:2], references[:2], "en", CLASSIFIER).to_dict("records")
    assert (row["share"], row["instead"], row["instead_share"], row["accuracy"]) == (0, "", 0, 1)


def test_format_characters_alone_are_blank():
    row = off_target(["\u200b", "▁", "die Katze"], ["die Katze"], "de", CLASSIFIER).iloc[0]
    assert (row["lines"], row["blank"], row["decided"]) == (3, 2, 1)


def test_nothing_decided_has_no_share():
    (row,) = off_target(["", "7"], ["the house"] * 2, "en", CLASSIFIER).to_dict("records")
    assert (row["decided"], row["off_target"], row["accuracy"]) == (0, 0, 1)
    assert row["share"] != row["share"]


def test_a_target_that_the_classifier_does_not_know_is_named():
    with pytest.raises(CorpusError, match="no text in pt; it was trained on en, de, fr"):
        off_target(["a"], ["a"], "pt", CLASSIFIER)


@pytest.mark.full
def test_a_runs_translations_are_classified_by_its_training_texts_and_the_answer_is_stored(family):
    texts = [family.child, family.parent]
    frame = OFF_TARGET_OF.of(family.child_run, corpus=family.child, texts=texts)
    lines = translations(family.child_run, family.child, "test")
    references = list(family.child.lines("test", "en"))
    expected = off_target(lines, references, "en", classifier_of(texts))
    pd.testing.assert_frame_equal(frame, expected)
    assert frame["accuracy"].item() == 1
    assert OFF_TARGET_OF.of(family.child_run, corpus=family.child, texts=texts).equals(frame)
    assert classifier_of(texts).languages == ("qab", "en", "qaa")
