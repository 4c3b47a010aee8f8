"""What a file with a person's grid may say, and where it is in the file."""

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nmtlab.errors import NmtlabError, did_you_mean
from nmtlab.grids.declared.declaration import Distillation
from nmtlab.grids.declared.places import line_of
from nmtlab.reading import read_bytes

_MAX_BYTES = 1 << 20

_FAR = 10_000_000
"""First sentence of artificial parents, whose English is then new to their children."""

_Name = Annotated[str, Field(min_length=1)]
_Size = Annotated[int, Field(ge=1)] | Literal["all"]
Place = tuple[str | int, ...]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class System(_Part):
    """A column."""

    name: _Name
    recipe: _Name
    changes: dict[str, Any] = {}
    parent: str = ""
    base: str = ""
    teacher: str = ""
    distillation: Distillation = "sequence"
    ensemble: bool = False


class Source(_Part):
    """A text: a corpus by its name or folder, or an artificial language."""

    corpus: str = ""
    source: str = ""
    target: str = ""
    artificial: str = ""
    settings: dict[str, int | float | str] = {}
    dev: int = Field(300, ge=1)
    test: int = Field(500, ge=1)
    start: int = Field(0, ge=0)


class Text(Source):
    """Rows, one for each size: a number of training pairs, or all."""

    name: str = ""
    sizes: list[_Size] = Field(["all"], min_length=1)


class ParentText(Source):
    """What parents are trained on, with changes to the recipes of their children."""

    name: _Name
    size: _Size = "all"
    start: int = Field(_FAR, ge=0)
    changes: dict[str, Any] = {}


class Scored(_Part):
    """Scores of sentences from elsewhere, in a file for each text."""

    name: _Name
    files: dict[str, _Name] = Field(min_length=1)
    better: Literal["higher", "lower"] = "higher"


class Grid(_Part):
    """A whole file."""

    title: str = ""
    seeds: list[Annotated[int, Field(ge=0)]] = Field([1, 2, 3], min_length=1)
    metrics: list[str] = Field(["test-bleu"], min_length=1)
    baseline: str = ""
    changes: dict[str, Any] = {}
    system: list[System] = Field(min_length=1)
    text: list[Text] = Field(min_length=1)
    parent: list[ParentText] = []
    scores: list[Scored] = []


_PARTS: Mapping[str | int, type[_Part]] = {"system": System, "text": Text, "parent": ParentText, "scores": Scored}


@dataclass(frozen=True)
class GridFile:
    """A file, and what it says."""

    path: Path
    text: str

    @classmethod
    def open(cls, path: Path | str) -> "GridFile":
        """Read a file.

        Raises:
            NmtlabError: it cannot be read.
        """
        try:
            return cls(Path(path), read_bytes(Path(path), _MAX_BYTES).decode())
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            remedy = "give the path of a TOML file; 'nmtlab grid --example' prints one"
            raise NmtlabError(f"{path}: cannot be read ({reason})", remedy) from error

    def grid(self) -> Grid:
        """Return what it says.

        Raises:
            NmtlabError: it is not TOML, or a field is unknown, missing or not allowed.
        """
        try:
            return Grid.model_validate(tomllib.loads(self.text))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise NmtlabError(f"{self.path}: not TOML ({error})", "correct that line") from error
        except ValidationError as error:
            found = error.errors()
            first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
            raise self.error(first["loc"], *_explained(first)) from error

    def error(self, place: Place, problem: str, remedy: str) -> NmtlabError:
        """Return an error with file, line and field."""
        field = f"{place[0]}.{place[2]}" if len(place) > 2 and place[0] in _PARTS else place[0]
        return NmtlabError(f"{self.path}, line {line_of(self.text, place)}: {field}: {problem}", remedy)

    def beside(self, path: str) -> str:
        """Return a path, from here and not from the file's folder."""
        return str((self.path.parent / path).absolute())

    def placed(self, name: str) -> str:
        """Return the name of a recipe or corpus; if it is a path, from here and not from the file's folder."""
        is_path = os.sep in name or name.endswith(".toml")
        return self.beside(name) if is_path else name


def _explained(error: Any) -> tuple[str, str]:
    """Return what is wrong with a field, and what to do."""
    first, *_, last = error["loc"] if len(error["loc"]) > 1 else ("", *error["loc"])
    if error["type"] == "extra_forbidden":
        fields = _PARTS.get(first, Grid).model_fields
        return "no such field", f"{did_you_mean(str(last), fields)}choose one of {', '.join(fields)}"
    if error["type"] == "missing":
        return "missing", f"add {last} = ..." if first else f"add a table [[{last}]]"
    if error["type"] == "too_short":
        return "empty", "give at least one"
    if {"size", "sizes"} & {*error["loc"]}:
        return f"{error['input']!r} is not allowed", "give a number of pairs, or 'all'"
    return f"{error['input']!r} is not allowed", error["msg"][0].lower() + error["msg"][1:]


def texts_of(grid: Grid) -> Iterator[tuple[Place, Text | ParentText]]:
    """Yield texts and parents with their places."""
    yield from ((("text", number), text) for number, text in enumerate(grid.text))
    yield from ((("parent", number), parent) for number, parent in enumerate(grid.parent))


def sizes_of(text: Text | ParentText) -> list[int | Literal["all"]]:
    """Return the sizes of a text, or the one of a parent."""
    return text.sizes if isinstance(text, Text) else [text.size]


def is_sized(text: Text) -> bool:
    """Return whether there is anything but the whole of a text."""
    return text.sizes != ["all"]


def row_names(text: Text) -> list[str]:
    """Return the names of a text's rows."""
    name = text.name or text.artificial or Path(text.corpus).name
    return [f"{name} {size}" if is_sized(text) else name for size in text.sizes]


def flat(changes: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    """Return changes by full names: `{"model": {"norm": "scale"}}` as `{"model.norm": "scale"}`."""
    found: dict[str, Any] = {}
    for name, value in changes.items():
        found |= flat(value, f"{section}{name}.") if isinstance(value, Mapping) else {section + name: value}
    return found
