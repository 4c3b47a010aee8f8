"""A page as one self-contained HTML file."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape

import ipywidgets as widgets

from nmtlab.dashboards.chart import Chart
from nmtlab.dashboards.table import Table

_MAX_ROWS = 200
_STYLE = (
    "body{font-family:system-ui,sans-serif;margin:2em;max-width:1400px}table{border-collapse:collapse;font-size:14px}"
    "td,th{padding:3px 8px;border-bottom:1px solid #ddd;text-align:left}p{color:#444}"
    "mark{background:#ffe3cc;border-bottom:2px solid #d55e00;color:inherit}"
    "caption{text-align:left;color:#444;padding-top:12px;white-space:nowrap}"
)


def saved_page(title: str, question: str, state: Mapping[str, str], body: Iterable[widgets.Widget]) -> str:
    """Return a page's figures, tables and sentences as HTML.

    Args:
        title, question: title and question of the page.
        state: the user's choices.
        body: widgets of the page; hidden widgets and controls are omitted.
    """
    parts = [f"<h1>{escape(title)}</h1><p>{escape(question)}</p>", _chosen(state)]
    script: bool | str = True
    for widget in _leaves(body):
        if isinstance(widget, Chart):
            parts.append(widget.figure.to_html(full_html=False, include_plotlyjs=script))
            script = False
        elif isinstance(widget, Table):
            parts.append(_table(widget))
        elif isinstance(widget, widgets.HTML):
            parts.append(f"<div>{widget.value}</div>")
    return (
        f"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _chosen(state: Mapping[str, str]) -> str:
    lines = "".join(f"<tr><th>{escape(key)}</th><td>{escape(text)}</td></tr>" for key, text in state.items())
    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if not lines:
        return f"<p>Saved from nmtlab on {when}.</p>"
    return f"<p>Saved from nmtlab on {when}, with these choices:</p><table>{lines}</table>"


def _leaves(body: Iterable[widgets.Widget]) -> Iterator[widgets.Widget]:
    for widget in body:
        if getattr(widget, "layout", None) is not None and widget.layout.display == "none":
            continue
        if isinstance(widget, widgets.Box):
            yield from _leaves(widget.children)
        else:
            yield widget


def _table(table: Table) -> str:
    frame = table.frame
    if table.pickable and table.multiple:
        frame = frame.loc[list(table.value or ())]
    more = len(frame) - _MAX_ROWS
    rest = f"<p>and {more:,} more rows</p>" if more > 0 else ""
    rows = frame.head(_MAX_ROWS).to_html(index=False, escape=True, border=0, na_rep="", float_format="%.4g")
    return f"<h3>{escape(table.title)}</h3>{rows}{rest}"
