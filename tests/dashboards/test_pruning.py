"""The page of pruned weights."""

import pytest

from nmtlab.analysis.lexical.pruning import CUT, PRUNED, PRUNING
from nmtlab.dashboards.pages import pruning
from nmtlab.dashboards.pages.pruning import PruningPage
from nmtlab.runs.listing import open_run
from nmtlab.workspace import Workspace

TIED = "small-tr-en.tied.s1"


@pytest.fixture
def page(gallery, monkeypatch) -> PruningPage:
    monkeypatch.setattr(pruning, "_SAMPLE", 2)
    page = PruningPage(gallery)
    page.runs.table.choose([TIED])
    return page


@pytest.mark.full
def test_the_table_and_the_answer_are_what_the_analysis_finds(page, gallery):
    run = open_run(TIED, gallery)
    stored = PRUNING.stored(run, corpus=run.sentences, split="dev", sample=2).assign(run=page.runs.first.label)
    assert page.answer.value == PRUNING.finding(stored)
    assert page.table.frame["pruned"].tolist() == [*PRUNED.values()]
    page.share.value = 0.9
    assert "90 %" in page.chart.figure.layout.yaxis2.title.text
    assert (page.table.frame["taken of it, %"] == 90).all()


@pytest.mark.full
def test_the_same_is_shown_of_a_lower_rank(page, gallery):
    page.how.value = "rank"
    run = open_run(TIED, gallery)
    stored = CUT.stored(run, corpus=run.sentences, split="dev", sample=2).assign(run=page.runs.first.label)
    assert page.answer.value == CUT.finding(stored)
    assert page.chart.figure.layout.xaxis.title.text == "singular values cut from every matrix (%)"


def test_without_runs_the_page_says_what_to_do(tmp_path):
    assert PruningPage(Workspace(tmp_path / "data")).answer.value.startswith("Select a run")
