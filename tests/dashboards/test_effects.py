"""Effects over the course of training, on the page Training dynamics."""

from urllib.parse import parse_qs

import pytest
from dashboards.test_pages import figures, make, told

from nmtlab.thesis.shown.effects import effect_view

CHOSEN = "child-size: gl-en (500)"


@pytest.mark.full
def test_a_table_is_shown_against_the_system_that_its_address_names(gallery):
    page = make("dynamics", gallery)
    page._opened("?table=child-size%3A+gl-en+%28500%29&than=BPE+%2B+unrelated+parent")
    assert told(page) == ""
    assert (page.effects.text.value, page.effects.than.value) == (CHOSEN, "BPE + unrelated parent")
    shown = page.effects.section
    assert shown.chart.figure == effect_view("child-size", "gl-en (500)", "BPE + unrelated parent").figure
    assert shown.table.frame["system"].tolist() == ["BPE", "BPE + transfer"]
    address = parse_qs(page._browser.query.lstrip("?"))
    assert (address["table"], address["than"]) == ([CHOSEN], ["BPE + unrelated parent"])


@pytest.mark.full
def test_the_system_to_compare_with_stays_if_the_next_table_has_it(gallery):
    page = make("dynamics", gallery)
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
