"""The page Many languages."""

import shutil
from urllib.parse import parse_qs, urlparse

import pandas as pd
import pytest
from dashboards.conftest import PATIENCE
from dashboards.test_pages import figures, make, notes, told
from support.unfolded import unfolded

from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.analysis.languages.directions import DIRECTION_SCORES
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.layers import LANGUAGE_BY_LAYER, SIMILARITY_BY_LAYER
from nmtlab.analysis.languages.parameters import parameter_counts
from nmtlab.dashboards.frame.links import links_to
from nmtlab.runs.pack import pack
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.thesis.shown.many_languages import ablation_view, gain_view
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

SETTINGS = {
    "text.segmentation": "bpe", "text.vocabulary_size": 90, "training.validate_every": 20,
    "training.max_evaluations": 1, "training.batch_tokens": 400,
    "more_corpora": [
        {"name": "tiny", "source": "nl", "target": "en"}, {"name": "tiny", "source": "en", "target": "nl"},
    ],
}  # fmt: skip
MATRIX = "BLEU of all directions"
TEXTS = ("tiny test", "tiny dev")


@pytest.fixture(scope="module")
def here(tmp_path_factory, make_corpus, tiny_recipe) -> Workspace:
    """A workspace with a text in de, nl and en, and the run `many` from de and nl into en, and from en into nl."""
    workspace = Workspace(tmp_path_factory.mktemp("many") / "data")
    folder = workspace.data / "corpora" / "tiny"
    shutil.copytree(make_corpus(), folder)
    for split in ("train", "dev", "test"):
        shutil.copy(folder / f"{split}.de", folder / f"{split}.nl")
    train("many", tiny_recipe.with_changes(SETTINGS), ParallelCorpus.open(folder, "de", "en"), workspace)
    return workspace


@pytest.fixture
def copy(here, tmp_path) -> Workspace:
    """Such a workspace to store answers in."""
    shutil.copytree(here.data, tmp_path / "data")
    return Workspace(tmp_path / "data")


@pytest.mark.full
def test_a_run_that_is_not_measured_shows_its_directions_and_what_was_measured_over_seeds(copy):
    page = unfolded(make("many", copy))
    assert told(page) == ""
    assert page.runs.chosen[0].name == "many"
    assert page.hint.value == "Trained in 3 directions: de to en, nl to en, en to nl."
    assert page.parameters.frame["total"].tolist() == parameter_counts(page.runs.chosen[0])["total"].tolist()
    assert page.text.options == tuple((name, name) for name in TEXTS)
    assert figures(page) == []
    assert page.measured.section.answer.value == gain_view().finding
    missing = "all directions, languages by layer, the language in shared and private units, gradients"
    assert f"Not measured on this text: {missing}." in notes(page)
    assert "many.ipynb?runs=many" in links_to([Run(copy.runs / "many")])


@pytest.mark.full
def test_directions_with_stored_translations_are_shown_at_once_and_all_when_measured(copy):
    run = Run(copy.runs / "many")
    corpus = ParallelCorpus.open(copy.data / "corpora/tiny", "de", "nl")  # never trained
    translations(run, corpus, "test")
    page = unfolded(make("many", copy))
    (matrix,) = figures(page)
    assert "zero-shot" in matrix.data[0].text.flatten().tolist()[0]
    page.measure.click()
    assert told(page) == ""
    assert len(figures(page)) == 4
    assert page.measure.layout.display == "none"
    assert not any("Not measured" in note for note in notes(page))
    for analysis in (DIRECTION_SCORES, SIMILARITY_BY_LAYER, LANGUAGE_BY_LAYER, GRADIENT_COSINES):
        assert len(analysis.answers(run)) == 1
    scores = DIRECTION_SCORES.answers(run)[0].frame()
    assert scores[["source", "target", "trained"]].to_numpy().tolist() == [
        ["de", "en", True], ["de", "nl", False], ["nl", "en", True], ["en", "nl", True],
    ]  # fmt: skip
    trained = scores[scores["trained"]]["bleu"].mean()
    assert page.answer.value.startswith(f"Mean of all directions: 3 trained directions {trained:.1f} BLEU, 1 zero-shot")
    assert not page.measured.section.chart.figure.data
    assert "tiny test" in page.matrix.figure.layout.title.text
    page.figure.value = "shared and private (artificial)"
    assert not page.matrix.figure.data
    assert page.measured.section.answer.value == ablation_view().finding
    page.figure.value = ""
    again = unfolded(make("many", copy))
    assert [figure.to_json() for figure in figures(again)] == [figure.to_json() for figure in figures(page)]


@pytest.mark.full
def test_a_click_on_a_direction_shows_its_sentences_with_a_link_to_translate(copy):
    run = Run(copy.runs / "many")
    corpus = ParallelCorpus.open(copy.data / "corpora/tiny", "en", "nl")
    lines = translations(run, corpus, "dev")
    page = unfolded(make("many", copy))
    page.text.value = "tiny dev"
    page._clicked({"x": "nl", "y": "en"})
    assert page.direction.value == "en-nl"
    table = page.sentences.frame
    assert table["source"].tolist() == list(corpus.lines("dev", "en"))
    assert table["many"].tolist() == lines == stored_translations(run, corpus, "dev")
    page.sentences.choose([2])
    address = urlparse(page.link.value.split("'")[1].replace("&amp;", "&"))
    wanted = {"runs": ["many"], "from": ["en"], "into": ["nl"], "text": [table.loc[2, "source"]]}
    assert (address.path, parse_qs(address.query)) == ("translate.ipynb", wanted)
    assert "direction=en-nl" in page._browser.query
    page._clicked({"x": "de", "y": "nl"})  # an empty cell
    assert page.direction.value == "en-nl"


@pytest.mark.full
def test_a_packed_run_shows_its_stored_answers_without_the_texts(copy, tmp_path):
    page = unfolded(make("many", copy))
    page.measure.click()
    packed = Workspace(tmp_path / "packed")
    pack(Run(copy.runs / "many"), packed.evidence / "runs/many.tar.xz")
    shown = unfolded(make("many", packed))
    assert told(shown) == ""
    assert shown.text.value == "stored with the run"
    assert len(figures(shown)) == 4
    assert shown.measure.layout.display == "none"
    for ours, theirs in zip(figures(shown), figures(page), strict=True):
        assert [str(trace) for trace in ours.data] == [str(trace) for trace in theirs.data]


@pytest.mark.full
def test_without_a_text_in_several_directions_the_page_says_how_to_make_one(copy):
    shutil.rmtree(copy.data / "corpora")
    page = unfolded(make("many", copy))
    assert told(page) == ""
    assert any("nmtlab corpus join" in note for note in notes(page))
    assert page.text.layout.display == page.direction.layout.display == "none"
    assert page.measure.layout.display == "none"


def test_in_a_browser_a_run_is_measured_and_a_cell_leads_to_its_sentences_and_to_translate(browser, serve, copy):
    from support.shown import Shown, eventually

    served = serve(copy)
    shown = Shown(browser.new_page(viewport={"width": 1500, "height": 1300}), served.address)
    shown.open("many", "?runs=many&open=sentences,layers,probes,gradients")
    assert "Trained in 3 directions" in shown.notes
    shown.press("Translate and compare")
    for title in (MATRIX, "How alike languages are", "Can the source language be read off", "Do directions fight"):
        shown.chart(title).locator(".main-svg").first.wait_for(timeout=1000 * PATIENCE)
    run = Run(copy.runs / "many")
    scores = DIRECTION_SCORES.answers(run)[0].frame().set_index(["source", "target"])["bleu"]
    (matrix,) = shown.traces(MATRIX)
    drawn = pd.DataFrame(matrix["z"], matrix["y"], matrix["x"], dtype=float).stack().dropna()
    assert drawn.to_dict() == pytest.approx(scores.to_dict())
    shown.click_point(MATRIX, 0, 2)  # from en, the last row, into nl, the first column
    corpus = ParallelCorpus.open(copy.data / "corpora/tiny", "en", "nl")
    eventually(lambda: shown.column("Sentences, en to nl", "source"), list(corpus.lines("test", "en")))
    assert shown.column("Sentences, en to nl", "many") == stored_translations(run, corpus, "test")
    shown.pick("Sentences, en to nl", "3")
    link = shown.page.locator("a", has_text="Translate").last
    eventually(lambda: "into=nl" in (link.get_attribute("href") or ""), True)
    link.click()
    shown.drawn()
    third = list(corpus.lines("test", "en"))[2]
    best = {**parse_qs(shown.query[1:]), "translated": bool(shown.column("Translations", "translation")[0])}
    assert {key: best[key] for key in ("from", "into", "text", "translated")} == {
        "from": ["en"], "into": ["nl"], "text": [third], "translated": True,
    }  # fmt: skip
    shown.check()
    shown.page.close(run_before_unload=True)
