"""Vectors in the plane."""

import shutil

import numpy as np
import pytest

from nmtlab.analysis.access.opened import output_vectors
from nmtlab.analysis.states import projection
from nmtlab.analysis.states.projection import has_umap, project, state_projection, word_projection
from nmtlab.analysis.states.token_states import token_states
from nmtlab.errors import NmtlabError
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import SPECIALS


def by_svd(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first two principal components by numpy's SVD, and their shares of the variance."""
    centred = vectors - vectors.mean(0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    return left[:, :2] * values[:2], (values**2 / (values**2).sum())[:2]


def test_pca_is_the_svd_of_the_centred_vectors_up_to_the_signs():
    vectors = np.random.default_rng(1).normal(size=(40, 7)) * [5, 3, 1, 1, 1, 1, 0.5] + 10
    points, shares = project(vectors)
    expected, expected_shares = by_svd(vectors)
    assert np.abs(points) == pytest.approx(np.abs(expected))
    assert shares == pytest.approx(expected_shares)


def test_points_on_a_line_are_on_the_first_axis():
    points, shares = project(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]))
    assert sorted(points[:, 0]) == pytest.approx([-5.0, 0.0, 5.0])
    assert points[:, 1] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
    assert shares == pytest.approx((1.0, 0.0))


def test_too_few_vectors_are_refused():
    with pytest.raises(NmtlabError, match="1 vectors: too few to project; give 2 or more"):
        project(np.zeros((1, 3)))


def test_without_umap_the_error_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(projection, "find_spec", lambda name: None)
    assert not has_umap()
    with pytest.raises(NmtlabError, match="umap-learn is not installed; pip install 'umap-learn"):
        project(np.eye(6), "umap")


@pytest.mark.full
def test_umap_keeps_neighbours_together_and_is_the_same_with_the_same_seed():
    pytest.importorskip("umap", reason="needs the extra 'projection'")
    directions = np.repeat(np.eye(2, 8), 30, axis=0)
    vectors = directions + np.random.default_rng(1).normal(scale=0.02, size=directions.shape)
    points, shares = project(vectors, "umap", seed=3)
    assert np.isnan(shares).all()
    one, other = points[:30], points[30:]
    apart = np.linalg.norm(one.mean(0) - other.mean(0))
    assert apart > 2 * max(side.std(0).max() for side in (one, other))
    assert project(vectors, "umap", seed=3).points == pytest.approx(points)


@pytest.fixture
def run(trained, tmp_path) -> Run:
    """A copy, since answers are stored with a run."""
    return Run(shutil.copytree(trained[0].folder, tmp_path / "copy"))


def test_words_are_placed_by_their_output_vectors(run):
    system = open_system(run)
    found = word_projection(run)
    ids = system.model.output_ids.numpy()
    words = ids >= len(SPECIALS)
    assert sorted(found["word"]) == sorted(system.pipeline.target.vocabulary.tokens(ids[words].tolist()))
    assert found["count"].is_monotonic_decreasing
    assert dict(zip(found["word"], found["count"], strict=True)) == dict(
        zip(
            system.pipeline.target.vocabulary.tokens(ids[words].tolist()),
            system.pipeline.target.counts[ids[words]].tolist(),
            strict=True,
        )
    )
    expected, shares = by_svd(output_vectors(system.model).double().numpy()[words])
    assert sorted(found["x"].abs()) == pytest.approx(sorted(np.abs(expected[:, 0])), rel=1e-4, abs=1e-5)
    assert found[["x_share", "y_share"]].iloc[0].tolist() == pytest.approx(shares, rel=1e-4)


@pytest.mark.parametrize("where", ["encoder", "decoder"])
def test_states_of_a_sample_are_placed_token_by_token(run, tiny_corpus, where):
    found = state_projection(run, tiny_corpus, "dev", where, sample=5)
    drawn = draw_sample(tiny_corpus, "dev", 5)
    states = token_states(run, drawn.pairs, where)
    assert found["word"].tolist() == states.tokens["piece"].tolist()
    assert found["line"].unique().tolist() == drawn.lines
    expected, _ = by_svd(states.vectors.astype(float))
    assert found["x"].abs().tolist() == pytest.approx(np.abs(expected[:, 0]).tolist(), rel=1e-3, abs=1e-4)
