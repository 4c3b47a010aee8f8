"""The fields of a recipe with values, choices and explanations."""

from typing import get_args

import pytest

from nmtlab.errors import RecipeError
from nmtlab.recipe import TransformerSettings, named_recipe, recipe_names
from nmtlab.recipe.explained import explained_fields


@pytest.mark.parametrize("name", recipe_names())
def test_every_value_can_be_set_as_it_is_shown(name):
    recipe = named_recipe(name)
    fields = explained_fields(recipe)
    shown = [f"{field.name}={field.value}" for field in fields if field.value]
    assert recipe.with_settings(shown) == recipe
    assert {field.name for field in fields} | {f"corpus.{key}" for key, _ in recipe.corpus} == (
        recipe.fields().keys() - {"about", "more_corpora"}
    )
    assert all(field.explanation and field.allowed for field in fields)


def test_choices_are_complete_and_limits_hold():
    recipe = named_recipe("transformer-tiny")
    fields = {field.name: field for field in explained_fields(recipe)}
    assert fields["model.norm"].choices == get_args(TransformerSettings.model_fields["norm"].annotation)
    assert fields["model.fixnorm"].choices == ("true", "false")
    assert fields["model.dropout"].allowed == "number ≥ 0, < 1"
    assert fields["training.accumulate"].allowed == "integer ≥ 1, ≤ 100,000"
    for choice in fields["training.schedule"].choices:
        recipe.with_settings([f"training.schedule={choice}"])
    with pytest.raises(RecipeError, match=r"model\.dropout"):
        recipe.with_settings(["model.dropout=1"])
