"""The reference in the book: the directive `modules`, and docstrings as Sphinx reads them."""

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from textwrap import indent

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class ModulesDirective(SphinxDirective):
    """`{modules} NAME ...`: the public names of modules, and of all modules in packages."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        names = [name for package in self.arguments[0].split() for name in modules(package)]
        parts = (f"## {_short(name)}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n" for name in names)
        return self.parse_text_to_nodes("\n".join(parts), allow_section_headings=True)


def modules(name: str) -> Iterator[str]:
    """Yield the name of a module, or of those in a package, if it defines anything."""
    inner = pkgutil.walk_packages(getattr(import_module(name), "__path__", ()), f"{name}.")
    for one in (name, *(module.name for module in inner)):
        if any(getattr(value, "__module__", None) == one for value in vars(import_module(one)).values()):
            yield one


def _short(name: str) -> str:
    """Return the last two parts of a module's name."""
    return ".".join(name.split(".")[1:][-2:])


_LITERAL = re.compile(r"(?ms)^ *```\n(?P<fenced>.*?)\n *```$|(?P<table>(?:^ *\|[^\n]*\|(?:\n|\Z))+)")
_SPECIAL = re.compile(r"`([^`]+)`|([|*\\]|(?<=\w)_(?!\w))")


def read_docstring(app: Sphinx, what: str, name: str, documented: object, options: object, lines: list[str]) -> None:
    """Turn a docstring, text with code in backticks, into the reStructuredText that napoleon reads."""
    text, parts, end = "\n".join(lines), [], 0
    for literal in _LITERAL.finditer(text):
        code = indent(literal["fenced"] or literal["table"], "    ")
        parts += [_escaped(text[end : literal.start()]), "::\n\n", code, "\n"]
        end = literal.end()
    lines[:] = "".join([*parts, _escaped(text[end:])]).split("\n")
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # napoleon takes what stands before a colon in the first line for a type


def hide_constants(app: Sphinx, what: str, name: str, documented: object, skip: bool, options: object) -> bool | None:
    """Hide constants of modules, the fields of a named tuple, which its docstring lists, and pydantic's settings."""
    constant = what == "module" and not (isinstance(documented, type) or callable(documented))
    hidden = constant or name == "model_config" or type(documented).__name__ == "_tuplegetter"
    return True if hidden else None


def shorten_signature(
    app: Sphinx, what: str, name: str, documented: object, options: object, signature: str, returns: str
) -> tuple[str, str] | None:
    """Leave out the signature of a recipe's section, whose fields follow it with their types."""
    return ("", returns) if what == "class" and hasattr(documented, "model_fields") else None


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"``{found[1]}``" if found[1] else f"\\{found[2]}", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, and what becomes of docstrings and signatures."""
    app.add_directive("modules", ModulesDirective)
    app.connect("autodoc-process-docstring", read_docstring, priority=100)  # napoleon has 500
    app.connect("autodoc-skip-member", hide_constants)
    app.connect("autodoc-process-signature", shorten_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
