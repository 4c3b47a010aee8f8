"""Views of word vectors and states."""

import shutil

import pytest

from nmtlab.runs.run import Run
from nmtlab.views_states import word_projection_view


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
