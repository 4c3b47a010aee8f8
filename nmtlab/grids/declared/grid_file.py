"""A person's grid as a file of TOML: systems, texts, seeds and metrics, read as a table.

table = read_grid("my-question.toml", workspace)
run_grid(cells_of(table, GRID), workspace)
print(Results.collect(table, GRID, workspace).summary())
"""

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nmtlab.analysis.metrics import declared_metrics
from nmtlab.errors import CorpusError, NmtlabError, RecipeError, did_you_mean
from nmtlab.grids.declared.corpora import Corpus, Directed, ExternalCorpus, FirstPairs, SyntheticCorpus
from nmtlab.grids.declared.declaration import GRID, Column, Parent, Row, Setup, Table
from nmtlab.grids.declared.places import line_of
from nmtlab.reading import read_bytes
from nmtlab.recipe import Recipe, find_recipe
from nmtlab.text.artificial import FAMILY, ArtificialSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import PUBLISHED, Workspace

_MAX_BYTES = 1 << 20
_SET_HERE = ("corpus", "more_corpora", "training.seed", "transfer.parent", "machine.threads")
"""Sections and fields of recipes that the grid sets."""

_FAR = 10_000_000
"""First sentence of artificial parents, whose English is then new to their children."""

_Name = Annotated[str, Field(min_length=1)]
_Size = Annotated[int, Field(ge=1)] | Literal["all"]
_Place = tuple[str | int, ...]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _System(_Part):
    name: _Name
    recipe: _Name
    changes: dict[str, Any] = {}
    parent: str = ""
    base: str = ""


class _Source(_Part):
    corpus: str = ""
    source: str = ""
    target: str = ""
    artificial: str = ""
    settings: dict[str, int | float | str] = {}
    dev: int = Field(300, ge=1)
    test: int = Field(500, ge=1)
    start: int = Field(0, ge=0)


class _Text(_Source):
    name: str = ""
    sizes: list[_Size] = Field(["all"], min_length=1)


class _Parent(_Source):
    name: _Name
    size: _Size = "all"
    start: int = Field(_FAR, ge=0)
    changes: dict[str, Any] = {}


class _Grid(_Part):
    title: str = ""
    seeds: list[Annotated[int, Field(ge=0)]] = Field([1, 2, 3], min_length=1)
    metrics: list[str] = Field(["test-bleu"], min_length=1)
    baseline: str = ""
    changes: dict[str, Any] = {}
    system: list[_System] = Field(min_length=1)
    text: list[_Text] = Field(min_length=1)
    parent: list[_Parent] = []


_PARTS: Mapping[str | int, type[_Part]] = {"system": _System, "text": _Text, "parent": _Parent}


@dataclass(frozen=True)
class _File:
    """A file, and what it says."""

    path: Path
    text: str

    @classmethod
    def open(cls, path: Path | str) -> "_File":
        try:
            return cls(Path(path), read_bytes(Path(path), _MAX_BYTES).decode())
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            remedy = "give the path of a TOML file; 'nmtlab grid --example' prints one"
            raise NmtlabError(f"{path}: cannot be read ({reason})", remedy) from error

    def grid(self) -> _Grid:
        try:
            return _Grid.model_validate(tomllib.loads(self.text))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise NmtlabError(f"{self.path}: not TOML ({error})", "correct that line") from error
        except ValidationError as error:
            found = error.errors()
            first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
            raise self.error(first["loc"], *_explained(first)) from error

    def error(self, place: _Place, problem: str, remedy: str) -> NmtlabError:
        """Return an error with file, line and field."""
        field = f"{place[0]}.{place[2]}" if len(place) > 2 and place[0] in _PARTS else place[0]
        return NmtlabError(f"{self.path}, line {line_of(self.text, place)}: {field}: {problem}", remedy)

    def placed(self, name: str) -> str:
        """Return the name of a recipe or corpus; if it is a path, from here and not from the file's folder."""
        is_path = os.sep in name or name.endswith(".toml")
        return str((self.path.parent / name).absolute()) if is_path else name


def read_grid(path: Path | str, workspace: Workspace) -> Table:
    """Return a grid as a table, which has the name of the file and the scale `GRID` alone.

    Args:
        path: of a file like `nmtlab.grids.declared.example.EXAMPLE`. Paths in it start from its folder.
        workspace: where its corpora are.

    Raises:
        NmtlabError: the file cannot be read, asks for what there is not, or has a system twice; the message has the
            line and the field.
    """
    file = _File.open(path)
    grid = file.grid()
    if (PUBLISHED / f"{file.path.stem}.csv").is_file():
        raise NmtlabError(f"{file.path}: named like a published table", "choose another name for the file")
    _check_once(file, grid)
    _check_names(file, grid)
    _check_needs(file, grid)
    _check_recipes(file, grid)
    for place, text in _texts(grid):
        _check_text(file, place, text, workspace)
    return _table(file, grid, workspace, file.path.stem)


def stored_grid(path: Path, name: str, workspace: Workspace) -> Table:
    """Return a grid that was read before; a text that is gone since is the reason why its rows are not run.

    Args:
        path: of what `portable` returned.
        name: of the grid.
        workspace: where its corpora are.

    Raises:
        NmtlabError: the file is damaged.
    """
    file = _File.open(path)
    return _table(file, file.grid(), workspace, name)


def portable(path: Path | str) -> str:
    """Return the text of a file with a grid, with absolute paths in place of those from its folder."""
    file = _File.open(path)
    grid, text = file.grid(), file.text
    for name in {*(one.recipe for one in grid.system), *(one.corpus for _, one in _texts(grid))} - {""}:
        for quote in ('"', "'"):
            text = text.replace(f"{quote}{name}{quote}", f"{quote}{file.placed(name)}{quote}")
    return text


def _explained(error: Any) -> tuple[str, str]:
    """Return what is wrong with a field, and what to do."""
    first, *_, last = error["loc"] if len(error["loc"]) > 1 else ("", *error["loc"])
    if error["type"] == "extra_forbidden":
        fields = _PARTS.get(first, _Grid).model_fields
        return "no such field", f"{did_you_mean(str(last), fields)}choose one of {', '.join(fields)}"
    if error["type"] == "missing":
        return "missing", f"add {last} = ..." if first else f"add a table [[{last}]]"
    if error["type"] == "too_short":
        return "empty", "give at least one"
    return f"{error['input']!r} is not allowed", error["msg"][0].lower() + error["msg"][1:]


def _texts(grid: _Grid) -> Iterator[tuple[_Place, _Text | _Parent]]:
    """Yield texts and parents with their places."""
    yield from ((("text", number), text) for number, text in enumerate(grid.text))
    yield from ((("parent", number), parent) for number, parent in enumerate(grid.parent))


def _once(grid: _Grid) -> Iterator[tuple[_Place, str | int]]:
    """Yield what may be there only once, with its place."""
    yield from ((("seeds",), seed) for seed in grid.seeds)
    yield from ((("metrics",), key) for key in grid.metrics)
    yield from ((("system", number, "name"), one.name) for number, one in enumerate(grid.system))
    yield from ((("parent", number, "name"), one.name) for number, one in enumerate(grid.parent))
    yield from ((("text", number, "name"), row) for number, one in enumerate(grid.text) for row in _rows(one))


def _check_once(file: _File, grid: _Grid) -> None:
    seen = set()
    for place, name in _once(grid):
        if (place[0], name) in seen:
            raise file.error(place, f"{name!r} twice", "give each another name" if len(place) > 1 else "give it once")
        seen.add((place[0], name))


def _check_names(file: _File, grid: _Grid) -> None:
    """Check that all metrics, systems and parents that are named are there."""
    systems, parents = [one.name for one in grid.system], [one.name for one in grid.parent]
    named: list[tuple[_Place, str, str, Sequence[str]]] = [
        *((("metrics",), key, "metric", sorted(declared_metrics())) for key in grid.metrics),
        (("baseline",), grid.baseline, "system", systems),
        *((("system", number, "parent"), one.parent, "parent", parents) for number, one in enumerate(grid.system)),
        *((("system", number, "base"), one.base, "system", systems) for number, one in enumerate(grid.system)),
    ]
    for place, name, kind, known in named:
        if name not in ("", *known):
            choice = f"choose one of {', '.join(known)}" if known else f"add a table [[{kind}]] of that name"
            raise file.error(place, f"no {kind} {name!r}", did_you_mean(name, known) + choice)


def _check_needs(file: _File, grid: _Grid) -> None:
    """Check that no system starts from two others, or from itself, directly or not."""
    bases = {one.name: one.base for one in grid.system}
    for number, system in enumerate(grid.system):
        if system.parent and system.base:
            raise file.error(("system", number, "base"), "there is a parent, too", "give one of them")
        chain = [system.name]
        while base := bases[chain[-1]]:
            if base in chain:
                names = " starts from ".join(map(repr, [*chain, base]))
                raise file.error(("system", number, "base"), f"a circle: {names}", "leave out one of these bases")
            chain.append(base)


def _check_recipes(file: _File, grid: _Grid) -> None:
    """Check that all systems have recipes and differ, and that those with a base add adapters to it."""
    recipes = {system.name: _checked_recipe(file, grid, number) for number, system in enumerate(grid.system)}
    found: list[tuple[object, ...]] = []
    for number, system in enumerate(grid.system):
        recipe = recipes[system.name]
        if system.base and (not recipe.model.adapters or recipes[system.base].model.adapters):
            problem = f"a second training on the text of {system.base!r} without new adapters"
            raise file.error(("system", number, "base"), problem, "set model.adapter_width here alone, or use a parent")
        fields = {**recipe.fields(), "about": ""}
        settings = (fields, system.parent, system.base)
        if settings in found:
            same = grid.system[found.index(settings)].name
            remedy = "change a field, or leave one of them out"
            raise file.error(("system", number, "name"), f"{system.name!r} has the settings of {same!r}", remedy)
        found.append(settings)


def _checked_recipe(file: _File, grid: _Grid, number: int) -> Recipe:
    system, place = grid.system[number], ("system", number)
    try:
        recipe = find_recipe(file.placed(system.recipe))
    except RecipeError as error:
        raise file.error((*place, "recipe"), error.problem, error.remedy) from error
    common = [((), _flat(grid.changes))] if recipe.model.neural else []
    for owner, changes in (*common, (place, _flat(system.changes))):
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


def _check_text(file: _File, place: _Place, text: _Text | _Parent, workspace: Workspace) -> None:
    if bool(text.corpus) == bool(text.artificial):
        problem = "both corpus and artificial" if text.corpus else "neither corpus nor artificial"
        raise file.error(place, problem, "give one of them")
    if text.artificial and text.artificial not in FAMILY:
        remedy = f"choose one of {', '.join(FAMILY)}"
        raise file.error((*place, "artificial"), f"no artificial language {text.artificial!r}", remedy)
    field = "size" if isinstance(text, _Parent) else "sizes"
    if text.artificial and "all" in _sizes(text):
        remedy = f"give numbers of pairs: {field} = {'1000' if field == 'size' else '[1000, 4000]'}"
        raise file.error((*place, field), "an artificial language has no last pair", remedy)
    try:
        corpus = _corpus(file, text, "all" if text.corpus else 1, workspace)
        pairs = corpus.open(workspace).count("train") if text.corpus else 0
    except CorpusError as error:
        raise file.error((*place, "corpus" if text.corpus else "settings"), error.problem, error.remedy) from error
    for size in _sizes(text):
        if text.corpus and size != "all" and size > pairs:
            problem = f"{size:,} pairs, but {text.corpus} has {pairs:,} to train on"
            raise file.error((*place, field), problem, "choose fewer, or 'all'")


def _table(file: _File, grid: _Grid, workspace: Workspace, name: str) -> Table:
    columns: dict[str, Column] = {}
    bases = {one.name: one for one in grid.system}

    def column(system: _System) -> Column:
        base = column(bases[system.base]) if system.base else None
        recipe, changes = file.placed(system.recipe), _changes(file, grid, system)
        return Column(system.name, recipe, changes, parent=system.parent, base=base)

    columns = {one.name: column(one) for one in grid.system}
    return Table(
        name=name,
        title=grid.title or name,
        rows=tuple(row for text in grid.text for row in _table_rows(file, grid, text, workspace)),
        columns=tuple(columns.values()),
        metrics=tuple(grid.metrics),
        baseline=grid.baseline or grid.system[0].name,
        seeds={GRID: tuple(grid.seeds)},
        published=False,
        marks="",
    )


def _changes(file: _File, grid: _Grid, system: _System) -> dict[str, Any]:
    """Return the changes to a recipe. Those to all do not concern a phrase-based system, nor a recipe that is gone."""
    try:
        common = grid.changes if find_recipe(file.placed(system.recipe)).model.neural else {}
    except RecipeError:
        common = {}
    return {**_flat(common), **_flat(system.changes)}


def _table_rows(file: _File, grid: _Grid, text: _Text, workspace: Workspace) -> Iterator[Row]:
    for size, name in zip(text.sizes, _rows(text), strict=True):
        named = [text.name] if text.name and text.artificial else []
        note = ", ".join([*named, *([f"{size:,}" if size != "all" else "all"] if _is_sized(text) else [])])
        try:
            setup: Setup | str = _setup(file, grid, text, size, workspace)
        except CorpusError as error:
            setup = str(error)
        yield Row(name, {GRID: setup}, note=f" ({note})" if note else "")


def _setup(file: _File, grid: _Grid, text: _Text, size: int | Literal["all"], workspace: Workspace) -> Setup:
    """Return a row; from its whole text, parents' subwords are learned, so that all its sizes share a parent."""
    largest = "all" if "all" in text.sizes else max(text.sizes, key=int)
    whole = _corpus(file, text, largest, workspace)
    parents = {
        one.name: Parent(_corpus(file, one, one.size, workspace), whole, _flat(one.changes)) for one in grid.parent
    }
    return Setup(_corpus(file, text, size, workspace), parents=parents)


def _corpus(file: _File, text: _Text | _Parent, size: int | Literal["all"], workspace: Workspace) -> Corpus:
    if size != "all" and text.artificial:
        return _artificial(text, size)
    named = file.placed(text.corpus)
    corpus = ParallelCorpus.open(workspace.corpus_folder(named), text.source, text.target)
    found = ExternalCorpus(corpus.name, *corpus.direction, text.name, named if os.sep in named else "")
    whole = Directed(found, *corpus.direction) if text.source or text.target else found
    return whole if size == "all" else FirstPairs(whole, size)


def _artificial(text: _Text | _Parent, size: int) -> SyntheticCorpus:
    """Return an artificial text, whose name has all that is not usual of it.

    Raises:
        CorpusError: there is no such setting, or it is out of its range.
    """
    known = ArtificialSettings.__dataclass_fields__
    for setting in text.settings:
        if setting not in known:
            raise CorpusError(
                f"no setting {setting!r}", f"{did_you_mean(setting, known)}choose from {', '.join(known)}"
            )
    settings = ArtificialSettings(**text.settings)  # type: ignore[arg-type]
    parts = {"dev": text.dev, "test": text.test, "start": text.start}
    usual = {name: _Source.model_fields[name].default for name in parts}
    special = {**text.settings, **{name: value for name, value in parts.items() if value != usual[name]}}
    name = f"artificial-{text.artificial}-{size}" + "".join(f".{name}-{value}" for name, value in special.items())
    return SyntheticCorpus(name, text.artificial, settings, size, **parts)


def _sizes(text: _Text | _Parent) -> list[int | Literal["all"]]:
    return text.sizes if isinstance(text, _Text) else [text.size]


def _is_sized(text: _Text) -> bool:
    return text.sizes != ["all"]


def _rows(text: _Text) -> list[str]:
    """Return the names of a text's rows."""
    name = text.name or text.artificial or Path(text.corpus).name
    return [f"{name} {size}" if _is_sized(text) else name for size in text.sizes]


def _flat(changes: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    """Return changes by full names: `{"model": {"norm": "scale"}}` as `{"model.norm": "scale"}`."""
    flat: dict[str, Any] = {}
    for name, value in changes.items():
        flat |= _flat(value, f"{section}{name}.") if isinstance(value, Mapping) else {section + name: value}
    return flat
