"""In a browser: a token that is selected anywhere is marked everywhere, stays, and comes along."""

import re
from urllib.parse import parse_qs

import pytest
from support.shown import Shown, eventually

TIED, FIXNORM = "small-tr-en.tied.s1", "small-tr-en.fixnorm.s1"
ADDRESS = f"?runs={TIED}%2C{FIXNORM}&line=3"
ATTENTION, TREE, TOKENS = "Attention of each system", "Beam search tree", "How sure the system is"
HERE = "Selected: going (target, 3)"
NONE = "Click a token, here or in a figure, to select it wherever it is shown."


def said(page: Shown) -> str:
    return page.page.locator(".nmtlab-selected").inner_text()


def pressed(page: Shown) -> list[str]:
    """Return the marked tokens of the sentence."""
    return page.page.locator('.nmtlab-tokens button[aria-pressed="true"]').all_inner_texts()


def outlined(page: Shown, title: str) -> int:
    return page.chart(title).locator(".shapelayer path").count()


def in_tables(page: Shown, title: str) -> list[str]:
    page.keys(title)  # so that its rows are there
    return page.table(title).locator("tbody mark").all_text_contents()


def selected(page: Shown) -> list[str] | None:
    return parse_qs(page.query[1:]).get("selected")


def token(page: Shown, value: str):
    return page.page.locator(f'.nmtlab-tokens [data-token="{value}"]').first


def test_a_clicked_cell_marks_its_token_everywhere_and_a_second_click_or_escape_clears_it(show):
    page = show("attention", ADDRESS)
    eventually(lambda: said(page), NONE)
    page.click_point(ATTENTION, 4, 2)
    eventually(lambda: said(page), HERE)
    eventually(lambda: selected(page), ["target:3:going"])
    eventually(lambda: outlined(page, ATTENTION), 2)
    assert pressed(page) == ["going"]
    assert "going" in in_tables(page, "Sentences: select one")
    assert page.page.locator(".nmtlab-selected").get_attribute("role") == "status"
    page.click_point(ATTENTION, 4, 2)
    eventually(lambda: said(page), NONE)
    eventually(lambda: outlined(page, ATTENTION), 0)
    eventually(lambda: selected(page), None)
    page.click_point(ATTENTION, 4, 2)
    eventually(lambda: said(page), HERE)
    page.page.keyboard.press("Escape")
    eventually(lambda: (said(page), pressed(page), selected(page)), (NONE, [], None))


def test_a_slanted_label_selects_its_token(show):
    page = show("attention", ADDRESS)
    label = page.chart(ATTENTION).locator(".xtick text", has_text="boş")
    label.scroll_into_view_if_needed()
    box = label.bounding_box()
    page.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    eventually(lambda: said(page), "Selected: boş (source, 4)")
    eventually(lambda: outlined(page, ATTENTION), 2)


def test_tokens_are_reached_and_selected_by_keyboard(show):
    page = show("attention", ADDRESS)
    token(page, "target:1:Are").focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        page.page.keyboard.press(key)
    eventually(lambda: said(page), HERE)
    focused = "document.activeElement.dataset.token"
    eventually(lambda: page.page.evaluate(focused), "target:3:going")
    page.page.keyboard.press("Space")
    eventually(lambda: said(page), NONE)


def test_a_link_opens_another_page_with_sentence_and_token_and_back_returns_to_them(show):
    page = show("attention", ADDRESS)
    page.click_point(ATTENTION, 4, 2)
    eventually(lambda: selected(page), ["target:3:going"])
    page.page.get_by_role("link", name="Where does the beam keep or drop it?").click()
    page.page.wait_for_url(re.compile("/search.ipynb"), timeout=90_000)
    page.drawn()
    eventually(lambda: said(page), HERE)
    assert page.picked("Sentences: select one") == ["3"]
    assert sorted(page.picked("Runs")) == sorted([TIED, FIXNORM])
    eventually(lambda: outlined(page, TREE) > 0, True)
    page.press("What does each run translate with its own search?")
    eventually(lambda: set(in_tables(page, "Translations of each run")), {"going"})
    page.page.go_back()  # closes what was opened last
    eventually(lambda: "open=" in page.query, False)
    page.page.go_back()
    page.page.wait_for_url(re.compile("/attention.ipynb"), timeout=90_000)
    page.drawn()
    eventually(lambda: said(page), HERE)
    assert page.picked("Sentences: select one") == ["3"]


def test_a_selection_stays_after_a_reload(show):
    page = show("logits", f"{ADDRESS}&selected=target:3:going&open=candidates")
    for _ in range(2):
        eventually(lambda: said(page), HERE)
        assert page.control("dropdown", "Word").locator("select").input_value() == "3  going"
        eventually(lambda: outlined(page, "What makes a word win"), 1)
        page.page.reload()
        page.drawn()


def test_a_picked_row_of_words_selects_its_word_in_figures_and_address(show):
    page = show("norms", f"?runs={TIED}%2C{FIXNORM}&word=book&open=near")
    eventually(lambda: selected(page), ["target::book"])
    (word, *_) = page.column("Nearest words", "word")
    page.row("Nearest words", "0").focus()
    page.page.keyboard.press("Enter")
    eventually(lambda: said(page), f"Selected: {word} (target word)")
    eventually(lambda: selected(page), [f"target::{word}"])
    eventually(lambda: page.table(f"Nearest words to {word}").count(), 1)
    assert outlined(page, "Norm of output embeddings") >= 3


def test_a_clicked_bar_is_marked_in_the_heatmap_beside_it(show):
    page = show("translate", f"?runs={TIED}&text=Tom+öldü+.&open=tokens,best,attention")
    eventually(lambda: page.chart(TOKENS).count(), 1)
    page.click_point(TOKENS, 0, 0.02)
    eventually(lambda: said(page).startswith("Selected: Tom (target, 1)"), True)
    eventually(lambda: outlined(page, ATTENTION), 1)
    assert "Tom" in in_tables(page, "Translations: select one")


@pytest.mark.parametrize(("scheme", "colour"), [("light", "rgb(0, 0, 0)"), ("dark", "rgb(255, 255, 255)")])
def test_the_mark_stands_out_from_a_light_and_a_dark_page(show, scheme, colour):
    page = show("attention")
    page.page.emulate_media(color_scheme=scheme)
    page.open("attention", f"{ADDRESS}&selected=target:3:going")
    eventually(lambda: outlined(page, ATTENTION), 2)
    shape = page.chart(ATTENTION).locator(".shapelayer path").first
    assert shape.evaluate("(path) => getComputedStyle(path).stroke") == colour
