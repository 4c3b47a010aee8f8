"""Without its trainings, or what they said, a line has numbers but no verdict."""

import pandas as pd
import pytest
from support.little_table import little_table

from nmtlab.experiments.claims.declared import Claim
from nmtlab.experiments.claims.verdicts import RESULTS, judged_claims, overall
from nmtlab.experiments.measures.quality import DEV_BLEU, TRAIN_PERPLEXITY
from nmtlab.experiments.results.hypotheses import COLUMNS
from nmtlab.experiments.results.judgement import NOT_KEPT
from nmtlab.experiments.results.kept import Kept, kept_runs
from nmtlab.experiments.results.sentences import COLUMNS as SENTENCES
from nmtlab.experiments.results.stored import read_cells, stored_tables
from nmtlab.experiments.results.summary import summary
from nmtlab.experiments.tables.declaration import Table
from nmtlab.runs.listing import machines_of_runs
from nmtlab.workspace import Workspace

HERE, ELSEWHERE = "AMD EPYC, 2 cores", "Intel, 2 cores"
SCORES = {"tied": (20.0, 20.5, 21.0), "fixnorm": (25.0, 25.5, 26.1), "untied": (20.1, 20.6, 20.7)}
RUNS = {(column, seed): f"{column}.s{seed}" for column in SCORES for seed in (1, 2, 3)}


@pytest.fixture
def cells() -> pd.DataFrame:
    lines = [
        {"row": "ha-en", "column": column, "metric": "dev BLEU", "seed": seed, "value": value, "status": "finished"}
        | {"run": RUNS[column, seed], "updates": 100, "machine": HERE}
        for column, values in SCORES.items()
        for seed, value in enumerate(values, start=1)
    ]
    empty = dict.fromkeys(("published", "published_difference", "published_mark"), "")
    return pd.DataFrame(lines).astype({"seed": "Int64"}).assign(**empty)


@pytest.fixture
def table(tmp_path, tiny_recipe) -> Table:
    return little_table(tmp_path, tiny_recipe, {name: {} for name in SCORES})


def kept(*names: str, translated: tuple = (), machine: str = HERE) -> Kept:
    return Kept(frozenset((name, machine) for name in names), frozenset(translated))


def of(*columns: str) -> list[str]:
    return [name for (column, _), name in RUNS.items() if column in columns]


def test_a_training_is_kept_if_its_run_is(cells):
    some = cells[cells["column"] == "tied"]
    assert kept(*of("tied")).has(TRAIN_PERPLEXITY, some)
    assert not kept(*of("tied")[:2]).has(TRAIN_PERPLEXITY, some)
    assert kept().has(TRAIN_PERPLEXITY, cells[:0])


def test_a_run_of_that_name_from_another_machine_is_another_training(cells):
    some = cells[cells["column"] == "tied"]
    assert not kept(*of("tied"), machine=ELSEWHERE).has(TRAIN_PERPLEXITY, some)
    assert kept(*of("tied"), machine="").has(TRAIN_PERPLEXITY, some)
    both = Kept(kept(*of("tied"), machine=ELSEWHERE).runs | kept(*of("tied")).runs, frozenset())
    assert both.has(TRAIN_PERPLEXITY, some)


def test_of_a_score_of_translations_these_are_enough(cells):
    some = cells[cells["column"] == "tied"]
    stored = [("ha-en", "tied", seed, "dev") for seed in (1, 2, 3)]
    assert kept(translated=tuple(stored)).has(DEV_BLEU, some)
    assert kept(RUNS["tied", 2], translated=(stored[0], stored[2])).has(DEV_BLEU, some)
    assert not kept(translated=tuple(stored[:2])).has(DEV_BLEU, some)
    assert not kept(translated=tuple((*one[:3], "test") for one in stored)).has(DEV_BLEU, some)
    assert not kept(translated=tuple(stored)).has(TRAIN_PERPLEXITY, some)


def test_the_translations_of_a_system_without_seeds_count_too(cells):
    one = cells[:1].assign(seed=pd.array([None], dtype="Int64"))
    assert kept(translated=(("ha-en", "tied", 0, "dev"),)).has(DEV_BLEU, one)


def test_runs_of_the_workspace_of_the_gallery_and_translations_beside_the_table_are_found(tmp_path):
    for folder in ("own/runs/a.s1", "own/gallery/a.s2", "checkout/gallery/a.s3"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "recipe.toml").touch()
        (tmp_path / folder / "environment.json").write_text('{"machine": {"processor": "AMD EPYC", "cores": 2}}')
    (tmp_path / "checkout/gallery/unreadable.s1").mkdir()
    (tmp_path / "checkout/gallery/left_out.txt").write_text("a.s4\n", encoding="utf-8")
    (tmp_path / "checkout/results").mkdir()
    path = tmp_path / "checkout/results/table-3.4.tiny.csv"
    unknown = kept("unreadable.s1", "a.s4", machine="")
    runs = kept_runs(path.parent, Workspace(tmp_path / "own"))
    assert runs == kept("a.s1", "a.s2", "a.s3").runs | unknown.runs
    lines = [("ha-en", "tied", 1, "dev", "", "digest", line, "a dog") for line in range(3)]
    pd.DataFrame(lines, columns=COLUMNS).to_parquet(path.with_suffix(".translations.parquet"))
    assert Kept.of(path, runs).translated == {("ha-en", "tied", 1, "dev")}


def test_the_packed_runs_are_the_trainings_that_were_measured():
    machines = machines_of_runs(Workspace(RESULTS.parent))
    packed = {name for name, _ in machines}
    if not packed:
        pytest.skip("there are no packed runs in this checkout")
    stored = [one for one in stored_tables() if one.path.parent == RESULTS]
    cells = pd.concat([read_cells(one.path).assign(table=one.name) for one in stored]).dropna(subset="value")
    cells = cells[cells["run"].isin(packed)].drop_duplicates(["table", "run", "machine"])
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
    sentences = pd.DataFrame(columns=SENTENCES)
    found = judged_claims([claim], cells, sentences, {}, kept(*of("tied")))
    assert list(found["verdict"]) == [NOT_KEPT]
    assert found["low"].iloc[0] > 0
    assert overall(found)["found"].iloc[0] == f"{NOT_KEPT}: de-en, tiny"
    assert list(judged_claims([claim], cells, sentences, {}, kept(*of("tied", "fixnorm")))["verdict"]) == [
        "reproduced here"
    ]
