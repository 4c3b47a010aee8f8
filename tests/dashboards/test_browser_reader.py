"""In a browser: what a new reader wants to know is two clicks away from the start page."""

from typing import Any
from urllib.parse import quote

from dashboards.conftest import Served
from support.shown import Shown, eventually

from nmtlab.thesis.claims.verdicts import measured_claims

CLAIM = "fixnorm translates better than tied."


def follow(start: Any, name: str, served: Served, within: str = ".nmtlab-argument") -> Shown:
    """Click a link of the start page, and wait until its page is drawn."""
    link = start.locator(within).get_by_role("link", name=name, exact=True).first
    target = link.get_attribute("href").partition("?")[0].rpartition("/")[2]
    page = Shown(start, served.address)
    link.click()
    start.wait_for_url(f"**/{target}*")
    return page.drawn()


def test_whether_a_claim_is_reproduced_and_on_what_evidence(start, served):
    found = measured_claims()
    own = found[found["claim"] == CLAIM].iloc[0]
    opened = start(f"?claim={quote(CLAIM)}")
    assert "same result" in opened.locator(".numbers").inner_text()
    page = follow(opened, "Tables", served, within=".numbers")
    eventually(lambda: page.picked("Means over the seeds"), [f"{own['pair']} · {own['system']}"])
    assert page.keys("Runs: select one")


def test_which_sentences_a_system_wins_and_by_which_words(show):
    page = show("compare")
    page.press("Which sentences are won and lost, and by which words?")
    gains = [float(gain.replace("−", "-")) for gain in page.column("Sentences: select one", "difference")]
    assert gains == sorted(gains, reverse=True)
    page.pick("Sentences: select one", page.keys("Sentences: select one")[1])
    eventually(lambda: page.picked("Sentences: select one")[:1], page.keys("Sentences: select one")[1:2])
    eventually(lambda: page.page.locator(".nmtlab-tokens .nmtlab-wrong").count() > 0, True)


def test_what_the_beam_misses(start, served):
    page = follow(start(), "Search", served)
    page.press("What does exact search find, and how far is the beam from it?")
    eventually(lambda: page.column("Beam search and exact search", "search")[0][:4], "beam")
    eventually(lambda: "exact search" in page.column("Beam search and exact search", "search"), True)


def test_what_decided_a_word(start, served):
    opened = start()
    opened.locator("nav").get_by_text("Why", exact=False).first.click()
    page = follow(opened, "Why this word?", served, within="nav")
    page.press("Which other words could it be, and by which terms?")
    word = page.page.locator('.nmtlab-tokens [data-token^="target:2:"]').first
    written = word.inner_text()
    word.click()
    eventually(lambda: page.control("dropdown", "Word").locator("select").input_value(), f"2  {written}")
    eventually(lambda: page.column("Terms of each candidate's logit", "word")[:1] != [], True)
