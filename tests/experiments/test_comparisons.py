"""The paired bootstrap behind claims, on trained runs."""

import pytest

from nmtlab.errors import NmtlabError
from nmtlab.experiments import cells_of
from nmtlab.experiments.claims.declared import Claim
from nmtlab.experiments.measures.quality import DEV_BLEU
from nmtlab.experiments.results.comparisons import COLUMNS, comparisons, ps_of, read_comparisons
from nmtlab.runs.run import Run


@pytest.fixture
def claim(grid) -> Claim:
    return Claim("fixnorm is worse.", "somewhere", grid.table, DEV_BLEU, "fixnorm", "lower", "tied", scale="tiny")


def test_each_seed_is_drawn_from_beside_its_own(grid, claim, tiny_corpus):
    found = comparisons(grid.table, "tiny", grid.workspace, [claim])
    assert list(found) == COLUMNS
    assert found["seed"].tolist() == [1, 2]
    runs = {(c.column, c.seed): Run(grid.workspace.run_folder(c.run)) for c in cells_of(grid.table, "tiny")}
    for line in found.itertuples():
        run, base = runs["fixnorm", line.seed], runs["tied", line.seed]
        assert line.p == DEV_BLEU.significance([run], base, tiny_corpus)[run.name]


def test_what_is_claimed_of_a_number_or_of_another_table_has_nothing_to_be_drawn(grid, claim):
    number = Claim("It is good.", "somewhere", grid.table, DEV_BLEU, "fixnorm", "higher", 5.0)
    assert comparisons(grid.table, "tiny", grid.workspace, [number]).empty


def test_they_are_read_as_they_were_written(grid, claim, tmp_path):
    found = comparisons(grid.table, "tiny", grid.workspace, [claim])
    found.to_csv(tmp_path / claim.bootstrap, index=False)
    assert ps_of(claim, read_comparisons(tmp_path / claim.bootstrap)) == {"ha-en": found["p"].tolist()}
    assert ps_of(claim, read_comparisons(tmp_path / "none.csv")) == {}
    (tmp_path / "bad.csv").write_text("p\nmuch\n")
    with pytest.raises(NmtlabError, match=r"bad\.csv: not a table of bootstrap results"):
        read_comparisons(tmp_path / "bad.csv")
