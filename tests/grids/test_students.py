"""Systems that learn from another one: trained first, and once, by its distributions or its translations."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from support.little_table import little_table

from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.grids.declared.corpora import FirstPairs, TranslatedCorpus, planned
from nmtlab.grids.declared.declaration import GRID, Table
from nmtlab.grids.declared.grid_file import read_grid, stored_grid
from nmtlab.grids.declared.whole_corpora import ExternalCorpus
from nmtlab.grids.results.collected import collected_cells
from nmtlab.grids.running.cells import cells_of, trainings
from nmtlab.grids.running.estimate import estimate_grid
from nmtlab.grids.running.events import GridPlanned
from nmtlab.grids.running.grid import run_grid
from nmtlab.runs.run import Run
from nmtlab.systems import open_ensemble, open_system

STUDENTS = """
seeds = [1, 2]

[[system]]
name = "teacher"
recipe = "transformer-tiny"
changes = { model.d_model = 96 }

[[system]]
name = "alone"
recipe = "transformer-tiny"

[[system]]
name = "word"
recipe = "transformer-tiny"
teacher = "teacher"
distillation = "word"
changes = { training.teacher_weight = 0.9 }

[[system]]
name = "sequence"
recipe = "transformer-tiny"
teacher = "teacher"

[[system]]
name = "interpolated"
recipe = "transformer-tiny"
teacher = "teacher"
distillation = "interpolated"

[[text]]
corpus = "tiny"
"""
TEACHER = "tiny.transformer-tiny.d_model-96.s2"
TEXT = ExternalCorpus("tiny", "de", "en")


def test_students_need_the_teacher_of_their_seed_which_is_trained_once(tmp_path, space):
    path = tmp_path / "students.toml"
    path.write_text(STUDENTS)
    table = read_grid(path, space)
    assert stored_grid(path, "students", space) == table
    cells = cells_of(table, GRID)
    found = {cell.column: cell for cell in cells if cell.seed == 2}
    assert found["teacher"].run == TEACHER
    needs = {name: [(need.role, need.cell.run) for need in cell.needs] for name, cell in found.items()}
    assert needs == {
        "teacher": [], "alone": [], "word": [("teacher", TEACHER)], "sequence": [("translator", TEACHER)],
        "interpolated": [("translator", TEACHER)],
    }  # fmt: skip
    assert len({cell.run for cell in cells}) == len(trainings(cells)) == len(cells) == 10
    assert found["word"].run == "tiny.transformer-tiny.teacher_weight-0.9.word-transformer-tiny.d_model-96.s2"
    training = found["word"].recipe.training
    assert (training.teacher, training.teacher_weight) == (TEACHER, 0.9)
    assert found["sequence"].corpus == TranslatedCorpus(TEXT, TEACHER)
    assert found["sequence"].recipe.corpus.name == "tiny.by-transformer-tiny.d_model-96.s2"
    assert found["interpolated"].corpus == TranslatedCorpus(TEXT, TEACHER, nearest=True)
    assert {cell.texts for cell in cells} == {(TEXT,)}  # all are scored on the real text


def test_an_ensemble_of_all_seeds_of_the_teacher_translates_for_every_seed_of_its_student(tmp_path, space):
    path = tmp_path / "students.toml"
    path.write_text(STUDENTS.replace('"sequence"\nrecipe', '"sequence"\nensemble = true\nrecipe'))
    table = read_grid(path, space)
    assert stored_grid(path, "students", space) == table
    taught = [cell for cell in cells_of(table, GRID) if cell.column == "sequence"]
    teachers = tuple(TEACHER.replace("s2", seed) for seed in ("s1", "s2"))
    assert [cell.run for cell in taught] == [
        f"tiny.transformer-tiny.ensemble-sequence-transformer-tiny.d_model-96.{seed}" for seed in ("s1", "s2")
    ]
    for cell in taught:
        assert [(need.role, need.cell.run) for need in cell.needs] == [("translator", run) for run in teachers]
        assert cell.corpus == TranslatedCorpus(TEXT, teachers[0], others=teachers[1:])
        assert cell.recipe.corpus.name == "tiny.by-transformer-tiny.d_model-96.s1+s2"
    path.write_text(path.read_text().replace("seeds = [1, 2]", "seeds = [1]"))
    with pytest.raises(NmtlabError, match=r"system\.ensemble: of one seed"):
        read_grid(path, space)


def test_the_file_that_the_book_shows_can_be_read(tmp_path, space):
    page = (Path(__file__).parents[2] / "docs/systems/students.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "students.toml"
    path.write_text(text.replace("multi30k-de-en", "tiny"), encoding="utf-8")
    columns = read_grid(path, space).columns
    taught = {system.name: system.distillation for system in columns if system.teacher}
    assert taught == {"word-level": "word", "sequence-level": "sequence", "interpolated": "interpolated"}


@pytest.mark.parametrize(
    ("old", "new", "where", "remedy"),
    [
        ('teacher = "teacher"', 'teacher = "tutor"', "line 16: system.teacher: no system 'tutor'", "choose one of"),
        ('teacher = "teacher"', 'teacher = "word"', "a circle: 'word' learns from 'word'", "one of these teachers"),
        ('teacher = "teacher"\n', "", "line 16: system.distillation: without a teacher", "add teacher = ..."),
        ('teacher = "teacher"', 'teacher = "teacher"\nbase = "alone"', "teacher: there is a base, too", "one of them"),
        ('"word"\nchanges', '"all"\nchanges', "line 17: system.distillation: 'all' is not allowed", "'interpolated'"),
        ("weight = 0.9", "weight = 0", "training.teacher is named, but training.teacher_weight is 0", "leave out"),
        ("96 }", "96, text.joint = false }", "system.teacher: 'teacher' has other vocabularies", "same text settings"),
        ("96 }", "96, search.beam_size = 1 }", "system.teacher: 'teacher' has one translation a line", "2 or more"),
        (
            'distillation = "word"', 'distillation = "word"\nensemble = true', "cannot teach together",
            "leave ensemble out",
        ),
        ('teacher = "teacher"\ndistillation = "word"', "ensemble = true", "ensemble: without a teacher", "add teacher"),
        (
            'distillation = "interpolated"', "", "system.name: 'interpolated' has the settings of 'sequence'",
            "change a field",
        ),
    ],
)  # fmt: skip
def test_a_mistake_about_teachers_is_named_with_its_line(tmp_path, space, old, new, where, remedy):
    assert old in STUDENTS
    path = tmp_path / "students.toml"
    path.write_text(STUDENTS.replace(old, new, 1))
    with pytest.raises(NmtlabError) as refused:
        read_grid(path, space)
    assert where in str(refused.value)
    assert remedy in str(refused.value)


@pytest.mark.full
def test_runs_that_teach_together_write_the_text_of_their_ensemble(space, zoo):
    runs = [zoo("learned"), zoo("trained")]
    for number, run in enumerate(runs, start=1):
        shutil.copytree(run.folder, space.run_folder(f"teacher.s{number}"))
    text = TranslatedCorpus(FirstPairs(TEXT, 20), "teacher.s1", others=("teacher.s2",))
    made, lines = text.open(space), list(FirstPairs(TEXT, 20).open(space).lines("train", "de"))
    found = [one.text for one in open_ensemble(runs).translate(lines)]
    assert found != [one.text for one in open_system(runs[0]).translate(lines)]
    kept = list(made.pairs("train"))
    assert len(kept) > 10
    assert [pair for pair in zip(lines, found, strict=True) if pair in set(kept)] == kept
    report = json.loads((made.folder / "import.json").read_text())
    report["origin"]["with"][0]["weights"] = "others"
    (made.folder / "import.json").write_text(json.dumps(report))
    with pytest.raises(CorpusError, match="made with with = "):
        text.open(space)


@pytest.fixture
def table(tmp_path, tiny_recipe) -> Table:
    """A teacher, and its students of all kinds."""
    recipe = tiny_recipe.with_changes({"training.max_evaluations": 1, "search.beam_size": 3})
    alone = little_table(tmp_path, recipe, {"teacher": {}}, seeds=(1,), baseline="teacher")
    (teacher,) = alone.columns
    students = (
        replace(teacher, name=kind, changes={"model.d_ff": 16}, teacher=teacher, distillation=kind)
        for kind in ("word", "sequence", "interpolated")
    )
    return replace(alone, columns=(teacher, *students))


@pytest.mark.full
def test_students_train_on_what_their_teacher_writes_and_are_not_made_twice(table, space):
    cells = {cell.column: cell for cell in cells_of(table, "tiny")}
    text = cells["sequence"].corpus
    assert planned(text, space) == TEXT
    plan = estimate_grid(list(cells.values()), space)
    assert (plan["problem"] == "").all()
    assert (plan["minutes"] > 0).all()
    assert run_grid(list(cells.values()), space) == []

    bitext, made = TEXT.open(space), text.open(space)
    teacher = Run(space.run_folder(cells["teacher"].run))
    kept, lines = list(made.pairs("train")), list(bitext.lines("train", "de"))
    found = [one.text for one in open_system(teacher).translate(lines)]
    assert len(kept) > 250
    assert [pair for pair in zip(lines, found, strict=True) if pair in set(kept)] == kept
    assert list(made.pairs("dev")) == list(bitext.pairs("dev"))
    nearest = list(cells["interpolated"].corpus.open(space).pairs("train"))
    assert nearest != kept
    runs = {name: Run(space.run_folder(cell.run)) for name, cell in cells.items()}
    assert runs["word"].environment["teacher"] == teacher.checkpoints.digest
    assert runs["sequence"].environment["corpus_checksum"] == made.checksum()
    assert (collected_cells(table, "tiny", space)["status"] == "finished").all()

    events: list[object] = []
    run_grid(list(cells.values()), space, on_event=events.append)
    assert [event.pending for event in events if isinstance(event, GridPlanned)] == [()]


def test_text_by_another_run_or_of_other_text_is_not_taken_for_the_teachers(space, tiny_corpus, tmp_path):
    text = TranslatedCorpus(TEXT, "teacher")
    folder = space.data / "corpora" / text.name
    folder.mkdir(parents=True)
    for path in tiny_corpus.folder.glob("*.*"):
        (folder / path.name).write_bytes(path.read_bytes())
    for origin, problem in (
        ({"run": "other"}, "made with run = 'other' instead of 'teacher'"),
        ({"run": "teacher", "bitext": "old"}, "made with bitext = 'old' instead of"),
    ):
        (folder / "import.json").write_text(json.dumps({"kind": "translated", "origin": origin}))
        with pytest.raises(CorpusError, match=problem):
            text.open(space)
