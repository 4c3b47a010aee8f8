"""What figures over seeds say, computed by hand."""

import math

import pandas as pd

from nmtlab.thesis.measured import described_cells
from nmtlab.thesis.shown.children import curves_finding
from nmtlab.thesis.shown.cognates import recall_finding
from nmtlab.thesis.shown.many_languages import ablation_finding, gain_finding
from nmtlab.thesis.shown.overlap import overlap_finding


def test_children_are_compared_at_the_smallest_and_the_largest_size():
    names = ["pair", "system", "child_pairs", "metric", "mean"]
    rows = [("gl-en", "BPE", 2000, 9.04), ("gl-en", "BPE", 500, 5.0), ("gl-en", "BPE + transfer", 500, 12.25),
            ("ug-en", "BPE", 500, 1.0)]  # fmt: skip
    curves = pd.DataFrame([(*row[:3], "test-bleu", row[3]) for row in rows], columns=names)
    found = curves_finding(curves, "child_pairs", "training pairs")
    assert found == "Test BLEU with 500 to 2,000 training pairs (gl-en): BPE 5.0 to 9.0, BPE + transfer 12.2."
    assert curves_finding(curves.head(0), "child_pairs", "training pairs") == ""


def test_translated_words_are_counted_with_and_without_a_cognate_where_the_text_has_them():
    rows = [("a", "cognate", "0", 0, 90), ("a", "cognate", "1-4", 1, 4), ("a", "cognate", "5-19", 4, 6),
            ("a", "no cognate", "1-4", 1, 4), ("a", "name", "1-4", 4, 4)]  # fmt: skip
    recall = pd.DataFrame(rows, columns=["run", "kind", "seen", "right", "words"])
    said = "Translated words of those in the child's text, with and without a cognate: a 50 % and 25 %."
    assert recall_finding(recall) == said


def test_gains_that_are_clear_are_counted_and_the_largest_is_named():
    rows = [("many-to-one", "shared", "gl-en", 4000, 2.0, 1.5), ("many-to-one", "wider", "gl-en", 4000, 1.0, 1.5),
            ("many-to-one", "shared", "pt-en", 20_000, -4.4, 1.3)]  # fmt: skip
    found = pd.DataFrame(rows, columns=["texts", "system", "direction", "pairs", "difference", "margin"])
    assert gain_finding(found) == (
        "Clearly better than a separate model: 1 of 3 directions and systems; worse: 1. "
        "Most is gained by gl-en with 4,000 pairs (many-to-one, shared): +2.0 ± 1.5 BLEU."
    )


def test_means_over_directions_are_named_from_the_best():
    means = pd.DataFrame({"system": ["shared", "wider"], "mean": [20.0, 24.62], "margin": [math.nan, 1.8]})
    assert ablation_finding(means) == "Mean BLEU over directions: wider 24.6 ± 1.8, shared 20.0."


def test_languages_that_share_most_are_named_with_the_median():
    rows = [("gl", "es", 0.41), ("es", "gl", 0.36), ("gl", "tr", 0.01)]
    matrix = pd.DataFrame(rows, columns=["language", "other_language", "type_share"])
    assert overlap_finding(matrix) == (
        "Of a language's types, es has 41 % of gl's, gl has 36 % of es's, tr has 1 % of gl's; "
        "the median of all pairs is 36 %."
    )


def test_a_figure_of_cells_says_how_many_seeds_have_a_value():
    cells = pd.DataFrame({"seed": [1, 1, 2, 3], "value": [1.0, 2.0, 3.0, math.nan]})
    assert described_cells(cells) == "test text, 2 seeds"
    assert described_cells(cells.head(2), "dev text") == "dev text, 1 seed"
