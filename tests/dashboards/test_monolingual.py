"""The page of monolingual text."""

import pandas as pd
from dashboards.test_pages import told
from support.child_sizes import results_of
from support.unfolded import unfolded

from nmtlab.dashboards.pages.monolingual import MonolingualPage
from nmtlab.errors import NmtlabError
from nmtlab.grids.results.results import Lines, Results
from nmtlab.grids.results.schemas import SENTENCES
from nmtlab.thesis.shown.made import made_pairs
from nmtlab.thesis.shown.rounds import rounds_view
from nmtlab.thesis.tables.monolingual import BACK, MONOLINGUAL, REAL
from nmtlab.workspace import Workspace

SCORES = {
    "gl-en (500)": {"pairs alone": [9.0, 10.0, 11.0], BACK: [11.0, 12.0, 13.0], REAL: [14.0, 15.0, 16.0]},
    "en-gl (500)": {"pairs alone": [5.0, 6.0, 7.0]},
}


def not_measured(*_):
    raise NmtlabError("not measured", "measure it")


def test_without_a_measured_table_the_page_says_what_trains_its_systems(tmp_path, monkeypatch):
    monkeypatch.setattr("nmtlab.thesis.shown.monolingual.measured", not_measured)
    page = unfolded(MonolingualPage(Workspace(tmp_path / "data")))
    assert told(page) == ""
    assert page.gains.answer.value.startswith("No runs yet: &#x27;nmtlab reproduce monolingual --save&#x27;")
    assert page.quality.answer.value == page.gains.answer.value
    assert "nmtlab reproduce monolingual" in page.none.value


def test_another_score_does_not_read_rounds_and_made_text_again(tmp_path, monkeypatch):
    module, read = "nmtlab.dashboards.pages.monolingual", []
    view, pairs = rounds_view(), made_pairs(Workspace(tmp_path / "data"))
    monkeypatch.setattr(f"{module}.rounds_view", lambda: read.append("rounds") or view)
    monkeypatch.setattr(f"{module}.made_pairs", lambda _: read.append("made") or pairs)
    page = unfolded(MonolingualPage(Workspace(tmp_path / "data")))
    assert sorted(read) == ["made", "rounds"]
    page.metric.value = "test-chrf"
    assert len(read) == 2


def test_the_page_shows_what_is_measured_in_the_chosen_score(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "data")
    cells = pd.concat(results_of("monolingual", SCORES, metric) for metric in ("test-bleu", "test-chrf"))
    results = Results(MONOLINGUAL, "small", workspace, workspace.results, Lines(cells, SENTENCES.empty, {}))
    monkeypatch.setattr("nmtlab.thesis.shown.monolingual.measured", lambda name, scale: results)
    page = unfolded(MonolingualPage(workspace))
    assert "changes test BLEU by +2.0" in page.gains.answer.value
    assert "40 % of what as many real pairs gain" in page.gains.answer.value
    assert page.quality.frame["back_score"].tolist() == [6.0]
    page.metric.value = "test-chrf"
    assert "changes test chrF by +2.0" in page.gains.answer.value
