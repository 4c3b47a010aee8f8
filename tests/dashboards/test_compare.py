"""The page Compare: two systems on one text, down to words and sentences."""

import re
import shutil
from datetime import UTC, datetime

import pytest
import sacrebleu
from dashboards.conftest import workspace_of
from dashboards.test_pages import make, told
from support.packed import packed_folder
from support.unfolded import unfolded

from nmtlab.analysis.access.texts import texts
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.analysis.comparison.stored import sampled_translations
from nmtlab.figures.theme import SYSTEMS
from nmtlab.runs.listing import open_run
from nmtlab.runs.run import Run

TIED, LEX = "small-tr-en.tied.s1", "small-tr-en.fixnorm-lex.s1"
GALICIAN = "small-gl-en.prenorm.s1"


@pytest.fixture
def page(tmp_path):
    found = unfolded(make("compare", workspace_of(tmp_path / "data", (TIED, LEX, GALICIAN))))
    found.runs.table.choose([TIED, LEX])
    assert told(found) == ""
    return found


def test_scores_are_those_of_the_stored_translations_with_an_interval_of_the_sentences(page):
    numbers = page.numbers.frame.set_index(["metric", "system"])
    assert set(numbers.index) == {
        (metric, name) for metric in ("BLEU", "chrF", "chrF++") for name in ("tied", "fixnorm-lex")
    }
    line = numbers.loc[("chrF", "fixnorm-lex")]
    assert line["interval covers"] == "sentences alone"
    low, high = (float(end.replace("−", "-")) for end in line["95 % interval"].split(" to "))
    assert low < line["difference"] < high
    assert "packed" in page.hint.value
    assert page.outputs.frame["system"].tolist() == ["reference", "tied", "fixnorm-lex"]


@pytest.mark.full
def test_the_pair_can_be_turned_round(page):
    before = page.lines.frame["difference"]
    page.other.value, page.than.value = "tied", "fixnorm-lex"
    assert told(page) == ""
    assert page.lines.frame["difference"].sort_index().tolist() == (-before.sort_index()).tolist()
    assert page.wins.value.startswith("tied against fixnorm-lex")
    assert page.answer.value.startswith("tied is worse than fixnorm-lex by")


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


@pytest.mark.full
def test_the_words_of_a_sentence_are_marked_where_they_differ(page):
    page.lines.choose([page.lines.frame.index[0]])
    lines = {line["name"]: line for line in page.selection.lines}
    reference = lines["reference"]["tokens"]
    for name in ("tied", "fixnorm-lex"):
        words, wrong = lines[name]["tokens"], lines[name]["wrong"]
        assert {words[place] for place in range(len(words)) if place not in wrong} <= set(reference)
    assert lines["tied"]["wrong"] or lines["fixnorm-lex"]["wrong"]
    assert f"Line {page.lines.value}" in page.about_line.value


@pytest.mark.full
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


SEEDS = tuple(f"small-tr-en.{system}.s{seed}" for system in ("tied", "fixnorm-lex") for seed in (1, 2, 3))


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    return workspace_of(tmp_path_factory.mktemp("seeds") / "data", SEEDS)


def test_it_opens_with_three_seeds_of_two_systems_and_says_which_is_better(seeds):
    page = make("compare", seeds)
    assert page.runs.table.value == SEEDS
    compared = page._compared
    assert {name: len(lines) for name, lines in compared.systems.items()} == {
        "tied (3 seeds)": 3, "fixnorm-lex (3 seeds)": 3,
    }  # fmt: skip
    bleu = {
        name: sum(sacrebleu.corpus_bleu(list(lines), [list(compared.references[0])]).score for lines in of_seeds) / 3
        for name, of_seeds in compared.systems.items()
    }
    gain = bleu["fixnorm-lex (3 seeds)"] - bleu["tied (3 seeds)"]
    assert f"fixnorm-lex (3 seeds) is better than tied (3 seeds) by {gain:.1f} BLEU" in page.answer.value
    points = [trace for trace in page.chart.figure.data if trace.mode == "markers"]
    assert sum(len(trace.x) for trace in points) == len(compared.source) == 200
    colours = {trace.name.split(" ")[0]: trace.marker.color for trace in points}
    assert (colours["fixnorm-lex"], colours["tied"]) == (SYSTEMS["fixnorm-lex"], SYSTEMS["tied"])
    assert "small-tr-en (tr → en), 200 sentences of dev, seeds 1–3" in page.chart.figure.layout.title.text
    assert page._browser.query.endswith("bucket=all&line=" + str(page.lines.value))


def test_sentences_that_another_run_has_packed_are_found_in_the_whole_text_that_a_run_has_translated(seeds):
    (text,) = texts(open_run(TIED, seeds), seeds)
    whole = Run(packed_folder(SEEDS[1]))
    assert stored_translations(whole, text.corpus, "dev") is None
    found = sampled_translations(whole, text)
    (lines,) = [path.read_text(encoding="utf-8").splitlines() for made, path in whole.notes.translations()
                if made["split"] == "dev"]  # fmt: skip
    assert found == lines[:200]  # it packed the first ones
    assert sampled_translations(open_run(TIED, seeds), text) == stored_translations(
        open_run(TIED, seeds), text.corpus, "dev"
    )


def test_translations_of_another_text_are_not_taken_for_those_of_packed_sentences(seeds, tmp_path):
    (text,) = texts(open_run(TIED, seeds), seeds)
    assert sampled_translations(Run(packed_folder(GALICIAN)), text) is None
    folder = shutil.copytree(packed_folder(SEEDS[1]), tmp_path / "other")
    for path in (folder / "translations").glob("dev-*.json"):
        path.write_text(re.sub('"text": "...', '"text": "000', path.read_text()))
    assert sampled_translations(Run(folder), text) is None


def test_a_point_opens_its_sentence(seeds):
    page = make("compare", seeds)
    assert not page.of_lines.opened
    trace = page.chart.figure.data[1]
    point = {"customdata": int(trace.customdata[0]), "x": 0, "y": 0, "meta": "line"}
    page.chart._handle_custom_msg(point, [])
    assert page.of_lines.opened
    assert page.lines.value == point["customdata"]
    assert f"Line {page.lines.value}, difference −" in page.about_line.value  # of those that the second system wins
    assert page._compared.source[page.lines.value - 1].split()[0] in page.selection.lines[0]["tokens"][0]


def test_a_bar_of_the_words_opens_its_sentences_and_the_best_bucket_is_named(seeds):
    page = make("compare", seeds)
    page._opened("?open=words")
    assert page.finding.value.startswith("By training frequency, fixnorm-lex (3 seeds) is ahead")
    page._bar_clicked({"customdata": ["10-99"]})
    assert page.of_lines.opened
    assert page.bucket.value == "10-99"
    assert 0 < len(page.lines.frame) < 200


def test_an_address_with_a_line_is_read_where_its_fold_is_closed(seeds):
    page = make("compare", seeds)
    page._opened("?line=17")
    assert told(page) == ""
    assert page.lines.value == 17


def uploaded(name: str, text: str) -> dict:
    """What a browser sends of a file."""
    return {"name": name, "type": "", "size": len(text), "content": text.encode(), "last_modified": datetime.now(UTC)}


@pytest.mark.full
def test_scores_and_labels_from_elsewhere_are_shown_as_those_of_sentences(page):
    assert page.scale.layout.display == "none"
    lines = "".join(f"{line % 7}\t{line % 5}\n" for line in range(200))
    page.scores_file.value = (uploaded("comet.tsv", f"{TIED}\t{LEX}\n{lines}"),)
    assert told(page) == ""
    assert "comet" in set(page.numbers.frame["metric"])
    page.scale.value = "comet"
    assert told(page) == ""
    assert "comet" in page.answer.value
    losses = sum(line % 5 < line % 7 for line in range(200))
    assert f"{losses} lost" in page.wins.value
    assert page.lines.frame["difference"].max() == 4
    page.lower.value = True
    assert f"{losses} sentences won" in page.wins.value
    assert "comet (lower is better)" in set(page.numbers.frame["metric"])
    page.labels_file.value = (uploaded("labels", "news\nchat\n" * 100),)
    page.by.value = "label"
    assert told(page) == ""
    assert page.by_lines.frame["sentences"].tolist() == [100] * len(page.by_lines.frame)
    assert set(page.by_lines.frame["bucket"]) == {"news", "chat"}
    assert set(page.lines.frame["label"]) == {"news", "chat"}


@pytest.mark.full
@pytest.mark.parametrize(
    ("chooser", "text", "said"),
    [
        ("scores_file", f"{TIED}\t{LEX}\n" + "1\t2\n" * 199, "given: 199 scores, but the text has 200 sentences"),
        ("scores_file", f"{TIED}\tother\n" + "1\t2\n" * 200, "given, line 1: no column for"),
        ("labels_file", "news\n" * 201, "given: 201 labels, but the text has 200 sentences"),
    ],
)
def test_files_from_elsewhere_that_do_not_fit_are_refused_and_change_nothing(page, chooser, text, said):
    before = page.answer.value
    getattr(page, chooser).value = (uploaded("../given", text),)
    assert said in told(page)
    assert page.answer.value == before
    assert page.scale.options == ("chrF",)
