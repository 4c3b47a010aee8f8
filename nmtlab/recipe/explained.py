"""The fields of a recipe with their explanations and allowed values."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from nmtlab.recipe.corpus import CorpusSettings
from nmtlab.recipe.recipe import Recipe
from nmtlab.recipe.section import Section

_LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
_KINDS = {"integer": "integer", "number": "number", "string": "text"}


class ExplainedField(NamedTuple):
    """A field of a recipe.

    Args:
        name: full name, such as `model.norm`.
        value: its value as in a setting `model.norm=scale`.
        choices: all allowed values, if they are few; otherwise empty.
        allowed: the allowed values in words.
        explanation: one line.
    """

    name: str
    value: str
    choices: tuple[str, ...]
    allowed: str
    explanation: str


def explained_fields(recipe: Recipe) -> list[ExplainedField]:
    """Return all fields of a recipe but those of its corpora."""
    sections = [(name, section) for name, section in recipe if isinstance(section, Section)]
    return [
        _explained(f"{name}.{key}", getattr(section, key), schema)
        for name, section in sections
        if not isinstance(section, CorpusSettings)
        for key, schema in type(section).model_json_schema()["properties"].items()
    ]


def _explained(name: str, value: Any, schema: Mapping[str, Any]) -> ExplainedField:
    choices = _choices(schema)
    return ExplainedField(name, _text(value), choices, ", ".join(choices) or _limits(schema), schema["description"])


def _choices(schema: Mapping[str, Any]) -> tuple[str, ...]:
    if schema["type"] == "boolean":
        return ("true", "false")
    return tuple(schema.get("enum", [schema["const"]] if "const" in schema else []))


def _limits(schema: Mapping[str, Any]) -> str:
    limits = ", ".join(f"{sign} {schema[key]:,}" for key, sign in _LIMITS.items() if key in schema)
    return f"{_KINDS[schema['type']]} {limits}".strip()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
