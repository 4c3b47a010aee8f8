"""Many languages, drawn."""

import math

import pandas as pd
import pytest

from nmtlab.plots import directions_figure, gradient_cosine_figure, probe_figure, similarity_figure

HOSTILE = "<script>alert(1)</script>"
SIMILARITY = pd.DataFrame(
    [(layer, "gl", other, 0.5 + layer / 10 + shift, -0.01 - shift, 0.02 + shift, 0.8, 0.6, 0.1)
     for other, shift in (("pt", 0.0), ("es", 0.1)) for layer in range(3)],
    columns=[
        "layer", "language", "other_language", "cka", "null_mean", "null_95", "precision", "precision_back", "chance",
    ],
).assign(sentences=10)  # fmt: skip
SCORES = pd.DataFrame(
    [("gl", "en", True, 23.44), ("en", "gl", True, 20.0), ("pt", "en", True, 30.0), ("pt", "gl", False, 8.06)],
    columns=["source", "target", "trained", "bleu"],
)
COSINES = pd.DataFrame(
    [(*part, one, other, cosine) for part in (("", "embeddings", 0), ("decoder", "cross-attention", 2))
     for one, other, cosine in (
         ("gl-en", "pt-en", 0.5), ("gl-en", "gl-en", 0.75), ("gl-en", "en-gl", -0.25), ("pt-en", "pt-en", math.nan))],
    columns=["side", "kind", "depth", "direction", "other_direction", "cosine"],
)  # fmt: skip


def test_each_pair_of_languages_has_a_line_above_what_chance_gives():
    figure = similarity_figure(SIMILARITY)
    lines = [trace for trace in figure.data if trace.mode == "lines+markers"]
    assert [trace.name for trace in lines if trace.showlegend] == ["gl and pt", "gl and es"]
    assert list(lines[0].y) == pytest.approx([0.5, 0.6, 0.7])
    assert list(lines[1].y) == pytest.approx([0.7] * 3)  # mean of both ways
    band, chance = (trace for trace in figure.data if trace.fill == "toself")
    assert list(band.x) == [0, 1, 2, 2, 1, 0]
    assert list(band.y) == pytest.approx([-0.11] * 3 + [0.12] * 3)  # of all pairs
    assert set(chance.y) == {0.1}
    assert band.name == "shuffled sentences (mean to 95 %), or chance"
    assert [figure.layout[f"xaxis{n}"].title.text for n in ("", 2)] == ["encoder layer (0: embedding)"] * 2
    assert figure.layout.title.text == "How alike languages are, layer by layer: 10 sentences"


def test_the_matrix_of_directions_marks_those_that_were_not_trained():
    figure = directions_figure(SCORES, title=HOSTILE)
    (matrix,) = figure.data
    assert (list(matrix.y), list(matrix.x)) == (["gl", "en", "pt"], ["gl", "en"])
    assert matrix.text.tolist() == [["", "<b>23.4</b>"], ["<b>20.0</b>", ""], ["8.1<br>zero-shot", "<b>30.0</b>"]]
    assert matrix.z[2][0] == 8.06
    assert math.isnan(matrix.z[0][0])
    assert (matrix.zmin, matrix.zmax) == (0, 30)
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("target language", "source language")
    assert (
        figure.layout.title.text == "BLEU of all directions, trained ones bold: &lt;script&gt;alert(1)&lt;/script&gt;"
    )


def test_the_matrix_of_chrf_says_so():
    figure = directions_figure(SCORES.rename(columns={"bleu": "chrf"}), "chrf")
    assert figure.layout.title.text == "chrF of all directions, trained ones bold"


def test_gradients_of_two_directions_are_beside_the_noise_floor():
    figure = gradient_cosine_figure(COSINES)
    (matrix,) = figure.data
    assert list(matrix.x) == ["gl-en<br>pt-en", "gl-en<br>en-gl", "gl-en<br>two halves", "pt-en<br>two halves"]
    assert list(matrix.y) == ["embeddings", "decoder 2 cross-attention"]
    assert matrix.text.tolist() == [["+0.50", "−0.25", "+0.75", ""]] * 2
    assert (matrix.zmin, matrix.zmid, matrix.zmax) == (-1, 0, 1)
    assert [shape.x0 for shape in figure.layout.shapes] == [1.5]  # between the second and the third
    assert "two halves of one direction's text" in figure.layout.xaxis.title.text
    many = [("", "embeddings", 0, "gl-en", f"en-{number}", 0.1) for number in range(11)]
    crowded = gradient_cosine_figure(pd.DataFrame(many, columns=COSINES.columns))
    assert crowded.layout.xaxis.ticktext[0] == "gl-en, en-0"


def test_the_probe_has_a_line_for_each_kind_of_units_and_chance():
    probes = pd.DataFrame(
        [(layer, units, 8, 0.5 + layer / 10) for layer in range(2) for units in ("all", "shared")],
        columns=["layer", "units", "width", "accuracy"],
    ).assign(chance=0.25)
    figure = probe_figure(probes)
    assert [trace.name for trace in figure.data] == ["all units", "shared units", "always the most frequent language"]
    assert list(figure.data[0].y) == pytest.approx([50, 60])
    assert list(figure.data[2].y) == [25, 25]
    assert figure.layout.yaxis.title.text == "accuracy on new sentences (%)"
