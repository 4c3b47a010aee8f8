"""Time by part: every call is counted once, what a part calls is not its own, and nothing is left behind."""

from collections import Counter
from itertools import count

import pytest
import torch
from support.hand_made_model import SYSTEMS, random_system

from nmtlab.analysis.search import time_parts as module
from nmtlab.analysis.search.time_parts import (
    DECODER,
    ENCODER,
    OUTPUT,
    PARTS,
    SEARCH,
    time_parts,
    time_sentences,
    time_steps,
)
from nmtlab.recipe import SearchSettings
from nmtlab.systems import open_model
from nmtlab.translation import Translator

LINES = ["olim Fauchi deydi", "Entoni", "", "deydi olim Entoni Fauchi olim"]
NETWORKS = {
    "layer": {"self-attention", "cross-attention", "feed-forward"},
    "average": {"average", "cross-attention", "feed-forward"},
    "bytenet": {"convolutions"},
    "conv": {"convolutions", "cross-attention"},
    "untied": {"recurrent cells", "cross-attention"},
    "no attention": {"recurrent cells"},
    "fixnorm+lex": {"recurrent cells", "cross-attention", "lexicon"},
    "arthur": {"recurrent cells", "cross-attention", "lexicon"},
}


def system_of(network: str, beam_size: int = 2, batch_tokens: int = 6) -> Translator:
    one = random_system(network)
    settings = SearchSettings(beam_size=beam_size, batch_tokens=batch_tokens, extra_length=4)
    return Translator(one.model, one.pipeline, settings)


@pytest.fixture
def ticking(monkeypatch) -> None:
    """A clock that goes on by one whenever somebody looks at it."""
    ticks = count()
    monkeypatch.setattr(module.time, "process_time", lambda: float(next(ticks)))


@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_has_its_parts_and_translates_as_before(network):
    assert network in SYSTEMS
    system = system_of(network)
    before = system.translate(LINES)
    found = time_parts(system, LINES)
    assert set(found) == {ENCODER, OUTPUT, DECODER, SEARCH} | NETWORKS[network]
    assert list(found) == [part for part in PARTS if part in found]
    assert all(seconds > 0 for _, seconds in found.values())
    assert system.translate(LINES) == before


@pytest.mark.parametrize("network", NETWORKS)
def test_hooks_are_removed_also_after_an_error(network):
    system = system_of(network)
    methods = set(vars(system.model))
    time_parts(system, LINES)
    with pytest.raises(TypeError):
        time_parts(system, [3])
    assert set(vars(system.model)) == methods
    modules = list(system.model.modules())
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in modules)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_every_call_is_counted_once(beam_size):
    system, calls = system_of("layer", beam_size), Counter()
    (layer,) = system.model.decoder
    places = {
        "self-attention": layer.attention_residual, "cross-attention": layer.cross_attention_residual,
        "feed-forward": layer.feed_forward_residual, "key": layer.cross_attention.key,
        "value": layer.cross_attention.value, OUTPUT: system.model.output_layer,
        ENCODER: system.model.encoder[0],
    }  # fmt: skip
    hooks = [place.register_forward_hook(lambda *_, name=name: calls.update([name])) for name, place in places.items()]
    found = time_parts(system, LINES)
    for hook in hooks:
        hook.remove()
    calls["cross-attention"] += calls.pop("key") + calls.pop("value")
    assert calls["key"] == 0 < calls[OUTPUT]
    assert {part: found[part].calls for part in calls if calls[part]} == {
        part: number for part, number in calls.items() if number
    }
    assert found[DECODER].calls == calls[OUTPUT] + calls[ENCODER]  # steps, and one start for each batch
    assert found[SEARCH].calls == 1


def test_the_parts_add_up_to_the_whole_time(ticking):
    found = time_parts(system_of("layer"), LINES)
    begun_or_ended = 2 * sum(calls for part, (calls, _) in found.items() if part != SEARCH)
    assert sum(seconds for _, seconds in found.values()) == begun_or_ended + 1


def test_what_a_part_calls_is_not_its_own(monkeypatch):
    moments = iter([0, 1, 3, 7, 8, 10])
    monkeypatch.setattr(module.time, "process_time", lambda: next(moments))
    clock = module._Clock(torch.device("cpu"))
    clock.enter("outer")
    clock.enter("inner")
    clock.leave()
    clock.leave()
    clock.leave()
    assert clock.seconds == {SEARCH: 1 + 2, "outer": 2 + 1, "inner": 4}


def test_a_planned_length_has_a_part(zoo):
    system = open_model(zoo("planned"))
    assert time_parts(system, ["ein hund"])["length model"].calls == 1


def test_what_is_no_network_of_torch_has_one_part():
    class Echo:
        model = None

        def translate(self, lines):
            return lines

    assert list(time_parts(Echo(), LINES)) == [SEARCH]


@pytest.mark.parametrize("beam_size", [1, 2])
def test_the_steps_of_a_batch_have_fewer_rows_as_sentences_end(beam_size):
    system = system_of("layer", beam_size)
    found = time_steps(system, LINES)
    rows = found["rows"].tolist()
    assert rows[0] == 3
    assert rows[1:] == sorted(rows[1:], reverse=True)
    longest = max(len(one.hypotheses[0].tokens) for one in system.translate(LINES) if one.hypotheses)
    assert len(rows) >= longest
    assert (found["seconds"] > 0).all()


def test_each_step_lasts_until_the_next_one(ticking):
    system = system_of("layer", 2)
    found = time_steps(system, LINES)
    whole = time_parts(Translator(system.model, system.pipeline, SearchSettings(beam_size=2, extra_length=4)), LINES)
    steps = whole[DECODER].calls - 1
    assert len(found) == steps
    assert found["seconds"].sum() == 2 * (sum(calls for calls, _ in whole.values()) - 1) - 2 * (1 + 1 + 2)


@pytest.mark.parametrize("lines", [[], ["", ""]])
def test_blank_texts_have_no_steps(lines):
    assert time_steps(system_of("layer"), lines).empty


def test_each_sentence_is_timed_alone(ticking):
    asked = []

    class Echo:
        model = None

        def translate(self, lines):
            asked.append(lines)
            return lines

    found = time_sentences(Echo(), LINES)
    assert asked == [LINES[:1], *([line] for line in LINES)]
    assert found["words"].tolist() == [3, 1, 0, 5]
    assert found["seconds"].tolist() == [1.0] * 4


def test_threads_are_given_back():
    torch.set_num_threads(2)
    try:
        time_parts(system_of("layer"), LINES)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
