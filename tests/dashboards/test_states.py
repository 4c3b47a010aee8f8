"""Word vectors in the plane, and the nearest states of the training text, on their pages."""

import shutil

import pandas as pd
import pytest
from support.unfolded import unfolded

from nmtlab.analysis.states.neighbours import state_neighbours
from nmtlab.analysis.states.projection import state_projection, word_projection
from nmtlab.dashboards.pages.logits import LogitsPage
from nmtlab.dashboards.pages.norms import NormsPage
from nmtlab.dashboards.parts import projection
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def here(tmp_path_factory, zoo, tiny_corpus) -> Workspace:
    """Two runs and their corpus."""
    workspace = Workspace(tmp_path_factory.mktemp("here") / "data")
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora" / tiny_corpus.name)
    for name in ("one", "two"):
        zoo.copy("trained", workspace, name)
    return workspace


@pytest.fixture
def page(here) -> NormsPage:
    page = unfolded(NormsPage(here))
    page.runs.table.choose(["one"])
    return page


@pytest.fixture
def why(here) -> LogitsPage:
    page = unfolded(LogitsPage(here))
    page.runs.table.choose(["one"])
    return page


def test_words_of_the_chosen_systems_are_drawn_side_by_side(page, here):
    page.runs.table.choose(["one", "two"])
    assert [trace.meta for trace in page.projection.chart.figure.data] == ["one", "two"]
    expected = word_projection(Run(here.runs / "one"))
    assert list(page.projection.chart.figure.data[0].x) == pytest.approx(expected["x"].tolist(), abs=1e-6)
    assert "projection=pca" in page._browser.query


@pytest.mark.parametrize("where", ["encoder", "decoder"])
def test_states_of_the_chosen_text_are_drawn_and_follow_it(page, here, tiny_corpus, where):
    page.projection.vectors.value = where
    for split in ("dev", "test"):
        page.text.value = f"{tiny_corpus.name} {split}"
        expected = state_projection(Run(here.runs / "one"), tiny_corpus, split, where)
        figure = page.projection.chart.figure
        assert list(figure.data[0].x) == pytest.approx(expected["x"].tolist(), abs=1e-5)
        assert [word for word, _ in figure.data[0].customdata] == expected["word"].tolist()
        assert figure.layout.title.text.startswith(
            f"States of the {where} at tokens of {expected['line'].nunique()} sentences of tiny {split}"
        )
    assert f"vectors={where}" in page._browser.query


def test_a_click_on_a_projected_word_shows_its_neighbours(page):
    trace = page.projection.chart.figure.data[0]
    word = trace.customdata[3][0]
    point = {"customdata": list(trace.customdata[3]), "x": 0, "y": 0, "meta": trace.meta}
    page.projection.chart._handle_custom_msg(point, [])
    assert page.word.value == word
    assert page.neighbours.title == f"Nearest words to {word} in one"


def test_without_umap_it_is_not_offered_and_the_page_says_how_to_install_it(here, monkeypatch):
    monkeypatch.setattr(projection, "has_umap", lambda: False)
    page = unfolded(NormsPage(here))
    assert [label for label, _ in page.projection.method.options] == ["PCA"]
    assert "pip install &#x27;umap-learn" in page.projection.note.value


def test_the_nearest_states_of_a_token_are_listed(why, here, tiny_corpus):
    why.near.sample.value = 100
    for where, side in (("decoder", "source"), ("encoder", "target")):
        why.near.where.value = where
        why.near.position.value = 1
        why.near.button.click()
        expected = state_neighbours(
            Run(here.runs / "one"), tiny_corpus, why.sentences.source, why._target, 1, where, sample=100
        )
        found = why.near.found.frame
        assert found["cos"].tolist() == pytest.approx(expected["cos"].tolist(), abs=1e-3)
        assert found["line"].tolist() == expected["line"].tolist()
        assert side in found
        assert where in why.near.found.title
    why.sentences.table.choose([2])
    assert why.near.found.frame.empty
    assert why.near.position.value is not None


def test_without_the_training_text_the_page_says_what_is_missing(here, tmp_path):
    workspace = Workspace(tmp_path / "data")
    shutil.copytree(here.runs / "one", workspace.runs / "one")
    page = unfolded(LogitsPage(workspace))
    page.sentences.typed.value = "ein Hund singt"
    page.near.button.click()
    assert "corpus 'tiny'" in page._message.value.replace("&#x27;", "'")
    assert isinstance(page.near.found.frame, pd.DataFrame)
    assert page.near.found.frame.empty


def test_what_the_encoder_has_read_of_the_sentence_is_drawn(why):
    title = why.folds[-1]._head.description
    assert title == "How far does the encoder see?"
    (section,) = why.folds[-1].sections
    assert section.answer.value.startswith("In one, a state depends on tokens up to ")
    assert section.chart.figure.data
    assert why._message.value == ""
