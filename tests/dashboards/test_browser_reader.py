"""In a browser: what a new reader wants to know is two clicks away from the index."""

from support.shown import Shown, eventually

from nmtlab.thesis.claims.verdicts import measured_claims

CLAIM = "fixnorm translates better than tied."


def follow(page: Shown, name: str, within: str = ".nmtlab-index") -> None:
    """Click a link, and wait until its page is drawn."""
    link = page.page.locator(within).get_by_role("link", name=name, exact=True).first
    target = link.get_attribute("href").partition("?")[0].rpartition("/")[2]
    link.click()
    page.page.wait_for_url(f"**/{target}*")
    page.drawn()


def test_whether_a_claim_is_reproduced_and_on_what_evidence(show):
    page = show("index")
    found = measured_claims()
    own = found[found["claim"] == CLAIM]
    page.pick("Claims tested here", CLAIM)
    eventually(lambda: page.column("By text", "verdict"), own["verdict"].tolist())
    follow(page, "Tables", within=".nmtlab-page div:has(> :text('evidence in'))")
    eventually(lambda: page.picked("Means over the seeds"), [f"{own['pair'].iloc[0]} · {own['system'].iloc[0]}"])
    assert page.keys("Runs: select one")


def test_which_sentences_a_system_wins_and_by_which_words(show):
    page = show("index")
    follow(page, "Compare")
    page.press("Which sentences are won and lost, and by which words?")
    gains = [float(gain.replace("−", "-")) for gain in page.column("Sentences: select one", "difference")]
    assert gains == sorted(gains, reverse=True)
    page.pick("Sentences: select one", page.keys("Sentences: select one")[1])
    eventually(lambda: page.picked("Sentences: select one")[:1], page.keys("Sentences: select one")[1:2])
    eventually(lambda: page.page.locator(".nmtlab-tokens .nmtlab-wrong").count() > 0, True)


def test_what_the_beam_misses(show):
    page = show("index")
    follow(page, "Search")
    assert page.column("Beam search and exact search", "found by")[0].startswith("beam")
    page.press("Exact search")
    eventually(lambda: "exact search" in page.column("Beam search and exact search", "found by"), True)


def test_what_decided_a_word(show):
    page = show("index")
    follow(page, "Why this word?")
    page.press("Which other words could it be, and by which terms?")
    word = page.page.locator('.nmtlab-tokens [data-token^="target:2:"]').first
    written = word.inner_text()
    word.click()
    eventually(lambda: page.control("dropdown", "Word").locator("select").input_value(), f"2  {written}")
    eventually(lambda: page.column("Terms of each candidate's logit", "word")[:1] != [], True)
