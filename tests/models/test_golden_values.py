"""The golden values of docs/development/testing.md: every parameter is set by a formula, the losses are known."""

import numpy as np
import pytest
import torch

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import TransformerSettings
from nmtlab.text.batching.batch import batch_of
from nmtlab.training.objective import training_objective

ALLOWED = np.array([i not in (0, 1, 8) for i in range(12)])
SOURCE = np.array([[5, 7, 4, 2], [6, 8, 2, 0]])
TARGET = np.array([[9, 10, 5, 2], [11, 4, 2, 0]])


def wave(shape: tuple[int, ...], k: float) -> torch.Tensor:
    rows = torch.arange(shape[0], dtype=torch.float64)[:, None]
    cols = torch.arange(shape[1] if len(shape) > 1 else 1, dtype=torch.float64)
    return (0.2 * torch.sin(k + 0.7 * rows + 1.3 * cols)).reshape(shape).float()


@torch.no_grad()
def set_by_formula(model: TranslationModel) -> None:
    named = dict(model.named_parameters())
    numbered = {"encoder.0.attention": 10, "decoder.0.attention": 30, "decoder.0.cross_attention": 40}
    linears = {
        f"{name}.{part}": k + i
        for name, k in numbered.items()
        for i, part in enumerate(("query", "key", "value", "output"))
    }
    for side, k in (("encoder", 20), ("decoder", 50)):
        linears |= {f"{side}.0.feed_forward.inner": k, f"{side}.0.feed_forward.outer": k + 1}
    for name, k in linears.items():
        named[f"{name}.weight"].copy_(wave(named[f"{name}.weight"].shape, k))
        named[f"{name}.bias"].copy_(wave(named[f"{name}.bias"].shape, k + 0.5))
    model.target_embedding.weight.copy_(wave((12, 8), 1))
    model.languages.copy_(wave((2, 8), 2))
    model.output_layer.bias.copy_(wave((12,), 3))
    rows = torch.arange(8, dtype=torch.float64)
    for j, sublayer in enumerate(model.sublayers(), start=1):
        norm = model.get_submodule(sublayer.name)
        if hasattr(norm, "g"):
            norm.g.fill_(2 + 0.1 * j)
        else:
            norm.weight.copy_(1 + 0.2 * torch.sin(60 + j + 0.7 * rows))
            norm.bias.copy_(0.2 * torch.sin(80 + j + 0.7 * rows))


def golden_model(placement: str, norm: str, fixnorm: bool) -> TranslationModel:
    settings = TransformerSettings(
        d_model=8, d_ff=16, encoder_layers=1, decoder_layers=1, heads=2, dropout=0.0, language_vectors=True,
        placement=placement, norm=norm, fixnorm=fixnorm,
    )  # fmt: skip
    model = build_model(settings, ModelText(12, ALLOWED, joint=True))
    set_by_formula(model)
    return model


FORMS = [
    pytest.param("pre", "scale", True, 20.641825, 20.495079, id="PreNorm + ScaleNorm + FixNorm"),
    pytest.param("post", "layer", False, 15.793945, 15.748945, id="PostNorm + LayerNorm"),
]


@pytest.mark.parametrize(("placement", "norm", "fixnorm", "smoothed", "nll"), FORMS)
@pytest.mark.parametrize("mode", ["training", "evaluation"])
def test_the_losses_are_the_golden_ones(placement, norm, fixnorm, smoothed, nll, mode):
    model = golden_model(placement, norm, fixnorm).train(mode == "training")
    loss = training_objective(model, smoothing=0.1)(on_device(batch_of(SOURCE, TARGET)))
    assert [loss.total.item(), loss.nll.item()] == pytest.approx([smoothed, nll], abs=2e-5)


@pytest.mark.parametrize(("placement", "norm", "fixnorm", "smoothed", "nll"), FORMS)
def test_decoding_step_by_step_gives_the_golden_likelihood_too(placement, norm, fixnorm, smoothed, nll):
    model = golden_model(placement, norm, fixnorm).eval()
    pairs = on_device(batch_of(SOURCE, TARGET))
    state = model.start(model.encode(pairs.source))
    total = 0.0
    for t in range(TARGET.shape[1]):
        step = model.step(state, pairs.target_input[:, t : t + 1], record=t % 2 == 0)
        gold = model.output_index(pairs.target[:, t])[:, None, None]
        picked = step.log_probs.gather(-1, gold).squeeze()
        total -= picked[pairs.target[:, t] != 0].sum().item()
        state = step.state
    assert total == pytest.approx(nll, abs=2e-5)
