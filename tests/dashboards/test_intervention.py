"""On the page Translate: beginning a translation, and moving an attention weight."""

import pytest
from support.unfolded import unfolded

from nmtlab.analysis.attention.intervention import redecode
from nmtlab.analysis.attention.weights import attention
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages.translate import TranslatePage
from nmtlab.runs.listing import open_run

TIED = "small-tr-en.tied.s1"


@pytest.fixture
def page(gallery) -> TranslatePage:
    page = unfolded(TranslatePage(gallery))
    page.runs.table.choose([TIED])
    page.typed.value = "Tom öldü ."
    return page


def test_translations_begin_as_they_are_begun(page):
    free = page.found.frame["translation"].tolist()
    page.begun.value = "Unheardof king"  # whether the system has the words or not
    assert all(text.startswith("Unheardof king") for text in page.found.frame["translation"])
    page.begun.value = ""
    assert page.found.frame["translation"].tolist() == free


def test_a_token_is_said_again_with_attention_moved(page, gallery):
    intervention, text = page.intervention, page.found.frame["translation"].iloc[0]
    assert [label.partition(": ")[2] for label, _ in intervention.place.options] == ["Tom", "öldü", ".", "⟨end⟩"]
    intervention.position.value, intervention.place.value = 0, 2
    intervention.button.click()
    expected = redecode(system_of(open_run(TIED, gallery)), "Tom öldü .", text, 0, 2, 1.0)
    assert intervention.said.value.startswith(expected.text or "(empty)")
    assert f"{expected.before:.3f} before, {expected.after:.3f} after." in intervention.said.value


def test_another_translation_brings_its_own_tokens(page):
    page.intervention.button.click()
    assert page.intervention.said.value
    page.typed.value = "Bu bir kitap ."
    assert [label.partition(": ")[2] for label, _ in page.intervention.place.options] == [
        "Bu",
        "bir",
        "kitap",
        ".",
        "⟨end⟩",
    ]
    assert page.intervention.said.value == ""


def test_moved_attention_begins_at_the_flattest_token_and_its_second_source_word_where_it_changes_something(
    page, gallery
):
    page.typed.value = "Bu bir kitap ."
    system, text = system_of(open_run(TIED, gallery)), page.found.frame["translation"].iloc[0]
    weights = attention(system, "Bu bir kitap .", text)  # one layer with one head
    words = weights.query("source_position < source_position.max() and target_position < target_position.max()")
    flattest = words.loc[words.groupby("target_position")["weight"].idxmax()].nsmallest(1, "weight")["target_position"]
    of_token = words[words["target_position"] == flattest.item()].sort_values("weight", ascending=False)
    moved = page.intervention.position.value, page.intervention.place.value
    assert moved == (flattest.item(), of_token["source_position"].iloc[1])
    result = redecode(system, "Bu bir kitap .", text, *moved)
    assert abs(result.before - result.after) > 0.01


def test_a_sentence_of_one_word_has_nothing_else_to_attend_to(page):
    page.typed.value = "Tom"
    assert page._message.value == ""
    assert page.intervention.place.value == 0
