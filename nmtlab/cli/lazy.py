"""Commands whose modules are imported when they are called."""

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import typer
from typer.core import TyperCommand


class LazyCommand(TyperCommand):
    """A command of which only the name and the help are known; its callback returns the whole command."""

    def loaded(self) -> Any:
        """Import the module, and return the whole command."""
        return cast(Callable[[], Any], self.callback)()

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Parse words as the whole command does; typer then invokes that one, and completes its options."""
        return self.loaded().make_context(*arguments, **more)


def add_group(parent: typer.Typer, name: str, about: str, *places: str) -> typer.Typer:
    """Add a group of commands to an app, and return it."""
    group = typer.Typer(help=about, no_args_is_help=True)
    parent.add_typer(group, name=name)
    add_commands(group, *places)
    return group


def add_commands(app: typer.Typer, *places: str) -> None:
    """Add commands to an app: `runs.import_`, the function `import_` of the module `runs` of this folder, as `import`.

    Their helps are read from the source, as an import may load torch.
    """
    for place in places:
        module, function = place.split(".")
        name = function.strip("_").replace("_", "-")
        app.command(name, cls=LazyCommand, help=_docstrings(module)[function])(_loader(module, function, name))


@cache
def _docstrings(module: str) -> dict[str, str]:
    """Return the docstring of each function of a module, its paragraphs in a line each, for terminals of any width."""
    source = ast.parse(Path(__file__).with_name(f"{module}.py").read_bytes())
    functions = (node for node in source.body if isinstance(node, ast.FunctionDef))
    return {node.name: _unwrapped(ast.get_docstring(node) or "") for node in functions}


def _unwrapped(text: str) -> str:
    """Return a text with each paragraph in a line; indented ones, which are commands, stay as they are."""
    paragraphs = (one if one.startswith(" ") else one.replace("\n", " ") for one in text.split("\n\n"))
    return "\n\n".join(paragraphs)


def _loader(module: str, function: str, name: str) -> Callable[[], Any]:
    def load() -> Any:
        whole = typer.Typer(add_completion=False)
        whole.command(name, help=_docstrings(module)[function])(
            getattr(import_module(f"nmtlab.cli.{module}"), function)
        )
        return typer.main.get_command(whole)

    return load
