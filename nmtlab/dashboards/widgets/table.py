"""A table with filter, sorting and row selection."""

import json
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import anywidget
import pandas as pd
import traitlets

from nmtlab.dashboards.widgets.export import as_csv, as_latex, file_name
from nmtlab.dashboards.widgets.glossary import meaning_of
from nmtlab.figures.marks import Token
from nmtlab.figures.theme import readable

_HERE = Path(__file__).parent
_MAX_LETTERS = 2000


class Table(anywidget.AnyWidget):
    """A table whose rows can be selected; `value` is the key of the selected row, or a tuple of keys.

    If several rows can be selected, those that are stand above the table, too, by their `labels` or else their keys.
    What the glossary explains has its meaning as a tooltip, and the table a link to the glossary.

    Args:
        title: title above the table, in a word or a sentence.
        pick: how many rows can be selected: `none`, `one` or `many`.
        height: maximum height, in CSS units.
        first: how many rows are seen until the user unfolds the others; 0 for all.
    """

    _esm = _HERE / "table.js"
    title = traitlets.Unicode().tag(sync=True)
    content = traitlets.Unicode('{"columns": [], "rows": []}').tag(sync=True)
    chosen = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pickable = traitlets.Bool().tag(sync=True)
    multiple = traitlets.Bool().tag(sync=True)
    height = traitlets.Unicode().tag(sync=True)
    first = traitlets.Int().tag(sync=True)
    why = traitlets.Unicode().tag(sync=True)
    labels = traitlets.Dict().tag(sync=True)
    marked = traitlets.Unicode().tag(sync=True)
    meanings = traitlets.Dict().tag(sync=True)
    value = traitlets.Any()

    def __init__(self, title: str, pick: str = "none", height: str = "16em", first: int = 0) -> None:
        super().__init__(title=title, pickable=pick != "none", multiple=pick == "many", height=height, first=first)
        self.frame = self.shown = pd.DataFrame()
        self.fresh = False
        self._keys: dict[str, Any] = {}
        self._groups: Sequence[str] = ()
        self.observe(self._chosen_in_browser, "chosen")
        self.on_msg(lambda _, content, __: self._export(**content))

    def show(
        self, frame: pd.DataFrame, groups: Sequence[str] = (), pieces: Collection[str] = (), why: str = ""
    ) -> None:
        """Show a table. Selected rows that still exist stay selected.

        Args:
            frame: its index holds unique row keys.
            groups: the heading that each row is shown under, unless the table is sorted; without any, there are none.
            pieces: columns of tokens, which are shown as a person reads them.
            why: there are no rows, shown in their place; without a reason, a table without rows is not shown.
        """
        self.frame, self.why, self._groups = frame, why, groups
        self.shown = frame.assign(**{column: readable(frame[column].map(str)) for column in pieces})
        self._keys = {str(key): key for key in frame.index}
        self._send_content()
        self.chosen = [key for key in self.chosen if key in self._keys]
        self._chosen_in_browser()
        self.layout.display = "" if len(frame) or why else "none"
        self.fresh = True

    def _send_content(self) -> None:
        """Send the rows to the browser."""
        shown = self.shown
        rows = [
            {"key": str(key), "cells": [_cell(value) for value in values]}
            for key, values in zip(shown.index, shown.itertuples(index=False, name=None), strict=True)
        ]
        for row, group in zip(rows, self._groups, strict=False):
            row["group"] = group
        texts = {*shown.columns, *(cell for row in rows for cell in row["cells"] if isinstance(cell, str))}
        self.meanings = {str(text): meaning for text in texts if (meaning := meaning_of(str(text)))}
        self.content = json.dumps({"columns": [str(name) for name in shown.columns], "rows": rows}, ensure_ascii=False)

    def clear(self) -> None:
        """Show nothing, not even the title, which may describe earlier content."""
        self.show(pd.DataFrame())

    def choose(self, keys: Sequence[Any]) -> None:
        """Select rows by their keys; unknown keys are ignored, and if no key is known, the selection stays."""
        known = [str(key) for key in keys if str(key) in self._keys]
        if known:
            self.chosen = known if self.multiple else known[:1]
        self._chosen_in_browser()

    def unpick(self) -> None:
        """Clear the selection."""
        self.chosen = []
        self._chosen_in_browser()

    def mark(self, token: Token | None) -> None:
        """Mark a word, instead of the last one, wherever it stands in a cell."""
        self.marked = readable([token.bare])[0] if token else ""

    def _export(self, form: str, rows: Sequence[int]) -> None:
        """Have the browser download some rows, in that order, as csv or tex."""
        frame = self.frame.iloc[[row for row in rows if row < len(self.frame)]]
        content = as_csv(frame) if form == "csv" else as_latex(frame, self.title)
        self.send({"file": file_name(self.title, form), "content": content})

    def _chosen_in_browser(self, _: object = None) -> None:
        keys = tuple(self._keys[key] for key in self.chosen if key in self._keys)
        self.value = keys if self.multiple else (keys[0] if keys else None)


def _cell(value: Any) -> str | int | float | bool | None:
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)) or value is pd.NA:
        return None
    if isinstance(value, (bool, int, float)):
        return value
    text = str(value)
    return text if len(text) <= _MAX_LETTERS else text[:_MAX_LETTERS] + "…"
