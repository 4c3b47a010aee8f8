"""Pages on a run of several directions: texts of all of them, and languages to choose from."""

import shutil

import pytest
from dashboards.test_pages import figures, leaves, make, notes, told
from support.unfolded import unfolded

from nmtlab.analysis.search.beams import sweep
from nmtlab.dashboards.frame.systems import of_one_pair, system_of
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

SETTINGS = {
    "text.segmentation": "bpe", "text.vocabulary_size": 90, "training.validate_every": 20,
    "training.max_evaluations": 1, "training.batch_tokens": 400,
    "more_corpora": [{"name": "tiny", "source": "en", "target": "de"}],
}  # fmt: skip
BACK = "tiny dev, en to de"


@pytest.fixture(scope="module")
def here(tmp_path_factory, make_corpus, tiny_recipe) -> Workspace:
    """A workspace with the runs `both`, de-en and en-de, and `one`, de-en."""
    workspace = Workspace(tmp_path_factory.mktemp("both") / "data")
    folder = workspace.data / "corpora" / "tiny"
    shutil.copytree(make_corpus(), folder)
    corpus = ParallelCorpus.open(folder)
    train("one", tiny_recipe.with_changes({**SETTINGS, "more_corpora": []}), corpus, workspace)
    train("both", tiny_recipe.with_changes(SETTINGS), corpus, workspace)
    return workspace


@pytest.fixture(scope="module")
def both(here) -> Run:
    return Run(here.runs / "both")


def first_line(here: Workspace, language: str) -> str:
    return (here.data / "corpora/tiny" / f"dev.{language}").read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.full
@pytest.mark.parametrize("name", ["attention", "logits", "search"])
def test_a_page_opens_a_run_in_the_direction_of_the_chosen_text(here, name):
    page = make(name, here)
    page._opened("?runs=both")
    assert list(page.sentences.text.options) == [
        "tiny test, de to en", "tiny dev, de to en", "tiny test, en to de", BACK,
    ]  # fmt: skip
    page.sentences.text.value = BACK
    assert told(page) == ""
    assert page.sentences.source == first_line(here, "en")
    assert page.sentences.reference == first_line(here, "de")
    (run,) = page.sentences.runs
    assert run.direction == system_of(run).languages == ("en", "de")
    assert figures(page)
    assert any(first_line(here, "en") in note for note in notes(page))


def test_a_run_that_lacks_the_direction_of_the_text_is_left_out(here):
    page = make("attention", here)
    page._opened("?runs=one,both")
    assert [run.name for run in page.sentences.runs] == ["one", "both"]
    page.sentences.text.value = BACK
    assert [run.name for run in page.sentences.runs] == ["both"]
    assert any("1 of 2 shown: one translates de-en." in note for note in notes(page))


def test_stored_searches_of_every_direction_are_shown(here, both):
    corpus = ParallelCorpus.open(here.data / "corpora/tiny", "en", "de")
    sweep(both, corpus, [SearchSettings(beam_size=size) for size in (1, 2)], "dev", sample=2)
    page = make("searches", here)
    page._opened("?runs=one")
    assert any("No beam sweep" in note for note in notes(page))
    page._opened("?runs=both")
    assert not any("No beam sweep" in note for note in notes(page))
    assert page.swept.options == ("2 sampled sentences of tiny dev, en-de",)


def test_translations_go_into_the_chosen_language(here, both):
    page = unfolded(make("translate", here))
    page._opened("?runs=both&into=de&text=one+dog")
    assert told(page) == ""
    assert (page.source.value, page.target.value) == ("", "de")
    assert [page.target, page.source] == [leaf for leaf in leaves(page) if leaf in (page.target, page.source)][::-1]
    best = page.found.frame["translation"].iloc[0]
    assert best == (system_of(both.directed("en", "de")).translate(["one dog"])[0].text or "(empty)")
    assert figures(page)
    page.target.value = ""
    page.typed.value = ""
    page.source.value = "en"
    assert any(first_line(here, "en") in note or "Example" in note for note in notes(page))
    page._opened("?runs=both&from=de&into=de&text=hund")  # never trained
    assert told(page) == ""


def test_a_page_of_runs_of_one_direction_offers_no_languages(here):
    page = make("translate", here)
    page._opened("?runs=one")
    assert page.source not in leaves(page)
    assert page.target not in leaves(page)
    page._opened("?runs=one,both&into=de")
    assert page.target in leaves(page)
    assert any("1 of 2 shown: one translates de-en." in note for note in notes(page))


def test_runs_of_a_pair_are_opened_in_it(here, both):
    one = Run(here.runs / "one")
    assert [run.direction for run in of_one_pair([one, both])] == [("de", "en")] * 2
    assert [run.name for run in of_one_pair([both.directed("en", "de"), one])] == ["both"]
    assert system_of(both) is system_of(both)
    assert system_of(both.directed("en", "de")) is system_of(both.directed("en", "de"))
