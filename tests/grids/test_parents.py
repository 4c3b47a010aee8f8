"""Cells that start from a parent: the parent is made first, once for all its children."""

import shutil

import pytest
from conftest import WORDS

from nmtlab.grids.declared.declaration import Column, Parent, Row, Setup, Table
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.grids.running.cells import cells_of, trainings
from nmtlab.grids.running.engines import one_by_one, take_ready
from nmtlab.grids.running.estimate import estimate_grid
from nmtlab.grids.running.grid import run_grid
from nmtlab.runs.run import Run
from nmtlab.text.corpora.lines import read_lines, write_lines
from nmtlab.workspace import Workspace

GERMAN, SISTER = ExternalCorpus("tiny", "de", "en"), ExternalCorpus("sister", "xx", "en")


@pytest.fixture(scope="module")
def space(tmp_path_factory, make_corpus) -> Workspace:
    """A workspace with a corpus and its sister, in which every word has another ending."""
    workspace = Workspace(tmp_path_factory.mktemp("parents") / "data")
    corpora = workspace.data / "corpora"
    corpora.mkdir(parents=True)
    shutil.copytree(make_corpus(), corpora / "tiny")
    for split in ("train", "dev"):
        lines = list(read_lines(corpora / f"tiny/{split}.de"))[::-1]
        write_lines(corpora / f"sister/{split}.xx", [" ".join(word + "o" for word in line.split()) for line in lines])
        write_lines(corpora / f"sister/{split}.en", [" ".join(WORDS[word] for word in line.split()) for line in lines])
    return workspace


@pytest.fixture(scope="module")
def table(space, tiny_recipe) -> Table:
    recipe = tiny_recipe.with_changes(
        {"text.segmentation": "bpe", "text.vocabulary_size": 80, "training.max_evaluations": 1}
    )
    recipe.save(space.data / "little.toml")
    path = str(space.data / "little.toml")
    parents = {"related": Parent(GERMAN, SISTER, {"training.warmup_updates": 10})}
    return Table(
        name="little",
        title="A child alone, and with a parent",
        rows=(
            Row("xx", {"tiny": Setup(SISTER, parents=parents)}),
            Row("de", {"tiny": Setup(GERMAN)}),
        ),
        columns=(
            Column("alone", path),
            Column("child", path, parent="related"),
            Column("frozen", path, {"transfer.encoder": "freeze"}, parent="related"),
        ),
        metrics=("dev-bleu",),
        seeds={"tiny": (1, 2)},
        published=False,
    )  # fmt: skip


def test_a_child_has_a_parent_of_its_seed_and_rows_without_parents_have_no_children(table):
    cells = cells_of(table, "tiny")
    assert [(cell.row, cell.column, cell.seed) for cell in cells] == [
        ("xx", "alone", 1), ("xx", "alone", 2), ("xx", "child", 1), ("xx", "child", 2),
        ("xx", "frozen", 1), ("xx", "frozen", 2), ("de", "alone", 1), ("de", "alone", 2),
    ]  # fmt: skip
    child, frozen = cells[2], cells[4]
    parent, same = child.needs[0].cell, frozen.needs[0].cell
    assert parent.run == same.run == "tiny.little.warmup_updates-10.with-sister.s1"
    assert child.run == "sister.little.related-parent.s1"
    assert frozen.run == "sister.little.encoder-freeze.related-parent.s1"
    assert child.recipe.transfer.parent == parent.run
    assert parent.recipe.transfer.parent == ""
    assert parent.recipe.transfer.encoder == same.recipe.transfer.encoder == "tune"
    assert parent.recipe.more_corpora[0].vocabulary_only
    assert parent.recipe.training.warmup_updates == 10
    assert child.recipe.training.warmup_updates == 20


def test_a_child_waits_for_its_parent_and_other_cells_do_not(table):
    cells = trainings([cell for cell in cells_of(table, "tiny") if cell.seed == 1])
    parent = next(cell for cell in cells if cell.run == "tiny.little.warmup_updates-10.with-sister.s1")
    waiting = list(cells)
    assert take_ready(waiting, []) is parent
    begun = []
    while cell := take_ready(waiting, [parent, *begun]):
        begun.append(cell)
    assert [cell.column for cell in begun] == ["alone", "alone"]
    assert {cell.column for cell in waiting} == {"child", "frozen"}
    assert take_ready(waiting, begun).column == "child"


@pytest.mark.full
def test_parents_are_made_first_and_made_cells_are_left_alone(table, space):
    cells = [cell for cell in cells_of(table, "tiny") if cell.seed == 1 and cell.row == "xx"]
    assert len(estimate_grid(cells, space)) == len(cells) + 1
    made = []

    def engine(some, *rest) -> None:
        made.append([cell.run for cell in some])
        one_by_one(some, *rest)

    assert run_grid(cells, space, engine) == []
    parent = cells[1].needs[0].cell.run
    assert [made[0][0], *sorted(made[0][1:])] == [parent, *sorted(cell.run for cell in cells)]
    for cell in cells:
        run = Run(space.run_folder(cell.run))
        assert run.status == "finished"
        assert (run.inheritance or {}).get("parent", "") == cell.recipe.transfer.parent
    made.clear()
    assert run_grid(cells, space, engine) == []
    assert made == [[]]
    shutil.move(space.run_folder(parent), space.data / "away")
    assert run_grid(cells, space, engine) == []
    assert made == [[], []]  # its children are trained and need it no more
    assert len(estimate_grid(cells, space)) == len(cells)
    shutil.move(space.data / "away", space.run_folder(parent))
