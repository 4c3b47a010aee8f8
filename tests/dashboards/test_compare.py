"""The page Compare: two systems on one text, down to words and sentences."""

import pytest
from dashboards.conftest import workspace_of
from dashboards.test_pages import make, told

TIED, LEX = "small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1"
GALICIAN = "small-gl-en.prenorm.s1"


@pytest.fixture
def page(tmp_path):
    found = make("compare", workspace_of(tmp_path / "data", (TIED, LEX, GALICIAN)))
    found.runs.table.choose([TIED, LEX])
    assert told(found) == ""
    return found


def test_scores_are_those_of_the_stored_translations_with_an_interval_of_the_sentences(page):
    numbers = page.numbers.frame.set_index(["metric", "system"])
    assert set(numbers.index) == {(metric, name) for metric in ("BLEU", "chrF") for name in ("tied", "fixnorm-lex")}
    line = numbers.loc[("chrF", "fixnorm-lex")]
    assert line["interval covers"] == "sentences alone"
    low, high = (float(end.replace("−", "-")) for end in line["95 % interval"].split(" to "))
    assert low < line["difference"] < high
    assert "packed" in page.hint.value
    assert page.outputs.frame["system"].tolist() == ["reference", "tied", "fixnorm-lex"]


def test_the_pair_can_be_turned_round(page):
    before = page.lines.frame["difference"]
    page.other.value, page.than.value = "tied", "fixnorm-lex"
    assert told(page) == ""
    assert page.lines.frame["difference"].sort_index().tolist() == (-before.sort_index()).tolist()
    assert page.wins.value.startswith("tied against fixnorm-lex")


def test_a_bar_leads_to_the_sentences_whose_words_differ_and_back(page):
    page.by.value = "kind of word"
    page._bar_clicked({"customdata": ["capitalised"]})
    assert told(page) == ""
    assert 0 < len(page.lines.frame) < 200
    own = page._matches[page._matches["line"] == page.lines.value]
    rows = own[(own["side"] == "reference") & (own["bucket"] == "capitalised")]
    assert rows.groupby("system")["matched"].sum().nunique() == 2
    page._forget()
    assert len(page.lines.frame) == 200


def test_an_ngram_leads_to_the_sentences_that_have_it(page):
    chosen = page.ngrams.frame.index[0]
    page.ngrams.choose([chosen])
    ngram = page.ngrams.frame.loc[chosen, "n-gram"]
    spread = " ".join(page._compared.words["tied"][0][page.lines.value - 1])
    other = " ".join(page._compared.words["fixnorm-lex"][0][page.lines.value - 1])
    assert len(page.lines.frame) < 200
    assert f" {ngram} " in f" {spread} " or f" {ngram} " in f" {other} "


def test_the_words_of_a_sentence_are_marked_where_they_differ(page):
    page.lines.choose([page.lines.frame.index[0]])
    lines = {line["name"]: line for line in page.selection.lines}
    reference = lines["reference"]["tokens"]
    for name in ("tied", "fixnorm-lex"):
        words, wrong = lines[name]["tokens"], lines[name]["wrong"]
        assert {words[place] for place in range(len(words)) if place not in wrong} <= set(reference)
    assert lines["tied"]["wrong"] or lines["fixnorm-lex"]["wrong"]
    assert f"Line {page.lines.value}" in page.about_line.value


def test_a_run_of_another_pair_is_left_out_and_named(page):
    page.runs.table.choose([TIED, GALICIAN])
    assert "“small-gl-en, prenorm” translates gl-en" in page.hint.value
    assert set(page.numbers.frame["system"]) == {TIED}


def test_one_system_alone_is_shown_without_differences(page):
    page.runs.table.choose([TIED])
    assert told(page) == ""
    assert page.numbers.frame["difference"].isna().all()
    assert set(page.lines.frame["difference"]) == {0.0}


def test_people_judge_without_knowing_the_systems_and_go_on_where_they_were(page):
    judging = page.judging
    assert "Enter your name" in judging.note.value
    judging.person.value = "Ana"
    for _ in range(3):
        assert "tied" not in judging.item.value
        judging.buttons["left"].click()
    assert "3 of" in judging.note.value
    before = judging.item.value
    judging.person.value = "Ben"
    judging.buttons["equal"].click()
    judging.person.value = "Ana"
    assert judging.item.value == before
    judging.show.click()
    assert "Of 3 sentences, judged by 2" in judging.result.value
    assert judging.people.frame["sentences"].tolist() == [1]
    assert told(page) == ""


def test_the_sheet_of_another_pair_begins_anew(page):
    page.judging.person.value = "Ana"
    page.judging.buttons["left"].click()
    page.than.value = "fixnorm-lex"
    assert page.judging.layout.display == "none"
