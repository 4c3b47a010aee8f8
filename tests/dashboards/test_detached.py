"""The page of translations that hardly depend on their source."""

import pytest

from nmtlab.analysis.attribution.source_share import SOURCE_SHARE
from nmtlab.dashboards.pages import detached
from nmtlab.dashboards.pages.detached import DetachedPage
from nmtlab.runs.listing import open_run
from nmtlab.workspace import Workspace

TIED = "small-tr-en.tied.s1"


@pytest.fixture
def page(gallery, monkeypatch) -> DetachedPage:
    monkeypatch.setattr(detached, "_SAMPLE", 3)
    page = DetachedPage(gallery)
    page.runs.table.choose([TIED])
    return page


def test_the_list_is_what_the_analysis_answers(page, gallery):
    run = open_run(TIED, gallery)
    answer = SOURCE_SHARE.stored(run, corpus=run.sentences, split="dev", sample=3)
    assert page.table.frame["from the source"].tolist() == sorted(answer["source_share"].round(2))
    assert len(page.chart.figure.data) == 1


def test_the_answer_is_the_share_of_the_source_and_the_figure_says_of_which_text(page, gallery):
    answer = SOURCE_SHARE.stored(
        open_run(TIED, gallery), corpus=open_run(TIED, gallery).sentences, split="dev", sample=3
    )
    share = answer["from_source"].sum() / answer["from_both"].sum()
    said = (
        f"Share of the source in what translations depend on: small-tr-en.tied.s1 {100 * share:.0f} %. It is least for"
    )
    assert page.answer.value.startswith(said.replace("small-tr-en.tied.s1", page.runs.first.label))
    assert f"small-tr-en (tr → en), {TIED} (packed dev), seed 1" in page.chart.figure.layout.title.text


def test_an_empty_translation_is_called_empty(page, monkeypatch):
    stored = SOURCE_SHARE.stored
    monkeypatch.setattr(
        type(SOURCE_SHARE), "stored", lambda _, *given, **more: stored(*given, **more).assign(translation="")
    )
    page._draw()
    assert set(page.table.frame["translation"]) == {"(empty)"}


def test_a_click_in_the_figure_selects_the_translation_with_its_tokens(page):
    (trace,) = page.chart.figure.data
    page.chart._handle_custom_msg({"customdata": [int(trace.customdata[2][0])], "meta": trace.meta}, [])
    row = page.table.frame.loc[page.table.value]
    assert row["line"] == trace.customdata[2][0]
    source, target = page.selection.lines
    assert "".join(target["tokens"]).replace("▁", "") == row["translation"].replace(" ", "")
    assert source["side"] == "source"


def test_a_token_of_a_listed_translation_leads_to_attention_and_search(page):
    page.table.choose([page.table.frame.index[0]])
    first = page.selection.lines[1]["tokens"][0]
    page.selection.value = f"target:1:{first}"
    links = {link["page"]: link["href"] for link in page.selection.links}
    line = page.table.frame["line"].iloc[0]
    assert {"Attention", "Search"} <= set(links)
    assert f"line={line}" in links["Search"]


def test_without_runs_the_page_says_what_to_do(tmp_path):
    page = DetachedPage(Workspace(tmp_path / "data"))
    assert page.answer.value.startswith("Select a run")
