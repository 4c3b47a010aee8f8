"""The script beside the results that works out all verdicts without nmtlab's statistics."""

import importlib.util
import shutil
from types import ModuleType

import pytest

from nmtlab.experiments.claims.declared import declared_claims
from nmtlab.experiments.claims.verdicts import measured_claims
from nmtlab.experiments.results.stored import RESULTS

SCRIPT = RESULTS / "recompute_verdicts.py"
TABLE = "table-3.13.small"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the script is in a checkout alone")


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recompute_verdicts", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def one_table(script, tmp_path, monkeypatch) -> ModuleType:
    """The script for a copy of one table."""
    for path in RESULTS.glob(f"{TABLE}.*"):
        shutil.copy(path, tmp_path)
    shutil.copytree(RESULTS.parent / "published", tmp_path.parent / "published", dirs_exist_ok=True)
    claims = tuple(claim for claim in declared_claims() if claim.stored == TABLE)
    monkeypatch.setattr(script, "HERE", tmp_path)
    monkeypatch.setattr(script, "declared_claims", lambda: claims)
    return script


@pytest.mark.full
def test_it_comes_to_the_same_numbers_and_verdicts_on_every_line(script, capsys):
    assert script.main() == 0, capsys.readouterr().out
    assert f"{len(measured_claims())} lines of " in capsys.readouterr().out


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


@pytest.mark.full
def test_it_allows_for_repeated_tests_by_a_simulation_of_its_own(one_table, tmp_path, capsys):
    before = measured_claims(tmp_path, one_table.declared_claims())
    (tmp_path / f"{TABLE}.looks.csv").write_text("row,looks\nde-en,3 5 10\n", encoding="utf-8")
    after = measured_claims(tmp_path, one_table.declared_claims())
    assert (after["p"] > before["p"]).sum() == (after["pair"] == "de-en").sum() > 0
    assert one_table.main() == 0, capsys.readouterr().out
