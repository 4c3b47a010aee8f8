"""Planned lengths beside other searches."""

import pandas as pd
import pytest

from nmtlab.errors import NmtlabError
from nmtlab.grids.results.schemas import CELLS
from nmtlab.thesis.shown.planning import planning_view, ways_figure
from nmtlab.thesis.tables.listing import find_table
from nmtlab.workspace import RESULTS


def test_ways_of_searching_have_a_panel_a_pair_and_a_line_each():
    lines = pd.DataFrame(
        {
            "row": ["de-en", "de-en", "de-en", "gl-en"], "way": ["planned", "ordinary", "planned", "planned"],
            "beam": [4, 1, 1, 4], "mean": [25.0, 27.0, 24.0, 16.0], "margin": [1.0, 2.0, 3.0, 4.0],
            "planned": [True, False, True, True],
        }
    )  # fmt: skip
    figure = ways_figure(lines)
    drawn = {(trace.name, trace.xaxis): trace for trace in figure.data}
    planned = drawn["planned", "x"]
    assert (list(planned.x), list(planned.y)) == (pytest.approx([0, 1], abs=0.1), [24.0, 25.0])
    assert list(figure.layout.xaxis.ticktext) == ["1", "4"]
    assert list(planned.error_y.array) == [3.0, 1.0]
    ordinary = drawn["ordinary", "x"]
    assert list(ordinary.y) == [27.0]
    assert ordinary.x[0] != planned.x[0]
    assert (ordinary.line.dash, planned.line.dash) == ("solid", "dash")
    assert drawn["planned", "x2"].line.color == planned.line.color != ordinary.line.color
    assert [trace.name for trace in figure.data if trace.showlegend] == ["ordinary", "planned"]
    assert [note.text for note in figure.layout.annotations] == ["de-en", "gl-en"]


def test_planned_lengths_stand_beside_every_way_of_searching(tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(tmp_path))
    (tmp_path / "results").mkdir()
    metrics = find_table("length-planning").metrics
    cells = CELLS.read(RESULTS / "search-errors.small.csv").head(1).assign(table="length-planning", row="gl-en")
    made = [
        cells.assign(column=column, metric=metric, seed=seed, value=10.0 * place + seed)
        for column in ("ordinary", "planned")
        for place, metric in enumerate(metrics)
        for seed in (1, 2, 3)
    ]
    pd.concat(made).to_csv(tmp_path / "results/length-planning.small.csv", index=False)
    shown = planning_view().frame.set_index("way")
    assert list(shown.index) == [
        "ordinary, length-normalised",
        "ordinary, log-prob",
        "ordinary, word-reward",
        "planned",
    ]
    assert shown["beam 1"].notna().tolist() == [False, True, False, True]
    for way, name in (("ordinary, word-reward", "word-reward"), ("planned", "log-prob")):
        assert shown.loc[way, "beam 12"] == 10.0 * metrics.index(f"bleu-{name}-12") + 2
    with pytest.raises(NmtlabError, match="not measured at the scale tiny"):
        planning_view("tiny")
