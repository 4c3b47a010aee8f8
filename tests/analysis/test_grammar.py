"""Heads that a system selects: against its model and by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
from support.trees import is_tree

from nmtlab.analysis.attention.grammar import (
    HEAD_WEIGHTS,
    SOURCE_HEADS,
    attachment_scores,
    head_weights,
    selected_heads,
    source_heads,
)
from nmtlab.analysis.metrics import find_metric, sums_of, value_of
from nmtlab.dashboards.pages.attention import AttentionPage
from nmtlab.errors import CorpusError, RunError
from nmtlab.evaluation.dependencies import attachments, left_branching, maximum_tree
from nmtlab.recipe import named_recipe
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.artificial import write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.heads import gold_heads
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TINY = {
    "model.d_model": 16, "training.max_evaluations": 1, "training.validate_every": 4, "search.beam_size": 1,
    "machine.threads": 1, "machine.device": "cpu",
}  # fmt: skip
KINDS = {
    "words": {"model.grammar": "tree"},
    "pieces": {
        "model.grammar": "hard",
        "text.segmentation": "bpe",
        "text.vocabulary_size": 120,
        "text.min_frequency": 1,
    },
    "flat": {"model.grammar": "flat"},
    "plain": {},
}


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> Workspace:
    """A workspace with an artificial language and runs on it, three of which select heads."""
    workspace = Workspace(tmp_path_factory.mktemp("data"))
    write_corpus(workspace.new_corpus_folder("nara"), ["qaa"], train=80, dev=6, test=12)
    corpus = corpus_in(workspace)
    for name, changes in KINDS.items():
        train(name, named_recipe("tied-small").with_changes({**TINY, **changes}), corpus, workspace)
    return workspace


def corpus_in(workspace: Workspace) -> ParallelCorpus:
    return ParallelCorpus.open(workspace.corpus_folder("nara"), "qaa", "en")


def run_in(workspace: Workspace, name: str) -> Run:
    return Run(workspace.run_folder(name))


@pytest.mark.parametrize("name", ["words", "flat"])
def test_heads_are_those_of_the_best_tree_by_the_models_scores(there, name):
    run, lines = run_in(there, name), list(corpus_in(there).lines("test", "qaa"))
    model, pipeline = open_model(run).model, run.pipeline
    for line, heads in zip(lines, selected_heads(run, lines), strict=True):
        words = len(line.split())
        with torch.inference_mode():
            found = model.heads(model.encode(torch.tensor([pipeline.source_ids(line)])))
        assert heads == maximum_tree(found.scores[0, :words, :words].double().numpy())
        assert is_tree(tuple(heads))


def test_scores_of_pieces_are_summed_to_those_of_words(there):
    run, (line, *_) = run_in(there, "pieces"), corpus_in(there).lines("test", "qaa")
    model, (words, places) = open_model(run).model, run.pipeline.source_words(line)
    assert len(places) > len(words)
    with torch.inference_mode():
        phi = model.heads(model.encode(torch.tensor([run.pipeline.source_ids(line)]))).scores[0].numpy()
    summed = np.zeros((len(words), len(words)))
    for i, head in enumerate(places):
        for j, word in enumerate(places):
            summed[head, word] += phi[i, j]
    assert selected_heads(run, [line])[0] == maximum_tree(summed)


def test_right_heads_are_counted_by_sentence_beside_those_of_left_branching(there):
    run, corpus = run_in(there, "words"), corpus_in(there)
    found = source_heads(run, corpus)
    gold, lines = gold_heads(corpus, "test"), list(corpus.lines("test", "qaa"))
    for row, heads, right in zip(found.itertuples(), selected_heads(run, lines), gold, strict=True):
        assert (row.directed, row.undirected, row.words) == attachments(heads, right)
        assert (row.left_directed, row.left_undirected) == attachments(left_branching(len(right)), right)[:2]
    assert found["line"].tolist() == list(range(1, 13))


def test_metrics_are_percentages_of_the_words_of_a_text(there):
    run, corpus = run_in(there, "words"), corpus_in(there)
    found = SOURCE_HEADS.of(run, corpus=corpus)
    words = found["words"].sum()
    by_hand = {
        "directed-accuracy": 100 * found["directed"].sum() / words,
        "undirected-accuracy": 100 * found["undirected"].sum() / words,
        "over-left-branching": 100 * (found["directed"] - found["left_directed"]).sum() / words,
    }
    for key, value in by_hand.items():
        assert value_of(find_metric(key), run, corpus) == pytest.approx(value)
        sums = sums_of(find_metric(key), run, corpus).sum(0)
        assert sums[0] / sums[1] == pytest.approx(value)
        assert np.isnan(value_of(find_metric(key), run_in(there, "plain"), corpus))


def test_the_answers_are_summarised_drawn_and_said_beside_trees_that_know_no_words():
    columns = SOURCE_HEADS.columns
    found = pd.DataFrame([(1, 4, 3, 4, 1, 2, 0, 2), (2, 6, 3, 4, 2, 3, 2, 3)], columns=columns).assign(run="r")
    scores = attachment_scores(found)
    assert scores["run"].tolist() == ["r", "left-branching", "right-branching"]
    assert scores[["directed", "undirected"]].to_numpy().tolist() == [[60, 80], [30, 50], [20, 50]]
    assert [list(trace.y) for trace in SOURCE_HEADS.figure(found).data] == [[60, 80], [30, 50], [20, 50]]
    said = SOURCE_HEADS.finding(found)
    assert said == "Right heads: r 60.0 %; left-branching trees, which know no words, 30.0 %."
    assert SOURCE_HEADS.finding(found.iloc[:0]) == ""


def test_the_heatmap_has_the_models_probabilities_with_heads_across_and_dependents_down(there):
    run, (line, *_) = run_in(there, "words"), corpus_in(there).lines("test", "qaa")
    found = head_weights(run, line)
    model, words = open_model(run).model, len(line.split())
    with torch.inference_mode():
        probs = model.heads(model.encode(torch.tensor([run.pipeline.source_ids(line)]))).probs[0, :words, :words]
    drawn = HEAD_WEIGHTS.figure(found.assign(run="r"), links=[(1, 0)])
    np.testing.assert_allclose(drawn.data[0].z, probs.numpy().T, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(drawn.data[0].z).sum(1), 1, rtol=1e-5)
    assert (drawn.layout.xaxis.title.text, drawn.layout.yaxis.title.text) == ("head", "dependent")
    assert drawn.data[1].name == "gold head"
    root = line.split()[int(probs.diagonal().argmax())]
    assert f"r “{root}” (" in HEAD_WEIGHTS.finding(found.assign(run="r"))


def test_what_has_no_heads_is_refused(there, tiny_corpus):
    with pytest.raises(RunError, match=r"selects no heads of source words; choose a run whose model\.grammar"):
        SOURCE_HEADS.of(run_in(there, "plain"), corpus=corpus_in(there))
    with pytest.raises(RunError, match="selects no heads"):
        selected_heads(run_in(there, "plain"), ["a b"])
    with pytest.raises(CorpusError, match="blank"):
        head_weights(run_in(there, "words"), " ")
    assert selected_heads(run_in(there, "words"), ["", "Chiy"]) == [[], [0]]


@pytest.mark.parametrize("name", ["words", "pieces"])
def test_the_page_shows_the_heads_of_a_sentence_with_gold_ones_ringed_and_those_of_its_text(there, name):
    page = AttentionPage(there)
    page.runs.table.choose([name])
    page._opened("?open=grammar")
    shown = page.grammar
    assert shown.answer.value.startswith("Most probable root: ")
    corpus, line = corpus_in(there), page.sentences.line
    text = page.sentences.chosen_text
    heads, places = (
        gold_heads(corpus, text.split)[line - 1],
        run_in(there, name).pipeline.source_words(page.sentences.source)[1],
    )
    rings = {*zip(shown.chart.figure.data[1].x, shown.chart.figure.data[1].y, strict=True)}
    assert rings == {(i, j) for i, a in enumerate(places) for j, b in enumerate(places) if heads[b] == a}
    assert shown.scores.frame["run"].tolist()[1:] == ["left-branching", "right-branching"]
    assert "Right heads: " in shown.said.value


def test_the_page_says_which_runs_select_heads(there):
    page = AttentionPage(there)
    page.runs.table.choose(["plain"])
    page._opened("?open=grammar")
    assert "model.grammar" in page.grammar.answer.value
    assert page.grammar.scores.frame.empty
