"""On the page Translate: beginning a translation, and moving an attention weight."""

import pytest

from nmtlab.analysis.attention.intervention import redecode
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages.translate import TranslatePage
from nmtlab.runs.listing import open_run

TIED = "small-tr-en.tied.s1"


@pytest.fixture
def page(gallery) -> TranslatePage:
    page = TranslatePage(gallery)
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
    assert [label.partition(": ")[2] for label, _ in intervention.place.options] == ["Tom", "öldü", ".", "</s>"]
    intervention.place.value = 2
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
        "</s>",
    ]
    assert page.intervention.said.value == ""
