"""Scores over the size of the text and of the vocabulary."""

import math

import pytest
from support.child_sizes import results_of

from nmtlab.experiments import find_table
from nmtlab.experiments.results.curves import child_size_curves, child_sizes, vocabulary_curves

CHILD_SIZE, FIGURE = find_table("child-size"), find_table("figure-3.1")


def test_sizes_of_children_are_those_declared_and_a_text_of_undeclared_size_has_none():
    sizes = child_sizes(CHILD_SIZE, "small")
    assert [sizes[f"gl-en ({size})"] for size in ("500", "2,000", "4,000", "10,000")] == [
        ("gl-en, LibreOffice", 500), ("gl-en, LibreOffice", 2000), ("gl-en, LibreOffice", 4000),
        ("gl-en, LibreOffice", 10_000),
    ]  # fmt: skip
    assert sizes["qab-en (2,000)"] == ("qab-en, artificial", 2000)
    assert "Uyg-Eng" not in sizes  # all pairs of its text
    assert child_sizes(CHILD_SIZE, "thesis") == {}  # its texts are yours


def test_a_curve_has_means_and_intervals_of_the_seeds_by_ascending_size():
    scores = {
        "gl-en (2,000)": {"BPE": [9.0, 10.0, 14.0], "BPE + transfer": [15.0, None, None]},
        "gl-en (500)": {"BPE": [5.0, 5.0, 5.0], "BPE + transfer": [12.0, 12.2, 12.1]},
        "gl-en (10,000)": {"BPE": [None, None, None]},
        "Uyg-Eng": {"BPE": [3.0, 3.0, 3.0]},
    }
    curves = child_size_curves(results_of("child-size", scores), CHILD_SIZE, "small")
    assert list(curves.columns) == ["pair", "system", "child_pairs", "metric", "seeds", "mean", "margin"]
    assert curves[["pair", "system", "child_pairs", "seeds"]].to_numpy().tolist() == [
        ["gl-en, LibreOffice", "BPE", 500, 3], ["gl-en, LibreOffice", "BPE", 2000, 3],
        ["gl-en, LibreOffice", "BPE + transfer", 500, 3], ["gl-en, LibreOffice", "BPE + transfer", 2000, 1],
    ]  # fmt: skip
    assert curves["mean"].tolist() == pytest.approx([5.0, 11.0, 12.1, 15.0])
    # the deviation of 9, 10 and 14 is √7, that of 12, 12.2 and 12.1 is 0.1
    assert curves["margin"].tolist()[:3] == pytest.approx(
        [math.nan, 4.302653 * math.sqrt(7 / 3), 4.302653 * 0.1 / math.sqrt(3)], nan_ok=True
    )
    assert math.isnan(curves["margin"].iloc[3])


def test_measures_have_curves_of_their_own():
    scores = {"gl-en (500)": {"BPE": [5.0, 5.0, 5.0]}}
    both = [results_of("child-size", scores, metric) for metric in ("dev BLEU", "test BLEU")]
    for metric, one in zip(("dev BLEU", "test BLEU"), both, strict=True):
        assert child_size_curves(one, CHILD_SIZE, "small")["metric"].tolist() == [metric]


def test_a_vocabulary_has_its_size_and_systems_with_the_same_parent_are_one_curve():
    scores = {
        "BPE (large vocabulary)": [1.0, 2.0, 3.0],
        "BPE (large vocabulary) + transfer": [7.0, 7.0, 7.0],
        "BPE": [3.0, 4.0, 5.0],
        "BPE + transfer": [9.0, 9.0, 9.0],
        "BPE (small vocabulary) + transfer": [8.0, 8.0, 8.0],
        "BPE (small vocabulary)": [2.0, 3.0, 4.0],
    }
    results = results_of("figure-3.1", {"gl-en (4,000)": scores}, "dev BLEU")
    curves = vocabulary_curves(results, FIGURE, "small")
    assert curves[["pair", "system", "types"]].to_numpy().tolist() == [
        ["gl-en (4,000), LibreOffice", system, size]
        for system in ("BPE", "BPE + transfer")
        for size in (1000, 2000, 8000)
    ]
    assert curves["mean"].tolist() == [3.0, 4.0, 2.0, 8.0, 9.0, 7.0]
