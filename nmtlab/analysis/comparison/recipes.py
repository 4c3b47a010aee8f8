"""In which settings do the recipes of runs differ?"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from nmtlab.recipe import Recipe
from nmtlab.recipe.section import Section
from nmtlab.runs.run import Run

RECIPES = "Recipes of these runs: the settings in which they differ"
"""Title of the table."""


def differing_settings(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the fields in which the recipes of runs differ, in the order of the recipe.

    Returns:
        A row for each field: `setting`, such as `training.label_smoothing`; for each run, in a column named after its
        label, the value as text, empty if its family of models has no such field; `meaning`, the field's explanation.
    """
    fields = {run.label: {field: _text(value) for field, value in run.recipe.fields().items()} for run in runs}
    known = dict.fromkeys(field for of_run in fields.values() for field in of_run if field != "about")
    differing = [field for field in known if len({of_run.get(field, "") for of_run in fields.values()}) > 1]
    meanings = {field: text for run in runs for field, text in _meanings(run.recipe).items()}
    return pd.DataFrame(
        {
            "setting": differing,
            **{label: [of_run.get(field, "") for field in differing] for label, of_run in fields.items()},
            "meaning": [meanings.get(field, "") for field in differing],
        }
    )


def _meanings(recipe: Recipe) -> dict[str, str]:
    """Return the explanation of every field."""
    sections = {name: section for name, section in recipe if isinstance(section, Section)}
    return {"more_corpora": type(recipe).model_fields["more_corpora"].description or ""} | {
        f"{name}.{key}": field.description or ""
        for name, section in sections.items()
        for key, field in type(section).model_fields.items()
    }


def _text(value: Any) -> str:
    """Return a value as in a recipe's file; of a list, its members, and of other corpora, their names."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ", ".join(one["name"] if isinstance(one, dict) else str(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
