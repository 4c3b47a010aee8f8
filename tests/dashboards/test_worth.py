"""The page What is it worth?"""

import pytest
from dashboards.test_pages import make, told
from support.unfolded import unfolded

from nmtlab.thesis.measured import measured
from nmtlab.thesis.shown.prices import prices


@pytest.mark.full  # reads every table
def test_the_page_opens_on_what_parents_are_worth_to_little_text_and_offers_other_sizes(gallery):
    page = unfolded(make("worth", gallery))
    assert (page.ruler.value, page.metric.value, page.pairs.value) == ("gl-en, LibreOffice: BPE", "test-bleu", 500)
    priced = prices([measured("child-size")])
    parent = next(one for one in priced if one[:5] == ("gl-en, LibreOffice", "BPE", "BPE + transfer", 500, "test-bleu"))
    said = f"BPE + transfer is worth {parent.said(parent.worth)} further pairs (95 %: {parent.interval})"
    assert said in page.figure.answer.value
    page.pairs.value = 2000
    assert "is worth more than 8,000 further pairs" in page.figure.answer.value
    assert len(page.all_sizes.frame) >= 6
    page.metric.value = "dev-bleu"
    assert page.pairs.value == 2000
    assert told(page) == ""
