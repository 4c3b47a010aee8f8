"""Model FLOPs utilisation: operations by formula against those that torch counts, and the GPUs' peaks."""

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from nmtlab.models.build import ModelText, build_model
from nmtlab.models.interface import on_device
from nmtlab.progress import ProgressBar
from nmtlab.recipe import ConvSettings, RnnSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.text.batching.batch import batch_of
from nmtlab.training.cost import peak_operations, update_operations
from nmtlab.training.events import Prepared, Progress
from nmtlab.training.objective import training_objective
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

TYPES = 40


@pytest.mark.parametrize("allowed", [TYPES, 25])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_operations_of_a_transformer_are_those_that_torch_counts(tiny_recipe, placement, allowed):
    changes = {"model.encoder_layers": 2, "model.decoder_layers": 3, "model.placement": placement}
    settings = tiny_recipe.with_changes(changes).model
    torch.manual_seed(1)
    types = np.arange(TYPES) < allowed
    model = build_model(settings, ModelText(TYPES, types, joint=False))
    lines, source, target = 6, 5, 9
    pairs = on_device(batch_of(np.full((lines, source), 4), np.full((lines, target), 5)))
    with FlopCounterMode(display=False) as counter:
        training_objective(model, 0.1)(pairs).total.backward()
    d, layers = settings.d_model, (2, 3)
    # queries by keys and weights by values: two products each of 2·d operations a pair of positions, three times in all
    lengths = layers[0] * source**2 + layers[1] * (target**2 + target * source)
    attention = 12 * d * lines * lengths
    counted = counter.get_total_flops() - attention
    assert update_operations(model, lines * source, lines * target) == pytest.approx(counted, rel=0.03)


@pytest.mark.full
@pytest.mark.parametrize("attention", ["general", "dot", "additive"])
@pytest.mark.parametrize(("tied", "cell"), [(True, {}), (False, {}), (True, {"cell": "gru", "transitions": 3})])
def test_operations_of_a_recurrent_model_are_those_that_torch_counts(tied, cell, attention):
    torch.manual_seed(1)
    # torch counts the operations only of an unfused cell
    settings = RnnSettings(d_model=16, layers=2, tied=tied, attention=attention, layer_norm=True, **cell)
    model = build_model(settings, ModelText(TYPES, np.ones(TYPES, dtype=bool), joint=False))
    lines, source, target, d = 6, 17, 9, settings.d_model
    pairs = on_device(batch_of(np.full((lines, source), 4), np.full((lines, target), 5)))
    with FlopCounterMode(display=False) as counter:
        training_objective(model, 0.1)(pairs).total.backward()
    products = 2 if attention == "additive" else 4  # its scores are no product of matrices
    counted = counter.get_total_flops() - 3 * products * d * lines * source * target
    assert update_operations(model, lines * source, lines * target) == pytest.approx(counted, rel=0.03)


def test_operations_of_a_convolutional_model_are_those_that_torch_counts():
    settings = ConvSettings(d_model=16, encoder_layers=2, decoder_layers=3)
    model = build_model(settings, ModelText(TYPES, np.ones(TYPES, dtype=bool), joint=False))
    lines, source, target, d = 6, 17, 9, settings.d_model
    pairs = on_device(batch_of(np.full((lines, source), 4), np.full((lines, target), 5)))
    with FlopCounterMode(display=False) as counter:
        training_objective(model, 0.1)(pairs).total.backward()
    counted = counter.get_total_flops() - 3 * 12 * d * lines * source * target  # without the attention of each layer
    assert update_operations(model, lines * source, lines * target) == pytest.approx(counted, rel=0.03)


@pytest.mark.parametrize(
    ("gpu", "peak"),
    [
        ("NVIDIA H200", 989e12),
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA L40", 181e12),
        ("NVIDIA L4", 121e12),
        ("NVIDIA L400", None),
        ("NVIDIA GH200 480GB", 989e12),
        ("Some other GPU", None),
    ],
)
def test_the_peak_is_that_of_the_data_sheet(monkeypatch, gpu, peak):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: gpu)
    assert peak_operations(torch.device("cuda"), MachineSettings(precision="bf16")) == peak
    assert peak_operations(torch.device("cuda"), MachineSettings()) is None
    assert peak_operations(torch.device("cpu"), MachineSettings(precision="bf16")) is None


@pytest.mark.full
def test_utilisation_is_logged_where_the_peak_is_known(tiny_corpus, tiny_recipe, tmp_path, monkeypatch):
    monkeypatch.setattr("nmtlab.training.loop.peak_operations", lambda device, settings: 1e12)
    seen = []
    run = train("known", tiny_recipe, tiny_corpus, Workspace(tmp_path), on_event=seen.append)
    told = [event.utilisation for event in seen if isinstance(event, Progress)]
    assert all(share > 0 for share in told)
    assert run.log.metrics("train")["utilisation"].tolist() == [round(share, 4) for share in told]


@pytest.mark.full
def test_utilisation_is_nowhere_where_it_is_not(tiny_corpus, tiny_recipe, tmp_path):
    run = train("unknown", tiny_recipe, tiny_corpus, Workspace(tmp_path))
    assert "utilisation" not in run.log.metrics("train")


def test_the_bar_has_it_in_percent(capsys, monkeypatch):
    bar = ProgressBar()
    bar(Prepared(parameters=1000, pairs=5, skipped={}, updates=200))
    bar(Progress(100, 200, 1.2, 3.3, 5000.0, 0.5, 1e-3, 60.0, 60.0, utilisation=0.412))
    assert "5,000 tok/s 41% MFU" in bar.bar.postfix
