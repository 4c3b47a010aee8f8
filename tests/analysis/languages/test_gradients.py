"""Gradients of two directions, where the answer is known."""

import numpy as np
import pytest
import torch

from nmtlab.analysis.access.measure import measure
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.languages.gradients import EMBEDDINGS, ModelPart, cosine_by_part, gradient_cosines
from nmtlab.errors import CorpusError, RunError
from nmtlab.models.interface import on_device
from nmtlab.text.batch import batch_of
from nmtlab.text.batches import pad
from nmtlab.text.sample import draw_sample
from nmtlab.training.objective import training_objective

PARTS = [
    ("", "embeddings", 0), ("encoder", "attention", 1), ("encoder", "feed-forward", 1), ("encoder", "attention", 2),
    ("encoder", "feed-forward", 2), ("decoder", "attention", 1), ("decoder", "cross-attention", 1),
    ("decoder", "feed-forward", 1),
]  # fmt: skip


def test_two_directions_with_the_same_text_have_the_same_gradients(copies):
    table = gradient_cosines(copies.shared, copies.corpora)
    pair = table[table["direction"] != table["other_direction"]]
    assert list(pair[["side", "kind", "depth"]].itertuples(index=False, name=None)) == PARTS
    assert pair["cosine"].to_numpy() == pytest.approx(1, abs=1e-5)
    assert set(pair["direction"] + " " + pair["other_direction"]) == {"de-en nl-en"}


def test_the_noise_floor_is_between_two_halves_of_the_text(copies):
    table = gradient_cosines(copies.shared, copies.corpora, sample=7)
    floor = table[table["direction"] == table["other_direction"]]
    assert set(floor["direction"]) == {"de-en", "nl-en"}
    assert len(floor) == 2 * len(PARTS)
    assert (floor["cosine"] < 0.999).all()
    expected = cosine_by_part(*_gradients_of_halves(copies, 7), _parts_of(copies.shared))
    for row in floor[floor["direction"] == "nl-en"].itertuples():
        part = expected.query("side == @row.side and kind == @row.kind and depth == @row.depth")
        assert row.cosine == pytest.approx(part["cosine"].item(), abs=1e-5)


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
    first = measure(copies.halves, gradient_cosines, corpora=corpora, sample=4)
    assert measure(copies.halves, gradient_cosines, corpora=corpora, sample=4).equals(first)


def test_one_direction_alone_is_refused(copies, trained):
    with pytest.raises(CorpusError, match="directions de-en; give corpora of two"):
        gradient_cosines(copies.shared, copies.corpora[:1])
    with pytest.raises(RunError, match="'nl'"):
        gradient_cosines(trained[0], copies.corpora)


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


def _gradients_of_halves(copies, count: int) -> list[dict[str, torch.Tensor]]:
    system = opened(copies.shared).directed("nl", "en")
    pairs = draw_sample(copies.corpora[1], "dev", count).pairs
    found = []
    for half in (pairs[::2], pairs[1::2]):
        system.model.zero_grad()
        sides = (
            pad([system.pipeline.source_ids(s) for s, _ in half]),
            pad([system.pipeline.target_ids(t) for _, t in half]),
        )
        batch = on_device(batch_of(*sides, source_language="nl", target_language="en"))
        smoothing = copies.shared.recipe.training.label_smoothing
        training_objective(system.model, smoothing)(batch).total.backward()
        named = system.model.named_parameters()
        found.append({name: parameter.grad.clone() for name, parameter in named if parameter.grad is not None})
    return found
