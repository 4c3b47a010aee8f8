"""Systems of many languages side by side, from the inside."""

import math

import pandas as pd
import pytest

from nmtlab.analysis.languages.insides import insides


def test_a_line_holds_the_last_layer_and_the_cosines_by_what_two_directions_share():
    alike = pd.DataFrame({"layer": [0, 0, 1, 1], "cka": [0.1, 0.2, 0.6, 0.8]})
    read = pd.DataFrame(
        {"layer": [0, 1, 1, 1], "units": ["all", "all", "shared", "private"], "accuracy": [0.5, 0.9, 0.6, 1.0]}
    )
    cosines = pd.DataFrame(
        [("de-en", "nl-en", 0.4), ("de-en", "nl-en", 0.2), ("en-de", "en-nl", 0.5), ("de-en", "en-nl", -0.1),
         ("de-en", "en-de", 0.3), ("de-en", "de-en", 0.8)],
        columns=["direction", "other_direction", "cosine"],
    )  # fmt: skip
    found = insides(alike, read, cosines)
    assert found["similarity"] == pytest.approx(0.7)
    assert found["language read (%)"] == pytest.approx(90)
    assert found["same target"] == pytest.approx(0.3)
    assert found["same source"] == pytest.approx(0.5)
    assert found["neither"] == pytest.approx(0.1)
    assert found["two halves"] == pytest.approx(0.8)


def test_a_relation_that_no_two_directions_have_is_unknown():
    alike = pd.DataFrame({"layer": [1], "cka": [0.6]})
    read = pd.DataFrame({"layer": [1], "units": ["all"], "accuracy": [0.5]})
    cosines = pd.DataFrame({"direction": ["de-en"], "other_direction": ["nl-en"], "cosine": [0.4]})
    assert math.isnan(insides(alike, read, cosines)["same source"])
