"""A table as measured, beside what was published."""

import math

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.declared.labels import published_name
from nmtlab.grids.results.schemas import CELLS
from nmtlab.grids.results.summary import summary
from nmtlab.thesis.shown.tables import table_figure, table_view
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import RESULTS

LINES = pd.DataFrame(
    [
        ("tu-en", "tied", 10.0, 9.0, 11.0, math.nan, math.nan, math.nan, "", "12.6", ""),
        ("tu-en", "fixnorm", 14.0, 12.0, 16.0, 4.0, 2.5, 6.5, "better", "16.4", ""),
        ("tu-en", "Arthur", 10.5, 9.5, 11.5, 0.5, -1.5, 3.5, "underpowered", "16.3", "†"),
        ("ha-en", "tied", *[math.nan] * 6, "", "16.6", ""),
        ("ha-en", "fixnorm", *[math.nan] * 6, "inconclusive", "fails", ""),
        ("uz-en", "tied", *[math.nan] * 6, "", "", ""),
    ],
    columns=[
        "row", "column", "mean", "mean_low", "mean_high", "difference", "low", "high", "verdict", "published",
        "published_mark",
    ],
).assign(metric="test-bleu", seeds=3, diverged=0, interval="seeds alone")  # fmt: skip


def traces(figure, name: str) -> dict[str, list[tuple[str, float]]]:
    return {
        trace.meta: list(zip(trace.y, trace.x, strict=True)) for trace in figure.data if trace.name == name
    }  # fmt: skip


def test_values_are_drawn_beside_what_was_published_and_a_pair_without_numbers_is_not():
    figure = table_figure(LINES, "All models")
    assert [note.text for note in figure.layout.annotations] == ["tu-en", "ha-en", "test BLEU"]
    assert traces(figure, "measured, 95 %") == {"tu-en": [("tied", 10.0), ("fixnorm", 14.0)]}
    assert traces(figure, "measured, 95 %, undecided") == {"tu-en": [("Arthur", 10.5)]}
    assert traces(figure, "published") == {
        "tu-en": [("tied", 12.6), ("fixnorm", 16.4), ("Arthur", 16.3)],
        "ha-en": [("tied", 16.6), ("fixnorm", 0.0)],  # what failed translates nothing
    }
    (decided,) = [trace for trace in figure.data if trace.name == "measured, 95 %"]
    assert list(decided.error_x.array) == list(decided.error_x.arrayminus) == [1.0, 2.0]
    lopsided = table_figure(LINES.assign(mean_high=LINES["mean"] + 0.5), "All models")
    (decided,) = [trace for trace in lopsided.data if trace.name == "measured, 95 %"]
    assert (list(decided.error_x.array), list(decided.error_x.arrayminus)) == ([0.5, 0.5], [1.0, 2.0])
    assert figure.layout.yaxis.categoryarray == ("Arthur", "fixnorm", "tied")  # from the bottom


def test_a_title_that_is_wide_for_its_panel_has_two_lines():
    texts = ["gl-en, LibreOffice", "sk-en, LibreOffice", "de-en, Multi30k", "qaa-en, artificial"]
    panels = [LINES.iloc[[0]].assign(row=text) for text in texts]
    four, two = (table_figure(pd.concat(panels[:count]), "All models") for count in (4, 2))
    assert [note.text for note in four.layout.annotations[1:4]] == [
        "sk-en,<br>LibreOffice", "de-en, Multi30k", "qaa-en,<br>artificial",
    ]  # fmt: skip
    assert [note.text for note in two.layout.annotations[:2]] == texts[:2]


def test_a_system_that_the_first_text_lacks_stands_where_the_others_have_it():
    between = LINES.iloc[[0]].assign(row="hu-en", column="words"), LINES.iloc[[1]].assign(row="hu-en")
    lines = pd.concat([LINES, LINES.iloc[[0]].assign(row="hu-en"), *between])
    figure = table_figure(lines, "All models")
    assert figure.layout.yaxis.categoryarray == ("Arthur", "fixnorm", "words", "tied")


def test_differences_are_to_the_baseline_which_is_left_out():
    figure = table_figure(LINES, "All models", "difference", "tied")
    assert traces(figure, "measured, 95 %") == {"tu-en": [("fixnorm", 4.0)]}
    assert [round(x, 6) for _, x in traces(figure, "published")["tu-en"]] == [3.8, 3.7]
    assert [round(x, 6) for _, x in traces(figure, "published")["ha-en"]] == [-16.6]
    assert "test BLEU: system − tied" in [note.text for note in figure.layout.annotations]


def test_the_numbers_themselves_are_drawn_where_the_baseline_has_none():
    alone = LINES.assign(difference=math.nan, low=math.nan, high=math.nan, verdict="")
    alone = alone[alone["column"] != "tied"]
    drawn = traces(table_figure(alone, "All models", "difference", "tied"), "measured, 95 %")
    assert drawn == {"tu-en": [("fixnorm", 14.0), ("Arthur", 10.5)]}


def test_each_kind_of_number_is_named_once():
    figure = table_figure(LINES, "All models")
    named = [trace.name for trace in figure.data if trace.showlegend]
    assert sorted(named) == ["measured, 95 %", "measured, 95 %, undecided", "published"]


@pytest.mark.full
def test_what_is_equivalent_has_a_filled_marker_other_than_a_dot():
    figure = table_figure(LINES.assign(verdict="equivalent"), "All models")
    symbols = {trace.name: trace.marker.symbol for trace in figure.data}
    assert symbols["measured, 95 %, equivalent"] == "square"


def test_what_is_decided_undecided_or_without_runs_has_a_marker_each():
    kept = LINES["verdict"].where(LINES["column"] != "fixnorm", "measured earlier, runs not kept")
    figure = table_figure(LINES.assign(verdict=kept), "All models")
    symbols = {trace.name: trace.marker.symbol for trace in figure.data}
    assert symbols.pop("published") == "diamond-open"
    assert set(symbols) == {f"measured, 95 %{kind}" for kind in ("", ", undecided", ", runs not kept")}
    assert len(set(symbols.values())) == 3


def test_names_are_drawn_letter_by_letter_and_whole():
    long = "<b>ScaleNorm</b> (g = √d) + fixnorm (learned) + ValDecay + 2×LR"
    figure = table_figure(LINES.assign(column=LINES["column"].replace("fixnorm", long)), "<i>")
    assert "&lt;b&gt;ScaleNorm&lt;/b&gt; (g = √d) + fixnorm (learned) + ValDecay + 2×LR" in figure.data[1].y
    assert figure.layout.title.text == "&lt;i&gt;"


def test_a_table_without_a_number_is_an_empty_figure():
    assert not table_figure(LINES[LINES["row"] == "uz-en"], "None").data


def test_a_table_is_shown_as_it_was_measured():
    cells, table = CELLS.read(RESULTS / "table-3.8.small.csv"), find_table("table-3.8")
    for metric in ("", "dev-bleu"):
        view = table_view("table-3.8", metric=metric)
        lines = summary(cells[cells["metric"] == (metric or table.metrics[0])], table)
        wanted = lines[lines["seeds"] > 0]
        assert list(view.frame["mean"]) == list(wanted["mean"])
        assert list(view.frame[published_name("small")]) == list(wanted["published"])
        assert "difference" not in view.frame  # it has no baseline


def test_a_table_that_was_saved_in_the_workspace_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    cells = CELLS.read(RESULTS / "table-3.8.small.csv")
    cells.assign(value=cells["value"] + 1).to_csv(tmp_path / "results/table-3.8.small.csv", index=False)
    lines = summary(cells[cells["metric"] == "dev-bleu"], find_table("table-3.8"))
    wanted = lines.loc[lines["seeds"] > 0, "mean"] + 1
    assert table_view("table-3.8", metric="dev-bleu").frame["mean"].tolist() == pytest.approx(wanted.tolist())


@pytest.mark.full
def test_a_table_with_a_baseline_is_shown_by_its_differences():
    view = table_view("table-3.6")
    lines = summary(CELLS.read(RESULTS / "table-3.6.small.csv"), find_table("table-3.6"))
    wanted = lines[~lines["row"].isin(["ha-en"])]  # not begun
    assert view.frame["row"].unique().tolist() == [
        "tr-en, Tatoeba", "uz-en, other software + LibreOffice", "hu-en, Tatoeba", "en-ja (Tanaka)",
        "qaa-en, artificial", "qad-en, artificial",
    ]  # fmt: skip
    assert "phrase-based (Thot)" in set(view.frame["column"])
    assert "published, on another text" in {trace.name for trace in view.figure.data}
    pd.testing.assert_series_equal(view.frame["difference"], wanted["difference"], check_index=False)
    assert "test BLEU: system − tied" in [note.text for note in view.figure.layout.annotations]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("table-9.9",), "table-9.9"),
        (("table-3.8", "tiny"), "not measured at the scale tiny.*--save"),
        (("table-3.8", "small", "chrF"), "'chrF' was not measured.*dev-bleu"),
    ],
)
def test_a_table_that_was_not_measured_is_refused(asked, said):
    with pytest.raises(NmtlabError, match=said):
        table_view(*asked)
