"""Effects over the course of training, on the page `Is it only faster?`."""

from urllib.parse import parse_qs

import pytest
from dashboards.test_pages import figures, make, told
from support.unfolded import unfolded

from nmtlab.thesis.measured import measured
from nmtlab.thesis.shown.effects import effect_view

CHOSEN = "child-size: gl-en (500)"


@pytest.mark.full
def test_a_table_is_shown_against_the_system_that_its_address_names(gallery):
    page = unfolded(make("gains", gallery))
    page._opened("?table=child-size%3A+gl-en+%28500%29&than=BPE+%2B+unrelated+parent")
    assert told(page) == ""
    assert (page.effects.text.value, page.effects.than.value) == (CHOSEN, "BPE + unrelated parent")
    shown = page.effects
    assert shown.chart.figure == effect_view("child-size", "gl-en (500)", "BPE + unrelated parent").figure
    assert shown.table.frame["system"].tolist() == ["BPE", "BPE + transfer"]
    address = parse_qs(page._browser.query.lstrip("?"))
    assert (address["table"], address["than"]) == ([CHOSEN], ["BPE + unrelated parent"])


@pytest.mark.full
def test_the_system_to_compare_with_stays_if_the_next_table_has_it(gallery):
    page = unfolded(make("gains", gallery))
    page.effects.text.value = CHOSEN
    assert page.effects.than.value == "BPE"
    page.effects.than.value = "BPE + transfer"
    page.effects.text.value = "child-size: qab-en (500)"
    assert page.effects.than.value == "BPE + transfer"
    page.effects.text.value = "table-3.2: gl-en (4,000)"
    page.effects.than.value = "words"
    page.effects.text.value = CHOSEN
    assert page.effects.than.value == "BPE"
    assert not figures(page) or told(page) == ""


@pytest.mark.full
def test_the_page_opens_where_one_change_gains_and_another_mostly_gains_time(gallery):
    effects = make("gains", gallery).effects
    curves = measured("related-parents", "small").curves
    scores = curves[curves["row"] == "gl-en (4,000)"].sort_values("step").set_index("step")
    ends, mids = {}, {}
    for system, rows in scores.groupby("column"):
        best = rows.groupby("seed")["bleu"]
        ends[system] = best.max().mean()
        mids[system] = rows[rows.index <= 750].groupby("seed")["bleu"].max().mean()
    for system in ("BPE + transfer", "BPE + unrelated parent"):
        early, late = (f"{of[system] - of['BPE']:+.1f}" for of in (mids, ends))
        assert f"{system} {early} after 750 updates, {late} (" in effects.answer.value
