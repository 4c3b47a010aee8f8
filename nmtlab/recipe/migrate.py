"""Settings that earlier versions of nmtlab wrote, brought to this version's names.

`SCHEMA` counts the versions. It is raised, and a step added here, whenever a field is renamed, or a default changes:
stored answers leave out the settings that have their default.
"""

from collections.abc import Mapping
from typing import Any

from nmtlab.errors import RecipeError

SCHEMA = 2
"""What a recipe is written as. A recipe that names no schema is of the first."""

_RENAMED_IN_2 = {
    "text": {
        "minimum_count": "min_frequency",
        "unk_copy_below": "unk_copy_threshold",
        "mask_target": "target_vocabulary_mask",
    },
    "model": {
        "longest_plan": "max_predicted_length",
        "reordering": "distortion_limit",
        "max_phrase": "max_phrase_length",
    },
    "training": {
        "loss": "loss_reduction",
        "clip": "clip_norm",
        "warmup": "warmup_updates",
        "rate_scale": "lr_scale",
        "constant_rate": "learning_rate",
        "decay": "decay_factor",
        "minimum_rate": "min_learning_rate",
    },
    "search": {"lengths": "length_candidates"},
}


def migrate(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a recipe as this version has it, without its `schema`.

    Args:
        settings: the sections of a recipe of any schema.
        where: they were read, for the error.

    Raises:
        RecipeError: a schema that this version does not know.
    """
    sections = dict(settings)
    schema = sections.pop("schema", 1)
    if type(schema) is not int or schema < 1:
        raise RecipeError(f"{where}: schema = {schema!r} is not allowed", f"write schema = {SCHEMA}")
    if schema > SCHEMA:
        raise RecipeError(f"{where}: schema = {schema}, this nmtlab knows up to {SCHEMA}", "update nmtlab")
    return {
        name: migrate_section(name, section, schema) if isinstance(section, dict) else section
        for name, section in sections.items()
    }


def migrate_section(name: str, settings: Mapping[str, Any], schema: int) -> dict[str, Any]:
    """Return one section of a recipe of some schema as this version has it."""
    if schema >= SCHEMA:
        return dict(settings)
    renamed = {old: new for old, new in _RENAMED_IN_2.get(name, {}).items() if new not in settings}
    return {renamed.get(field, field): value for field, value in settings.items()}


def new_name(section: str, field: str) -> str | None:
    """Return what a field of a section is called now, if it has been renamed."""
    return _RENAMED_IN_2.get(section, {}).get(field)
