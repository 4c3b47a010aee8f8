"""The page of reordered n-best lists."""

import shutil
from collections.abc import Iterator

import pytest

from nmtlab.analysis.search.n_best import LanguageModel, n_best_lists
from nmtlab.analysis.search.reranking import scores_of_orders
from nmtlab.dashboards.pages import reranking
from nmtlab.dashboards.pages.reranking import RerankingPage
from nmtlab.runs.listing import open_run
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace


@pytest.fixture(scope="module")
def here(zoo, tiny_corpus, tmp_path_factory) -> Iterator[Workspace]:
    """A workspace with a run, a copy of it, and its corpus; lists are short."""
    workspace = Workspace(tmp_path_factory.mktemp("here"))
    for name in ("whole", "other"):
        shutil.copytree(zoo("learned").folder, workspace.runs / name)
    shutil.copytree(tiny_corpus.folder, workspace.data / "corpora" / "tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reranking, "_SAMPLE", 6)
        patch.setattr(reranking, "_SIZE", 4)
        yield workspace


@pytest.fixture
def page(here) -> RerankingPage:
    page = RerankingPage(here)
    page.runs.table.choose(["whole"])
    page.text.value = "tiny dev"
    page.folds[0].opened = True
    return page


def scores(page: RerankingPage) -> dict[str, list[float]]:
    """Return the scores in the figure by metric, of the orders from the worst to the best."""
    return {trace.xaxis: list(trace.x) for trace in page.chart.figure.data}


@pytest.mark.full
def test_the_figure_has_the_scores_of_the_stored_lists_by_the_weights(page, here):
    run = open_run("whole", here)
    corpus = page.text.text.corpus
    lists = n_best_lists(run, corpus, "dev", 4, sample=6)
    page.weights["length"].value = -1.0
    found = scores_of_orders(lists, {"log-prob": 1.0, "length": -1.0, "chrf": 0.0})
    assert list(scores(page).values()) == [found["bleu"].tolist(), found["chrf"].tolist()]
    assert page.answer.value.startswith("Reranked by log p(y|x) − length: BLEU ")


def test_a_slider_reorders_the_lists_without_decoding(page, monkeypatch):
    monkeypatch.setattr("nmtlab.analysis.search.n_best.open_system", None)
    page.weights["length"].value = 0.0
    before = page.sentences.frame["reranked first"].sort_index().tolist()
    page.weights["length"].value = 3.0
    after = page.sentences.frame["reranked first"].sort_index().tolist()
    assert sum(map(len, after)) > sum(map(len, before))
    assert page.candidates.frame["sum"].is_monotonic_decreasing


def test_a_selected_sentence_shows_its_list_in_the_order_of_the_weights(page):
    line = page.sentences.frame.index[-1]
    page.sentences.choose([line])
    assert page.sentence.value.startswith(f"Line {line}: ")
    row = page.sentences.frame.loc[line]
    assert page.candidates.frame["text"].iloc[0] == row["reranked first"]


@pytest.mark.full
def test_a_second_run_and_a_language_model_are_features_once_they_are_chosen(page, here):
    assert page.weights["second"].layout.display == page.second.layout.display == "none"
    page.runs.table.choose(["whole", "other"])
    page.text.value = "tiny dev"
    assert "Rank correlation" not in page.answer.value
    page.second.value = "other"
    assert "second log p(y|x)" in page.candidates.frame
    assert "how near second log p(y|x) is to it" in page.answer.value
    page.model.value = True
    assert page.weights["second"].layout.display == page.weights["language-model"].layout.display == ""
    shown = page.candidates.frame
    assert {"second log p(y|x)", "log p(y)"} <= set(shown.columns)
    run = page.system.run
    model = LanguageModel(run, page.text.text.corpus.lines("train", "en"))
    assert shown["log p(y)"].tolist() == [round(one, 2) for one in model.log_probs(shown["text"])]
    page.model.value = False
    assert "log p(y)" not in page.candidates.frame


@pytest.mark.full
def test_a_run_of_blank_sources_is_offered_as_a_language_model_and_nothing_else(page, here, tiny_recipe):
    assert page.blank.layout.display == "none"
    corpus = page.text.text.corpus
    recipe = tiny_recipe.with_changes({"corpus.blank_source": True, "training.max_evaluations": 1})
    train("english", recipe, corpus, here)
    page = RerankingPage(here)
    page.runs.table.choose(["whole", "english"])
    page.folds[0].opened = True
    page.system.value = "whole"
    page.text.value = "tiny dev"
    assert [name for _, name in page.blank.options] == ["", "english"]
    assert page.second.layout.display == "none"
    page.blank.value = "english"
    assert page.weights["blank"].layout.display == ""
    assert page.candidates.frame["neural log p(y)"].lt(0).all()


def test_length_counts_more_on_curves_of_the_same_lists(page):
    page.folds[1].opened = True
    assert page.said.value.startswith("Highest BLEU: ")
    assert [len(trace.x) for trace in page.lengths.figure.data] == [21] * 4


def test_an_answer_that_is_damaged_is_told_and_nothing_of_the_last_run_is_left(page, here):
    stored = list((open_run("whole", here).notes.folder / "measures").glob("n_best.n_best-*.parquet"))
    kept = [path.read_bytes() for path in stored]
    page.runs.table.choose(["other"])
    for path in stored:
        path.write_bytes(b"no")
    page.runs.table.choose(["whole"])
    assert page._message.value
    assert not page.chart.figure.data
    for path, content in zip(stored, kept, strict=True):
        path.write_bytes(content)


def test_without_runs_the_page_says_what_to_do(tmp_path):
    page = RerankingPage(Workspace(tmp_path / "data"))
    assert page.answer.value.startswith("Select a run")


def test_a_run_without_a_text_here_is_told(zoo, tmp_path):
    workspace = Workspace(tmp_path / "data")
    shutil.copytree(zoo("learned").folder, workspace.runs / "whole")
    assert RerankingPage(workspace).answer.value.startswith("No text of this run is here")
