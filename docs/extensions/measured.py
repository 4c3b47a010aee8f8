"""Recipes and results in the book, from their files: `recipe`, `scores`, `argument`, `claims` and `verdicts`."""

from functools import cache
from html import escape
from importlib import resources
from typing import Any, ClassVar

import pandas as pd
from docutils import nodes
from docutils.parsers.rst import directives
from generated import markdown_table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from nmtlab.analysis.metrics import find_metric
from nmtlab.dashboards.parts.argument import argument
from nmtlab.dashboards.widgets.chart import PLOTLY
from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.labels import row_label, system_labels
from nmtlab.grids.results.summary import in_words
from nmtlab.recipe import named_recipe
from nmtlab.thesis.claims.declared import ORIGINS, declared_claims
from nmtlab.thesis.claims.verdicts import counted, measured_claims
from nmtlab.thesis.measured import measured
from nmtlab.workspace import Workspace


class RecipeDirective(SphinxDirective):
    """`{recipe} NAME`: the file of a named recipe, and all of its fields with their explanations in a fold."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        try:
            fields = named_recipe(name).described()
        except NmtlabError as error:
            raise self.error(str(error)) from error
        file = (resources.files("nmtlab.recipe") / f"named/{name}.toml").read_text(encoding="utf-8")
        begin = f"<details><summary>All fields of <code>{escape(name)}</code></summary>"
        return [_code(file), _html(begin), _code(fields), _html("</details>")]


class ScoresDirective(SphinxDirective):
    """`{scores} TABLE`: means over seeds of a measured table, with those published in parentheses.

    Its lines name the systems to show; without any, all are shown. The option `metric` names the measure; by default
    it is the first one of the table.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"metric": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        try:
            stored = measured(self.arguments[0], "small")
        except NmtlabError as error:
            raise self.error(str(error)) from error
        table, metric = stored.table, self.options.get("metric", stored.table.metrics[0])
        systems = list(self.content) or [system.name for system in table.columns]
        lines = stored.summary().query("metric == @metric and seeds > 0")
        if unknown := {*systems} - {*lines["column"]}:
            raise self.error(f"{table.name} has no {metric} of {', '.join(sorted(unknown))}")
        scores = {(line.row, line.column): _score(line) for line in lines.itertuples()}
        rows = {row.name: row_label(row, "small") for row in table.rows}
        body = [[rows[row], *(scores.get((row, one), "") for one in systems)] for row in lines["row"].unique()]
        labels = system_labels(table)
        head = [find_metric(metric).label, *(labels[one] for one in systems)]
        return self.parse_text_to_nodes(markdown_table(head, body))


class ClaimsDirective(SphinxDirective):
    """`{claims}`: the verdicts on the claims about systems, one a line, named as in their tables."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        systems = {claim.text: claim.system for claim in declared_claims()}
        if unknown := {*self.content} - {*systems.values()}:
            raise self.error(f"no claim is about {', '.join(sorted(unknown))}")
        found = _verdicts()
        found = found[found["claim"].map(systems).isin(list(self.content))]
        if found.empty:
            return self.parse_text_to_nodes("None of the claims about these systems has been measured yet.")
        body = []
        for (claim, origin, source), lines in found.groupby(["claim", "origin", "source"], sort=False):
            named = [f"{claim} ({origin}: {source})", *[""] * (len(lines) - 1)]
            body += [
                [about, line.text, line.metric, _effect(line), _marked(line)]
                for about, line in zip(named, lines.itertuples(), strict=True)
            ]
        return self.parse_text_to_nodes(
            markdown_table(["claim", "text", "measure", "effect (95 % interval)", "verdict"], body)
        )


class VerdictsDirective(SphinxDirective):
    """`{verdicts}`: how many lines of claims have which verdict, by whose claims they are and by kind of text."""

    def run(self) -> list[nodes.Node]:
        counts = counted(_verdicts())
        body = counts.assign(origin=counts["origin"].map(ORIGINS)).astype(str).to_numpy().tolist()
        return self.parse_text_to_nodes(markdown_table([*counts], body))


class ArgumentDirective(SphinxDirective):
    """`{argument}`: the messages of the thesis with their figures, and the verdicts on its claims."""

    def run(self) -> list[nodes.Node]:
        script = f'<script src="../_static/{PLOTLY.name}"></script>'
        return [_html(script + argument(Workspace.find(), linked=False))]


def _code(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="toml")


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def _score(line: Any) -> str:
    margin = f" ± {line.margin:.1f}" if line.margin == line.margin else ""
    return f"{line.mean:.1f}{margin}" + (f" ({line.published})" if line.published else "")


def _effect(line: Any) -> str:
    effect = f"{line.effect:+.2f}".replace("-", "−")
    bounds = in_words(line.low, line.high)
    return f"{effect} ({bounds})" if bounds else effect


def _marked(line: Any) -> str:
    rising = f", dev BLEU still rising by {line.late_gain:.1f}" if line.late_gain == line.late_gain else ""
    return line.verdict + rising + (f" (interval without {line.mark})" if line.mark else "")


@cache
def _verdicts() -> pd.DataFrame:
    return measured_claims()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("recipe", RecipeDirective)
    app.add_directive("scores", ScoresDirective)
    app.add_directive("argument", ArgumentDirective)
    app.add_directive("claims", ClaimsDirective)
    app.add_directive("verdicts", VerdictsDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
