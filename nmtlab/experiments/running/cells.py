"""One cell of a table: an ordinary run, and all that is needed to make it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmtlab.analysis.access.translations import translations
from nmtlab.errors import RunError
from nmtlab.experiments.tables.corpora import Corpus
from nmtlab.experiments.tables.declaration import Changes, Row, Scale, Setup, System, Table
from nmtlab.recipe import Recipe, find_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import train
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.training.events import OnEvent, Preparing, ignore
from nmtlab.workspace import Workspace

ENDED = ("finished", "diverged")
"""States of a run that is not trained any further."""

NOT_RUN = "not run"
"""In place of a state, where there is no run."""


@dataclass(frozen=True)
class Cell:
    """A training of a grid, complete in itself: it can be made in any process, on any machine.

    Args:
        run: name of the run, `CORPUS.LABEL.sSEED`; cells of several tables that are the same training have the same.
        recipe: complete.
        label: name of the recipe and what the table changes in it, `fixnorm.radius-3`.
        corpus: what is learned from.
        splits: what is translated afterwards.
        row: in the table.
        column: name of the system.
        seed: None where nothing is drawn at random.
    """

    run: str
    recipe: Recipe
    label: str
    corpus: Corpus
    splits: tuple[str, ...]
    row: str
    column: str
    seed: int | None


def cells_of(table: Table, scale: Scale) -> list[Cell]:
    """Return the cells of a table at a scale, row by row."""
    return [
        cell
        for row in table.rows
        if isinstance(setup := row.at[scale], Setup)
        for system in table.systems
        if (row.name, system.name) not in table.left_out
        for cell in _cells(table, scale, row, setup, system)
    ]


def run_cell(
    cell: Cell,
    workspace: Workspace,
    on_event: OnEvent = ignore,
    should_stop: Callable[[], bool] = lambda: False,
) -> Run:
    """Make a cell's run: train it, or go on with it where it was interrupted, and translate with it.

    A loss that became non-finite is a result as well: the run then ends as `diverged`.

    Args:
        cell: what to make.
        workspace: where corpora, runs and caches are.
        on_event: told how far things are.
        should_stop: asked often; what is not finished then is gone on with the next time.

    Raises:
        NmtlabError: something a person can mend; a run of the cell's name is another training.
    """
    corpus = cell.corpus.open(workspace)
    run = made_run(cell, corpus, workspace)
    if run is None or run.status not in ENDED:
        run = train(cell.run, cell.recipe, corpus, workspace, run is not None, on_event, should_stop)
    if can_translate(run):
        for split in cell.splits:
            on_event(Preparing(f"translating {split}"))
            translations(run, corpus, split, machine=cell.recipe.machine)
    return run


def made_run(cell: Cell, corpus: ParallelCorpus, workspace: Workspace) -> Run | None:
    """Return the run of a cell's name, finished or not, if there is one.

    Raises:
        RunError: it is another training: of another recipe or other text.
    """
    folder = workspace.run_folder(cell.run)
    if not folder.exists():
        return None
    run = Run(folder)
    if different := _difference(_settings(run.recipe), _settings(cell.recipe)):
        raise RunError(f"run {cell.run!r}: there is one already, but {different}", _REMEDY)
    if run.environment.get("corpus_checksum") != corpus.checksum():
        raise RunError(f"run {cell.run!r}: there is one already, but of other text", _REMEDY)
    return run


def is_made(cell: Cell, run: Run | None) -> bool:
    """Return whether nothing is left to do for a cell whose run, if there is one, is `run`."""
    if run is None or run.status not in ENDED:
        return False
    return not can_translate(run) or all(any(run.folder.glob(f"translations/{s}-*.txt")) for s in cell.splits)


def can_translate(run: Run) -> bool:
    """Return whether a run that has ended has something to translate with; one that diverged early has not."""
    return run.status == "finished" or (run.status == "diverged" and run.has_weights("best"))


def run_seconds(run: Run) -> float:
    """Return how long a run that has ended was trained, all parts together."""
    return float(run.metrics("end")["seconds"].iloc[-1])


_REMEDY = "rename it, or remove it with 'nmtlab runs remove', to have it made anew"


def _cells(table: Table, scale: Scale, row: Row, setup: Setup, system: System) -> Iterator[Cell]:
    named = find_recipe(system.recipe)
    common = {**table.changes.get(scale, {}), **setup.changes}
    if not named.model.neural:
        common = {}  # it has neither width nor epochs, and the full vocabulary
    own = {**system.changes, **system.at.get(scale, {})}
    special = {**own, **table.exceptions.get((row.name, system.name), {})}
    corpus = {"corpus.name": setup.corpus.name, "corpus.source": setup.corpus.source}
    corpus |= {"corpus.target": setup.corpus.target}
    # One thread each: the same results whether one cell is made at a time or several.
    recipe = named.with_changes({**common, **special, **corpus, "machine.threads": 1})
    label = Path(system.recipe).stem + _label(special, named.with_changes(common))
    splits = tuple(measure.split for measure in table.measures if measure.split)
    for seed in table.seeds[scale] if system.seeded else (None,):
        yield Cell(
            run=f"{setup.corpus.name}.{label}" + ("" if seed is None else f".s{seed}"),
            recipe=recipe if seed is None else recipe.with_changes({"training.seed": seed}),
            label=label,
            corpus=setup.corpus,
            splits=splits,
            row=row.name,
            column=system.name,
            seed=seed,
        )


def _label(special: Changes, recipe: Recipe) -> str:
    """Return what of the special changes is one in this recipe, as a part of a name: `.radius-3`."""
    settings = _settings(recipe)
    changed = [(field, value) for field, value in special.items() if settings.get(field) != value]
    return "".join(f".{field.rpartition('.')[2]}-{_text(value)}" for field, value in changed)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Return what decides a training, by field: not where it is computed, nor what is said of it."""
    sections = recipe.model_dump(exclude={"about", "machine"})
    return {f"{section}.{name}": value for section, fields in sections.items() for name, value in fields.items()}


def _difference(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    for field in sorted(there.keys() | wanted.keys()):
        if there.get(field) != wanted.get(field):
            return f"its {field} is {there.get(field)!r}, wanted is {wanted.get(field)!r}"
    return ""
