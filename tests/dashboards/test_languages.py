"""Which sentence a page gives to which system, and what it says of it."""

import pandas as pd
import pytest
from dashboards.conftest import workspace_of
from support.unfolded import unfolded

from nmtlab.analysis.access.reference_links import kept_links
from nmtlab.analysis.attention.shift import attention_shift, sink_summary
from nmtlab.analysis.attention.weights import attention
from nmtlab.analysis.lexical.choices import rare_choices
from nmtlab.dashboards.frame.systems import system_of
from nmtlab.dashboards.pages.attention import AttentionPage
from nmtlab.dashboards.pages.logits import LogitsPage
from nmtlab.dashboards.pages.search import SearchPage
from nmtlab.dashboards.pages.translate import TranslatePage
from nmtlab.runs.answers import AnswerKey, store_answer
from nmtlab.runs.listing import open_run
from nmtlab.workspace import Workspace

TURKISH, FIXNORM, GERMAN = "small-tr-en.tied.s1", "small-tr-en.fixnorm.s1", "multi30k-de-en.small"
FIRST_TURKISH = "2013 asla unutmayacağım bir yıl."
FAR_OFF = "Onun fikir ve düşünceleri hayata bakış açımı değiştirdi."
"""Where the attention of tied is farthest from its links."""
BY_LENGTH = "Ondan çok şey öğrendim."
"""Where the length of a vector alone decides a rare word."""
EXAMPLE = "Example sentence, since no text of these runs is available: Ein Bäcker"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Workspace:
    """Systems of two pairs of languages; the German one has no text."""
    return workspace_of(tmp_path_factory.mktemp("languages") / "data", (TURKISH, FIXNORM, GERMAN))


def drawn(page: AttentionPage) -> list[str]:
    return [note.text for note in page.chart.figure.layout.annotations]


def translated(page: TranslatePage) -> set[tuple[str, str]]:
    """Return each run with what it has translated, as far as it is the best."""
    frame = page.found.frame.query("rank == 1")
    return {(key.rsplit("/", 2)[0], said) for key, said in frame["translation"].items()}


@pytest.mark.full
def test_attention_gives_a_run_without_a_text_an_example_and_leaves_out_other_pairs_in_words(workspace):
    page = unfolded(AttentionPage(workspace))
    page._opened(f"?runs={GERMAN}")
    assert page._message.value == ""
    assert drawn(page) == [GERMAN]
    assert EXAMPLE in page.sentences._current.value
    assert "sentence=" not in page._browser.query
    page.runs.table.choose([TURKISH, GERMAN, FIXNORM])
    assert drawn(page) == ["small-tr-en, tied", "small-tr-en, fixnorm"]
    assert page.hint.value.startswith("2 of 3 shown: “multi30k-de-en, small” translates de-en. Rings: ")
    assert page.sentences.source == FAR_OFF


@pytest.mark.full
def test_a_sentence_that_was_pinned_in_another_language_is_let_go(workspace):
    page = unfolded(AttentionPage(workspace))
    page.runs.table.choose([TURKISH])
    page.pin.click()
    page.runs.table.choose([FIXNORM])
    assert page.pinned_chart.figure.data
    page.runs.table.choose([GERMAN])
    assert not page.pinned_chart.figure.data
    assert "pinned=" not in page._browser.query


@pytest.mark.full
def test_both_tables_of_a_shift_count_it_to_the_left(workspace):
    page = unfolded(AttentionPage(workspace))
    page.runs.table.choose([TURKISH])
    (row,) = page.shifts.frame.to_dict("records")
    assert (row["left"] > row["right"]) == (row["left shift"] > 0) == (page.measured.frame["left shift"][0] > 0)
    assert "positive: too far left" in page.shifts.title
    assert "positive: too far left" in page.measured.title


@pytest.mark.full
def test_the_mean_shift_stands_beside_the_share_of_peaks_on_the_first_word(workspace):
    page = unfolded(AttentionPage(workspace))
    page.runs.table.choose([TURKISH, GERMAN])
    run = open_run(TURKISH, workspace)
    links = kept_links(run.sentences, "dev")[0]
    found = sink_summary(attention_shift(run, run.sentences, "dev", links)).iloc[0]
    (row,) = page.measured.frame.to_dict("records")
    assert row["peaks on the first word, %"] == round(100 * found["first"]) > row["links to the first word, %"]
    assert row["links to the first word, %"] == round(100 * found["first_linked"])
    assert row["both counted in"] == "200 dev sentences"
    assert "sink" in page.measured.title


@pytest.mark.full
def test_peaks_of_the_test_text_are_shown_if_they_were_counted(workspace):
    run = open_run(TURKISH, workspace)
    counts = pd.DataFrame({"line": [1, 3], "words": [6, 4], "first": [3, 1], "first_linked": [1, 0]})
    counts = counts.assign(last=0, last_linked=0, on=0, on_if_moved=0)
    asked = {"corpus": {"languages": "tr-en", "sha256": ""}}
    question = AnswerKey("shift.peak_counts", asked, run.checkpoints.best_step, run.checkpoints.digest)
    stored = store_answer(run.notes.folder, question, counts)
    page = unfolded(AttentionPage(workspace))
    page.runs.table.choose([TURKISH])
    stored.path.unlink()
    (row,) = page.measured.frame.to_dict("records")
    shares = row["peaks on the first word, %"], row["links to the first word, %"], row["both counted in"]
    assert shares == (40, 10, "2 test sentences")


@pytest.mark.full
def test_search_draws_an_example_of_the_runs_language_alone(workspace):
    page = unfolded(SearchPage(workspace))
    assert page.sentences.source.startswith("Ein Bäcker")
    page.runs.table.choose([TURKISH, GERMAN])
    assert page.sentences.source == FIRST_TURKISH
    assert page.each.frame["run"].tolist() == ["small-tr-en, tied"]
    assert "1 of 2 shown: “multi30k-de-en, small” translates de-en." in page.hint.value


@pytest.mark.full
def test_why_this_word_offers_the_texts_of_the_chosen_systems_languages(workspace):
    page = unfolded(LogitsPage(workspace))
    page.runs.table.choose([TURKISH, GERMAN])
    for name, first in ((TURKISH, BY_LENGTH), (GERMAN, "Ein Bäcker")):
        page.system.value = name
        assert page._message.value == ""
        assert page.sentences.source.startswith(first)
        assert page.sentences.text.options == ((f"{name} (packed dev)",) if name != GERMAN else ())
        assert page.logits.figure.data


@pytest.mark.full
def test_positions_are_counted_from_one_wherever_they_are_seen(workspace):
    page = unfolded(LogitsPage(workspace))
    page.runs.table.choose([TURKISH])
    page.find.click()
    text = page.sentences.chosen_text
    wrong = rare_choices(system_of(open_run(TURKISH, workspace)), text.corpus, text.split).query("not right")
    assert page.wrong.frame["position"].tolist() == (wrong["position"] + 1).tolist()
    row = page.wrong.frame.iloc[3]
    page.wrong.choose([3])
    assert page.position.label == f"{row['position']}  {row['right word']}"
    assert f"position={row['position']}&" in page._browser.query
    assert f"Reference word: “{row['right word']}”, rank" in page.hint.value


@pytest.mark.full
def test_wrong_words_stay_when_the_length_is_moved_and_not_for_another_system(workspace):
    page = unfolded(LogitsPage(workspace))
    page.runs.table.choose([TURKISH, FIXNORM])
    page.find.click()
    assert len(page.wrong.frame)
    page.fixed.value, page.radius.value = True, 3.0
    assert len(page.wrong.frame)
    page.system.value = FIXNORM
    assert page.wrong.layout.display == "none"
    assert len(page.wrong.frame) == 0


@pytest.mark.full
def test_translate_gives_each_system_an_example_of_its_language_while_nothing_is_typed(workspace):
    page = TranslatePage(workspace)
    page._opened(f"?runs={GERMAN}")
    (german,) = translated(page)
    assert german[1].startswith("A baker")
    page.runs.table.choose([TURKISH, GERMAN, FIXNORM])
    runs = {name: open_run(name, workspace) for name in (TURKISH, FIXNORM)}
    turkish = {(name, page._of(run, 1, FIRST_TURKISH)[0]["translation"]) for name, run in runs.items()}
    assert translated(page) == {german} | turkish
    assert page.typed.value == ""
    assert page.hint.value.startswith("Example sentences, one for each source language")


def test_translate_gives_typed_lines_to_systems_of_their_language_alone_and_says_so(workspace):
    page = unfolded(TranslatePage(workspace))
    page.typed.value = "Tom öldü ."
    page.runs.table.choose([TURKISH, GERMAN, FIXNORM])
    assert {run for run, _ in translated(page)} == {TURKISH, FIXNORM}
    engine = "Engine: nmtlab, since CTranslate2 shows neither attention nor the probabilities of tokens."
    assert page.hint.value == f"2 of 3 shown: “multi30k-de-en, small” translates de-en. {engine}"
    assert page.inspected.value == "Inspecting “small-tr-en, tied” on: Tom öldü ."
    page.found.choose([f"{FIXNORM}/1/1"])
    weights = attention(system_of(open_run(FIXNORM, workspace)), "Tom öldü .", dict(translated(page))[FIXNORM])
    assert page.attention.figure.data[0].z.size == len(weights)
