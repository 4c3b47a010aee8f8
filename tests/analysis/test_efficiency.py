"""Efficiency: what is measured is what the systems do; the frontier of the published systems is the published one."""

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.search import translation_speed
from nmtlab.analysis.search.stored_speed import (
    COLUMNS,
    TIMED,
    frontier,
    medians,
    stored_efficiency,
    stored_times,
    times_file,
)
from nmtlab.analysis.search.translation_speed import Options, efficiency, where_time_goes
from nmtlab.baselines.phrase import train_phrase
from nmtlab.cli.efficiency import _usual_ways
from nmtlab.cli.main import app
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.scores import bleu, chrf
from nmtlab.recipe import SearchSettings, named_recipe
from nmtlab.systems import open_system
from nmtlab.workspace import Workspace

pytest.importorskip("ctranslate2")

PUBLISHED = pd.read_csv(Path(__file__).parents[2] / "data/evidence/published/wnmt-2018-efficiency.csv")


@pytest.fixture(scope="module")
def run(zoo, tmp_path_factory):
    return zoo.copy("learned", Workspace(tmp_path_factory.mktemp("efficiency")))


@pytest.fixture
def in_this_process(monkeypatch) -> None:
    """Measure without a process for each measurement: those of the functions that the command calls are tested here."""
    monkeypatch.setattr(translation_speed, "_in_process", lambda work, system, lines: work(system, lines))


@pytest.mark.full
def test_every_setting_is_measured_in_every_round_and_scored(run, tiny_corpus):
    told = []
    ways = [("nmtlab", "fp32"), ("ctranslate2", "fp32")]
    measured = efficiency([run], tiny_corpus, Options(ways, [1], [500], [1]), rounds=2, on_measured=told.append)
    assert list(measured.columns) == COLUMNS
    assert measured[["engine", "round"]].to_numpy().tolist() == [
        ["nmtlab", 1], ["ctranslate2", 1], ["echo", 1], ["nmtlab", 2], ["ctranslate2", 2], ["echo", 2],
    ]  # fmt: skip
    assert len(told) == 6
    lines = translations(run, tiny_corpus, "test", SearchSettings(beam_size=1))
    expected = bleu(lines, tiny_corpus.references("test"))
    copies = measured["engine"] == "echo"
    assert measured.loc[~copies, "bleu"].tolist() == pytest.approx([expected.value] * 4)
    copied = bleu(list(tiny_corpus.lines("test", "de")), tiny_corpus.references("test"))
    assert measured.loc[copies, "bleu"].tolist() == pytest.approx([copied.value] * 2)
    assert measured["chrf"].iloc[0] == pytest.approx(chrf(lines, tiny_corpus.references("test")).value)
    assert (measured.loc[~copies, ["bleu_margin", "chrf_margin"]] > 0).all(axis=None)
    assert measured["signature"].str.endswith(expected.signature.partition("|")[2]).all()
    assert set(measured["words"]) == {sum(len(line.split()) for line in tiny_corpus.lines("test", "de"))}
    assert (measured.loc[~copies, ["size_mib", "memory_mib", "load_seconds"]] > 0).all(axis=None)
    assert set(measured.loc[copies, "size_mib"]) == {0}
    assert set(measured["corpus"] + " " + measured["split"]) == {f"{tiny_corpus.name} test"}
    assert (measured["load_average"] >= 0).all()
    assert measured["machine"].str.contains("cores").all()


@pytest.mark.full
def test_a_phrase_based_system_is_measured_once_for_each_size_of_its_stacks(in_this_process, tiny_corpus, tmp_path):
    recipe = named_recipe("moses").with_changes({"model.tuning_evaluations": 2, "model.tuning_sentences": 5})
    phrases = train_phrase("phrases", recipe, tiny_corpus, Workspace(tmp_path))
    options = Options([("nmtlab", "fp32"), ("ctranslate2", "int8")], [2, 4], [500], [1, 2], [0, 5])
    measured = efficiency([phrases], tiny_corpus, options, rounds=1)
    assert measured[["run", "engine", "beam_size", "shortlist", "threads"]].to_numpy().tolist() == [
        ["phrases", "nmtlab", 2, 0, 1], ["phrases", "nmtlab", 4, 0, 1], ["echo", "echo", 2, 0, 1],
    ]  # fmt: skip
    found = open_system(phrases, SearchSettings(beam_size=4)).translate(list(tiny_corpus.lines("test", "de")))
    lines = [one.text for one in found]
    assert measured["bleu"].iloc[1] == pytest.approx(bleu(lines, tiny_corpus.references("test")).value)
    models = sum(path.stat().st_size for path in (phrases.folder / "phrase").iterdir())
    assert (measured["size_mib"].iloc[:2] > models / 2**20).all()
    times = where_time_goes([phrases], tiny_corpus, options)
    assert set(times["kind"]) == {"part", "sentence"}
    assert set(times.query("kind == 'part'")["item"]) == {"search and text"}


@pytest.mark.full
def test_the_time_of_each_system_is_measured_by_part_step_and_sentence(run, tiny_corpus):
    told = []
    ways = [("nmtlab", "fp32"), ("ctranslate2", "fp32")]
    found = where_time_goes([run], tiny_corpus, Options(ways, [1], [500], [2], [0, 5]), on_measured=told.append)
    assert list(found.columns) == TIMED
    assert len(told) == 4
    assert set(found["threads"]) == {1}
    kinds = found.groupby(["engine", "shortlist", "kind"], sort=False).size().to_dict()
    sentences = len(list(tiny_corpus.lines("test", "de")))
    assert all(
        kinds[engine, types, "sentence"] == sentences for engine in ("nmtlab", "ctranslate2") for types in (0, 5)
    )
    assert kinds["ctranslate2", 0, "part"] == 1 < kinds["nmtlab", 0, "part"]
    assert ("ctranslate2", 0, "step") not in kinds
    assert (found["seconds"] > 0).all()


def test_medians_are_those_of_each_setting_on_each_text_and_machine():
    row = {
        "run": "a",
        "engine": "nmtlab",
        "precision": "fp32",
        "beam_size": 1,
        "shortlist": 0,
        "batch_tokens": 500,
        "threads": 1,
        "round": 1,
    }
    row |= {
        "corpus": "text",
        "split": "test",
        "sentences": 100,
        "machine": "m",
        "load_seconds": 1.0,
        "processor_seconds": 1.5,
        "bleu": 30.0,
    }
    row |= {"words_per_second": 10.0, "memory_mib": 300.0, "size_mib": 5.0, "signature": "s", "load_average": 0.5}
    row |= {"bleu_margin": 1.0, "chrf": 50.0, "chrf_margin": 1.0}
    changes = [{"seconds": 2.0}, {"seconds": 9.0, "load_average": 2.0}, {"seconds": 3.0}]
    changes += [{"seconds": 7.0, "machine": "other"}, {"seconds": 8.0, "split": "dev"}, {"seconds": 6.0, "threads": 2}]
    found = medians(pd.DataFrame([row | change for change in changes]))
    assert found["seconds"].tolist() == [3.0, 7.0, 8.0, 6.0]
    assert found["milliseconds"].tolist() == [30.0, 70.0, 80.0, 60.0]
    assert found["processor_milliseconds"].tolist() == [15.0] * 4
    assert found["rounds"].tolist() == [3, 1, 1, 1]
    assert found["load_average"].tolist() == [2.0, 0.5, 0.5, 0.5]


def test_a_time_that_loading_hides_is_on_no_frontier():
    frame = pd.DataFrame({"seconds": [-0.3, 2.0, 1.0], "bleu": [40.0, 30.0, 20.0]}, index=[*"abc"])
    assert frontier(frame, "seconds").to_dict() == {"a": False, "b": True, "c": True}


def test_a_gain_within_the_margin_is_on_no_frontier():
    frame = pd.DataFrame({"seconds": [1.0, 2.0, 3.0, 4.0], "bleu": [30.0, 30.4, 30.6, 31.0]}, index=[*"abcd"])
    assert frontier(frame, "seconds").all()
    assert frontier(frame, "seconds", margin=0.5).to_dict() == {"a": True, "b": False, "c": True, "d": False}
    assert frontier(frame.drop(index="c"), "seconds", margin=0.5).to_dict() == {"a": True, "b": False, "d": True}


def test_a_run_that_ctranslate2_lacks_is_named_before_anything_is_measured(zoo, tiny_corpus, tmp_path):
    planned = zoo.copy("planned", Workspace(tmp_path), "planned")
    told = []
    options = Options([("nmtlab", "fp32"), ("ctranslate2", "fp32")], [1], [500], [1])
    with pytest.raises(NmtlabError, match="plan_length = true"):
        efficiency([planned], tiny_corpus, options, on_measured=told.append)
    assert not told


def test_ctranslate2_is_left_out_unless_asked_for_where_it_lacks_a_part_of_some_run(run, zoo, tmp_path, capsys):
    assert len(_usual_ways([run])) == 3
    planned = zoo.copy("planned", Workspace(tmp_path), "planned")
    assert _usual_ways([run, planned]) == [("nmtlab", "fp32")]
    assert capsys.readouterr().out.startswith("without ctranslate2: run 'planned': model.plan_length = true: no such")


@pytest.mark.full
def test_the_command_writes_a_row_for_each_measurement(run, in_this_process, tiny_corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(run.folder.parents[1]))
    out = tmp_path / "measured.csv"
    words = ["efficiency", run.name, "--test", str(tiny_corpus.folder), "--engines", "nmtlab", "--beams", "1,2"]
    done = CliRunner().invoke(app, [*words, "--threads", "1", "--rounds", "1", "--output", str(out)])
    assert done.exit_code == 0, done.output
    measured = pd.read_csv(out)
    assert measured[["engine", "beam_size"]].to_numpy().tolist() == [["nmtlab", 1], ["nmtlab", 2], ["echo", 1]]
    assert set(pd.read_csv(times_file(out))["beam_size"]) == {1, 2}
    assert f"all measurements: {out}, {times_file(out)}" in done.output


@pytest.mark.full
def test_without_a_file_the_command_writes_one_to_the_workspace(run, in_this_process, tiny_corpus, monkeypatch):
    workspace = Workspace(run.folder.parents[1])
    monkeypatch.setenv("NMTLAB_DATA", str(workspace.data))
    words = ["efficiency", run.name, "--test", str(tiny_corpus.folder), "--engines", "nmtlab", "--beams", "1"]
    done = CliRunner().invoke(app, [*words, "--threads", "1", "--rounds", "1"])
    assert done.exit_code == 0, done.output
    stored, _ = stored_efficiency(workspace)
    assert stored.query("corpus == @tiny_corpus.name")["run"].tolist() == [run.name, "echo"]
    times, damaged = stored_times(workspace)
    assert set(times.query("corpus == @tiny_corpus.name")["kind"]) == {"part", "step", "sentence"}
    assert damaged == []


def test_an_unknown_engine_is_refused(run, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(run.folder.parents[1]))
    done = CliRunner().invoke(app, ["efficiency", run.name, "--engines", "nmtlab:int8"])
    assert str(done.exception).startswith("--engines nmtlab:int8: 'nmtlab:int8' is unknown; choose from nmtlab, ")


@pytest.mark.parametrize("test", ["newstest2014", "newstest2015"])
@pytest.mark.parametrize(
    ("processor", "expected"),
    [
        ("cpu", {"OpenNMT cpu2 (distill-tiny-opt)", "Marian small-aan", "Marian base-aan", "Marian big-int8",
                 "Marian big", "echo"}),
        ("gpu", {"amun fastgru", "Marian amun-tinyrnn", "Marian small-aan", "Marian base-aan", "Marian big"}),
    ],
)  # fmt: skip
def test_the_frontier_of_wnmt_2018_is_that_of_its_figures(test, processor, expected):
    systems = PUBLISHED[(PUBLISHED["test"] == test) & (PUBLISHED["processor"] == processor)]
    assert set(systems.loc[frontier(systems, "seconds"), "system"]) == expected


def test_of_two_equally_fast_systems_only_the_better_one_is_on_the_frontier():
    frame = pd.DataFrame({"seconds": [2.0, 1.0, 1.0, 2.0], "bleu": [5.0, 4.0, 3.0, 4.0]})
    assert frontier(frame, "seconds").tolist() == [True, True, False, False]
