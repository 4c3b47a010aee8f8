"""A page as one self-contained HTML file."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape

import ipywidgets as widgets
from plotly.offline import get_plotlyjs

from nmtlab.dashboards.widgets.chart import SCHEME, Chart
from nmtlab.dashboards.widgets.table import Table

CHOOSER = "nmtlab-chooser"
"""Class of boxes with controls and lists to choose from."""

_MAX_ROWS = 200
_STYLE = (
    ":root{color-scheme:light dark;background:light-dark(white,#16191d);color:light-dark(#222,#e4e6e8)}"
    "body{font-family:system-ui,sans-serif;margin:2em;max-width:1400px}table{border-collapse:collapse;font-size:14px}"
    "td,th{padding:3px 8px;border-bottom:1px solid light-dark(#ddd,#3c434b);text-align:left}"
    "a{color:light-dark(#0b4f79,#7cc0f0)}p,caption{color:light-dark(#444,#a9b1b9)}figure{margin:0}"
    "mark{background:light-dark(#ffe3cc,#5a3212);border-bottom:2px solid #d55e00;color:inherit}"
    "caption{text-align:left;padding-top:12px;white-space:nowrap}"
)
_DRAW = """
for (const figure of document.querySelectorAll("figure")) {
  const spec = figure.querySelector("script").textContent, plot = figure.querySelector("div");
  const draw = () => {
    const { data, layout } = figureOf(spec, plot);
    Plotly.react(plot, data, layout, { responsive: true });
  };
  draw();
  onScheme(draw);
}
"""
"""Draws every figure from the JSON beside it, and again when the reader's scheme changes."""


def saved_page(title: str, question: str, state: Mapping[str, str], body: Iterable[widgets.Widget]) -> str:
    """Return a page's figures, tables and sentences as HTML; the user's choices and the lists to choose from come last.

    Args:
        title, question: title and question of the page.
        state: the user's choices.
        body: widgets of the page; hidden widgets and controls are omitted. Tables with rows to select and boxes of the
            class `CHOOSER` count as lists.
    """
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    results, lists = _shown(body)
    parts = [f"<h1>{escape(title)}</h1><p>{escape(question)}</p><p>Saved from nmtlab on {when}.</p>"]
    parts += [*_markup(results), _chosen(state), *_markup(lists)]
    if any(isinstance(widget, Chart) and widget.figure.data for widget in (*results, *lists)):
        parts += [f"<script>{get_plotlyjs()}</script>", f"<script>{SCHEME}{_DRAW}</script>"]
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{escape(title)} · nmtlab</title>"
        f"<style>{_STYLE}</style></head><body><main>{''.join(parts)}</main></body></html>"
    )


def _figure(chart: Chart) -> str:
    spec = chart.figure.to_json().replace("<", "\\u003c")  # which would end the script
    drawn = f"<div role='img' aria-label='{escape(chart.label)}'></div>"
    return f"<figure>{drawn}<script type='application/json'>{spec}</script></figure>"


def _chosen(state: Mapping[str, str]) -> str:
    lines = "".join(f"<tr><th>{escape(key)}</th><td>{escape(text)}</td></tr>" for key, text in state.items())
    return f"<h2>Choices</h2><table>{lines}</table>" if lines else ""


def _shown(body: Iterable[widgets.Widget]) -> tuple[list[widgets.Widget], list[widgets.Widget]]:
    """Return what can be seen of some widgets: results, and lists to choose from."""
    results: list[widgets.Widget] = []
    lists: list[widgets.Widget] = []
    for widget in body:
        if getattr(widget, "layout", None) is not None and widget.layout.display == "none":
            continue
        if isinstance(widget, widgets.Box) and not hasattr(widget, "as_html"):
            inner, inner_lists = _shown(widget.children)
            chooser = CHOOSER in widget._dom_classes
            results += [] if chooser else inner
            lists += [*inner, *inner_lists] if chooser else inner_lists
        else:
            (lists if isinstance(widget, Table) and widget.pickable else results).append(widget)
    return results, lists


def _markup(shown: Iterable[widgets.Widget]) -> Iterator[str]:
    for widget in shown:
        if isinstance(widget, Chart) and widget.figure.data:
            yield _figure(widget)
        elif isinstance(widget, Table):
            yield _table(widget)
        elif hasattr(widget, "as_html"):
            yield widget.as_html()
        elif isinstance(widget, widgets.HTML):
            yield f"<div>{widget.value}</div>"


def _table(table: Table) -> str:
    if not len(table.frame):
        return f"<h3>{escape(table.title)}</h3><p>{escape(table.why)}</p>"
    frame = table.shown
    if table.pickable and table.multiple:
        frame = frame.loc[list(table.value or ())]
        if table.labels:
            frame.insert(0, "shown as", [table.labels[key] for key in frame.index])
    more = len(frame) - _MAX_ROWS
    rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    rows = frame.head(_MAX_ROWS).to_html(index=False, escape=True, border=0, na_rep="", float_format="%.4g")
    return f"<h3>{escape(table.title)}</h3>{rows}{rest}"
