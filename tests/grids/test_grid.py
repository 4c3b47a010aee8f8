"""A grid of real trainings: skipped where made, resumed where interrupted, the same in any number of processes."""

import dataclasses
import multiprocessing

import pytest
from support.little_table import little_table

from nmtlab.analysis.search.beams import OUTCOME
from nmtlab.errors import CorpusError, RunError
from nmtlab.grids.declared.declaration import Row, Setup
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.grids.results.collected import collected_cells, made_rows
from nmtlab.grids.running import cells as cells_module
from nmtlab.grids.running.cells import cells_of
from nmtlab.grids.running.engines import _start, in_processes
from nmtlab.grids.running.events import CellEnded, CellEvent, GridPlanned, NoText
from nmtlab.grids.running.grid import run_grid
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.training.events import Progress
from nmtlab.workspace import Workspace

DIVERGING = {"training.lr_scale": 1e30, "model.norm": "layer", "model.fixnorm": False}


def losses(run: Run) -> list[list[float]]:
    return run.log.metrics("train")[["step", "loss", "perplexity", "gradient_norm"]].to_numpy().tolist()


def written(workspace: Workspace) -> dict[str, int]:
    files = (path for path in workspace.runs.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(workspace.runs)): path.stat().st_mtime_ns for path in files}


def test_every_cell_is_an_ordinary_run_and_what_happens_is_told(grid):
    cells = cells_of(grid.table, "tiny")
    for cell in cells:
        run = Run(grid.workspace.run_folder(cell.run))
        assert run.status == "finished"
        assert run.recipe == cell.recipe
    counted = next(event for event in grid.events if isinstance(event, GridPlanned))
    assert (counted.pending, counted.made) == (tuple(cells), ())
    assert [event for event in grid.events if isinstance(event, CellEnded)] == [
        CellEnded(cell, "finished") for cell in cells
    ]
    assert {event.cell.run for event in grid.events if isinstance(event, CellEvent)} == {cell.run for cell in cells}


def test_what_is_finished_is_not_touched_again(grid):
    before = written(grid.workspace)
    events = []
    assert run_grid(cells_of(grid.table, "tiny"), grid.workspace, on_event=events.append) == []
    (counted,) = [event for event in events if isinstance(event, GridPlanned)]
    assert counted.pending == ()
    assert [cell.run for cell, _ in counted.made] == [cell.run for cell in cells_of(grid.table, "tiny")]
    assert all(seconds > 0 for _, seconds in counted.made)
    assert not [event for event in events if isinstance(event, CellEnded)]
    assert written(grid.workspace) == before


@pytest.mark.full
def test_the_numbers_of_a_cell_are_measured_where_it_is_made(tiny_recipe, space, tmp_path):
    search = SearchSettings(score="log-prob", beam_size=4)
    table = little_table(tmp_path, tiny_recipe, seeds=(1,), metrics=("bleu-log-prob-4",))
    assert run_grid(cells_of(table, "tiny"), space, in_processes(2)) == []
    for rows, text, runs in made_rows(table, "tiny", space):
        for run in runs.values():
            assert OUTCOME.stored(run, corpus=text, search=search)["bleu"].item() >= 0
        assert len(runs) == len(rows) == 2


@pytest.mark.full
def test_a_stopped_grid_goes_on_where_it_stopped(tiny_recipe, space, tmp_path):
    table = little_table(tmp_path, tiny_recipe, seeds=(1,))
    asked = iter(range(1000))
    left = []
    run_grid(cells_of(table, "tiny"), space, on_event=left.append, should_stop=lambda: next(asked) >= 30)
    assert [(event.cell.column, event.status) for event in left if isinstance(event, CellEnded)] == [
        ("tied", "stopped")
    ]
    assert [path.name for path in space.runs.iterdir()] == ["tiny.little.s1"]
    run_grid(cells_of(table, "tiny"), space)
    assert set(collected_cells(table, "tiny", space)["status"]) == {"finished"}


@pytest.mark.full  # near the limit of the quick tier on a slow machine
def test_a_cell_that_diverges_is_a_result_and_is_not_run_again(tiny_recipe, space, tmp_path):
    table = little_table(tmp_path, tiny_recipe, {"tied": {}, "fixnorm": DIVERGING}, seeds=(1,))
    assert run_grid(cells_of(table, "tiny"), space) == []
    found = collected_cells(table, "tiny", space).set_index("column")
    assert found["status"].to_dict() == {"tied": "finished", "fixnorm": "diverged"}
    assert not Run(space.run_folder(found["run"]["fixnorm"])).checkpoints.has_weights("best")
    assert found["value"]["fixnorm"] == 0  # BLEU of what translates nothing
    events = []
    run_grid(cells_of(table, "tiny"), space, on_event=events.append)
    assert [len(event.pending) for event in events if isinstance(event, GridPlanned)] == [0]


@pytest.mark.full
def test_a_cell_with_a_problem_does_not_keep_the_others_from_being_made(tiny_recipe, space, tmp_path):
    systems = {"fixnorm": {"text.segmentation": "bpe", "text.vocabulary_size": 5000}, "tied": {}}
    table = little_table(tmp_path, tiny_recipe, systems, seeds=(1,))
    (problem,) = run_grid(cells_of(table, "tiny"), space)
    assert (problem.cell.column, problem.status) == ("fixnorm", "failed")
    assert "text.vocabulary_size = 5000: more subwords than" in problem.problem
    assert dict(collected_cells(table, "tiny", space)[["column", "status"]].to_numpy()) == {
        "fixnorm": "not run", "tied": "finished",
    }  # fmt: skip


@pytest.mark.full
def test_a_cell_with_a_problem_that_nobody_thought_of_does_not_either(tiny_recipe, space, tmp_path, monkeypatch, capfd):
    table = little_table(tmp_path, tiny_recipe, seeds=(1,))
    train = cells_module.train

    def break_down(name: str, *arguments, **named):
        if "norm-layer" in name:
            raise MemoryError("no room")
        return train(name, *arguments, **named)

    monkeypatch.setattr(cells_module, "train", break_down)
    (problem,) = run_grid(cells_of(table, "tiny")[::-1], space)
    assert problem.problem == f"run {problem.cell.run!r}: MemoryError: no room"
    assert "break_down" in capfd.readouterr().err  # the traceback, to fix it by
    assert collected_cells(table, "tiny", space)["status"].tolist() == ["finished", "not run"]


@pytest.mark.full
def test_processes_come_to_the_same_results_and_a_killed_one_is_gone_on_with_as_if_nothing_had_happened(grid, space):
    first, _ = cells = cells_of(grid.table, "tiny")[:2]

    def watch(event) -> None:
        training = isinstance(event, CellEvent) and event.cell == first and isinstance(event.event, Progress)
        if training and event.event.step >= 40:  # the first checkpoint is at 30: what came after it must be done again
            for process in multiprocessing.active_children():
                if process.name == first.run:
                    process.kill()

    problems = run_grid(cells, space, in_processes(2), watch)
    if not problems:
        pytest.skip("the cell ended before it could be killed")
    assert [(problem.cell, problem.status) for problem in problems] == [(first, "failed")]
    assert f"run {first.run!r}: its process ended with code -9; run the grid again" in problems[0].problem
    assert Run(space.run_folder(first.run)).status == "interrupted"

    events = []
    assert run_grid(cells, space, on_event=events.append) == []
    assert [event.pending for event in events if isinstance(event, GridPlanned)] == [(first,)]
    for cell in cells:
        ours, theirs = (Run(workspace.run_folder(cell.run)) for workspace in (grid.workspace, space))
        assert losses(ours) == losses(theirs)
    lines = [collected_cells(grid.table, "tiny", workspace) for workspace in (grid.workspace, space)]
    values = [frame.loc[frame["seed"].isin([1, 2]) & (frame["column"] == "tied"), "value"] for frame in lines]
    assert values[0].equals(values[1])


@pytest.mark.full
def test_a_process_whose_grid_is_gone_saves_its_training_and_ends(grid, space, tiny_recipe, tmp_path):
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 5000, "training.patience": 5000})
    (cell, _) = cells_of(little_table(tmp_path, recipe, seeds=(1,)), "tiny")
    worker = _start(cell, space)
    while not isinstance(getattr(worker.receive(), "event", None), Progress):
        pass
    worker.connection.close()  # as the end of the process that listens does
    worker.process.join(60)
    assert worker.process.exitcode == 0
    assert Run(space.run_folder(cell.run)).status == "stopped"


def test_a_run_of_another_recipe_stops_the_grid_before_anything_is_trained(grid, tmp_path):
    other = [
        dataclasses.replace(cell, recipe=cell.recipe.with_changes({"model.dropout": 0.9}))
        for cell in cells_of(grid.table, "tiny")
    ]
    before = written(grid.workspace)
    with pytest.raises(RunError, match=r"model\.dropout"):
        run_grid(other, grid.workspace)
    assert written(grid.workspace) == before


def test_rows_whose_text_cannot_be_had_are_left_out_and_that_is_told(tiny_recipe, space, tmp_path):
    table = little_table(tmp_path, tiny_recipe, {"tied": {}}, seeds=(1,))
    absent = Row("ta-en", {"tiny": Setup(ExternalCorpus("large", "ta", "en"))})
    table = dataclasses.replace(table, rows=(absent, *table.rows))
    events = []
    assert run_grid(cells_of(table, "tiny"), space, on_event=events.append) == []
    (left_out,) = [event for event in events if isinstance(event, NoText)]
    assert left_out.row == "ta-en"
    assert left_out.problem.startswith("corpus 'large': not found")
    assert collected_cells(table, "tiny", space)["row"].tolist() == ["ha-en"]
    with pytest.raises(CorpusError, match="corpus 'large': not found"):
        run_grid(cells_of(dataclasses.replace(table, rows=(absent,)), "tiny"), space)
