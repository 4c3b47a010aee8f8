"""Recurrent models of several target languages: in each, they are the model of that language alone."""

import numpy as np
import pytest
import torch
from support.small_recurrent import (
    ALLOWED,
    SOURCE,
    SOURCE_TYPES,
    SYSTEMS,
    TARGET,
    TYPES,
    every_system,
    everything,
    pairs,
    recurrent,
    stepwise,
)

from nmtlab.models.interface import on_device
from nmtlab.text.batching.batch import batch_of
from nmtlab.training.objective import training_objective

BY_LANGUAGE = {
    "en": ALLOWED,
    "es": np.isin(np.arange(TYPES), [2, 3, 4, 5, 8, 9]),
    "keys": np.isin(np.arange(TYPES), [2, 3, 6, 9, 10, 11]),  # 'keys' is an attribute of modules
}


@everything
@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_into_each_language_it_is_the_model_of_that_language_alone(choices, language):
    model, alone = recurrent(allowed=BY_LANGUAGE, **choices), recurrent(allowed=BY_LANGUAGE[language], **choices)
    weights = dict(alone.named_parameters())
    assert list(weights) == [name for name, _ in model.named_parameters()]
    assert all(torch.equal(parameter, weights[name]) for name, parameter in model.named_parameters())
    into = model.directed("nl", language)
    expected = alone(pairs())
    assert into.output_ids.tolist() == np.flatnonzero(BY_LANGUAGE[language]).tolist()
    assert torch.equal(into(pairs()), expected)
    assert torch.equal(into.output(expected), alone.output(expected))
    assert all(torch.equal(term, into.explain(expected)[name]) for name, term in alone.explain(expected).items())
    types = torch.arange(SOURCE_TYPES)
    assert alone.lexicon(types) is into.lexicon(types) is None or torch.equal(into.lexicon(types), alone.lexicon(types))


@everything
@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_the_language_of_a_batch_decides_its_loss_and_its_gradient(choices, language):
    model, alone = recurrent(allowed=BY_LANGUAGE, **choices), recurrent(allowed=BY_LANGUAGE[language], **choices)
    batch = on_device(batch_of(SOURCE, TARGET, source_language="nl", target_language=language))
    losses = [training_objective(one, smoothing=0.1)(of).total for one, of in ((model, batch), (alone, pairs()))]
    assert torch.equal(*losses)
    for loss in losses:
        loss.backward()
    weights = dict(alone.named_parameters())
    for name, parameter in model.named_parameters():
        assert parameter.grad is weights[name].grad is None or torch.equal(parameter.grad, weights[name].grad)
    assert not model.output_bias.grad[~torch.from_numpy(BY_LANGUAGE[language])].any()


@every_system
@pytest.mark.parametrize("language", BY_LANGUAGE)
def test_decoding_word_by_word_into_a_language_gives_the_numbers_of_training(system, language):
    model = recurrent(allowed=BY_LANGUAGE, **SYSTEMS[system])
    into = model.directed("nl", language)
    expected = into.output(into(pairs())).log_softmax(-1)
    torch.testing.assert_close(stepwise(into, pairs())[0], expected)
    torch.testing.assert_close(stepwise(model, pairs(), language)[0], expected)
