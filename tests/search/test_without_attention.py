"""A model without attention is searched and scored as others are; what needs attention refuses it."""

import numpy as np
import pytest
import torch
from support.small_recurrent import SOURCE, TARGET, recurrent

from nmtlab.errors import RunError
from nmtlab.recipe import SearchSettings
from nmtlab.search.attention import word_attention
from nmtlab.search.beam import beam_search
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.ensemble import Ensemble
from nmtlab.search.forced import forced_decode
from nmtlab.text.segmentation.vocabulary import EOS

BEAM = SearchSettings(beam_size=3, score="log-prob", extra_length=3)


@pytest.fixture(scope="module")
def model():
    return recurrent(attention="none", context="every-step")


def test_a_recorded_search_finds_what_another_finds_and_its_attention_has_no_layers(model):
    memory = model.encode(torch.from_numpy(SOURCE))
    recorded, plain = (
        [result.hypotheses[0] for result in beam_search(model, memory, BEAM, record=record)] for record in (True, False)
    )
    assert [one.tokens for one in recorded] == [one.tokens for one in plain]
    assert [len(one.attention) for one in recorded] == [0] * len(SOURCE)
    for row, one in enumerate(recorded):
        (scored,) = forced_decode(model, memory.select(torch.tensor([row])), torch.tensor([[*one.tokens, EOS]]))
        assert scored.log_probs[: len(one.tokens) + one.finished].sum() == pytest.approx(one.log_prob)


def test_what_reads_attention_says_that_there_is_none(model):
    memory = model.encode(torch.from_numpy(SOURCE))
    with pytest.raises(RunError, match="it has no attention; choose a run whose model"):
        beam_search(model, memory, BEAM.model_copy(update={"coverage": 0.2}))
    (forced, *_) = forced_decode(model, memory, torch.from_numpy(TARGET))
    with pytest.raises(RunError, match="it has no attention"):
        word_attention(forced.attention, [0, 1, 2, 3])


def test_groups_that_differ_are_searched_and_scored(model):
    memory = model.encode(torch.from_numpy(SOURCE))
    for row, found in enumerate(diverse_beam_search(model, memory, BEAM, 2, diversity_penalty=0.5)):
        for one in found.hypotheses:
            (scored,) = forced_decode(model, memory.select(torch.tensor([row])), torch.tensor([[*one.tokens, EOS]]))
            assert scored.log_probs[: len(one.tokens) + one.finished].sum() == pytest.approx(one.log_prob)


def test_an_ensemble_has_the_attention_of_those_that_have_any(model):
    source, target = torch.from_numpy(SOURCE), torch.from_numpy(TARGET)
    attending = recurrent()
    mixed, without = (
        forced_decode(ensemble, ensemble.encode(source), target)[0].attention
        for ensemble in (Ensemble([model, attending]), Ensemble([model, model]))
    )
    np.testing.assert_allclose(mixed, forced_decode(attending, attending.encode(source), target)[0].attention)
    assert len(without) == 0
