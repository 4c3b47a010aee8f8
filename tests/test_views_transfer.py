"""A view of children and parents shows what was measured."""

import pandas as pd
import pytest
from support.child_sizes import results_of

from nmtlab.errors import NmtlabError
from nmtlab.views_transfer import child_size_view, cognate_view, vocabulary_view, worth_view


def test_children_by_the_size_of_their_text_and_what_their_parents_replace(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    scores = {
        "gl-en (500)": {"BPE": [5.0] * 3, "BPE + unrelated parent": [4.0] * 3, "BPE + transfer": [8.0] * 3},
        "gl-en (2,000)": {"BPE": [11.0] * 3, "BPE + transfer": [12.0] * 3},
    }
    results_of("child-size", scores).to_csv(tmp_path / "results/child-size.small.csv", index=False)
    means = child_size_view().frame
    assert list(means.columns) == ["pair", "child_pairs", "BPE", "BPE + unrelated parent", "BPE + transfer"]
    assert means.fillna(0).to_numpy().tolist() == [
        ["gl-en, LibreOffice", 500, 5, 4, 8], ["gl-en, LibreOffice", 2000, 11, 0, 12],
    ]  # fmt: skip
    worth = worth_view()
    assert worth.frame[["child_pairs", "system", "replaced"]].to_numpy().tolist() == [
        [500, "BPE + unrelated parent", float("-inf")],
        [500, "BPE + transfer", 500],
        [2000, "BPE + transfer", float("inf")],
    ]
    assert "Pairs of text that a parent replaces" in worth.figure.layout.title.text
    for view in (child_size_view, worth_view):
        with pytest.raises(NmtlabError, match=r"'dev BLEU' was not measured.*test BLEU"):
            view(measure="dev BLEU")
        with pytest.raises(NmtlabError, match="not measured at the scale thesis"):
            view("thesis")


def test_children_by_the_size_of_their_vocabulary(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    scores = {"gl-en (4,000)": {"BPE (small vocabulary)": [4.0], "BPE": [5.0], "BPE + transfer": [8.0]}}
    results_of("figure-3.1", scores, "dev BLEU").to_csv(tmp_path / "results/figure-3.1.small.csv", index=False)
    means = vocabulary_view().frame
    assert means.fillna(0).to_numpy().tolist() == [
        ["gl-en (4,000), LibreOffice", 1000, 4, 0], ["gl-en (4,000), LibreOffice", 2000, 5, 8],
    ]  # fmt: skip


def test_words_with_and_without_a_cognate_as_means_over_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr("nmtlab.views_transfer.RESULTS", tmp_path)
    with pytest.raises(NmtlabError, match="was not measured"):
        cognate_view("qab-en (10,000)")
    lines = [
        ("child-size", "qab-en (10,000)", relative, system, seed, kind, "5-19", 10, right, right / 10)
        for relative in ("cousin", "related")
        for kind, shift in (("cognate", 1), ("no cognate", 0))
        for system, first in (("BPE", 1), ("BPE + transfer", 5))
        for seed, right in ((1, first + shift), (2, first + shift + 2))
    ]
    columns = ["table", "row", "relative", "system", "seed", "kind", "seen", "words", "right", "recall"]
    pd.DataFrame(lines, columns=columns).to_csv(tmp_path / "cognate-recall.csv", index=False)
    view = cognate_view("qab-en (10,000)")
    assert view.frame.to_numpy().tolist() == [
        ["cognate", "5-19", pytest.approx(0.3), pytest.approx(0.7)],
        ["no cognate", "5-19", pytest.approx(0.2), pytest.approx(0.6)],
    ]
    assert list(view.frame.columns) == ["kind", "seen", "BPE", "BPE + transfer"]
    assert view.figure.layout.title.text.endswith("qab-en (10,000), cousin parent")
    first = view.figure.data[0]
    assert list(first.y) == pytest.approx([30])
    assert list(first.customdata[0]) == [6, 20]
    with pytest.raises(NmtlabError, match=r"qab-en \(500\)"):
        cognate_view()
