"""The page on which a correction changes the following translations."""

import re

import pytest
from support.shown import eventually

from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages.correct import CorrectPage
from nmtlab.runs.listing import open_run
from nmtlab.training.online import OnlineModel
from nmtlab.workspace import Workspace

TIED = "small-tr-en.tied.s1"
LINES = ["Tom dün bana bir kitap verdi .", "Tom bana bir kitap verdi .", "Bugün yeni bir kitap aldım ."]
CORRECTION = "Tom gave me a volume yesterday ."


@pytest.fixture
def page(gallery) -> CorrectPage:
    page = CorrectPage(gallery)
    page.runs.table.choose([TIED])
    page.typed.value = "\n".join([LINES[0], "", *LINES[1:]])
    return page


def correct(page: CorrectPage, line: int, text: str) -> None:
    page.table.choose([line])
    page.correction.value = text
    page._correct()


def test_a_document_is_translated_as_by_the_run(page, gallery):
    expected = [one.text for one in system_of(open_run(TIED, gallery)).translate(LINES)]
    assert page._translations == expected
    assert page.table.frame["source"].tolist() == LINES
    assert page.answer.value.startswith("3 sentences, not adapted yet.")
    assert page.correction.value == expected[0]


def test_the_following_sentences_are_translated_by_a_copy_that_has_learned_the_correction(page, gallery):
    run = open_run(TIED, gallery)
    before, digest = list(page._translations), run.checkpoints.digest
    page.rate.value, page.epochs.value = 0.3, 3
    correct(page, 1, CORRECTION)
    model = OnlineModel(system_of(run), run.recipe)
    chances = [model.log_probs([(LINES[0], CORRECTION)]).item()]
    model.learn([(LINES[0], CORRECTION)], 0.3, 3)
    chances.append(model.log_probs([(LINES[0], CORRECTION)]).item())
    after = [one.text for one in model.translator.translate(LINES[1:])]
    assert page._translations == [CORRECTION, *after]
    changed = sum(one != other for one, other in zip(before[1:], after, strict=True))
    assert page.answer.value.startswith(
        f"Line 1 is corrected: {changed} of the 2 following sentences changed; log p of"
    )
    assert page.answer.value.endswith(f"from −{-chances[0]:.1f} to −{-chances[1]:.1f}.")
    assert len(re.findall("<tr>", page.changed.value)) == 2 * changed
    assert page.table.value == 2
    assert page.table.frame["corrected"].tolist() == ["yes", "", ""]
    assert open_run(TIED, gallery).checkpoints.digest == digest


def test_reset_forgets_all_corrections(page):
    before = list(page._translations)
    page.rate.value = 0.3
    correct(page, 1, CORRECTION)
    assert page._translations[0] == CORRECTION
    page._forget()
    assert page._translations == before
    assert page.changed.value == ""
    correct(page, 1, CORRECTION)
    page.typed.value = LINES[1]
    assert page._translations == [before[1]]


def test_a_later_correction_and_all_of_them_outlive_an_earlier_one_and_a_refresh(page):
    page.rate.value = 0.3
    correct(page, 3, "the third line")
    correct(page, 1, CORRECTION)
    assert page._translations[2] == "the third line"
    assert page.table.frame["corrected"].tolist() == ["yes", "", "yes"]
    page._begin()
    assert page._translations[0] == CORRECTION


def test_the_reference_of_a_text_can_be_taken(page):
    page.typed.value = ""
    assert page.document.value.endswith("the first 20 sentences")
    assert len(page.table.frame) == 20
    page.table.choose([2])
    page._take()
    assert page.correction.value == page._shown.references[1]
    page._correct()
    assert page._translations[1] == page._shown.references[1]
    assert "of the 18 following sentences changed" in page.answer.value


def test_what_is_wrong_is_told(page):
    page.correction.value = "  "
    with page.guarded():
        page._correct()
    assert "the correction is blank; write the right translation into the box" in page._message.value


def test_without_runs_the_page_says_what_to_do(tmp_path):
    page = CorrectPage(Workspace(tmp_path / "data"))
    assert page.answer.value == "Select a run with weights."
    with page.guarded():
        page._correct()
    assert "no sentence is selected" in page._message.value


def test_in_a_browser_a_correction_changes_what_follows_and_reset_takes_it_back(show):
    page, title = show("correct"), "Translations: select the one to correct"
    document = page.page.get_by_placeholder("Or paste a document")
    document.fill("\n".join(LINES))
    document.blur()
    eventually(lambda: page.column(title, "source"), LINES)
    before = page.column(title, "translation")
    page.choose("Rate", "0.3")
    page.page.get_by_placeholder("The right translation").fill(CORRECTION)
    page.press("Correct and go on")
    eventually(lambda: page.answer.startswith("Line 1 is corrected"), True)
    assert page.column(title, "translation")[0] == CORRECTION
    assert page.picked(title) == ["2"]
    page.press("Reset")
    eventually(lambda: page.column(title, "translation"), before)
