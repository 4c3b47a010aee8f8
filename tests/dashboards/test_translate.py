"""On the page Translate: what it asks of each run, and lines beside their translations."""

import re
from html import unescape

import pytest
from support.unfolded import unfolded

from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages.attention import AttentionPage
from nmtlab.dashboards.pages.translate import TranslatePage
from nmtlab.dashboards.parts.side_by_side import Best, Translated, translations_finding
from nmtlab.recipe import SearchSettings, named_recipe
from nmtlab.runs.listing import open_run
from nmtlab.search.scores import formula
from nmtlab.training.setup import train
from nmtlab.translation import Translation, Translator

TIED, LEX = "small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1"
FIRST = "2013 asla unutmayacağım bir yıl."
REFERENCE = "2013 is a year I'll never forget."


@pytest.fixture(scope="module")
def page(gallery) -> TranslatePage:
    page = TranslatePage(gallery)
    page.runs.table.choose([TIED, LEX])
    return page


@pytest.fixture(autouse=True)
def _nothing_asked(page) -> None:
    page.typed.value = page.beam.value = ""


def rows(page: TranslatePage) -> list[tuple[str, str]]:
    """Return the lines beside their translations: the name and the text of each, marked words in square brackets."""
    found = re.findall(r"<tr><th>(.*?)</th><td dir='auto'>(.*?)</td></tr>", page.lines.value)
    return [
        (name, unescape(re.sub(r"</?b>", "", re.sub(r"<mark>(.*?)</mark>", r"[\1]", text)))) for name, text in found
    ]


def test_each_run_searches_with_its_own_beam_unless_another_is_asked_for(page, gallery):
    system = system_of(open_run(TIED, gallery))
    assert page.beam.placeholder == f"own: {system.settings.beam_size}" == "own: 12"
    assert "beam" not in page._browser.query
    own = system.translate([FIRST], n_best=3)[0]
    of_tied = page.found.frame[page.found.frame["run"].str.endswith("tied")]
    assert of_tied["translation"].tolist() == own.texts
    assert of_tied["log p"].tolist() == [round(one.log_prob, 2) for one in own.hypotheses]
    assert of_tied["log p / ((5 + length) / 6)^0.8"].tolist() == [round(one.score, 2) for one in own.hypotheses]
    page._opened("?beam=1")
    (greedy,) = page.found.frame.query("run.str.endswith('tied')")["translation"]
    search = system.settings.model_copy(update={"beam_size": 1})
    assert greedy == Translator(system.model, system.pipeline, search).translate([FIRST])[0].text


@pytest.mark.full  # a training
def test_a_run_without_attention_is_inspected_and_says_that_it_has_none(tiny_corpus, workspace):
    changes = {
        "model.d_model": 16, "training.validate_every": 20, "training.max_evaluations": 1, "machine.device": "cpu",
    }  # fmt: skip
    train("unattending", named_recipe("no-attention").with_changes(changes), tiny_corpus, workspace)
    page = TranslatePage(workspace)
    page.runs.table.choose(["unattending"])
    page.typed.value = "ein hund singt"
    page.found.choose([page.found.frame.index[0]])
    assert "unattending has no attention." in page.unattending.value
    assert page.tokens.figure.data
    assert not page.attention.figure.data
    assert page._message.value == ""
    assert "unattending" not in AttentionPage(workspace).runs.table.frame.index


@pytest.mark.parametrize("beam", ["0", "501", "wide", "-3"])
def test_a_beam_that_is_none_is_told(page, beam):
    page.beam.value = beam
    assert f"beam &#x27;{beam}&#x27;: no number from 1 to 500" in page._message.value
    page.beam.value = ""
    assert page._message.value == ""


def test_a_score_is_named_by_its_formula():
    assert formula(SearchSettings(score="log-prob")) == "log p"
    assert formula(SearchSettings(score="average", coverage=0.2)) == "log p / length + 0.2 coverage"
    assert formula(SearchSettings(score="word-reward", gamma=0.5)) == "log p + 0.5 length"
    assert formula(SearchSettings(length_weight=2), plans_length=True) == "log p(tokens) + 2 log p(length)"


def test_a_line_of_a_text_stands_above_its_reference_and_its_translations_with_the_words_that_it_lacks(page, gallery):
    said = {name: system_of(open_run(name, gallery)).translate([FIRST])[0].text for name in (TIED, LEX)}
    source, reference, tied, lex = rows(page)
    assert source == ("1", FIRST)
    assert reference == ("reference", REFERENCE)
    for (_, shown), text in ((tied, said[TIED]), (lex, said[LEX])):
        assert re.sub(r"[\[\] ]", "", shown) == text.replace(" ", "")
        marked = {word.strip("[]") for word in shown.split() if word.startswith("[")}
        assert marked.isdisjoint({"2013", "never", "a", "year"})
        assert marked
    assert "Marked: words that the reference does not have" in page.lines.value


def test_without_a_reference_words_are_marked_that_another_system_does_not_have(page):
    page.typed.value = "Bugün yeni bir kitap aldım ."
    source, tied, lex = (text.split() for _, text in rows(page))
    assert source == ["Bugün", "yeni", "bir", "kitap", "aldım", "."]
    bare = [[word.strip("[]") for word in line] for line in (tied, lex)]
    for line, words, other in ((tied, *bare), (lex, *bare[::-1])):
        assert {word.strip("[]") for word in line if word.startswith("[")} == {*words} - {*other}


def test_lines_have_their_numbers_in_the_box(page):
    page.typed.value = "Tom öldü .\n\nBu bir kitap .\n  \nTom öldü ."
    assert page.found.frame["line"].drop_duplicates().tolist() == [1, 3, 5]
    assert [name for name, _ in rows(page) if name.isdecimal()] == ["1", "3", "5"]
    page.found.choose([f"{LEX}/3/1"])
    assert unfolded(page).inspected.value.endswith("on: Bu bir kitap .")


def test_an_empty_translation_is_called_empty_and_can_be_inspected(page, monkeypatch):
    translate = Translator.translate

    def empty(self, lines, **arguments):
        (found,) = translate(self, lines, **arguments)
        return [Translation(["", "a <unk> b"], found.hypotheses[:2])]

    monkeypatch.setattr(Translator, "translate", empty)
    page.typed.value = "Tom dün geldi ."
    assert page._message.value == ""
    assert page.found.frame["translation"].tolist() == ["(empty)", "(empty)", "a ⟨unknown⟩ b", "a ⟨unknown⟩ b"]
    assert [text for _, text in rows(page)][1:] == ["(empty)", "(empty)"]
    assert "agree: (empty) (log p −" in page.answer.value
    assert len(unfolded(page).tokens.figure.data[0].x) == 1  # the end alone


def test_the_answer_is_what_the_systems_say_and_how_probable_it_is(page):
    page.typed.value = "Bugün yeni bir kitap aldım ."
    best = page.found.frame.query("rank == 1")
    said = "; ".join(f"{row['run']}: “{row['translation']}”" for _, row in best.iterrows())
    chances = " and ".join(f"{chance:.2f}".replace("-", "−") for chance in best["log p"])
    assert unescape(page.answer.value) == f"{said} (log p {chances})."


def test_the_answer_counts_lines_on_which_systems_agree():
    same = Translated(1, "x", "", "en", {"a": Best("y", -1.0), "b": Best("y", -2.0)})
    apart = Translated(3, "z", "", "en", {"a": Best("y", -1.0), "b": Best("", -0.5)})
    alone = Translated(4, "z", "", "en", {"a": Best("y", -1.0)})
    assert translations_finding([same]) == "a and b agree: “y” (log p −1.00 and −2.00)."
    assert translations_finding([alone]) == "a: “y” (log p −1.00)."
    assert translations_finding([same, apart, alone]) == (
        "a and b agree on 1 of 2 lines. First apart in line 3: a: “y”; b: (empty) (log p −1.00 and −0.50)."
    )
    assert translations_finding([]) == ""


def test_long_lines_and_many_lines_are_said_to_be_cut(page, monkeypatch):
    monkeypatch.setattr("nmtlab.dashboards.pages.translate.MAX_LETTERS", 8)
    monkeypatch.setattr("nmtlab.dashboards.pages.translate._MAX_LINES", 2)
    page.typed.value = "Tom öldü .\nTom .\nTom geldi ."
    assert page.hint.value == (
        "Lines are cut after 8 letters. At most 2 lines are translated. "
        "Engine: nmtlab, since CTranslate2 shows neither attention nor the probabilities of tokens."
    )
    assert page.found.frame["line"].drop_duplicates().tolist() == [1, 2]
