"""What a verb prints with `--json`: one object, of a declared class."""

import json
import math
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any, Self

import typer
from pydantic import BaseModel, ConfigDict, model_validator

import nmtlab.cli

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead; the book's reference explains its fields.")]


class Part(BaseModel):
    """A part of an answer that is always whole: no field is null. The text below each field is its documentation.

    Raises:
        ValueError: a field is unknown, or not a number.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class Answer(Part):
    """An object of JSON that names all its fields: one that is null has its reason in `missing`.

    Raises:
        ValueError: a field is unknown, not a number, or null without a reason.
    """

    missing: dict[str, str] = {}
    """Field -> why it is null; empty if no field is."""

    @classmethod
    def of(cls, reasons: Mapping[str, str], **fields: Any) -> Self:
        """Return an answer in which what is not finite is null.

        Args:
            reasons: field -> why it is null, if it is.
            fields: of the class.
        """
        known = {name: None if _is_infinite(value) else value for name, value in fields.items()}
        return cls(**known, missing={name: reason for name, reason in reasons.items() if known[name] is None})

    @model_validator(mode="after")
    def _each_null_has_a_reason(self) -> Self:
        null = {name for name, value in self if value is None}
        if null != set(self.missing):
            raise ValueError(f"null: {sorted(null)}, with a reason: {sorted(self.missing)}")
        return self


def in_json(answer: Answer, indent: int | None = None) -> str:
    """Return an answer as JSON, in one line if it is not indented."""
    return json.dumps(answer.model_dump(mode="json"), indent=indent, ensure_ascii=False)


def print_answer(answer: Answer) -> None:
    """Print an answer as JSON."""
    print(in_json(answer, indent=1))


def declared_answers() -> list[type[Part]]:
    """Return the classes of answers and their parts that the modules of the command line declare, by module."""
    names = sorted(module.name for module in pkgutil.iter_modules(nmtlab.cli.__path__, "nmtlab.cli."))
    return [one for name in names for one in _declared(vars(import_module(name)), name)]


def _declared(content: Mapping[str, Any], module: str) -> Iterator[type[Part]]:
    for one in content.values():
        if isinstance(one, type) and issubclass(one, Part) and one.__module__ == module != __name__:
            yield one


def _is_infinite(value: object) -> bool:
    """Return whether a number, or one of several in a list or a dictionary, is not finite."""
    numbers = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
    return any(isinstance(number, float) and not math.isfinite(number) for number in numbers)
