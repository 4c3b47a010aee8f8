"""Words with and without a cognate."""

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.thesis.shown.cognates import cognate_view


def test_words_with_and_without_a_cognate_as_means_over_seeds(tmp_path, monkeypatch):
    monkeypatch.setattr("nmtlab.thesis.shown.cognates.RESULTS", tmp_path)
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
    assert view.figure.layout.title.text.partition("<br>")[0].endswith("qab-en (10,000), cousin parent")
    first = view.figure.data[0]
    assert list(first.y) == pytest.approx([30])
    assert list(first.customdata[0]) == [6, 20]
    with pytest.raises(NmtlabError, match=r"qab-en \(500\)"):
        cognate_view()
