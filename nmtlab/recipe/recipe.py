"""The typed, frozen settings of one run, read from and written to TOML."""

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import tomli_w
from pydantic import ValidationError, model_validator

from nmtlab.errors import RecipeError, did_you_mean
from nmtlab.files import write_text
from nmtlab.reading import read_bytes
from nmtlab.recipe.combinations import problem_of
from nmtlab.recipe.corpus import CorpusSettings
from nmtlab.recipe.migrate import SCHEMA, migrate, new_name
from nmtlab.recipe.section import Section, number_in
from nmtlab.recipe.sections import Sections

_MAX_BYTES = 1 << 20
"""Largest TOML file that is read as a recipe."""


class Recipe(Sections):
    """Everything that determines a run: the same recipe, corpus and machine reproduce it."""

    @model_validator(mode="after")
    def _check(self) -> "Recipe":
        if problem := problem_of(self):
            raise ValueError(problem)
        return self

    def without_low_rank(self) -> "Recipe":
        """Return the recipe of the model whose low-rank changes, if it has some, are merged into its weights."""
        if not (self.model.neural and self.model.low_rank):
            return self
        return self.with_changes({"model.lora_rank": 0, "model.lora_base": "fp32"})

    def with_changes(self, changes: Mapping[str, Any]) -> "Recipe":
        """Return a copy with fields changed, as in `{"model.norm": "scale"}`.

        Raises:
            RecipeError: unknown field or invalid value; the message names it and a valid choice.
        """
        settings = self.model_dump()
        if changes.get("model.family", self.model.family) != self.model.family:
            settings["model"] = {}
        for field, value in changes.items():
            section, _, name = field.rpartition(".")
            _place(settings, section, field)[name] = value
        return _validated(settings, "recipe")

    def with_settings(self, settings: Iterable[str]) -> "Recipe":
        """Return a copy with fields set as on the command line: `model.norm=scale`.

        Raises:
            RecipeError: a setting without '=', an unknown field, or an invalid value.
        """
        return self.with_changes(dict(_parse_setting(setting) for setting in settings))

    def fields(self) -> dict[str, Any]:
        """Return all field values by full name, as in `model.norm`."""
        named: dict[str, Any] = {}
        for name, value in self.model_dump().items():
            named |= {f"{name}.{key}": one for key, one in value.items()} if isinstance(value, dict) else {name: value}
        return named

    def save(self, path: Path | str) -> None:
        """Write the complete recipe to a TOML file."""
        write_text(Path(path), tomli_w.dumps({"schema": SCHEMA, **self.model_dump()}))

    def described(self) -> str:
        """Return the recipe as TOML with an explanation above every field."""
        lines = [f"schema = {SCHEMA}", f"about = {_toml(self.about)}"]
        help_ = type(self).model_fields["more_corpora"].description
        lines += [] if self.more_corpora else [f"# {help_}", "more_corpora = []"]
        for name, section in self:
            if not isinstance(section, Section):
                continue
            lines += ["", f"# {(type(section).__doc__ or '').splitlines()[0]}", f"[{name}]"]
            for key, field in type(section).model_fields.items():
                lines += [f"# {field.description}", f"{key} = {_toml(getattr(section, key))}"]
        lines += ["", f"# {help_}"] if self.more_corpora else []
        for number, corpus in enumerate(self.more_corpora):
            lines += [*([""] if number else []), "[[more_corpora]]"]
            lines += [f"{key} = {_toml(value)}" for key, value in corpus]
        return "\n".join(lines) + "\n"


def load_recipe(path: Path | str) -> Recipe:
    """Read a recipe from a TOML file, which may extend a named recipe with `base = "NAME"`.

    Raises:
        RecipeError: no such file, not TOML, unknown field, or invalid value.
    """
    path = Path(path)
    try:
        text = read_bytes(path, _MAX_BYTES).decode()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RecipeError(f"recipe {path}: cannot be read ({reason})", "give the path of a TOML file") from error
    return _from_toml(text, str(path))


def named_recipe(name: str) -> Recipe:
    """Return one of the recipes that come with nmtlab.

    Raises:
        RecipeError: no such recipe.
    """
    if name not in recipe_names():
        raise RecipeError(
            f"recipe {name!r}: unknown", f"{did_you_mean(name, recipe_names())}'nmtlab recipes list' shows them all"
        )
    return _from_toml((_named() / f"{name}.toml").read_text(encoding="utf-8"), f"recipe {name!r}")


def find_recipe(name: str) -> Recipe:
    """Return a recipe by name, or from a TOML file when `name` ends in `.toml`."""
    return load_recipe(Path(name)) if name.endswith(".toml") else named_recipe(name)


def recipe_names() -> list[str]:
    """Return the names of the recipes that come with nmtlab."""
    return sorted(entry.name.removesuffix(".toml") for entry in _named().iterdir() if entry.name.endswith(".toml"))


def _named() -> Any:
    return resources.files("nmtlab.recipe") / "named"


@lru_cache(maxsize=1024)  # a page lists hundreds of runs
def _from_toml(text: str, where: str) -> Recipe:
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{where}: not TOML ({error})", "fix that line") from error
    except RecursionError as error:
        raise RecipeError(f"{where}: brackets or tables nested too deeply", "a recipe needs no nesting") from error
    settings = migrate(settings, where)
    base = settings.pop("base", None)
    if base is None:
        return _validated(settings, where)
    merged = named_recipe(str(base)).model_dump()
    for key, value in settings.items():
        both = isinstance(merged.get(key), dict) and isinstance(value, dict)
        both = both and value.get("family") in (None, merged[key].get("family"))
        merged[key] = {**merged[key], **value} if both else value
    return _validated(merged, where)


def _validated(settings: dict[str, Any], where: str) -> Recipe:
    if isinstance(settings.get("model", {}), dict):
        settings["model"] = {"family": "transformer", **settings.get("model", {})}
    try:
        return Recipe.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise _explained(first, where) from error


def _explained(error: Any, where: str) -> RecipeError:
    location = list(error["loc"])
    family = location.pop(1) if len(location) > 1 and location[0] == "model" else "transformer"  # the union's branch
    field = ".".join(part for part in location if isinstance(part, str))  # without list indices
    if error["type"] == "extra_forbidden":
        return _unknown_field(field, where, family)
    if error["type"] == "union_tag_invalid":
        return RecipeError(
            f"{where}: model.family = {error['ctx']['tag']!r} is not allowed", f"choose one of {', '.join(_families())}"
        )
    if error["type"] == "value_error":
        problem, _, remedy = str(error["ctx"]["error"]).partition("; ")
        return RecipeError(f"{where}: {field}: {problem}" if field else f"{where}: {problem}", remedy)
    return RecipeError(
        f"{where}: {field} = {error['input']!r} is not allowed", error["msg"][0].lower() + error["msg"][1:]
    )


def _unknown_field(field: str, where: str, family: str = "transformer") -> RecipeError:
    section, _, name = field.rpartition(".")
    sections = _sections(family)
    known = [
        "about",
        *sections,
        *(f"{title}.{key}" for title, fields in sections.items() for key in fields.model_fields),
    ]
    homes = [full for full in known if full.rpartition(".")[2] == name]
    near = difflib.get_close_matches(field, known, n=1, cutoff=0.5)
    if renamed := new_name(section, name):
        remedy = f"it is now called {section}.{renamed}"
    elif homes:
        remedy = f"it belongs at {homes[0]}"
    elif near:
        remedy = f"did you mean {near[0]}?"
    elif section in sections:
        remedy = "choose one of " + ", ".join(f"{section}.{key}" for key in sections[section].model_fields)
    else:
        remedy = "choose one of " + ", ".join(["about", *sections])
    owners = [kind for kind, fields in _families().items() if section == "model" and name in fields.model_fields]
    if owners and not homes:
        named = " and ".join(filter(None, [", ".join(owners[:-1]), owners[-1]]))
        remedy = f"only models of family {named} have it, and this one is of family {family}"
    return RecipeError(f"{where}: {field}: no such field", remedy)


def _place(settings: dict[str, Any], section: str, field: str) -> dict[str, Any]:
    if section == "":
        return settings
    if not isinstance(settings.get(section), dict):
        raise _unknown_field(field, "recipe")
    return settings[section]


def _parse_setting(setting: str) -> tuple[str, Any]:
    field, equals, text = setting.partition("=")
    if not equals:
        raise RecipeError(f"setting {setting!r}: no value", "write it as section.field=value")
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        number = number_in(text)  # .5, which TOML does not have
        value = text.strip() if number is None else number
    return field.strip(), value


def _families() -> dict[str, type[Section]]:
    """Return the settings class of each model family."""
    return {kind.model_fields["family"].default: kind for kind in get_args(Recipe.model_fields["model"].annotation)}


def _sections(family: str) -> dict[str, type[Section]]:
    """Return the section classes of a recipe whose model is of that family."""
    kinds = {name: field.annotation for name, field in Recipe.model_fields.items() if name != "about"}
    return {**kinds, "more_corpora": CorpusSettings, "model": _families()[family]}  # type: ignore[dict-item]


def _toml(value: Any) -> str:
    return tomli_w.dumps({"v": value}).removeprefix("v = ").strip()
