"""How findings write shares, systems and translations."""

import pandas as pd
import pytest

from nmtlab.analysis.access.findings import cited, over_seeds, percent, without_seed


@pytest.mark.parametrize(
    ("label", "system"),
    [("tied, seed 3", "tied"), ("tied", "tied"), ("seed 2", "all seeds"), ("small-tr-en.tied.s1", "small-tr-en.tied")],
)
def test_seeds_of_a_system_share_its_name(label, system):
    assert without_seed(label) == system


def test_shares_are_whole_per_cent_over_seeds_with_their_range_if_they_differ():
    assert [percent(0.3149), percent(-0.02), percent(0)] == ["31 %", "−2 %", "0 %"]
    assert over_seeds(pd.Series([0.29, 0.31, 0.34])) == "31 % (29 to 34)"
    assert over_seeds(pd.Series([0.31])) == over_seeds(pd.Series([0.311, 0.312])) == "31 %"


def test_translations_are_quoted_cut_and_the_empty_one_named():
    assert [cited("a dog"), cited("")] == ["“a dog”", "the empty one"]
    assert cited("a <unk>") == "“a ⟨unknown⟩”"
    assert cited("x" * 100) == f"“{'x' * 89}…”"
