"""A view of runs shows what the analyses find."""

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.experiments import find_table, summary
from nmtlab.experiments.results.stored import RESULTS, read_cells
from nmtlab.experiments.running.trainability import Outcome, Point, read_map, with_outcome
from nmtlab.experiments.tables.labels import published_name
from nmtlab.runs.run import Run
from nmtlab.views import (
    budgets_view,
    planning_view,
    table_view,
    trainability_view,
)


@pytest.fixture(scope="module")
def run(trained) -> Run:
    return trained[0]


def test_a_table_is_shown_as_it_was_measured():
    cells, table = read_cells(RESULTS / "table-3.8.small.csv"), find_table("table-3.8")
    for measure_ in ("", "dev BLEU"):
        view = table_view("table-3.8", measure=measure_)
        lines = summary(cells[cells["metric"] == (measure_ or table.measures[0].name)], table)
        wanted = lines[lines["seeds"] > 0]
        assert list(view.frame["mean"]) == list(wanted["mean"])
        assert list(view.frame[published_name("small")]) == list(wanted["published"])
        assert "difference" not in view.frame  # it has no baseline


def test_a_table_that_was_saved_in_the_workspace_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    cells = read_cells(RESULTS / "table-3.8.small.csv")
    cells.assign(value=cells["value"] + 1).to_csv(tmp_path / "results/table-3.8.small.csv", index=False)
    lines = summary(cells[cells["metric"] == "dev BLEU"], find_table("table-3.8"))
    wanted = lines.loc[lines["seeds"] > 0, "mean"] + 1
    assert table_view("table-3.8", measure="dev BLEU").frame["mean"].tolist() == pytest.approx(wanted.tolist())


def test_a_table_with_a_baseline_is_shown_by_its_differences():
    view = table_view("table-3.6")
    lines = summary(read_cells(RESULTS / "table-3.6.small.csv"), find_table("table-3.6"))
    wanted = lines[~lines["row"].isin(["ha-en", "uz-en"])]  # not begun
    assert view.frame["row"].unique().tolist() == [
        "tr-en, Tatoeba", "hu-en, Tatoeba", "en-ja (Tanaka)", "qaa-en, artificial", "qad-en, artificial",
    ]  # fmt: skip
    assert "phrase-based (Thot)" in set(view.frame["column"])
    assert "published, on another text" in {trace.name for trace in view.figure.data}
    pd.testing.assert_series_equal(view.frame["difference"], wanted["difference"], check_index=False)
    assert "test BLEU: system − tied" in [note.text for note in view.figure.layout.annotations]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("table-9.9",), "table-9.9"),
        (("table-3.8", "tiny"), "not measured at the scale tiny.*--save"),
        (("table-3.8", "small", "chrF"), "'chrF' was not measured.*dev BLEU"),
    ],
)
def test_a_table_that_was_not_measured_is_refused(asked, said):
    with pytest.raises(NmtlabError, match=said):
        table_view(*asked)


def test_planned_lengths_stand_beside_every_way_of_searching(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    metrics = [measure_.name for measure_ in find_table("length-planning").measures]
    cells = read_cells(RESULTS / "search-errors.small.csv").head(1).assign(table="length-planning", row="gl-en")
    made = [
        cells.assign(column=column, metric=metric, seed=seed, value=10.0 * place + seed)
        for column in ("ordinary", "planned")
        for place, metric in enumerate(metrics)
        for seed in (1, 2, 3)
    ]
    pd.concat(made).to_csv(tmp_path / "results/length-planning.small.csv", index=False)
    shown = planning_view().frame.set_index("way")
    assert list(shown.index) == [
        "ordinary, length-normalised",
        "ordinary, log-prob",
        "ordinary, word-reward",
        "planned",
    ]
    assert shown["beam 1"].notna().tolist() == [False, True, False, True]
    for way, name in (("ordinary, word-reward", "word-reward"), ("planned", "log-prob")):
        assert shown.loc[way, "beam 12"] == 10.0 * metrics.index(f"BLEU by {name}, beam 12") + 2
    with pytest.raises(NmtlabError, match="not measured at the scale tiny"):
        planning_view("tiny")


@pytest.mark.full
def test_claims_at_two_budgets_have_the_effects_of_both_tables():
    shown = budgets_view("length-planning", "de-en, Multi30k").frame.set_index("metric")
    for budget, name in (("short", "length-planning"), ("long", "length-planning-trained-out")):
        cells = read_cells(RESULTS / f"{name}.small.csv").query("row == 'de-en'")
        means = cells.groupby(["metric", "column"])["value"].mean().unstack()
        effects = (means["planned"] - means["ordinary"])[shown.index]
        assert shown[f"effect_{budget}"].tolist() == pytest.approx(effects.tolist())
    with pytest.raises(NmtlabError, match="not measured at two budgets"):
        budgets_view("length-planning", "gl-en, LibreOffice")


def test_a_map_of_trainability_with_its_shares(tmp_path, monkeypatch):
    monkeypatch.setattr("nmtlab.experiments.running.trainability.RESULTS", tmp_path)
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path / "without a map"))
    with pytest.raises(NmtlabError, match="no map"):
        trainability_view()
    kept = read_map(tmp_path / "none")
    for seed, verdict in ((1, "converged"), (2, "plateaued")):
        outcome = Outcome(Point("pre", "small", 2, 0.001, seed), verdict, 10, 3.0, 5.0, 1.0, 0.5)
        kept = with_outcome(kept, outcome, "a map", {"commit": "c", "machine": "m"})
    kept.to_csv(tmp_path / "trainability.csv", index=False)
    assert trainability_view().frame.to_dict("records") == [
        {"placement": "pre", "init": "small", "layers": 2, "0.001": 0.5}
    ]
    with pytest.raises(NmtlabError, match="no map of another"):
        trainability_view("another")
