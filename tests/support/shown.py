"""A page as a person has it before them: what is to be seen, and hands on its controls."""

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # it may not be installed
    from playwright.sync_api import Locator, Page

PATIENCE = 90
"""Seconds that a page has for an answer: the machine may be busy."""

_DRAWN = """() => {
  const seen = [...document.querySelectorAll('.nmtlab-chart, .nmtlab-table')].filter((part) => part.offsetParent);
  const opened = document.querySelector('.nmtlab-page [data-answered]');
  return opened && seen.length && seen.every((part) => part.dataset.drawn);
}"""
_TRACES = """async (div) => {
  for (let tries = 0; tries < 600 && !div._fullData; tries++) await new Promise((go) => setTimeout(go, 100));
  const plain = (v) => (ArrayBuffer.isView(v) ? Array.from(v) : Array.isArray(v) ? v.map(plain) : v);
  const kept = ['type', 'name', 'mode', 'x', 'y', 'z', 'customdata'];
  return div._fullData.map((trace) =>
    Object.fromEntries(kept.filter((key) => trace[key] !== undefined).map((key) => [key, plain(trace[key])])));
}"""
_CLICKS = """(div) => {
  if (div.clicks === undefined) div.on('plotly_click', () => (div.clicks += 1));
  return (div.clicks ??= 0);
}"""
_POINT = """(div, [x, y]) => {
  const {xaxis, yaxis} = div._fullLayout, box = div.getBoundingClientRect();
  return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)];
}"""


def eventually(ask: Callable[[], Any], expected: Any) -> None:
    """Wait until something is as expected; fail with what it is in the end."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if ask() == expected:
            return
        time.sleep(0.1)
    assert ask() == expected


class Shown:
    """A page in a browser.

    Args:
        page: of playwright, in which nothing is open yet.
        address: of the server.
    """

    def __init__(self, page: "Page", address: str) -> None:
        self.page, self._address = page, address
        self.troubles: list[str] = []
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("console", self._listen)
        page.on("dialog", self._dismiss)
        page.on("request", self._watch)

    def open(self, name: str, query: str = "") -> "Shown":
        """Open one of our pages and wait until all of it is drawn."""
        self.page.goto(f"{self._address}/voila/render/{name}.ipynb{query}", timeout=1000 * PATIENCE)
        return self.drawn()

    def drawn(self) -> "Shown":
        self.page.wait_for_function(_DRAWN, timeout=1000 * PATIENCE)
        return self

    # What is to be seen

    @property
    def query(self) -> str:
        return self.page.evaluate("location.search")

    @property
    def message(self) -> str:
        return "\n".join(self.page.locator(".nmtlab-message:visible").all_inner_texts())

    @property
    def notes(self) -> str:
        return "\n".join(self.page.locator(".nmtlab-note").all_inner_texts())

    @property
    def answer(self) -> str:
        return "\n".join(self.page.locator(".nmtlab-answer").all_inner_texts())

    def chart(self, title: str) -> "Locator":
        return self.page.locator(f'.nmtlab-chart[aria-label^="{title}"]')

    def traces(self, title: str, place: int = 0, **wanted: str) -> list[dict[str, Any]]:
        """Return what plotly has drawn in a chart: the traces that have some values, such as a type."""
        found = self.chart(title).nth(place).evaluate(_TRACES)
        return [trace for trace in found if all(trace.get(key) == value for key, value in wanted.items())]

    def values(self, title: str, axis: str = "y", place: int = 0, **wanted: str) -> list[Any]:
        """Return one axis of such traces, to compare with numbers."""
        return [trace[axis] for trace in self.traces(title, place, **wanted)]

    def table(self, title: str) -> "Locator":
        return self.page.locator(".nmtlab-table").filter(
            has=self.page.locator(".nmtlab-table-title", has_text=title),
        )

    def keys(self, title: str) -> list[str]:
        self._sent(title)
        return self.table(title).locator("tr[data-key]").evaluate_all("(rows) => rows.map((row) => row.dataset.key)")

    def picked(self, title: str) -> list[str]:
        self._sent(title)
        rows = self.table(title).locator('tbody tr[aria-selected="true"]')
        return rows.evaluate_all("(rows) => rows.map((row) => row.dataset.key)")

    def column(self, title: str, name: str) -> list[str]:
        """Return the cells of a table's column as they are shown."""
        self._sent(title)
        return self.table(title).evaluate(
            """(box, name) => {
              const heads = [...box.querySelectorAll('th')].map((head) => head.innerText.replace(/ [▴▾]$/, ''));
              const place = heads.indexOf(name);
              return [...box.querySelectorAll('tr[data-key]')].map((row) => row.cells[place].innerText);
            }""",
            name,
        )

    def _sent(self, title: str) -> None:
        """Have the rows of a table in a panel sent, if they are not here yet."""
        if self._choose(title, "[data-sent=false]").count():
            self.open_list(title)
            self.close_list()

    def _choose(self, title: str, state: str = "") -> "Locator":
        """Return the button that opens the panel with a table, if it is in one, and in a state."""
        chooser = self.page.locator(".nmtlab-chooser").filter(has=self.table(title))
        return chooser.locator(f".nmtlab-choose{state}")

    def control(self, kind: str, label: str) -> "Locator":
        """Return a control by its kind (text, dropdown, slider) and what stands before it."""
        labels = self.page.locator(".widget-label", has_text=re.compile(f"^{re.escape(label)}$"))
        return self.page.locator(f".widget-{kind}").filter(has=labels)

    # Hands

    def row(self, title: str, key: str) -> "Locator":
        return self.table(title).locator(f'tbody tr[data-key="{key}"]')

    def open_list(self, title: str) -> "Locator":
        """Return a table, in sight and with its rows: if it is in a panel, that is opened."""
        if not self.table(title).first.is_visible() and self._choose(title).count():
            self._choose(title).click()
            self._choose(title, "[data-sent=true]").wait_for(timeout=1000 * PATIENCE)
        return self.table(title)

    def close_list(self) -> None:
        """Close the panel that is open, if any is."""
        self.page.evaluate("document.querySelector(':popover-open')?.hidePopover()")

    def pick(self, title: str, key: str) -> None:
        self.open_list(title)
        self.row(title, key).click()
        self.close_list()

    def choose(self, label: str, option: str) -> None:
        """Choose from a list."""
        self.control("dropdown", label).locator("select").select_option(label=option)

    def type(self, label: str, text: str) -> None:
        """Type into a field and press Enter."""
        field = self.control("text", label).locator("input")
        field.fill(text)
        field.press("Enter")

    def press(self, text: str) -> None:
        """Press a button."""
        self.page.get_by_role("button", name=text, exact=True).click()

    def slide(self, label: str, key: str, times: int = 1) -> None:
        """Move a slider by keys."""
        handle = self.control("slider", label).locator(".noUi-handle")
        handle.focus()
        for _ in range(times):
            handle.press(key)

    def click_point(self, title: str, x: float, y: float) -> None:
        """Click a point of a chart's first panel until it notices: while it is drawn, it moves and loses clicks."""
        chart = self.chart(title)
        chart.scroll_into_view_if_needed()

        def hovered() -> bool:
            left, top = chart.evaluate(_POINT, [x, y])
            self.page.mouse.move(left - 3, top)
            self.page.mouse.move(left, top)
            return chart.evaluate("(div) => Boolean(div._hoverdata?.length)")

        def noticed() -> bool:
            eventually(hovered, True)
            before = chart.evaluate(_CLICKS)
            self.page.mouse.down()
            self.page.mouse.up()
            return chart.evaluate(_CLICKS) > before

        eventually(noticed, True)

    # What must not be

    def check(self) -> None:
        """Fail if anything went wrong in the browser, or anything of a text has come alive."""
        assert self.troubles == []
        if not self.page.is_closed() and self.page.url.startswith("http"):
            assert self.page.locator('script:has-text("alert(1)"), img[src="x"], [onerror]').count() == 0

    def _listen(self, message: Any) -> None:
        if message.type == "error":
            self.troubles.append(f"console: {message.text}")

    def _dismiss(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _watch(self, request: Any) -> None:
        if not request.url.startswith((f"{self._address}/", "data:", f"blob:{self._address}/", "file:")):
            self.troubles.append(f"request: {request.url[:200]}")


def near(values: Any) -> Any:
    """Return numbers to compare with, in lists or lists of lists, within what a browser keeps of them."""
    if isinstance(values, list) and values and isinstance(values[0], list):
        return _Nested([near(row) for row in values])
    return pytest.approx(values, rel=1e-4, abs=1e-5)


class _Nested:
    def __init__(self, rows: list[Any]) -> None:
        self._rows = rows

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, list) and len(other) == len(self._rows)
        return same and all(row == mine for row, mine in zip(other, self._rows, strict=True))

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self._rows)
