"""What can be taken away from a page: tables as CSV and LaTeX, figures as PDF."""

import io
import re
import shutil
import sys

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from nmtlab.dashboards.widgets.chart import Chart
from nmtlab.dashboards.widgets.export import as_csv, as_latex, as_pdf, file_name
from nmtlab.dashboards.widgets.table import Table
from nmtlab.errors import NmtlabError

FRAME = pd.DataFrame(
    {"run": ["tied, seed 1", "50 % & more_"], "BLEU": [12.345678, np.nan], "updates": [1200, 7]}, index=["a", "b"]
)
SIZE = {"width": 400, "height": 300, "scale": 0.5}


def sent(widget: Table | Chart, monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """Collect what a widget sends to the browser."""
    messages: list[tuple] = []
    monkeypatch.setattr(widget, "send", lambda *message: messages.append(message))
    return messages


def ask(widget: Table | Chart, message: dict) -> None:
    """Send a message as the browser does."""
    widget._handle_custom_msg(message, [])


def test_csv_has_all_digits_and_is_read_back_as_it_was():
    assert pd.read_csv(io.StringIO(as_csv(FRAME))).equals(FRAME.reset_index(drop=True))


def test_latex_is_a_tabular_with_the_rules_of_booktabs_and_four_digits():
    assert as_latex(FRAME, "Best of each run\n% more").splitlines() == [
        "% Best of each run % more; needs \\usepackage{booktabs}",
        "\\begin{tabular}{lrr}",
        "\\toprule",
        "run & BLEU & updates \\\\",
        "\\midrule",
        "tied, seed 1 & 12.35 & 1200 \\\\",
        "50 \\% \\& more\\_ &  & 7 \\\\",
        "\\bottomrule",
        "\\end{tabular}",
    ]


def test_names_of_columns_are_text_in_latex_and_rows_may_share_a_key():
    found = as_latex(pd.DataFrame({"95 % interval": ["0 to 1", "1 to 2"]}, index=[0, 0]), "some")
    assert "95 \\% interval" in found
    assert "1 to 2" in found


def test_a_file_is_named_after_what_it_holds():
    assert file_name("Best evaluation of each run: of all", "csv") == "nmtlab-best-evaluation-of-each-run.csv"
    assert file_name("../<b>Etc</b>/", "pdf") == "nmtlab-etc.pdf"


def test_rows_are_downloaded_as_they_are_sorted_and_filtered(monkeypatch):
    table = Table("some")
    table.show(FRAME)
    messages = sent(table, monkeypatch)
    ask(table, {"form": "csv", "rows": [1, 0, 99]})
    ((message,),) = messages
    assert message["file"] == "nmtlab-some.csv"
    assert pd.read_csv(io.StringIO(message["content"]))["updates"].tolist() == [7, 1200]
    ask(table, {"form": "tex", "rows": [0]})
    assert messages[1][0]["content"] == as_latex(FRAME[:1], "some")


def figure() -> go.Figure:
    return go.Figure([go.Bar(y=[1, 2], name="first"), go.Bar(y=[2, 1])]).update_layout(title_text="Some: bars")


def test_a_figure_is_drawn_as_it_stands_on_the_page(monkeypatch):
    kaleido = pytest.importorskip("kaleido")
    drawn = []
    monkeypatch.setattr(kaleido, "calc_fig_sync", lambda *asked, **options: drawn.append((*asked, options)) or b"%PDF")
    chart = Chart()
    chart.show(figure())
    messages = sent(chart, monkeypatch)
    shown = {"layout": {"xaxis": {"range": [0, 0.5]}}, "visible": [True, "legendonly"], **SIZE}
    ask(chart, {"pdf": shown})
    assert messages == [({"file": "nmtlab-some.pdf"}, [b"%PDF"])]
    ((present, size, options),) = drawn
    assert present.layout.xaxis.range == (0, 0.5)
    assert [trace.visible for trace in present.data] == [True, "legendonly"]
    assert size == {"format": "pdf", **SIZE}
    assert options == {"kopts": {"mathjax": False}}


@pytest.mark.full
def test_a_pdf_is_one_of_the_size_that_is_asked_for():
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome", "chrome")):
        pytest.skip("needs Chrome or Chromium")
    shown = {"layout": figure().layout.to_plotly_json(), "visible": [True, True], **SIZE}
    drawn = as_pdf(figure(), shown)
    assert drawn.startswith(b"%PDF")
    width, height = re.search(rb"/MediaBox *\[0 0 ([\d.]+) ([\d.]+)\]", drawn).groups()
    assert (float(width), float(height)) == pytest.approx((150, 112.5), abs=1)  # points: 400 and 300 px at half size


def test_without_kaleido_or_a_browser_it_is_said_and_the_svg_is_offered(monkeypatch):
    kaleido, errors = pytest.importorskip("kaleido"), pytest.importorskip("kaleido.errors")
    shown = {"layout": {}, "visible": [True, True], **SIZE}

    def fail(*_: object, **__: object) -> None:
        raise errors.ChromeNotFoundError("none")

    monkeypatch.setattr(kaleido, "calc_fig_sync", fail)
    with pytest.raises(NmtlabError, match="did not start"):
        as_pdf(figure(), shown)
    monkeypatch.setitem(sys.modules, "kaleido", None)
    chart = Chart()
    chart.show(figure())
    messages = sent(chart, monkeypatch)
    ask(chart, {"pdf": shown})
    ((message,),) = messages
    said = r"PDF needs kaleido, which is not installed; pip install 'kaleido.*', or take the SVG"
    assert re.fullmatch(said, message["failed"])


def test_a_click_is_answered_and_a_download_is_none(monkeypatch):
    chart, clicks = Chart(), []
    chart.on_click(clicks.append)
    point = {"customdata": 1, "x": 1, "y": 2, "meta": None}
    ask(chart, point)
    assert clicks == [point]
