"""What a file with a person's grid must not ask for."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from nmtlab.analysis.comparison.files import COMPUTED
from nmtlab.analysis.metrics import declared_metrics
from nmtlab.errors import CorpusError, RecipeError, did_you_mean
from nmtlab.grids.declared.declaration import WORD_LEVEL
from nmtlab.grids.declared.grid_schema import (
    Grid,
    GridFile,
    ParentText,
    Place,
    System,
    Text,
    flat,
    row_names,
    sizes_of,
    texts_of,
)
from nmtlab.grids.declared.grid_texts import corpus_of
from nmtlab.recipe import Recipe, find_recipe
from nmtlab.text.artificial import FAMILY
from nmtlab.workspace import Workspace

_SET_HERE = ("corpus", "more_corpora", "training.seed", "transfer.parent", "machine.threads")
"""Sections and fields of recipes that the grid sets."""


_USUAL = ("test-bleu", "test-chrf", "dev-bleu", "train-perplexity", "or the key of any metric of the thesis' tables")


def check_names(file: GridFile, grid: Grid) -> None:
    """Check that names are given once, and that what is named is there and needs no other training in a circle.

    Raises:
        NmtlabError: otherwise, with the line and the field.
    """
    _check_once(file, grid)
    _check_known(file, grid)
    _check_scores(file, grid)
    _check_needs(file, grid)


def check_recipes_and_texts(file: GridFile, grid: Grid, workspace: Workspace) -> None:
    """Check that all recipes and texts are there, and that no two systems have the same settings.

    Raises:
        NmtlabError: otherwise, with the line and the field.
    """
    _check_recipes(file, grid)
    for number, scores in enumerate(grid.scores):
        if lost := next((path for path in scores.files.values() if not Path(file.beside(path)).is_file()), ""):
            remedy = "leave [[scores]] out until the translations, from --translations, have been scored"
            raise file.error(("scores", number, "files"), f"no file {lost!r}", remedy)
    folders: dict[str, Path] = {}
    for place, text in texts_of(grid):
        _check_text(file, place, text, workspace)
        if text.corpus:
            folder = workspace.corpus_folder(file.placed(text.corpus)).resolve()
            if folders.setdefault(folder.name, folder) != folder:
                problem = f"{folders[folder.name]} has the name {folder.name!r}, too, and runs are named by it"
                raise file.error((*place, "corpus"), problem, "rename one of the folders")


def _once(grid: Grid) -> Iterator[tuple[Place, str | int]]:
    """Yield what may be there only once, with its place."""
    yield from ((("seeds",), seed) for seed in grid.seeds)
    yield from ((("metrics",), key) for key in grid.metrics)
    yield from ((("system", number, "name"), one.name) for number, one in enumerate(grid.system))
    yield from ((("parent", number, "name"), one.name) for number, one in enumerate(grid.parent))
    yield from ((("scores", number, "name"), one.name) for number, one in enumerate(grid.scores))
    yield from ((("text", number, "name"), row) for number, one in enumerate(grid.text) for row in row_names(one))


def _check_once(file: GridFile, grid: Grid) -> None:
    for number, text in enumerate(grid.text):
        if twice := next((size for size in text.sizes if text.sizes.count(size) > 1), None):
            raise file.error(("text", number, "sizes"), f"{twice!r} twice", "give each size once")
    seen = set()
    for place, name in _once(grid):
        if (place[0], name) in seen:
            raise file.error(place, f"{name!r} twice", "give each another name" if len(place) > 1 else "give it once")
        seen.add((place[0], name))


def _check_known(file: GridFile, grid: Grid) -> None:
    """Check that all metrics, systems and parents that are named are there."""
    systems, parents = [one.name for one in grid.system], [one.name for one in grid.parent]
    named: list[tuple[Place, str, str, Sequence[str]]] = [
        *((("metrics",), key, "metric", sorted(declared_metrics())) for key in grid.metrics),
        (("baseline",), grid.baseline, "system", systems),
        *((("system", number, "parent"), one.parent, "parent", parents) for number, one in enumerate(grid.system)),
        *((("system", number, "base"), one.base, "system", systems) for number, one in enumerate(grid.system)),
        *((("system", number, "teacher"), one.teacher, "system", systems) for number, one in enumerate(grid.system)),
    ]
    for place, name, kind, known in named:
        if name not in ("", *known):
            listed = ", ".join(_USUAL if kind == "metric" else known)
            choice = f"choose one of {listed}" if known else f"add a table [[{kind}]] of that name"
            raise file.error(place, f"no {kind} {name!r}", did_you_mean(name, known) + choice)


def _check_scores(file: GridFile, grid: Grid) -> None:
    """Check that scores are of texts that are there, and have a name of their own."""
    rows = [row for text in grid.text for row in row_names(text)]
    for number, scores in enumerate(grid.scores):
        if scores.name in (*COMPUTED, *declared_metrics()):
            problem = f"{scores.name!r} is computed here, too"
            raise file.error(("scores", number, "name"), problem, "choose another name")
        if unknown := next((row for row in scores.files if row not in rows), ""):
            remedy = did_you_mean(unknown, rows) + f"choose one of {', '.join(rows)}"
            raise file.error(("scores", number, "files"), f"no text {unknown!r}", remedy)


def _check_needs(file: GridFile, grid: Grid) -> None:
    """Check that no system needs two others, or itself, directly or not."""
    needed = {one.name: one.base or one.teacher for one in grid.system}
    for number, system in enumerate(grid.system):
        first, *more = [field for field in ("parent", "base", "teacher") if getattr(system, field)] or [""]
        if more:
            raise file.error(("system", number, more[0]), f"there is a {first}, too", "give one of them")
        for field in ("distillation", "ensemble"):
            if field in system.model_fields_set and not system.teacher:
                raise file.error(("system", number, field), "without a teacher", "add teacher = ..., or leave it out")
        if system.ensemble and len(grid.seeds) == 1:
            raise file.error(("system", number, "ensemble"), "of one seed", "give the grid several seeds")
        chain = [system.name]
        while other := needed[chain[-1]]:
            if other in chain:
                names = (" learns from " if first == "teacher" else " starts from ").join(map(repr, [*chain, other]))
                raise file.error(("system", number, first), f"a circle: {names}", f"leave out one of these {first}s")
            chain.append(other)


def _check_recipes(file: GridFile, grid: Grid) -> None:
    """Check that all systems have recipes and differ, and that those with a base add adapters to it."""
    recipes = {system.name: _checked_recipe(file, grid, number) for number, system in enumerate(grid.system)}
    found: list[tuple[object, ...]] = []
    for number, system in enumerate(grid.system):
        recipe = recipes[system.name]
        if system.base and (not recipe.model.adapters or recipes[system.base].model.adapters):
            problem = f"a second training on the text of {system.base!r} without new adapters"
            raise file.error(("system", number, "base"), problem, "set model.adapter_width here alone, or use a parent")
        if system.teacher:
            _check_teacher(file, number, system, recipe, recipes[system.teacher])
        fields = {**recipe.fields(), "about": ""}
        taught = (system.distillation, system.ensemble) if system.teacher else ()
        settings = (fields, system.parent, system.base, system.teacher, taught)
        if settings in found:
            same = grid.system[found.index(settings)].name
            remedy = "change a field, or leave one of them out"
            raise file.error(("system", number, "name"), f"{system.name!r} has the settings of {same!r}", remedy)
        found.append(settings)


def _check_teacher(file: GridFile, number: int, system: System, student: Recipe, teacher: Recipe) -> None:
    """Check that a student can learn what it is to learn of its teacher."""
    same_types = student.model.neural and teacher.model.neural and student.text == teacher.text
    if system.distillation == "word" and not same_types:
        remedy = "give both the same text settings, or set distillation to 'sequence'"
        raise file.error(("system", number, "teacher"), f"{system.teacher!r} has other vocabularies", remedy)
    if system.ensemble and (system.distillation == "word" or not teacher.model.neural or teacher.model.plans_length):
        remedy = (
            "leave ensemble out, or choose a neural teacher without planned lengths, whose translations are learned"
        )
        raise file.error(
            ("system", number, "ensemble"), f"of {system.teacher!r}: its runs cannot teach together", remedy
        )
    if system.distillation == "interpolated" and teacher.search.beam_size == 1:
        remedy = f"set search.beam_size of {system.teacher!r} to 2 or more"
        raise file.error(("system", number, "teacher"), f"{system.teacher!r} has one translation a line", remedy)


def _checked_recipe(file: GridFile, grid: Grid, number: int) -> Recipe:
    system, place = grid.system[number], ("system", number)
    try:
        recipe = find_recipe(file.placed(system.recipe))
        if system.teacher and system.distillation == "word":
            recipe = recipe.with_changes(WORD_LEVEL)
    except RecipeError as error:
        raise file.error((*place, "recipe"), error.problem, error.remedy) from error
    common = [((), flat(grid.changes))] if recipe.model.neural else []
    for owner, changes in (*common, (place, flat(system.changes))):
        for field in changes:
            if field.startswith(_SET_HERE):
                raise file.error((*owner, "changes", field), f"{field} is set by the grid", "leave it out")
        try:
            recipe = recipe.with_changes(changes)
        except RecipeError as error:
            fault = next((field for field in changes if field in error.problem), "")
            problem = error.problem.removeprefix("recipe: ")
            raise file.error((*owner, "changes", fault), problem, error.remedy) from error
    return recipe


def _check_text(file: GridFile, place: Place, text: Text | ParentText, workspace: Workspace) -> None:
    if bool(text.corpus) == bool(text.artificial):
        problem = "both corpus and artificial" if text.corpus else "neither corpus nor artificial"
        raise file.error(place, problem, "give one of them")
    if text.artificial and text.artificial not in FAMILY:
        remedy = f"choose one of {', '.join(FAMILY)}"
        raise file.error((*place, "artificial"), f"no artificial language {text.artificial!r}", remedy)
    field = "size" if isinstance(text, ParentText) else "sizes"
    if text.artificial and "all" in sizes_of(text):
        remedy = f"give numbers of pairs: {field} = {'1000' if field == 'size' else '[1000, 4000]'}"
        raise file.error((*place, field), "an artificial language has no last pair", remedy)
    try:
        corpus = corpus_of(file, text, "all" if text.corpus else 1, workspace)
        pairs = corpus.open(workspace).count("train") if text.corpus else 0
    except CorpusError as error:
        raise file.error((*place, "corpus" if text.corpus else "settings"), error.problem, error.remedy) from error
    for size in sizes_of(text):
        if text.corpus and size != "all" and size > pairs:
            problem = f"{size:,} pairs, but {text.corpus} has {pairs:,} to train on"
            raise file.error((*place, field), problem, "choose fewer, or 'all'")
