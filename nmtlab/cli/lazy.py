"""Commands whose modules are imported when they are called."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand


class LazyCommand(TyperCommand):
    """A command of which only the name and the help are known; its callback returns the whole command."""

    def loaded(self) -> Any:
        """Import the module, and return the whole command."""
        return self.callback()

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Parse words as the whole command does; typer then invokes that one, and completes its options."""
        return self.loaded().make_context(*arguments, **more)


def add_commands(app: typer.Typer, module: str, *functions: str) -> None:
    """Add functions of a module of this folder as commands: `remove`, `list_` as `list`, `add_run` as `add-run`.

    Their helps are read from the source, as an import may load torch.
    """
    source = ast.parse(Path(__file__).with_name(f"{module}.py").read_bytes())
    helps = {node.name: ast.get_docstring(node) for node in source.body if isinstance(node, ast.FunctionDef)}
    for function in functions:
        app.command(_name(function), cls=LazyCommand, help=helps[function])(_loader(module, function))


def _name(function: str) -> str:
    return function.strip("_").replace("_", "-")


def _loader(module: str, function: str) -> Any:
    def load() -> Any:
        whole = typer.Typer(add_completion=False)
        whole.command(_name(function))(getattr(import_module(f"nmtlab.cli.{module}"), function))
        return typer.main.get_command(whole)

    return load
