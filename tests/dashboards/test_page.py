"""The frame of a page: what changes is shown, errors in words, an address that comes back."""

import logging
from functools import partial
from pathlib import Path

import ipywidgets as widgets
import pytest

from nmtlab.dashboards.frame import page as page_module
from nmtlab.dashboards.frame.about import About
from nmtlab.dashboards.frame.log import VARIABLE, page_log
from nmtlab.dashboards.frame.page import Page
from nmtlab.dashboards.frame.section import Section
from nmtlab.dashboards.widgets.note import Note, heading
from nmtlab.errors import NmtlabError

ABOUT = About(place=0, group="Why", title="Some <title>", question="Which & why?", name="some")


class Recorded:
    """A page of two numbers with a section for each, and the names of the sections that were shown."""

    def __init__(self, show=lambda recorded, name: None, refresh=lambda: ()) -> None:
        self.one, self.two = widgets.IntSlider(value=1), widgets.IntSlider(value=2)
        self.calls: list[str] = []
        self._show = show
        state = {"one": self.one, "two": self.two}
        sections = [Section((name,), (), partial(self._called, name)) for name in state]
        self.page = Page(ABOUT, state, sections, [self.one, self.two], refresh=refresh)

    def _called(self, name: str) -> None:
        self.calls.append(name)
        self._show(self, name)

    @property
    def told(self) -> str:
        return self.page._message.value

    @property
    def telling(self) -> bool:
        return self.page._message.layout.display != "none"


@pytest.fixture
def log(tmp_path, monkeypatch) -> Path:
    """The file that errors are written to."""
    path = tmp_path / "logs" / "dashboards.log"
    logger = logging.getLogger("nmtlab.dashboards")
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", True)
    monkeypatch.setattr(page_module, "_log", page_log())
    return path


def fail(error: Exception):
    def show(recorded: Recorded, name: str) -> None:
        if recorded.one.value == 7:
            raise error

    return show


def test_at_first_everything_is_new():
    recorded = Recorded()
    assert recorded.calls == ["one", "two"]
    assert not recorded.telling


def test_a_change_shows_what_depends_on_it():
    recorded = Recorded()
    recorded.two.value = 5
    recorded.one.value = 5
    recorded.one.value = 5  # as it was
    assert recorded.calls[2:] == ["two", "one"]


def test_an_error_that_can_be_mended_is_told_as_it_is_and_as_text():
    recorded = Recorded(fail(NmtlabError("file <b>x</b>: bad", "mend & go on")))
    recorded.one.value = 7
    assert recorded.telling
    assert recorded.told == "file &lt;b&gt;x&lt;/b&gt;: bad; mend &amp; go on"
    recorded.one.value = 8
    assert not recorded.telling
    assert recorded.told == ""


@pytest.mark.parametrize(
    ("error", "told"),
    [(OSError(28, "No space left on device", "x.npz"), "x.npz: No space left on device; free some space"),
     (MemoryError(), "out of memory; reduce")],
)  # fmt: skip
def test_an_error_of_the_machine_is_told_with_a_remedy(error, told):
    recorded = Recorded(fail(error))
    recorded.one.value = 7
    assert recorded.told.startswith(told)


def test_a_log_that_cannot_be_written_stops_no_page(log):
    log.parent.write_text("no folder", encoding="utf-8")
    recorded = Recorded(fail(ZeroDivisionError()))
    recorded.one.value = 7
    assert recorded.told.startswith("Internal error (ZeroDivisionError)")


def test_any_other_error_points_to_the_log_and_is_in_it(log):
    recorded = Recorded(fail(ZeroDivisionError("<i>by nothing</i>")))
    recorded.one.value = 7
    assert "data/logs/dashboards.log" in recorded.told
    assert "nothing</i>" not in recorded.told
    written = log.read_text(encoding="utf-8")
    assert "page some, one=1&two=2" in written
    assert "ZeroDivisionError: <i>by nothing</i>" in written
    recorded.one.value = 8
    assert recorded.calls[-2:] == ["one", "one"]  # it goes on
    assert not recorded.telling


def test_an_error_while_a_page_is_made_is_told_in_the_page():
    def show(recorded: Recorded, name: str) -> None:
        raise NmtlabError("nothing here", "bring something")

    assert Recorded(show).told == "nothing here; bring something"


def test_the_address_follows_the_controls():
    recorded = Recorded()
    assert recorded.page._browser.query == "one=1&two=2"
    recorded.two.value = 9
    assert recorded.page._browser.query == "one=1&two=9"


def test_an_address_is_restored_in_the_order_of_the_state():
    def show(recorded: Recorded, name: str) -> None:
        if name == "one":
            recorded.two.max, recorded.two.value = recorded.one.value, 0

    recorded = Recorded(show)
    recorded.page._opened("?two=40&one=50")
    assert (recorded.one.value, recorded.two.value) == (50, 40)
    assert not recorded.telling
    assert recorded.page._browser.query == "one=50&two=40"


def test_what_an_address_asks_for_in_vain_is_named_as_text_and_the_rest_is_done():
    recorded = Recorded()
    recorded.page._opened("?one=%3Cscript%3E&two=1000&token=secret&other=1")
    assert recorded.told == ("Some of this link is not available here: one = &lt;script&gt;, two = 1000.")
    assert recorded.page._browser.query == "one=1&two=100"


def test_an_address_that_asks_for_nothing_changes_nothing():
    recorded = Recorded()
    recorded.page._opened("")
    recorded.page._opened("?one=1")
    assert recorded.calls == ["one", "two"]


def test_what_is_new_behind_a_name_is_looked_for_while_the_page_is_looked_at():
    new: list[str] = []
    recorded = Recorded(refresh=lambda: new)
    recorded.page._looking()
    new.append("two")
    recorded.page._looking()
    recorded.page._opened("")
    assert recorded.calls[2:] == ["two", "two"]


def test_an_error_in_looking_is_told_and_the_page_goes_on():
    def refresh():
        raise NmtlabError("gone", "bring it back")

    recorded = Recorded(refresh=refresh)
    recorded.page._looking()
    assert recorded.told == "gone; bring it back"
    recorded.one.value = 3
    assert recorded.calls[-1] == "one"


def test_a_message_stays_while_the_page_is_looked_at_until_the_next_action():
    recorded = Recorded(refresh=lambda: ["two"])
    recorded.page.tell("a bad name")
    recorded.page._looking()
    assert recorded.calls[-1] == "two"
    assert recorded.told == "a bad name"
    recorded.one.value = 3
    assert not recorded.telling


def test_an_error_in_looking_takes_the_place_of_no_message_of_an_action():
    def refresh():
        raise NmtlabError("gone", "bring it back")

    recorded = Recorded(refresh=refresh)
    recorded.page.tell("a bad name")
    recorded.page._looking()
    assert recorded.told == "a bad name"
    assert recorded.telling


def test_title_and_question_stand_in_the_page_as_text():
    head = next(child for child in Recorded().page.children if "<h1>" in getattr(child, "value", ""))
    assert "Some &lt;title&gt;" in head.value
    assert "Which &amp; why?" in head.value


def test_a_note_says_text_as_it_is():
    note = Note("a < b")
    assert note.value == "a &lt; b"
    note.say("<img src=x onerror=alert(1)>")
    assert note.value == "&lt;img src=x onerror=alert(1)&gt;"
    assert heading("<b>").value == "<h2>&lt;b&gt;</h2>"


def test_saving_sends_one_file_named_after_the_page(monkeypatch):
    recorded, sent = Recorded(), []
    monkeypatch.setattr(recorded.page._browser, "send", sent.append)
    recorded.page._save()
    (message,) = sent
    assert message["save"]["file"] == "nmtlab-some.html"
    assert message["save"]["content"].startswith("<!DOCTYPE html>")


def test_what_became_of_a_link_is_said_until_the_page_changes():
    recorded = Recorded()
    for copied, said in ((True, "Copied."), (False, "the link is http://here/?one=1")):
        recorded.page._browser._answer(None, {"copied": copied, "address": "http://here/?one=1"}, None)
        assert said in recorded.page._copied.value
        recorded.one.value += 1
        assert recorded.page._copied.value == ""
