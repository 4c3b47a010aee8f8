"""The page of several sources: a sentence, a text, and what it says without."""

import shutil

import pytest
from support.editor import SETTINGS
from support.unfolded import unfolded
from typer.testing import CliRunner

from nmtlab.analysis.attention.edits import EDITS, edits_finding, edits_summary
from nmtlab.analysis.attention.focus import FOCUS, focus_finding, focus_shares, sentence_focus
from nmtlab.analysis.attention.weights import attention
from nmtlab.cli.main import app
from nmtlab.dashboards.pages.sources import SourcesPage
from nmtlab.runs.listing import open_run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture
def workspace(editor, tmp_path) -> Workspace:
    return Workspace(shutil.copytree(editor.workspace.data, tmp_path / "data"))


@pytest.fixture
def page(workspace) -> SourcesPage:
    return SourcesPage(workspace)


def test_the_bars_and_the_map_are_those_of_the_chosen_line(page, workspace, editor):
    page.line.value = 3
    sources = [list(editor.corpus.lines("test", code))[2] for code in ("de", "en-x-mt")]
    run = open_run("editor", workspace)
    expected = sentence_focus(attention(run, sources[0], more=sources[1:]), run).assign(run="editor")
    assert page.text.value == "edits test"
    assert page.answer.value == focus_finding(expected)
    bars = {trace.name: list(trace.y) for trace in page.chart.figure.data}
    assert list(bars) == ["de", "en-x-mt"]
    assert bars["de"] == pytest.approx(expected[expected["source"] == "de"]["mass"].tolist())
    assert "next source" in [trace.name for trace in page.maps.figure.data]
    assert page.hint.value == f"de: {sources[0]}; en-x-mt: {sources[1]}"
    assert "line 3 of edits test" in page.chart.figure.layout.title.text


def test_the_threshold_moves_the_lines_and_the_answer(page):
    page.threshold.value = 0.95
    assert page.answer.value.startswith("Tokens by the source with a mass above 0.95: editor ")
    assert sorted(shape.y0 for shape in page.chart.figure.layout.shapes) == pytest.approx([0.05, 0.95])


def test_a_typed_sentence_has_a_line_for_each_source_and_a_blank_one_is_missing(page):
    page.typed.value = "\none dog sees cat"
    assert page.hint.value == "de: (missing); en-x-mt: one dog sees cat"
    assert any("NULL" in str(tick) for tick in page.maps.figure.layout.xaxis.ticktext)
    page.typed.value = "ein hund"
    assert page.hint.value == "de: ein hund"
    assert page.chart.figure.data
    assert page._message.value == ""


def test_a_whole_text_is_counted_when_its_part_is_opened(page, workspace, editor):
    assert page.whole.frame.empty
    page.folds[0].opened = True
    stored = FOCUS.stored(open_run("editor", workspace), corpus=editor.corpus, split="test", limit=100)
    found = stored.assign(run="editor")
    assert page.whole.answer.value == focus_finding(found)
    page.threshold.value = 0.5
    assert page.whole.frame.equals(focus_shares(found, 0.5))
    assert page._message.value == ""


def test_edits_are_drawn_against_attention_when_their_part_is_opened(page, workspace, editor):
    page.folds[1].opened = True
    found = EDITS.stored(open_run("editor", workspace), corpus=editor.corpus, split="test", limit=100)
    found = found.assign(run="editor")
    assert page.edited.answer.value == edits_finding(found)
    assert page.edited.frame.equals(edits_summary(found))
    (points,) = page.edited.chart.figure.data
    assert list(points.y) == pytest.approx(found["mass"].dropna().tolist())
    assert page._message.value == ""


def test_published_shares_are_seen(page):
    seen = [part.value for part in page.body.children if "Jauregi Unanue" in getattr(part, "value", "")]
    assert len(seen) == 1
    assert "23 % src, 45 % mt, 31 % both at a threshold of 0.6" in seen[0]


def test_without_its_text_a_sentence_can_be_typed(workspace):
    shutil.rmtree(workspace.data / "corpora")
    page = SourcesPage(workspace)
    assert page.hint.value == "Type a sentence."
    page.typed.value = "ein hund\none dog"
    assert page.chart.figure.data
    assert page._message.value == ""


def test_the_sentences_of_a_packed_run_are_read_with_all_their_sources(workspace, tmp_path, monkeypatch):
    monkeypatch.setenv("NMTLAB_DATA", str(workspace.data))
    words = ["pack", "editor", "--weights", "--sentences", "5", "--licence", "CC0", "--to", str(tmp_path)]
    for command in (words, ["unpack", str(tmp_path / "editor.tar.xz"), "--name", "packed"]):
        done = CliRunner().invoke(app, ["runs", *command])
        assert done.exit_code == 0, done.output
    shutil.rmtree(workspace.data / "corpora")
    page = SourcesPage(workspace)
    page.runs.table.choose(["packed"])
    page.folds[0].opened = True
    assert page.text.value.endswith("(packed dev)")
    assert page.line.max == 5
    assert page.chart.figure.data
    assert page.whole.answer.value
    assert page._message.value == ""


def test_where_no_run_is_chosen_nothing_is_left_of_what_was(page):
    page.folds[0].opened = True
    page.runs.table.unpick()
    assert (page.answer.value, page.hint.value, page.whole.answer.value) == ("", "", "")
    assert not any(chart.figure.data for chart in (page.chart, page.maps, page.whole.chart))


def test_a_run_with_an_attention_to_each_source_has_its_map_and_says_that_no_share_is_counted(workspace):
    settings = {**SETTINGS, "model.combine": "separate", "training.max_evaluations": 1}
    corpus = ParallelCorpus.open(workspace.corpus_folder("edits"), "de", "en")
    train("apart", open_run("editor", workspace).recipe.with_changes(settings), corpus, workspace)
    page = unfolded(SourcesPage(workspace))
    page.runs.table.choose(["apart"])
    expected = "apart: it has an attention to each source, whose weights add up to 1 in each; choose a run"
    assert [trace.name for trace in page.maps.figure.data][-1] == "next source"
    for part in (page.answer, page.whole.answer, page.words.answer, page.edited.answer):
        assert part.value.startswith(expected)
    assert not page.chart.figure.data
    assert page._message.value == ""


def test_a_run_that_translates_nothing_says_so_in_place_of_shares(page, monkeypatch):
    monkeypatch.setattr(SourcesPage, "_found", lambda *_: None)
    unfolded(page)
    expected = "editor: no token was translated; choose a run that has learned to translate."
    assert (page.whole.answer.value, page.words.answer.value) == (expected, expected)


def test_without_runs_the_page_says_what_to_do(tmp_path):
    page = SourcesPage(Workspace(tmp_path / "none"))
    assert page._message.value == ""
    assert "nmtlab corpus triplets" in page.runs._warning.value
    page.folds[0].opened = True
    assert page._message.value == ""
