"""Gradients of two directions, where the answer is known."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.languages.gradients import (
    EMBEDDINGS,
    GRADIENT_COSINES,
    ModelPart,
    cosine_by_part,
    gradient_cosine_figure,
    gradient_cosines,
)
from nmtlab.errors import CorpusError, RunError
from nmtlab.models.interface import on_device
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.sample import draw_apart
from nmtlab.training.objective import training_objective

PARTS = [
    ("", "embeddings", 0), ("encoder", "attention", 1), ("encoder", "feed-forward", 1), ("encoder", "attention", 2),
    ("encoder", "feed-forward", 2), ("decoder", "attention", 1), ("decoder", "cross-attention", 1),
    ("decoder", "feed-forward", 1),
]  # fmt: skip
COSINES = pd.DataFrame(
    [(*part, one, other, cosine) for part in (("", "embeddings", 0), ("decoder", "cross-attention", 2))
     for one, other, cosine in (
         ("gl-en", "pt-en", 0.5), ("gl-en", "gl-en", 0.75), ("gl-en", "en-gl", -0.25), ("pt-en", "pt-en", math.nan))],
    columns=["side", "kind", "depth", "direction", "other_direction", "cosine"],
)  # fmt: skip


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


def test_the_cosine_of_two_directions_is_the_mean_over_halves_that_share_no_sentence(copies):
    table = gradient_cosines(copies.shared, copies.corpora, sample=6)
    pair = table[table["direction"] != table["other_direction"]]
    assert list(pair[["side", "kind", "depth"]].itertuples(index=False, name=None)) == PARTS
    assert set(pair["direction"] + " " + pair["other_direction"]) == {"de-en nl-en"}
    assert set(pair["sentences"]) == {3}
    halves, parts = _gradients_of_halves(copies, 6), _parts_of(copies.shared)
    tables = [cosine_by_part(ours, theirs, parts) for ours in halves["de"] for theirs in halves["nl"]]
    _assert_equal(pair, sum(table["cosine"] for table in tables) / 4, tables[0])


def test_a_direction_is_compared_with_itself_on_two_halves_of_its_text(copies):
    table = gradient_cosines(copies.shared, copies.corpora, sample=6)
    alone = table[table["direction"] == table["other_direction"]]
    assert set(alone["direction"]) == {"de-en", "nl-en"}
    assert len(alone) == 2 * len(PARTS)
    expected = cosine_by_part(*_gradients_of_halves(copies, 6)["nl"], _parts_of(copies.shared))
    _assert_equal(alone[alone["direction"] == "nl-en"], expected["cosine"], expected)


def test_only_shared_weights_are_compared(copies):
    tables = [gradient_cosines(run, copies.corpora, sample=4) for run in (copies.shared, copies.halves)]
    whole, half = (table.drop_duplicates(["side", "kind", "depth"])["weights"].to_numpy() for table in tables)
    assert (half[1:] * 2 == whole[1:]).all()
    system = opened(copies.halves)
    shared = [
        parameter.numel()
        for name, parameter in system.model.named_parameters()
        if name.startswith("encoder.0.attention.") and ".shared." in name
    ]
    assert half[1] == sum(shared)


def test_opposite_losses_have_opposite_gradients():
    weight = torch.nn.Linear(3, 2, bias=False).weight
    bias = torch.nn.Parameter(torch.zeros(2))
    x = torch.tensor([1.0, 2.0, 3.0])
    loss = (weight @ x + bias).sum()
    ours, theirs, across = (
        dict(zip("wb", torch.autograd.grad(value, (weight, bias), retain_graph=True), strict=True))
        for value in (loss, -2 * loss, (weight @ torch.tensor([3.0, 0.0, -1.0])).sum() + 0 * bias.sum())
    )
    parts = {"w": ModelPart("encoder", "attention", 1), "b": EMBEDDINGS}
    table = cosine_by_part(ours, theirs, parts)
    assert table["cosine"].to_numpy() == pytest.approx(-1)
    assert table["weights"].tolist() == [6, 2]
    inner, nothing = cosine_by_part(ours, across, parts)["cosine"]
    assert inner == pytest.approx(0, abs=1e-6)
    assert np.isnan(nothing)


def test_the_answer_is_stored(copies):
    corpora = list(copies.corpora)
    first = GRADIENT_COSINES.of(copies.halves, corpora=corpora, sample=4)
    assert GRADIENT_COSINES.of(copies.halves, corpora=corpora, sample=4).equals(first)


def test_one_direction_alone_is_refused(copies, trained):
    with pytest.raises(CorpusError, match="directions de-en; give corpora of two"):
        gradient_cosines(copies.shared, copies.corpora[:1])
    with pytest.raises(CorpusError, match="fewer than two sentences of one are in no other; choose other texts"):
        gradient_cosines(copies.shared, copies.corpora, sample=1)
    with pytest.raises(RunError, match="'nl'"):
        gradient_cosines(trained[0], copies.corpora)


def _assert_equal(table: pd.DataFrame, cosines: pd.Series, places: pd.DataFrame) -> None:
    keys = ["side", "kind", "depth"]
    found = table.set_index(keys)["cosine"]
    expected = places.assign(cosine=cosines).set_index(keys)["cosine"]
    pd.testing.assert_series_equal(found, expected.reindex(found.index), atol=1e-5)


def _parts_of(run) -> dict[str, ModelPart]:
    kinds = {"attention": "attention", "cross_attention": "cross-attention", "feed_forward": "feed-forward"}
    parts = {}
    for name, _ in opened(run).model.named_parameters():
        words = name.split(".")
        if words[0] in ("encoder", "decoder") and words[2] in kinds:
            parts[name] = ModelPart(words[0], kinds[words[2]], int(words[1]) + 1)
        elif "embedding" in name or name == "output_layer.bias":
            parts[name] = EMBEDDINGS
    return parts


def _gradients_of_halves(copies, count: int) -> dict[str, list[dict[str, torch.Tensor]]]:
    samples = draw_apart(copies.corpora, "dev", count)
    assert not {t for _, t in samples[0]} & {t for _, t in samples[1]}
    return {
        language: [_gradients(copies.shared, language, half) for half in (pairs[::2], pairs[1::2])]
        for language, pairs in zip(("de", "nl"), samples, strict=True)
    }


def _gradients(run, language: str, pairs) -> dict[str, torch.Tensor]:
    system = opened(run).directed(language, "en")
    system.model.zero_grad()
    sides = (
        pad([system.pipeline.source_ids(s) for s, _ in pairs]),
        pad([system.pipeline.target_ids(t) for _, t in pairs]),
    )
    batch = on_device(batch_of(*sides, source_language=language, target_language="en"))
    training_objective(system.model.requires_grad_(), run.recipe.training.label_smoothing)(batch).total.backward()
    named = system.model.named_parameters()
    return {name: parameter.grad.clone() for name, parameter in named if parameter.grad is not None}
