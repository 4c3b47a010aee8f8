"""`nmtlab recipes`."""

from typing import Annotated

import typer

from nmtlab.cli.tables import print_table
from nmtlab.recipe import find_recipe, named_recipe, recipe_names


def list_() -> None:
    """List the recipes that come with nmtlab."""
    print_table(
        "Recipes", ["recipe", "description"], [[name, named_recipe(name).about] for name in recipe_names()], set()
    )
    print("'nmtlab recipes show NAME > mine.toml' writes one to edit; 'nmtlab train CORPUS --recipe mine.toml' uses it")


def show(name: Annotated[str, typer.Argument(help="Name of a recipe, or path of a TOML file.")]) -> None:
    """Print a recipe as TOML, with every field explained."""
    print(find_recipe(name).described(), end="")
