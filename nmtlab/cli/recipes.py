"""`nmtlab recipes`."""

from typing import Annotated

import typer

app = typer.Typer(help="List and show recipes: the settings of a training.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the recipes that come with nmtlab."""
    from nmtlab.cli.tables import print_table
    from nmtlab.recipe import named_recipe, recipe_names

    print_table(
        "Recipes", ["recipe", "description"], [[name, named_recipe(name).about] for name in recipe_names()], set()
    )
    print("'nmtlab recipes show NAME > mine.toml' writes one to edit; 'nmtlab train CORPUS --recipe mine.toml' uses it")


@app.command()
def show(name: Annotated[str, typer.Argument(help="Name of a recipe, or path of a TOML file.")]) -> None:
    """Print a recipe as TOML, with every field explained."""
    from nmtlab.recipe import find_recipe

    print(find_recipe(name).described(), end="")
