"""Without its trainings, or what they said, a line has numbers but no verdict."""

import sys

import pandas as pd
import pytest
from support.little_table import little_table
from support.packed import NO_WORKSPACE

from nmtlab.analysis.metrics import find_metric
from nmtlab.grids.declared.declaration import Table
from nmtlab.grids.results.judgement import NOT_KEPT
from nmtlab.grids.results.kept import Kept
from nmtlab.grids.results.schemas import SENTENCES
from nmtlab.grids.results.summary import summary
from nmtlab.runs.archive import write_archive
from nmtlab.runs.pack import FIRST
from nmtlab.runs.packed import machines_in
from nmtlab.thesis.claims.declared import Claim
from nmtlab.thesis.claims.verdicts import judged_claims, overall
from nmtlab.thesis.measured import all_measured
from nmtlab.workspace import RESULTS, Workspace

DEV_BLEU = find_metric("dev-bleu")

HERE, ELSEWHERE = "AMD EPYC, 2 cores", "Intel, 2 cores"
SCORES = {"tied": (20.0, 20.5, 21.0), "fixnorm": (25.0, 25.5, 26.1), "untied": (20.1, 20.6, 20.7)}
RUNS = {(column, seed): f"{column}.s{seed}" for column in SCORES for seed in (1, 2, 3)}


@pytest.fixture
def cells() -> pd.DataFrame:
    lines = [
        {"row": "ha-en", "column": column, "metric": "dev-bleu", "seed": seed, "value": value, "status": "finished"}
        | {"run": RUNS[column, seed], "updates": 100, "machine": HERE}
        for column, values in SCORES.items()
        for seed, value in enumerate(values, start=1)
    ]
    empty = dict.fromkeys(("published", "published_difference", "published_mark"), "")
    return pd.DataFrame(lines).astype({"seed": "Int64"}).assign(**empty)


@pytest.fixture
def table(tmp_path, tiny_recipe) -> Table:
    return little_table(tmp_path, tiny_recipe, {name: {} for name in SCORES})


def kept(*names: str, machine: str = HERE) -> Kept:
    return Kept(frozenset((name, machine) for name in names))


def of(*columns: str) -> list[str]:
    return [name for (column, _), name in RUNS.items() if column in columns]


def test_a_training_is_kept_if_its_run_is(cells):
    some = cells[cells["column"] == "tied"]
    assert kept(*of("tied")).has(some)
    assert not kept(*of("tied")[:2]).has(some)
    assert kept().has(cells[:0])


def test_a_run_of_that_name_from_another_machine_is_another_training(cells):
    some = cells[cells["column"] == "tied"]
    assert not kept(*of("tied"), machine=ELSEWHERE).has(some)
    assert kept(*of("tied"), machine="").has(some)
    both = Kept(kept(*of("tied"), machine=ELSEWHERE).runs | kept(*of("tied")).runs)
    assert both.has(some)


def test_of_a_seed_that_was_trained_on_two_machines_one_training_is_enough(cells):
    some = cells[cells["column"] == "tied"]
    joined = pd.concat([some, some.assign(machine=ELSEWHERE)])
    assert kept(*of("tied")).has(joined)
    assert kept(*of("tied"), machine=ELSEWHERE).has(joined)
    assert not kept(*of("tied")[:2]).has(joined)


def test_runs_of_the_workspace_and_of_the_evidence_are_found(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "own")
    for folder in ("runs/a.s1", "made/a.s3", "made/a.s4"):
        (workspace.data / folder).mkdir(parents=True)
        (workspace.data / folder / "recipe.toml").touch()
        (workspace.data / folder / "environment.json").write_text('{"machine": {"processor": "AMD EPYC", "cores": 2}}')
    (workspace.runs / "unreadable.s1").mkdir()
    for name, evidence in (("a.s3", workspace.evidence), ("a.s4", tmp_path / "shipped")):
        write_archive(workspace.data / "made" / name, evidence / f"runs/{name}.tar.xz", FIRST)
    (tmp_path / "shipped/runs/left_out.txt").write_text("a.s5\n", encoding="utf-8")
    monkeypatch.setattr(sys.modules[Kept.__module__], "EVIDENCE", tmp_path / "shipped")
    unknown = kept("unreadable.s1", "a.s5", machine="")
    assert Kept.of(workspace).runs == kept("a.s1", "a.s3", "a.s4").runs | unknown.runs


def test_the_packed_runs_are_the_trainings_that_were_measured():
    machines = machines_in(RESULTS.parent / "runs")
    packed = {name for name, _ in machines}
    if not packed:
        pytest.skip("there are no packed runs in this checkout")
    stored = [one for one in all_measured(NO_WORKSPACE) if one.folder == RESULTS]
    cells = pd.concat([one.cells.assign(table=one.name) for one in stored]).dropna(subset="value")
    cells = cells[cells["run"].isin(packed)].drop_duplicates(["table", "run"])  # the first, if it has several machines
    others = cells[[made not in machines for made in zip(cells["run"], cells["machine"], strict=True)]]
    assert others[["table", "run", "machine"]].to_dict("records") == []


def test_a_line_whose_runs_are_not_kept_has_its_numbers_and_no_verdict(cells, table):
    whole = summary(cells, table).set_index("column")
    lines = summary(cells, table, kept=kept(*of("tied", "untied"))).set_index("column")
    assert list(whole["verdict"]) == ["", "better", "underpowered"]
    assert list(lines["verdict"]) == ["", NOT_KEPT, "underpowered"]
    numbers = ["mean", "difference", "low", "high", "p", "detectable"]
    pd.testing.assert_frame_equal(lines[numbers], whole[numbers])
    # It has no part in the false discovery rate of the lines that are judged.
    assert pd.isna(lines.loc["fixnorm", "q"])
    assert lines.loc["untied", "q"] == lines.loc["untied", "p"]


def test_what_was_never_run_is_not_lost(cells, table):
    cells.loc[cells["column"] != "untied", ["value", "status"]] = [float("nan"), "not run"]
    lines = summary(cells, table, kept=kept(*of("untied"))).set_index("column")
    assert lines.loc["fixnorm", "verdict"] == "inconclusive"
    assert "not run" in lines.loc["fixnorm", "reason"]


def test_claims_without_runs_have_no_verdict_either(cells, table):
    claim = Claim("It helps.", "Here", table, DEV_BLEU, "fixnorm", "higher", "tied", scale="tiny")
    sentences = SENTENCES.empty
    found = judged_claims([claim], cells, sentences, kept(*of("tied")))
    assert list(found["verdict"]) == [NOT_KEPT]
    assert found["low"].iloc[0] > 0
    assert overall(found)["found"].iloc[0] == f"{NOT_KEPT}: de-en, tiny"
    assert list(judged_claims([claim], cells, sentences, kept(*of("tied", "fixnorm")))["verdict"]) == [
        "reproduced here"
    ]
