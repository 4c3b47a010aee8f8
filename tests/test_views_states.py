"""Views of word vectors and states."""

import shutil

import pytest

from nmtlab.runs.run import Run
from nmtlab.views_states import state_neighbours_table, state_projection_view, word_projection_view


@pytest.fixture
def run(trained, tmp_path) -> Run:
    """A copy, since answers are stored with a run."""
    return Run(shutil.copytree(trained[0].folder, tmp_path / "copy"))


def test_word_vectors_of_each_system_are_shown_and_correlated_with_frequency(run, tmp_path):
    other = Run(shutil.copytree(run.folder, tmp_path / "other"))
    view = word_projection_view([run, other])
    assert view.frame["run"].tolist() == ["copy", "other"]
    assert view.frame["points"].nunique() == 1
    assert ((view.frame["share 1"] >= view.frame["share 2"]) & (view.frame["share 2"] > 0)).all()
    assert view.frame[["spearman 1", "spearman 2"]].abs().to_numpy().max() <= 1
    assert len(view.figure.data) == 2


def test_states_of_a_text_are_shown(run, tiny_corpus):
    view = state_projection_view([run], tiny_corpus, "dev", "encoder", sample=4)
    assert view.figure.layout.title.text == "Encoder states of 4 sentences"
    assert len(view.figure.data[0].x) == view.frame["points"].iloc[0]


def test_neighbours_of_a_state_are_a_table(run, tiny_corpus):
    source, target = next(iter(tiny_corpus.pairs("dev")))
    table = state_neighbours_table(run, tiny_corpus, source, target, 0, k=3, sample=10)
    assert list(table) == ["line", "position", "piece", "cos", "context", "source", "target"]
    assert table["cos"].is_monotonic_decreasing
    assert len(table) == 3
