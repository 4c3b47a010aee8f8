"""The oracle that works out all verdicts without nmtlab's statistics."""

import shutil
from types import ModuleType

import pytest
from oracles import recompute_verdicts

from nmtlab.thesis.claims.declared import declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.workspace import RESULTS

TABLE = "table-3.13.small"


@pytest.fixture
def one_table(tmp_path, monkeypatch) -> ModuleType:
    """The script for a copy of one table."""
    script = recompute_verdicts
    for path in RESULTS.glob(f"{TABLE}.*"):
        shutil.copy(path, tmp_path)
    shutil.copytree(RESULTS.parent / "published", tmp_path.parent / "published", dirs_exist_ok=True)
    claims = tuple(claim for claim in declared_claims() if claim.stored == TABLE)
    monkeypatch.setattr(script, "HERE", tmp_path)
    monkeypatch.setattr(script, "declared_claims", lambda: claims)
    return script


@pytest.mark.full
def test_it_comes_to_the_same_numbers_and_verdicts_on_every_line(capsys):
    assert recompute_verdicts.main() == 0, capsys.readouterr().out
    assert f"{len(measured_claims())} lines of " in capsys.readouterr().out


@pytest.mark.full
def test_it_tells_a_line_on_which_nmtlab_says_something_else(one_table, monkeypatch, capsys):
    def spoiled(*arguments):
        found = measured_claims(*arguments)
        found.loc[2, "verdict"] = "surely"
        return found

    monkeypatch.setattr(one_table, "measured_claims", spoiled)
    assert one_table.main() == 1
    said = capsys.readouterr().out
    assert "nmtlab disagrees on 1\n" in said
    assert "; nmtlab: surely" in said
