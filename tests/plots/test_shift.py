"""The distribution of attention shifts, drawn."""

import pandas as pd
import pytest

from nmtlab.plots import shift_figure


def test_far_shifts_stand_together_and_left_is_on_the_left():
    rows = [("tied", 7, 1, 0.1), ("tied", 5, 1, 0.1), ("tied", 0, 7, 0.7), ("tied", -1, 1, 0.1), ("lex", 0, 10, 1.0)]
    figure = shift_figure(pd.DataFrame(rows, columns=["run", "shift", "words", "share"]))
    tied, lex = figure.data
    assert (tied.x[0], tied.x[5], tied.x[-1]) == ("5 or more left", "on it", "5 or more right")
    shares = dict(zip(tied.x, tied.y, strict=True))
    expected = {"5 or more left": 20, "on it": 70, "1 right": 10}
    assert {name: share for name, share in shares.items() if share} == pytest.approx(expected)
    assert dict(zip(lex.x, lex.y, strict=True))["on it"] == pytest.approx(100)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == (
        "most attended word, counted from the linked one", "linked words (%)",
    )  # fmt: skip
