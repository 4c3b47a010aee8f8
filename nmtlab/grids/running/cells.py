"""One cell of a table: an ordinary run, and everything needed to make it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.analysis.metrics import find_metrics, value_of
from nmtlab.errors import NmtlabError, RunError
from nmtlab.grids.declared.corpora import Corpus, Directed, SeveralSources, TranslatedCorpus, backwards, planned
from nmtlab.grids.declared.declaration import (
    GRID,
    WORD_LEVEL,
    Changes,
    Column,
    Distillation,
    Made,
    Parent,
    Row,
    Scale,
    Setup,
    Table,
    Texts,
)
from nmtlab.recipe import Recipe, TransferSettings, find_recipe
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.events import OnEvent, Preparing, ignore
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

ENDED = ("finished", "diverged")
"""Statuses of a run that is not trained any further."""

NOT_RUN = "not run"
"""Status of a cell without a run."""

NEED_DIVERGED = "need diverged"
"""Status of a cell that cannot be trained, since a training that it needs diverged before its first checkpoint."""

_LONGEST, _KEPT = 140, 120
"""Most characters of the name of a run without its seed, and what is kept of a longer one."""

T = TypeVar("T")


class Need(NamedTuple):
    """A training that another one needs, and what for: weights, translations, probabilities, or to be compared with."""

    role: Literal["parent", "translator", "teacher", "compared"]
    cell: "Cell"


@dataclass(frozen=True)
class Cell:
    """A training of a grid, self-contained: any process on any machine can make it.

    Args:
        run: name of the run, `CORPUS.LABEL.sSEED`; cells of different tables that are the same training share it.
        recipe: the complete recipe.
        label: name of the recipe and the table's changes to it, such as `fixnorm.radius-3`.
        corpus: corpus to train on.
        splits: splits to translate after training.
        metrics: keys of the numbers of the table, measured after that.
        row: name of the row in the table.
        column: name of the system.
        seed: seed of the training, None for a system without randomness.
        needs: the trainings that must have ended before this one begins.
        also: text that its vocabulary is learned from besides the corpus, if any.
        more: further corpora to train on, in other directions.
        scored: texts to translate after training; the corpus if none are given.
    """

    run: str
    recipe: Recipe
    label: str
    corpus: Corpus
    splits: tuple[str, ...]
    metrics: tuple[str, ...]
    row: str
    column: str
    seed: int | None
    needs: tuple[Need, ...] = ()
    also: Corpus | None = None
    more: tuple[Corpus, ...] = ()
    scored: tuple[Corpus, ...] = ()

    @property
    def texts(self) -> tuple[Corpus, ...]:
        """The texts to translate after training; in a table, the row's text."""
        return self.scored or (self.corpus,)

    @property
    def corpora(self) -> tuple[Corpus, ...]:
        """All corpora that it needs, the first training corpus first."""
        vocabulary = () if self.also is None else (self.also,)
        return tuple(dict.fromkeys((self.corpus, *self.more, *vocabulary, *self.texts)))


def trainings(cells: Sequence[Cell], workspace: Workspace | None = None) -> list[Cell]:
    """Return the trainings of cells and those that they need, each once, needs first.

    Each translates the texts of all its cells and has all their metrics.

    Args:
        cells: of any tables.
        workspace: contains runs; those whose training has ended need nothing any more.

    Raises:
        NmtlabError: a training needs itself, directly or not, or two have one name.
    """
    found: dict[str, Cell] = {}
    order = TopologicalSorter[str]()
    for cell in _with_needs(cells, workspace):
        order.add(cell.run, *(need.cell.run for need in cell.needs))
        first = found.setdefault(cell.run, cell)
        if _settings(first.recipe) != _settings(cell.recipe):
            remedy = "change one of their recipes' names, or another field"
            raise NmtlabError(f"run {cell.run!r}: two different trainings have this name", remedy)
        found[cell.run] = replace(
            first,
            scored=_each_once(first.texts, cell.texts),
            splits=_each_once(first.splits, cell.splits),
            metrics=_each_once(first.metrics, cell.metrics),
        )
    try:
        return [found[name] for name in order.static_order() if name in found]
    except CycleError as error:
        names = " needs ".join(error.args[1][::-1])
        raise NmtlabError(f"a training needs itself: {names}", "give the trainings different names") from error


def _with_needs(cells: Sequence[Cell], workspace: Workspace | None) -> list[Cell]:
    """Return what cells need, the needs of needs first, and then the cells."""
    needs = [need.cell for cell in cells if not _has_ended(cell, workspace) for need in cell.needs]
    return [*_with_needs(needs, workspace), *cells] if needs else [*cells]


def _has_ended(cell: Cell, workspace: Workspace | None) -> bool:
    run = _run_of(cell, workspace) if workspace else None
    return run is not None and run.status in ENDED


def _run_of(cell: Cell, workspace: Workspace) -> Run | None:
    folder = workspace.run_folder(cell.run)
    return Run(folder) if folder.exists() else None


def diverged_need(cell: Cell, workspace: Workspace) -> str:
    """Return a training without weights that a cell still needs, directly or not; empty if there is none."""
    for need in () if _has_ended(cell, workspace) else cell.needs:
        run = _run_of(need.cell, workspace)
        is_lost = run is not None and run.status in ENDED and not can_translate(run)
        if lost := need.cell.run if is_lost else diverged_need(need.cell, workspace):
            return lost
    return ""


def status_of(cell: Cell, run: Run | None, workspace: Workspace) -> str:
    """Return the status of a cell's run or, without one, `NOT_RUN` or `NEED_DIVERGED`."""
    if run:
        return run.status
    return NEED_DIVERGED if diverged_need(cell, workspace) else NOT_RUN


def cells_of(table: Table, scale: Scale) -> list[Cell]:
    """Return the cells of a table at a scale, row by row."""
    return [
        cell
        for row in table.rows
        for system in table.columns
        if isinstance(setup := row.at[scale], Setup) and not table.leaves_out(row, system, scale)
        for cell in _cells(table, scale, row, setup, system)
    ]


def run_cell(
    cell: Cell,
    workspace: Workspace,
    on_event: OnEvent = ignore,
    should_stop: Callable[[], bool] = lambda: False,
) -> Run:
    """Make a cell's run: train it, or resume it if it was interrupted, translate with it and measure it.

    A non-finite loss is a result too: the run then ends as `diverged`.

    Args:
        cell: the cell to make.
        workspace: contains corpora, runs and caches.
        on_event: called with progress events.
        should_stop: polled often; a training stopped by it is resumed by the next call.

    Raises:
        NmtlabError: a problem that the user can fix; or a run with the cell's name is a different training.
    """
    if any(planned(corpus, workspace) != corpus for corpus in cell.corpora):
        on_event(Preparing("translating train"))
    opened = {corpus: corpus.open(workspace) for corpus in cell.corpora}
    corpus = opened[cell.corpus]
    run = made_run(cell, corpus, workspace)
    if run is None or run.status not in ENDED:
        run = train(cell.run, cell.recipe, corpus, workspace, run is not None, on_event, should_stop)
    if can_translate(run):
        for text in cell.texts:
            for split in cell.splits:
                on_event(Preparing(f"translating {split}"))
                translations(run, opened[text], split, machine=cell.recipe.machine)
            for measure in find_metrics(cell.metrics):
                on_event(Preparing(f"measuring {measure.label}"))
                value_of(measure, run, opened[text])
    return run


def made_run(cell: Cell, corpus: ParallelCorpus, workspace: Workspace) -> Run | None:
    """Return the run with a cell's name, finished or not, or None.

    Raises:
        RunError: it is a different training: another recipe or other text.
    """
    run = _run_of(cell, workspace)
    if run and (different := _difference(cell, run, corpus)):
        raise RunError(f"run {cell.run!r}: already exists, but {different}", _REMEDY)
    return run


def is_the_training(cell: Cell, run: Run, corpus: ParallelCorpus) -> bool:
    """Return whether a run is the training of a cell: the same recipe, seed and text."""
    return not _difference(cell, run, corpus)


def is_made(cell: Cell, run: Run | None, texts: Iterable[ParallelCorpus]) -> bool:
    """Return whether a cell is complete, given its run, if any, and those of its texts that are available."""
    if run is None or run.status not in ENDED:
        return False
    if not can_translate(run):
        return True
    return all(stored_translations(run, text, split) is not None for text in texts for split in cell.splits)


def can_translate(run: Run) -> bool:
    """Return whether a run that has ended can translate; one that diverged before its first checkpoint cannot."""
    return run.status == "finished" or (run.status == "diverged" and run.checkpoints.has_weights("best"))


def run_seconds(run: Run) -> float:
    """Return the training time of a run that has ended, over all its parts, in seconds."""
    return float(run.log.metrics("end")["seconds"].iloc[-1])


_REMEDY = "rename it, or remove it with 'nmtlab runs remove', to train it again"


def _cells(table: Table, scale: Scale, row: Row, setup: Setup, system: Column) -> Iterator[Cell]:
    texts = setup.texts[system.texts] if system.texts else Texts(_run_name(setup.corpus), (setup.corpus,))
    corpus, *more = texts.corpora
    named = find_recipe(system.recipe)
    of_all = table.changes if system.instead is None else system.instead
    common = {**of_all.get(scale, {}), **setup.changes}
    if not named.model.neural:
        common = {}  # a phrase-based system has no width and no epochs, and uses the full vocabulary
    of_system = {**system.changes, **system.at.get(scale, {})}
    special = {**of_system, **table.exceptions.get((row.name, system.name), {})}
    # One thread each, so that results do not depend on how many cells are made at once; and the thesis' words in its
    # tables.
    always = {"machine.threads": 1, **({} if scale == GRID else {"text.word_rules": "moses"})}
    taught = WORD_LEVEL if system.teacher and system.distillation == "word" else {}
    recipe = named.with_changes({**taught, **common, **special, **_named(corpus), **_beside(more), **always})
    usual = {**_settings(named), **common}
    label = Path(system.recipe).stem + _label(special, usual)
    label += f".{system.parent}-parent" if system.parent else ""
    label += f".from-{system.base.name}" if system.base and scale == GRID else ""
    teachers = list(_cells(table, scale, row, setup, system.teacher)) if system.teacher else []
    label += f".{'ensemble-' * system.ensemble}{system.distillation}-{teachers[0].label}" if teachers else ""
    before = [Need("compared", _only_trained(one)) for one in _after(table, scale, row, setup, system)]
    makers = [(made, _makers(made, table, scale, row, setup)) for made in texts.made]
    splits = tuple(measure.split for measure in find_metrics(table.metrics) if measure.split)
    for seed in (row.seeds or table.seeds[scale]) if system.seeded else (None,):
        seeds = {} if seed is None else {"training.seed": seed}
        cell = Cell(
            run=_run_of_seed(f"{texts.name}.{label}", seed),
            recipe=recipe.with_changes(seeds),
            label=label,
            corpus=corpus,
            splits=splits,
            metrics=table.metrics,
            row=row.name,
            column=system.name,
            seed=seed,
            more=tuple(more),
            scored=(setup.tested or setup.corpus,),
            needs=tuple(before),
        )
        if system.base:
            bases = _cells(table, scale, row, setup, system.base)
            cell = _based_on(cell, _of_seed(seed, bases))
        if teachers:
            taught_by = teachers if system.ensemble else [_of_seed(seed, teachers)]
            cell = _taught(cell, taught_by, system.distillation)
        for made, runs in makers:
            cell = _with_made(cell, made, _of_seed(seed, runs))
        if system.parent:
            declared = setup.parents[system.parent]
            if recipe.text.segmentation == "word":
                declared = replace(declared, also=None)  # words are those of one text
            lasting = {field: value for field, value in special.items() if not field.startswith("transfer.")}
            cell = _with_parent(
                cell, declared, Path(system.recipe).stem + _label({**lasting, **declared.changes}, usual)
            )
        yield cell


def _of_seed(seed: int | None, cells: Iterable[Cell]) -> Cell:
    """Return the cell with a seed, or the one that stands for every seed."""
    return next(cell for cell in cells if cell.seed in (None, seed))


def _after(table: Table, scale: Scale, row: Row, setup: Setup, system: Column) -> Iterator[Cell]:
    """Return the trainings, one per seed, with which a system is compared, if any."""
    return _cells(table, scale, row, setup, system.after) if system.after else iter(())


def _only_trained(cell: Cell) -> Cell:
    """Return a cell without what is measured after its training, for one that needs it."""
    return replace(cell, splits=(), metrics=())


def _makers(made: Made, table: Table, scale: Scale, row: Row, setup: Setup) -> list[Cell]:
    """Return the trainings that translate a text, one per seed."""
    corpus = backwards(setup.corpus) if made.side == "source" else setup.corpus
    return [_only_trained(one) for one in _cells(table, scale, row, replace(setup, corpus=corpus), made.by)]


def _with_made(cell: Cell, made: Made, maker: Cell) -> Cell:
    """Return a cell that is also trained on a text that another training has translated."""
    text = TranslatedCorpus(
        made.of, maker.run, side=made.side, samples=made.samples, temperature=made.temperature, beside=cell.corpus
    )
    turns = [replace(text, turn=turn) for turn in range(1, made.turns + 1)] if made.turns > 1 else [text]
    more = (*cell.more, *turns)
    recipe = cell.recipe.with_changes(_beside(more))
    return replace(cell, recipe=recipe, more=more, needs=(*cell.needs, Need("translator", maker)))


def _based_on(cell: Cell, base: Cell) -> Cell:
    """Return a cell that starts from the training of another system."""
    recipe = cell.recipe.with_changes({"transfer.parent": base.run})
    return replace(cell, recipe=recipe, needs=(*cell.needs, Need("parent", _only_trained(base))))


def _taught(student: Cell, teachers: Sequence[Cell], distillation: Distillation) -> Cell:
    """Return a cell that learns from the training of another system, or from what several translate together."""
    teacher, *others = map(_only_trained, teachers)
    if distillation == "word":
        recipe = student.recipe.with_changes({"training.teacher": teacher.run})
        return replace(student, recipe=recipe, needs=(*student.needs, Need("teacher", teacher)))
    nearest, runs = distillation == "interpolated", tuple(other.run for other in others)
    corpus = TranslatedCorpus(student.corpus, teacher.run, nearest=nearest, others=runs)
    recipe, needs = student.recipe.with_changes(_named(corpus)), (Need("translator", one) for one in (teacher, *others))
    return replace(student, recipe=recipe, corpus=corpus, needs=(*student.needs, *needs))


def _with_parent(child: Cell, declared: Parent, label: str) -> Cell:
    """Return a cell that starts from a parent; the parent's recipe is the child's without transfer."""
    kept = {"transfer": child.recipe.transfer.model_copy(update={"parent": ""})}
    alone = child.recipe.model_copy(update={"transfer": TransferSettings()})
    also = () if declared.also is None else ({**_corpus(declared.also), "vocabulary_only": True},)
    changes = {**declared.changes, **_named(declared.corpus), "more_corpora": also}
    shared = "" if declared.also is None else f".with-{declared.also.name}"
    parent = replace(
        child,
        run=_run_of_seed(f"{_run_name(declared.corpus)}.{label}{shared}", child.seed),
        recipe=alone.with_changes(changes),
        label=label,
        corpus=declared.corpus,
        splits=(),
        metrics=(),
        more=(),
        also=declared.also,
        scored=(),
        needs=(),
    )
    recipe = child.recipe.model_copy(update=kept).with_changes({"transfer.parent": parent.run})
    return replace(child, recipe=recipe, needs=(*child.needs, Need("parent", parent)))


def _each_once(some: tuple[T, ...], more: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*some, *more)))


def _corpus(corpus: Corpus) -> dict[str, Any]:
    also = {"also_sources": corpus.also} if isinstance(corpus, SeveralSources) else {}
    made = _of_samples(corpus) if isinstance(corpus, TranslatedCorpus) else {}
    return {"name": corpus.name, "source": corpus.source, "target": corpus.target, **also, **made}


def _of_samples(corpus: TranslatedCorpus) -> dict[str, Any]:
    """Return how samples count: several of a line as much as the line, and texts that take turns in one rotation."""
    weight = {"weight": 1 / corpus.samples} if corpus.samples > 1 else {}
    return weight | ({"rotation": "samples"} if corpus.turn else {})


def _run_name(corpus: Corpus) -> str:
    """Return the name of a corpus, with its direction if it is not the corpus' usual one."""
    return f"{corpus.name}.{corpus.source}-{corpus.target}" if isinstance(corpus, Directed) else corpus.name


def _beside(more: Sequence[Corpus]) -> Changes:
    """Return the changes to a recipe that is also trained on further corpora."""
    return {"more_corpora": tuple(map(_corpus, more))} if more else {}


def _named(corpus: Corpus) -> dict[str, Any]:
    return {f"corpus.{field}": value for field, value in _corpus(corpus).items()}


def _label(special: Changes, usual: Mapping[str, Any]) -> str:
    """Return the special changes that differ from the usual settings, as part of a name: `.radius-3`."""
    changed = [(field, value) for field, value in special.items() if usual.get(field) != value]
    return "".join(f".{field.rpartition('.')[2]}-{_text(value)}" for field, value in changed)


def _run_of_seed(name: str, seed: int | None) -> str:
    """Return the name of a run; a name with signs that are not allowed, or too long, is cut and ends in a digest."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "-", name)
    if plain != name or len(name) > _LONGEST:
        plain = f"{plain[:_KEPT]}.{sha256(name.encode()).hexdigest()[:8]}"
    return plain + ("" if seed is None else f".s{seed}")


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _settings(recipe: Recipe) -> dict[str, Any]:
    """Return the fields that determine a training: all but the description and the machine settings."""
    fields = recipe.fields()
    return {name: value for name, value in fields.items() if name != "about" and not name.startswith("machine.")}


def _difference(cell: Cell, run: Run, corpus: ParallelCorpus) -> str:
    """Return how a run differs from the training of a cell, in words; empty if it does not."""
    there, wanted = _settings(run.recipe), _settings(cell.recipe)
    for field in sorted(there.keys() | wanted.keys()):
        if there.get(field) != wanted.get(field):
            return f"its {field} is {there.get(field)!r} instead of {wanted.get(field)!r}"
    is_planned = isinstance(cell.corpus, TranslatedCorpus) and cell.corpus.name != corpus.name
    same_text = is_planned or run.environment.get("corpus_checksum") == corpus.checksum()
    return "" if same_text else "was trained on other text"
