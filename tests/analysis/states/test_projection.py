"""Vectors in the plane."""

import math
import shutil

import numpy as np
import pandas as pd
import pytest

from nmtlab.analysis.access.opened import output_vectors
from nmtlab.analysis.states import projection
from nmtlab.analysis.states.projection import (
    STATE_PROJECTION,
    WORD_PROJECTION,
    has_umap,
    project,
    projection_figure,
    state_projection,
    word_projection,
)
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


def test_word_vectors_of_each_system_are_shown_and_correlated_with_frequency(run, tmp_path):
    other = Run(shutil.copytree(run.folder, tmp_path / "other"))
    view = WORD_PROJECTION.view([run, other])
    assert view.frame["run"].tolist() == ["copy", "other"]
    assert view.frame["points"].nunique() == 1
    assert ((view.frame["share 1"] >= view.frame["share 2"]) & (view.frame["share 2"] > 0)).all()
    assert view.frame[["ρ 1", "ρ 2"]].abs().to_numpy().max() <= 1
    assert len(view.figure.data) == 2


def test_states_of_a_text_are_shown_with_the_number_of_its_sentences(run, tiny_corpus):
    view = STATE_PROJECTION.view(run, corpus=tiny_corpus, where="encoder", sample=5, text="tiny dev")
    assert view.frame["points"].tolist() == [len(view.figure.data[0].x)]
    title = "States of the encoder at tokens of 5 sentences of tiny dev, by frequency in training"
    assert view.figure.layout.title.text == title


def points(run: str, words: list[str], counts: list[int], share: float = 0.25) -> pd.DataFrame:
    places = [float(place) for place in range(len(words))]
    frame = pd.DataFrame({"word": words, "count": counts, "x": places, "y": places[::-1]})
    return frame.assign(run=run, x_share=share, y_share=share / 2)


def test_each_system_has_a_panel_and_a_colour_is_a_frequency():
    both = pd.concat([points("one", ["a", "b"], [1000, 1]), points("<two>", ["<b>", "c"], [10, 0])])
    figure = projection_figure(both, "Words")
    one, two = figure.data
    assert (one.meta, two.meta) == ("one", "<two>")
    assert [note.text for note in figure.layout.annotations] == ["one", "&lt;two&gt;"]
    assert list(one.marker.color) == pytest.approx([3, 0])
    assert list(two.marker.color) == pytest.approx([1, 0])  # a word that training lacks counts as seen once
    assert two.text[0] == "&lt;b&gt;"
    assert list(two.customdata[0]) == ["<b>", 10]
    assert figure.layout.coloraxis.colorbar.ticktext == ("1", "10", "100", "1,000")
    assert figure.layout.xaxis2.title.text == "PC 1 (25.0% of the variance)"
    assert figure.layout.yaxis.title.text == "PC 2 (12.5% of the variance)"


def test_axes_of_umap_have_no_share_of_the_variance():
    figure = projection_figure(points("one", ["a", "b"], [1, 2], math.nan), "Words")
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("UMAP 1", "UMAP 2")


def test_of_many_words_every_nth_is_drawn():
    words = [f"w{number}" for number in range(4000)]
    (trace,) = projection_figure(points("one", words, [5] * 4000), "Words").data
    assert list(trace.text) == words[::3]
