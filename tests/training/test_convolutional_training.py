"""The convolutional model is trained, stopped, resumed and opened by the same code as the others."""

import numpy as np
import pytest
import torch
from support.small_convolutional import SOURCE, TARGET, convolutional, log_probs
from support.weights import same_weights

from nmtlab.analysis.lexical.embedding_norms import word_norms
from nmtlab.analysis.lexical.lexical_choice import FREE_NORMS
from nmtlab.models.interface import on_device
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_system
from nmtlab.text.batching.batch import batch_of
from nmtlab.training.setup import train

CONV = {
    "model.family": "conv", "model.d_model": 16, "model.encoder_layers": 2, "model.decoder_layers": 2,
    "training.validate_every": 10, "training.max_evaluations": 2,
}  # fmt: skip


@pytest.mark.full  # near the limit of the quick tier on a slow machine
def test_a_stopped_training_resumes_in_the_middle_of_an_epoch_and_translates(tiny_corpus, tiny_recipe, workspace):
    recipe = tiny_recipe.with_changes(CONV)
    whole = train("whole", recipe, tiny_corpus, workspace)
    losses = whole.log.metrics("train")["loss"]
    assert losses.iloc[-1] < losses.iloc[0]
    steps = iter(range(1000))
    train("stopped", recipe, tiny_corpus, workspace, should_stop=lambda: next(steps) == 13)
    stopped = Run(workspace.runs / "stopped")
    assert stopped.status == "stopped"
    train("stopped", recipe, tiny_corpus, workspace, resume=True)
    assert stopped.log.gradient_norms().equals(whole.log.gradient_norms())
    assert same_weights(stopped, whole)
    system = open_system(whole)
    assert system.translate(["ein hund", ""])[1].text == ""
    pair = np.array([[4, 5, 6, 2]])
    (forced,) = forced_decode(system.model, system.model.encode(torch.from_numpy(pair)), torch.from_numpy(pair))
    assert forced.attention.shape == (2, 1, 4, 4)
    assert FREE_NORMS.met(whole)
    for weights in whole.folder.glob("checkpoints/*.safetensors"):
        weights.unlink()
    assert not whole.checkpoints.has_weights()
    logged = word_norms(whole)
    assert logged["used_norm"].equals(logged["norm"])


def test_in_bf16_it_computes_about_the_same():
    model = convolutional().float()
    batch = on_device(batch_of(SOURCE, TARGET))
    wanted = log_probs(model, batch)
    with torch.autocast("cpu", torch.bfloat16):
        found = log_probs(model, batch)
    torch.testing.assert_close(found.float(), wanted, atol=0.2, rtol=0.05)
