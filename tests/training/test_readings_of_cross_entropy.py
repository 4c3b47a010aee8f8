"""The five readings of the cross-entropy of a sentence are one number (Stahlberg 2020, 11.1, Equations 36 to 39)."""

import math

import numpy as np
import pytest
import torch
from support.small_convolutional import convolutional
from support.small_recurrent import recurrent
from support.small_transformer import transformer

from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.forced import forced_decode, forced_steps
from nmtlab.search.sampling import sample
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import EOS
from nmtlab.training.losses import cross_entropy

SOURCE = np.array([[5, EOS]])
EVERYTHING = SearchSettings(beam_size=2000, score="log-prob", extra_length=2)
"""A beam that holds every translation of up to two tokens and EOS."""


@pytest.mark.parametrize("model", [transformer(), recurrent(), convolutional()], ids=["transformer", "rnn", "conv"])
def test_the_five_readings_are_one_number(model: TranslationModel):
    memory = model.encode(torch.from_numpy(SOURCE))
    drawn = next(one for one in sample(model, memory, samples=500)[0].hypotheses if len(one.tokens) == 2)
    reference = torch.tensor([[*drawn.tokens, EOS]])

    pair = on_device(batch_of(SOURCE, reference.numpy()))
    with torch.no_grad():
        loss = cross_entropy(model.output(model(pair)), model.output_index(reference[0]), smoothing=0.0).gold.item()

    (forced,) = forced_decode(model, memory, reference)
    likelihood = math.prod(np.exp(forced.log_probs).tolist())

    monte_carlo = -drawn.log_prob  # of the cross-entropy of sentences, with N = 1

    of_tokens = 0.0
    for token, step in zip(reference[0], forced_steps(model, memory, reference), strict=True):
        real = (step.state.output_ids == token).double()
        of_tokens -= (real * step.log_probs[0, 0]).sum().item()

    every = beam_search(model, memory, EVERYTHING, n_best=2000)[0].hypotheses
    dirac = -sum(one.log_prob for one in every if one.tokens == drawn.tokens)

    np.testing.assert_allclose([-math.log(likelihood), monte_carlo, of_tokens, dirac], loss, rtol=0, atol=1e-10)
