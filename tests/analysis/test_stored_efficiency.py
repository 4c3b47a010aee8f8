"""Stored measurements of speed and quality: those that come with nmtlab and a workspace's own; published systems."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from nmtlab.analysis.search import stored_speed as module
from nmtlab.analysis.search.stored_speed import (
    COLUMNS,
    FOLDER,
    TIMED,
    frontier,
    new_file,
    published_efficiency,
    stored_efficiency,
    stored_times,
    times_file,
)
from nmtlab.workspace import RESULTS, Workspace


@pytest.fixture
def workspace(tmp_path, monkeypatch) -> Workspace:
    monkeypatch.setattr(module, "RESULTS", tmp_path / "shipped")
    return Workspace(tmp_path / "data")


def measured_files() -> list[Path]:
    return [path for path in sorted((RESULTS / FOLDER).glob("*.csv")) if not path.name.endswith(".times.csv")]


def test_without_measurements_there_are_no_rows(workspace):
    stored, damaged = stored_efficiency(workspace)
    assert (list(stored), len(stored), damaged) == (COLUMNS, 0, [])


def test_measurements_of_the_workspace_stand_beside_those_that_come_with_nmtlab(workspace, tmp_path):
    shutil.copytree(RESULTS / FOLDER, tmp_path / "shipped" / FOLDER)
    shipped = pd.concat(pd.read_csv(path) for path in measured_files())
    own = new_file(workspace, "text", "dev")
    own.parent.mkdir(parents=True)
    rows = shipped.head(2).assign(corpus="text", split="dev")
    rows.to_csv(own, index=False)
    stored, damaged = stored_efficiency(workspace)
    assert damaged == []
    assert stored["corpus"].value_counts().to_dict() == {"text": 2, "multi30k-de-en": len(shipped)}


@pytest.mark.parametrize("content", [b"", b"no", b"\xff\xfe", b"run,bleu\na,b\n"])
def test_damaged_files_are_named_and_left_out(workspace, content):
    path = new_file(workspace, "text", "dev")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    stored, damaged = stored_efficiency(workspace)
    assert (len(stored), damaged) == (0, [path])


def test_numbers_that_are_none_are_damage(workspace):
    shipped = measured_files()[0]
    path = new_file(workspace, "text", "dev")
    path.parent.mkdir(parents=True)
    pd.read_csv(shipped).assign(bleu="high").to_csv(path, index=False)
    assert stored_efficiency(workspace)[1] == [path]


def test_published_systems_have_the_time_of_a_sentence_and_the_frontier_of_the_figure():
    systems = published_efficiency()
    systems = systems[systems["test"] == "newstest2015"]
    assert systems["processor"].value_counts().to_dict() == {"cpu": 7, "gpu": 8}
    small = systems.query("processor == 'cpu' and system == 'Marian small-aan'").squeeze()
    assert small["milliseconds"] == small["processor_milliseconds"] == pytest.approx(73.92 / 2.169)
    assert systems["processor_milliseconds"].notna().equals(systems["processor"] == "cpu")
    assert (small["memory_mib"], small["size_mib"], small["bleu"]) == (461.27, 367.92, 28.61)
    on_cpu = systems[systems["processor"] == "cpu"]
    assert set(on_cpu.loc[frontier(on_cpu, "milliseconds"), "system"]) == {
        "OpenNMT cpu2 (distill-tiny-opt)", "Marian small-aan", "Marian base-aan", "Marian big-int8", "Marian big",
    }  # fmt: skip


def test_each_published_system_has_every_cost_once():
    systems = published_efficiency()
    for cost in ("milliseconds", "memory_mib", "size_mib", "dollars"):
        known = systems.dropna(subset=cost)
        assert known.groupby(["processor", "system"]).size().tolist() == [1] * 15


def test_files_from_before_there_were_intervals_are_read_with_nothing_in_their_place(workspace):
    path = new_file(workspace, "text", "dev")
    path.parent.mkdir(parents=True)
    old = pd.read_csv(measured_files()[0]).drop(
        columns=["shortlist", "bleu_margin", "chrf", "chrf_margin"], errors="ignore"
    )
    old.to_csv(path, index=False)
    stored, damaged = stored_efficiency(workspace)
    assert damaged == []
    assert set(stored["shortlist"]) == {0}
    assert stored[["bleu_margin", "chrf", "chrf_margin"]].isna().all(axis=None)


def test_where_the_time_goes_is_stored_beside_and_a_damaged_file_is_named(workspace):
    path = times_file(new_file(workspace, "text", "dev"))
    path.parent.mkdir(parents=True)
    rows = pd.DataFrame([dict.fromkeys(TIMED, 1)])
    rows.to_csv(path, index=False)
    times, damaged = stored_times(workspace)
    assert (len(times), damaged) == (1, [])
    assert stored_efficiency(workspace)[1] == []
    path.write_text("no")
    assert stored_times(workspace)[1] == [path]


def test_what_was_timed_twice_has_its_medians(workspace):
    (shipped,) = (RESULTS / FOLDER).glob("*.times.csv")
    once = pd.read_csv(shipped)
    folder = times_file(new_file(workspace, "text", "test")).parent
    folder.mkdir(parents=True)
    for name, factor in (("one", 1), ("two", 3)):
        slower = once.assign(seconds=factor * once["seconds"], load_average=factor)
        slower.to_csv(folder / f"text.test.{name}.times.csv", index=False)
    times, _ = stored_times(workspace)
    assert times["item"].tolist() == once["item"].tolist()
    assert times["seconds"].tolist() == pytest.approx((2 * once["seconds"]).tolist())
    assert set(times["load_average"]) == {3}


def test_without_times_there_are_no_rows(workspace):
    times, damaged = stored_times(workspace)
    assert (list(times), len(times), damaged) == (TIMED, 0, [])
