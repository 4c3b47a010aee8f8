"""Migration of settings written by earlier versions of nmtlab to the current field names.

`SCHEMA` counts the versions. Raise it and add a step here whenever a field is renamed or a default changes: stored
answers leave out settings at their default.
"""

from collections.abc import Mapping
from typing import Any

from nmtlab.errors import RecipeError

SCHEMA = 3
"""Schema version that recipes are written in. A recipe without a schema has version 1."""

TEXT_SCHEMA = 2
"""The version since which the text section is the same: pipelines are written in it and so keep their checksums."""

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

_LENGTH_MODEL_BEFORE_3 = {"length_input": "mean", "length_output": "classifier"}


def migrate(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a recipe's sections under the current field names, without its `schema`.

    Args:
        settings: sections of a recipe of any schema version.
        where: the recipe's file or name, for error messages.

    Raises:
        RecipeError: invalid schema, or one newer than this version.
    """
    sections = dict(settings)
    schema = sections.pop("schema", 1)
    if type(schema) is not int or schema < 1:
        raise RecipeError(f"{where}: schema = {schema!r} is not allowed", f"write schema = {SCHEMA}")
    if schema > SCHEMA:
        raise RecipeError(f"{where}: schema = {schema} is newer than this nmtlab ({SCHEMA})", "update nmtlab")
    migrated = {
        name: migrate_section(name, section, schema) if isinstance(section, dict) else section
        for name, section in sections.items()
    }
    if schema < 3 and "base" not in sections:  # the defaults of a base are those of today
        migrated = _with_first_length_model(migrated)
    return migrated


def migrate_section(name: str, settings: Mapping[str, Any], schema: int) -> dict[str, Any]:
    """Return one section of a recipe of any schema version under the current field names."""
    if schema > 1:
        return dict(settings)
    renamed = {old: new for old, new in _RENAMED_IN_2.get(name, {}).items() if new not in settings}
    return {renamed.get(field, field): value for field, value in settings.items()}


def _with_first_length_model(sections: dict[str, Any]) -> dict[str, Any]:
    """Return a recipe's sections with the only length model that there was before version 3, if it plans lengths."""
    model = sections.get("model")
    if not (isinstance(model, dict) and model.get("plan_length")):
        return sections
    return {**sections, "model": {**_LENGTH_MODEL_BEFORE_3, **model}}


def new_name(section: str, field: str) -> str | None:
    """Return the current name of a section's field, or None if it was not renamed."""
    return _RENAMED_IN_2.get(section, {}).get(field)
