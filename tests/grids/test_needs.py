"""Cells that need several trainings: each is made once, before what needs it, and one that diverges is a result."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from support.little_table import little_table

from nmtlab.analysis.metrics import find_metric
from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.declaration import Parent, Setup, Table
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.grids.results.collected import collected_cells
from nmtlab.grids.results.judgement import Question, answered
from nmtlab.grids.results.summary import summary
from nmtlab.grids.running.cells import Cell, Need, cells_of, trainings
from nmtlab.grids.running.engines import in_processes, one_by_one, take_ready
from nmtlab.grids.running.estimate import estimate_grid
from nmtlab.grids.running.events import CellEnded, GridPlanned
from nmtlab.grids.running.grid import run_grid
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import read_lines, write_lines
from nmtlab.workspace import Workspace

DIVERGING = {"training.lr_scale": 1e30}


@pytest.fixture
def table(tmp_path, tiny_recipe) -> Table:
    """A system alone, and as the child of a parent on another text that diverges."""
    small = tiny_recipe.with_changes({"training.max_evaluations": 1, "model.norm": "layer", "model.fixnorm": False})
    table = little_table(tmp_path, small, {"tied": {}}, seeds=(1,))
    row = replace(
        table.rows[0],
        at={"tiny": Setup(ExternalCorpus("sister", "xx", "en"), parents={"lost": parent(DIVERGING), "made": parent()})},
    )
    (alone,) = table.columns
    children = (replace(alone, name=name, parent=name) for name in ("lost", "made"))
    return replace(table, rows=(row,), columns=(alone, *children))


def parent(changes: dict | None = None) -> Parent:
    return Parent(ExternalCorpus("tiny", "de", "en"), changes=changes or {})


@pytest.fixture
def space(tmp_path, tiny_corpus) -> Workspace:
    """A workspace with the corpus `tiny` and a sister of other words."""
    folder = tmp_path / "corpora/sister"
    folder.mkdir(parents=True)
    for split in ("train", "dev"):
        lines = list(read_lines(tiny_corpus.folder / f"{split}.de"))[::-1]
        write_lines(folder / f"{split}.xx", [f"{line}o" for line in lines])
        write_lines(folder / f"{split}.en", [f"{line}e" for line in lines])
    return Workspace(tmp_path / "data", (tmp_path / "corpora", tiny_corpus.folder.parent))


def by_column(table: Table) -> dict[str, Cell]:
    return {cell.column: cell for cell in cells_of(table, "tiny")}


def weights(cells: list[Cell], space: Workspace) -> list[bytes]:
    return [Path(space.run_folder(cell.run) / "checkpoints/best.safetensors").read_bytes() for cell in cells]


# Order


@pytest.mark.parametrize("seed", range(20))
def test_needs_come_first_and_equal_ones_once_in_any_graph(table, seed):
    draw, alone = random.Random(seed), by_column(table)["tied"]
    cells: list[Cell] = []
    for number in range(12):
        needed = draw.sample(cells, min(len(cells), draw.randint(0, 3)))
        needs = tuple(Need(draw.choice(["parent", "teacher", "member"]), one) for one in needed)
        cells.append(replace(alone, run=f"run-{number}", needs=needs))
    asked = draw.sample(cells, 6)
    names = [cell.run for cell in trainings(asked)]
    assert len(names) == len(set(names))
    places = {name: place for place, name in enumerate(names)}
    wanted, reached = [*asked], set()
    while wanted:
        cell = wanted.pop()
        reached.add(cell.run)
        assert all(places[need.cell.run] < places[cell.run] for need in cell.needs)
        wanted += [need.cell for need in cell.needs]
    assert reached == set(names)


def test_a_training_that_needs_itself_is_refused(table):
    alone = by_column(table)["tied"]
    first = replace(alone, run="first", needs=(Need("teacher", replace(alone, run="second")),))
    second = replace(alone, run="second", needs=(Need("parent", first),))
    with pytest.raises(NmtlabError, match=r"a training needs itself: (first needs second|second needs first) needs"):
        trainings([second])


def test_a_cell_waits_for_all_that_it_needs(table):
    alone = by_column(table)["tied"]
    teacher, member = replace(alone, run="teacher"), replace(alone, run="member")
    student = replace(alone, run="student", needs=(Need("teacher", teacher), Need("member", member)))
    waiting = [student, teacher, member]
    assert take_ready(waiting, []) is teacher
    assert take_ready(waiting, [teacher]) is member
    assert take_ready(waiting, [member]) is None
    assert take_ready(waiting, []) is student


# A need that diverges


@pytest.mark.full
def test_what_needs_a_training_that_diverged_is_told_of_and_the_others_are_made(table, space):
    cells = by_column(table)
    lost = cells["lost"].needs[0].cell.run
    further = replace(cells["lost"], run="further", column="tied", needs=(Need("parent", cells["lost"]),))
    events = []
    assert run_grid([further, *cells.values()], space, on_event=events.append) == []
    ended = {event.cell.run: (event.status, event.need) for event in events if isinstance(event, CellEnded)}
    assert ended[lost] == ("diverged", "")
    assert ended["further"] == ended[cells["lost"].run] == ("need diverged", lost)
    assert ended[cells["made"].run] == ended[cells["tied"].run] == ("finished", "")
    assert not space.run_folder(cells["lost"].run).exists()

    found = collected_cells(table, "tiny", space)
    assert dict(found[["column", "status"]].to_numpy()) == {
        "tied": "finished", "lost": "need diverged", "made": "finished",
    }  # fmt: skip
    line = summary(found, table).set_index("column").loc["lost"]
    assert (line["seeds"], line["diverged"], line["missing"]) == (0, 1, 0)
    answer = answered(Question(find_metric("dev-bleu"), "lost", "tied", "higher"), found, ())
    assert answer.hindrance == "lost: what it needs diverged"
    plan = estimate_grid([cells["lost"]], space).set_index("run").loc[cells["lost"].run]
    assert (plan["status"], plan["minutes"]) == ("need diverged", 0)


# Going on


def test_a_grid_that_ended_between_a_need_and_its_cell_goes_on_with_the_cell(table, space):
    child = by_column(table)["made"]
    needed = child.needs[0].cell

    def die(event) -> None:
        if isinstance(event, CellEnded):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_grid([child], space, on_event=die)
    before = weights([needed], space)
    assert not space.run_folder(child.run).exists()
    events = []
    assert run_grid([child], space, on_event=events.append) == []
    (planned,) = [event for event in events if isinstance(event, GridPlanned)]
    assert [cell.run for cell in planned.pending] == [child.run]
    assert [cell.run for cell, _ in planned.made] == [needed.run]
    assert (weights([needed], space), Run(space.run_folder(child.run)).status) == (before, "finished")


@pytest.mark.full
def test_needs_of_two_levels_give_the_same_weights_one_by_one_and_in_processes(table, space, tmp_path):
    cells = by_column(table)
    member = replace(cells["made"], scored=())
    both = replace(cells["tied"], needs=(Need("member", member), Need("teacher", member.needs[0].cell)))
    every = [both, member, member.needs[0].cell]
    found = []
    for name, engine in (("one", one_by_one), ("two", in_processes(2))):
        own = Workspace(tmp_path / name, space.more_corpora)
        assert run_grid([both], own, engine) == []
        found.append(weights(every, own))
    assert found[0] == found[1]
