"""Measurements during training."""

import numpy as np
import pytest
import torch

from nmtlab.models.build import ModelText, build_model
from nmtlab.recipe import TransformerSettings
from nmtlab.systems import open_system
from nmtlab.training.validation import embedding_norms, g_values

ALLOWED = np.array([False, False, *[True] * 10])


def model(placement: str = "pre", norm: str = "scale", joint: bool = True):
    settings = TransformerSettings(
        d_model=8, d_ff=16, encoder_layers=1, decoder_layers=1, heads=2, placement=placement, norm=norm
    )
    return build_model(settings, ModelText(12 if joint else 15, ALLOWED, joint))


@pytest.mark.parametrize("placement", ["pre", "post"])
@torch.no_grad()
def test_g_is_read_from_every_scale_norm_with_its_place(placement):
    made = model(placement)
    for number, sublayer in enumerate(made.sublayers()):
        made.get_submodule(sublayer.name).g.fill_(number)
    rows = g_values(made)
    assert [row["g"] for row in rows] == list(range(len(made.sublayers())))
    assert [(row["side"], row["kind"], row["depth"]) for row in rows[:2]] == [
        ("encoder", "attention", 1), ("encoder", "feed-forward", 1),
    ]  # fmt: skip
    assert rows[-1]["kind"] == ("final" if placement == "pre" else "feed-forward")


def test_other_norms_have_no_g():
    assert g_values(model(norm="layer")) == []


@pytest.mark.parametrize("joint", [True, False])
def test_lengths_are_those_of_the_stored_word_vectors(joint):
    made = model(joint=joint)
    norms = embedding_norms(made)
    assert {use: len(lengths) for use, lengths in norms.items()} == {
        "source": 12 if joint else 15, "target": 12, "output": 12,
    }  # fmt: skip
    row = made.source_embedding.weight[7].tolist()
    assert norms["source"][7] == pytest.approx(sum(value**2 for value in row) ** 0.5)


def test_a_training_logs_g_and_lengths_at_every_validation_and_the_gradient_at_every_update(trained):
    run, _ = trained
    steps = [20, 40, 60]
    assert run.log.metrics("validation")["step"].tolist() == steps
    names = [sublayer.name for sublayer in open_system(run).model.sublayers()]
    g = run.log.g_values()
    assert g["step"].tolist() == [step for step in steps for _ in names]
    assert g["name"].tolist() == names * 3
    # It starts at the square root of 16, and 60 updates of Adam move it by no more than 60 times the highest rate.
    assert (g["g"] - 4.0).abs().between(1e-9, 60 * run.log.metrics("train")["rate"].max()).all()
    assert list(run.log.embedding_norms()) == steps
    types = run.pipeline.source.size
    assert {use: lengths.shape for use, lengths in run.log.embedding_norms()[40].items()} == {
        "source": (types,), "target": (types,), "output": (types,),
    }  # fmt: skip
    norms = run.log.gradient_norms()
    assert norms["step"].tolist() == list(range(1, 61))
    assert (norms["norm"] > 0).all()


@pytest.mark.full
def test_the_gradients_norm_is_measured_before_clipping(trained, tiny_corpus, tiny_recipe, workspace):
    from nmtlab.training.setup import train

    whole, _ = trained
    clipped = train("clipped", tiny_recipe.with_changes({"training.clip_norm": 1e-3}), tiny_corpus, workspace)
    assert clipped.log.gradient_norms()["norm"][0] == whole.log.gradient_norms()["norm"][0]
    assert (clipped.log.gradient_norms()["norm"] > 1e-3).all()
