"""Lists in the book, from declarations: settings, commands, JSON, pages, questions, tables, origins of results."""

import csv
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.declared import declared_analyses
from nmtlab.cli.answer import declared_answers
from nmtlab.cli.main import app as commands
from nmtlab.dashboards.frame.headings import headings
from nmtlab.recipe import ByteNetSettings, ConvSettings, PhraseSettings, Recipe, RnnSettings, TransformerSettings
from nmtlab.recipe.explained import explained_fields
from nmtlab.thesis.measured import all_measured
from nmtlab.thesis.tables.listing import TABLES
from nmtlab.workspace import RESULTS, Workspace

_PLAIN = re.compile(r"(--[a-z][a-z-]*)|[\\*_<$`]")
_KINDS = {"integer": "integer", "number": "number", "string": "text", "boolean": "true or false", "null": "null"}
_FAMILIES = {
    "transformer": TransformerSettings,
    "recurrent": RnnSettings,
    "convolutional": ConvSettings,
    "bytenet": ByteNetSettings,
    "phrase-based": PhraseSettings,
}


class FieldsDirective(SphinxDirective):
    """`{fields} SECTION [FAMILY]`: the settings of a section of recipes, in a fold."""

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        section, family = (*self.arguments, "transformer")[:2]
        fields = explained_fields(Recipe(model=_FAMILIES[family]()))
        rows = [
            [f"`{field.name}`", f"`{field.value}`" if field.value else "", field.allowed, field.explanation]
            for field in fields
            if field.name.startswith(f"{section}.")
        ]
        if not rows:
            raise self.error(f"recipes have no section {section!r}")
        about = f"All settings of <code>{section}</code>" + (f" ({family})" if section == "model" else "")
        table = self.parse_text_to_nodes(markdown_table(["setting", "default", "values", "meaning"], rows))
        return [_html(f"<details><summary>{about}</summary>"), *table, _html("</details>")]


class CommandsDirective(SphinxDirective):
    """`{commands}`: every command of the command line, with its arguments and options."""

    def run(self) -> list[nodes.Node]:
        parts = (_described(words, command) for words, command in verbs(typer.main.get_command(commands), "nmtlab"))
        return self.parse_text_to_nodes("\n\n".join(parts), allow_section_headings=True)


class AnswersDirective(SphinxDirective):
    """`{answers}`: what commands print as JSON, field by field."""

    def run(self) -> list[nodes.Node]:
        parts = (_answer(kind.model_json_schema(), kind.__module__) for kind in declared_answers())
        return self.parse_text_to_nodes("\n\n".join(parts), allow_section_headings=True)


def _answer(schema: Mapping[str, Any], module: str) -> str:
    """Return the class of a JSON schema, its text, its module and its fields as Markdown."""
    rows = [
        [f"`{name}`", _kind(field), field.get("description", "")]
        for name, field in schema["properties"].items()
        if name != "missing"
    ]
    table = markdown_table(["field", "value", "meaning"], rows)
    return f"## {schema['title']}\n\n{schema['description']} It is declared in `{module}`.\n\n{table}"


def _kind(schema: Mapping[str, Any]) -> str:
    """Return what a JSON schema allows, in words."""
    if options := schema.get("anyOf"):
        return " or ".join(map(_kind, options))
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    if "items" in schema:
        return f"list of {_kind(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"name: {_kind(schema['additionalProperties'])}"
    return ", ".join(f"`{one}`" for one in schema.get("enum", ())) or _KINDS.get(schema.get("type"), "object")


class PagesDirective(SphinxDirective):
    """`{pages}`: the dashboards with their questions."""

    def run(self) -> list[nodes.Node]:
        rows = [["index" if page == headings()[0] else page.title, page.question] for page in headings()]
        return self.parse_text_to_nodes(markdown_table(["page", "question"], rows))


class AnalysesDirective(SphinxDirective):
    """`{analyses}`: the questions that analyses ask of runs."""

    def run(self) -> list[nodes.Node]:
        rows = [
            [one.question, one.source, f"`{_place(one)}`", "with the run" if one.version else ""]
            for one in sorted(declared_analyses(), key=_place)
        ]
        return self.parse_text_to_nodes(markdown_table(["question", "source", "asked with", "answers stored"], rows))


def _place(analysis: Analysis) -> str:
    """Return the module, without `nmtlab.analysis`, and the name of an analysis."""
    module = analysis.compute.__module__
    name = next(name for name, value in vars(import_module(module)).items() if value is analysis)
    return f"{module.removeprefix('nmtlab.analysis.')}.{name}"


class TablesDirective(SphinxDirective):
    """`{tables}`: the tables that can be run, and what has been measured of them."""

    def run(self) -> list[nodes.Node]:
        measured = {one.table.name for one in all_measured(Workspace.find())}
        rows = [
            [f"`{table.name}`", table.title, "yes" if table.published else "", "yes" if table.name in measured else ""]
            for table in TABLES
        ]
        return self.parse_text_to_nodes(markdown_table(["table", "what it shows", "published", "measured"], rows))


class ProvenanceDirective(SphinxDirective):
    """`{provenance}`: how each file of results was made."""

    def run(self) -> list[nodes.Node]:
        path = RESULTS / "provenance.csv"
        self.env.note_dependency(str(path))
        with path.open(encoding="utf-8", newline="") as file:
            parts = [_made(**line) for line in csv.DictReader(file)]
        return self.parse_text_to_nodes("\n\n".join(parts))


def verbs(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Yield the commands below a command, each with the words that call it."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command.loaded()
        return
    for name, one in inner.items():
        yield from verbs(one, f"{words} {name}")


def markdown_table(head: list[str], body: list[list[str]]) -> str:
    """Return a table as Markdown."""
    rows = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _made(file: str, command: str, machine: str, seeds: str, remarks: str) -> str:
    facts = "; ".join(filter(None, [machine, f"seeds {seeds}" if seeds else "", remarks]))
    code = f"\n\n```text\n{command}\n```\n\n" if command else ": "
    return f"**{file}**{code}{facts}"


def _described(words: str, command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join([words, *(one.name.upper() + ("..." if one.nargs == -1 else "") for one in arguments)])
    rows = [[f"`{one.name.upper()}`", _meaning(one)] for one in arguments]
    rows += [[f"`{', '.join(one.opts)}`", _meaning(one)] for one in options]
    table = markdown_table(["", "meaning"], rows) if rows else ""
    return f"## {words}\n\n```text\n{usage}\n```\n\n{_escaped(command.help or '')}\n\n{table}"


def _meaning(parameter: Any) -> str:
    default = parameter.default
    shown = default not in (None, "", False, ()) and not callable(default) and parameter.param_type_name == "option"
    return _escaped(parameter.help or "") + (f" (default: {default})" if shown else "")


def _escaped(text: str) -> str:
    """Return plain text as Markdown, with options as code; indented lines are code already."""
    lines = text.split("\n")
    return "\n".join(line if line.startswith("    ") else _PLAIN.sub(_as_markdown, line) for line in lines)


def _as_markdown(found: re.Match[str]) -> str:
    return f"`{found[1]}`" if found[1] else f"\\{found[0]}"


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("fields", FieldsDirective)
    app.add_directive("commands", CommandsDirective)
    app.add_directive("answers", AnswersDirective)
    app.add_directive("pages", PagesDirective)
    app.add_directive("analyses", AnalysesDirective)
    app.add_directive("tables", TablesDirective)
    app.add_directive("provenance", ProvenanceDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
