"""The page What changed?"""

import shutil
from html import unescape

import pytest
from dashboards.test_pages import figures, make, notes, told
from support.lineage import Lineage, make_lineage
from support.unfolded import unfolded

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.lexical.word_changes import FEW, WORD_CHANGES
from nmtlab.analysis.search.calibration import CALIBRATION
from nmtlab.evaluation.scores import bleu
from nmtlab.runs.pack import dev_sentences
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def lineage(tmp_path_factory, tiny_recipe) -> Lineage:
    return make_lineage(tmp_path_factory.mktemp("lineage") / "data", tiny_recipe)


@pytest.fixture(scope="module")
def page(lineage):
    return unfolded(make("changed", lineage.workspace))


@pytest.mark.full
def test_only_runs_that_went_on_from_another_are_offered(page):
    assert list(page.runs.table.frame.index) == ["child"]
    assert told(page) == ""


def test_the_answer_is_what_was_gained_and_forgotten_in_bleu(page, lineage):
    gains = []
    for corpus in (lineage.new, lineage.old):
        scores = [
            bleu(translations(run, corpus, "test"), corpus.references("test")).value
            for run in (lineage.parent, lineage.child)
        ]
        gains.append(f"{scores[1] - scores[0]:+.1f} BLEU on {corpus.name} test".replace("-", "−"))
    for gain in gains:
        assert gain in page.answer.value or gain.startswith(("+0.0", "−0.0"))
    assert page.answer.value.index("new test") < page.answer.value.index("old test")
    assert set(page.scores.frame["text"]) == {"new test", "old test"}


def test_weights_words_vectors_and_norms_are_shown(page, lineage):
    assert len(figures(page)) == 8
    assert "changed most" in page.modules.answer.value
    child = page.runs.first
    found = WORD_CHANGES.stored(child, parent=lineage.parent, corpus=lineage.new, split="test", sample=FEW)
    assert len(found)
    assert "at least twice as likely" in page.words.answer.value
    assert page.calibration.frame["run"].unique().tolist() == [lineage.parent.label, lineage.child.label]
    assert CALIBRATION.stored(child, corpus=lineage.new, split="test", sample=FEW) is not None
    assert page.divergence.frame["run"].tolist() == ["new test", "old test"]
    assert "nats a token from its parent's distributions" in unescape(page.divergence.answer.value)
    assert page.unseen.frame[["side", "counted"]].to_numpy().tolist() == [
        [side, counted] for side in ("source", "target") for counted in ("tokens", "types")
    ]
    source = page.moved.frame
    page.side.value = "target"
    assert not page.moved.frame.equals(source)
    page.side.value = "source"


@pytest.mark.full
def test_both_are_searched_exactly_at_the_press_of_a_button(page):
    page.search.click()
    assert told(page) == ""
    assert len(page.found.frame) == 2
    assert page.found.frame["sentences"].tolist() == [20, 20]


def test_a_parent_that_is_not_here_is_said_in_a_sentence(lineage, tmp_path):
    workspace = Workspace(tmp_path / "data")
    shutil.copytree(lineage.child.folder, workspace.runs / "child", ignore=shutil.ignore_patterns("measures"))
    page = make("changed", workspace)
    assert told(page) == ""
    assert page.hint.value.startswith("run &#x27;child&#x27;: its parent &#x27;parent&#x27; is not here")
    assert figures(page) == []
    shutil.copytree(lineage.child.folder, workspace.runs / "parent")
    page._looking()
    page.runs.table.choose(["child"])
    page = make("changed", workspace)
    page.runs.table.choose(["child"])
    assert "went on from another model than the one that is called" in page.hint.value


def test_without_texts_the_page_says_so_and_shows_the_weights(lineage, tmp_path):
    workspace = Workspace(tmp_path / "data")
    for name in ("parent", "child"):
        shutil.copytree(lineage.workspace.runs / name, workspace.runs / name)
    page = make("changed", workspace)
    assert told(page) == ""
    assert any("Neither the text" in note for note in notes(page))
    assert len(figures(page)) == 1


def test_sentences_packed_with_the_run_stand_for_its_text(lineage, tmp_path):
    workspace = Workspace(tmp_path / "data")
    for name in ("parent", "child"):
        shutil.copytree(lineage.workspace.runs / name, workspace.runs / name)
    dev_sentences(lineage.new, 20, "CC0", workspace.runs / "child/sentences")
    page = make("changed", workspace)
    assert told(page) == ""
    assert "BLEU on child (packed dev) (95 %: " in page.answer.value
    assert "at least twice as likely" in page.words.answer.value
    page = unfolded(page)
    assert page.divergence.frame["run"].tolist() == ["child (packed dev)"]
    assert "The training text is not here" in page.unseen.answer.value
    page.search.click()
    assert page.found.frame["sentences"].tolist() == [20, 20]
