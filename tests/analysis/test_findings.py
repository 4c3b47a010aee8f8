"""How findings name runs and numbers."""

import pandas as pd
import pytest

from nmtlab.analysis.access.findings import listed, named, number, over_seeds, percent, without_seed


def test_numbers_have_a_real_minus_and_one_precision():
    assert [number(-0.3175), number(1234.5, 0), number(7.0, 1)] == ["−0.32", "1,234", "7.0"]
    assert [percent(0.3149), percent(0)] == ["31 %", "0 %"]


def test_at_most_four_runs_are_named():
    assert named("a") == "a"
    assert named("ab") == "a and b"
    assert named("abcd") == "a, b, c and d"
    assert named("abcdef") == "a, b, c, d and 2 more"
    assert listed(list("abcd")) == "a; b; c; d"
    assert listed(list("abcdef")) == "a; b; c; d; and 2 more"
    assert named("") == listed([]) == ""


@pytest.mark.parametrize(
    ("label", "system"),
    [("tied, seed 3", "tied"), ("tied", "tied"), ("seed 2", "all seeds"), ("small-tr-en.tied.s1", "small-tr-en.tied")],
)
def test_seeds_of_a_system_share_its_name(label, system):
    assert without_seed(label) == system


def test_shares_over_seeds_have_a_range_if_they_differ():
    assert over_seeds(pd.Series([0.29, 0.31, 0.34])) == "31 % (29 to 34)"
    assert over_seeds(pd.Series([0.31])) == over_seeds(pd.Series([0.311, 0.312])) == "31 %"
