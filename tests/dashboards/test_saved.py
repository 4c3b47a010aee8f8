"""A saved page: one file that needs nothing else, with what was to be seen."""

from html.parser import HTMLParser

import ipywidgets as widgets
import pandas as pd
import plotly.graph_objects as go
import pytest

from nmtlab.dashboards.frame.saved import CHOOSER, saved_page
from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.note import Note
from nmtlab.dashboards.widgets.table import Table

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


class Read(HTMLParser):
    """What a browser would find in a page: its tags with their attributes, and its text outside of scripts."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(content)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    @property
    def addresses(self) -> list[str | None]:
        return [value for _, own in self.tags for name, value in own.items() if name in ("src", "href")]


def chart(*heights: float, name: str = "") -> Chart:
    made = Chart()
    made.show(go.Figure(go.Bar(y=list(heights), name=name)).update_layout(title_text=name))
    return made


def table(pick: str, frame: pd.DataFrame, title: str = "some") -> Table:
    made = Table(title, pick=pick)
    made.show(frame)
    return made


def read(*body: widgets.Widget, state: dict[str, str] | None = None) -> Read:
    return Read(saved_page("Title", "Question?", state or {}, body))


def test_the_file_needs_nothing_else():
    page = read(chart(1, 2), chart(3), table("none", pd.DataFrame({"x": [1]})), Note("said"))
    assert page.addresses == []
    assert not [tag for tag, _ in page.tags if tag in ("link", "img", "iframe", "object", "base")]
    assert sum(len(script) > 1_000_000 for script in page.scripts) == 1  # plotly itself
    assert sum(script.startswith('{"data"') for script in page.scripts) == 2


def test_a_page_without_charts_has_no_script():
    assert read(Note("said")).scripts == []


def test_title_question_choices_and_sentences_are_in_it():
    page = read(Note("said & done"), state={"runs": "a,b", "r": "5.0"})
    for text in ("Title", "Question?", "runs", "a,b", "5.0", "said & done"):
        assert text in page.text


def test_figures_come_with_their_numbers():
    assert any("0.12345" in script for script in read(chart(0.12345, 2)).scripts if len(script) < 10_000)


def test_what_is_hidden_is_left_out():
    hidden = widgets.VBox([Note("inside")], layout={"display": "none"})
    alone = Note("alone")
    alone.layout.display = "none"
    page = read(hidden, alone, widgets.HBox([widgets.VBox([Note("seen")])]))
    assert "seen" in page.text
    assert "inside" not in page.text
    assert "alone" not in page.text


def test_controls_are_left_out():
    tags = [tag for tag, _ in read(widgets.Text("x"), widgets.Button(description="y")).tags]
    assert not {"input", "button", "select"} & set(tags)


def test_of_a_table_to_pick_several_from_the_picked_rows_are_kept():
    runs = table("many", pd.DataFrame({"run": ["one", "two", "three"]}, index=["1", "2", "3"]))
    runs.choose(["3", "1"])
    page = read(runs)
    assert "three" in page.text
    assert "one" in page.text
    assert "two" not in page.text


def test_a_long_table_says_how_much_is_missing():
    page = read(table("one", pd.DataFrame({"x": range(1250)})))
    assert "and 1,050 more rows" in page.text
    assert sum(tag == "tr" for tag, _ in page.tags) == 201


def test_missing_numbers_are_blank():
    assert "nan" not in read(table("none", pd.DataFrame({"x": [1.5, None]}))).text.lower()


@pytest.mark.parametrize("place", ["cell", "column", "title", "note", "choice", "figure"])
def test_text_that_is_markup_stays_text(place):
    frame = pd.DataFrame({HOSTILE if place == "column" else "x": [HOSTILE if place == "cell" else 1]})
    page = read(
        table("none", frame, HOSTILE if place == "title" else "some"),
        Note(HOSTILE if place == "note" else ""),
        chart(1, name=HOSTILE if place == "figure" else ""),
        state={HOSTILE: HOSTILE} if place == "choice" else {},
    )
    usual = read(table("none", pd.DataFrame({"x": [1]})), Note(), chart(1))
    assert len(page.scripts) == len(usual.scripts)
    assert page.addresses == []
    assert not [tag for tag, own in page.tags if tag == "img" or "onerror" in own]
    assert HOSTILE in page.text or place == "figure"


def test_a_title_that_is_markup_stays_text():
    page = Read(saved_page(HOSTILE, HOSTILE, {}, []))
    assert page.text.count(HOSTILE) >= 2
    assert page.scripts == []


def test_figures_come_before_choices_and_lists():
    chooser = widgets.VBox([table("many", pd.DataFrame({"run": ["one"]})), Note("left out")])
    chooser.add_class(CHOOSER)
    page = saved_page(
        "Title", "Question?", {"runs": "one"},
        [chooser, Note("hint"), chart(0.12345, name="bars"), table("one", pd.DataFrame({"x": ["line"]}), "Sentences")],
    )  # fmt: skip
    page = page[: page.index("<script>/**")]  # plotly's script has many texts
    places = [page.rindex(text) for text in ("hint", "0.12345", "<h2>Choices", "left out", "Sentences")]
    assert places == sorted(places)


def test_chosen_runs_stand_with_what_figures_call_them():
    runs = table("many", pd.DataFrame({"run": ["one", "two"]}, index=["one", "two"]))
    runs.choose(["two"])
    runs.labels = {"two": "seed 2"}
    assert "shown as" in read(runs).text
    assert "seed 2" in read(runs).text


def test_an_empty_figure_is_left_out():
    assert read(Chart()).scripts == []
