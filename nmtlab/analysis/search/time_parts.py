"""Where the time of a translation goes: by part of the network, by step, and by sentence.

After the profiles of Senellart et al. (2018, Figure 2) and the step times of Hoang et al. (2018, Figure 2). Everything
is measured with one thread: on a CPU in processor time, which is the time on the clock of an idle machine, and longer
beside other work; on a GPU on the clock.
"""

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import pandas as pd
import torch
from torch import nn

from nmtlab.models.interface import TranslationModel
from nmtlab.nn.average import AverageAttention
from nmtlab.translation import System, Translator

ENCODER, OUTPUT, DECODER, SEARCH = "encoder", "output layer", "rest of the decoder", "search and text"

_MODULES: Mapping[str, str] = {
    "self-attention": r"decoder\.\d+\.attention_residual",
    "convolutions": r"decoder\.layers\.\d+\.convolution",
    "recurrent cells": r"feed|cells\.\d+(\.input)?",
    "cross-attention": r"decoder\.\d+\.cross_attention(_residual|\.key|\.value)|attention|grammar(\.gate)?|combine"
    r"|decoder\.layers\.\d+\.(query|attention|context)",
    "feed-forward": r"decoder\.\d+\.(feed_forward_residual|adapters)",
    "lexicon": r"lexical",
    "length model": r"length_model",
}
"""The decoder's parts: each has the modules, of all families of networks, whose names match."""

_AVERAGE = "average"
"""What an averaging decoder has in place of self-attention."""

_METHODS = {"encode": ENCODER, "start": DECODER, "step": DECODER, "next_log_probs": OUTPUT}

PARTS = (ENCODER, *_MODULES, _AVERAGE, OUTPUT, DECODER, SEARCH)
"""All parts, in the order of the computation; a network has some of them."""

_MOST_LINES = 128
"""Lines of a batch whose steps are timed."""


class Part(NamedTuple):
    """What was spent in a part, without the parts that it called."""

    calls: int
    seconds: float


class _Clock:
    """Charges every moment to the innermost part that has begun and not ended."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._begun = [SEARCH]
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls = Counter({SEARCH: 1})
        self.steps: list[tuple[int, float]] = []
        self.since = _now(device)

    def enter(self, part: str) -> None:
        self._charge()
        self._begun.append(part)
        self.calls[part] += 1

    def leave(self) -> None:
        self._charge()
        self._begun.pop()

    def enter_step(self, rows: int) -> None:
        self.enter(DECODER)
        self.steps.append((rows, self.since))

    def _charge(self) -> None:
        now = _now(self._device)
        self.seconds[self._begun[-1]] += now - self.since
        self.since = now


def time_parts(system: System, lines: Sequence[str]) -> dict[str, Part]:
    """Translate lines, and return the time that each part took; together they have all of the time.

    A system whose network is not torch's has one part, `search and text`.

    Args:
        system: its model is in evaluation mode.
        lines: plain text, one sentence per line.

    Returns:
        The parts that were called, by their names, in the order of `PARTS`.
    """
    with _timed(system) as clock:
        system.translate(lines)
    return {part: Part(clock.calls[part], clock.seconds[part]) for part in PARTS if clock.calls[part]}


def time_steps(system: Translator, lines: Sequence[str]) -> pd.DataFrame:
    """Translate lines as one batch, and return the time of each step.

    Args:
        system: its model is in evaluation mode.
        lines: plain text; those after the first 128 are left out.

    Returns:
        Rows in order, with `rows`, the hypotheses that the step reads (fewer as sentences end), and `seconds`, from the
        beginning of the step to that of the next.
    """
    settings = system.settings.model_copy(update={"batch_tokens": 10**9})
    together = Translator(system.model, system.pipeline, settings, system.lexicon)
    with _timed(together) as clock:
        together.translate(lines[:_MOST_LINES])
    begun = [moment for _, moment in clock.steps]
    seconds = [after - before for before, after in pairwise([*begun, clock.since])]
    return pd.DataFrame({"rows": [rows for rows, _ in clock.steps], "seconds": seconds})


def time_sentences(system: System, lines: Sequence[str]) -> pd.DataFrame:
    """Translate lines one by one, as somebody does who waits for each, and return the time of each.

    Args:
        lines: plain text, one sentence per line; the first is translated once more before.

    Returns:
        Rows in order, with `words` of the source, separated by white space, and `seconds`.
    """
    rows, device = [], _device(system)
    with _one_thread():
        system.translate(lines[:1])
        for line in lines:
            start = _now(device)
            system.translate([line])
            rows.append((len(line.split()), _now(device) - start))
    return pd.DataFrame(rows, columns=["words", "seconds"])


@contextmanager
def _timed(system: System) -> Iterator[_Clock]:
    """Time the parts of a system's network, by hooks that are removed at the end."""
    model = system.model
    with _one_thread(), ExitStack() as hooks:
        clock = _Clock(_device(system))
        if isinstance(model, TranslationModel):
            for name, module in model.named_modules():
                if part := _part(model, name):
                    _hook(module, part, clock, hooks)
            for name, part in _METHODS.items():
                _wrap(model, name, part, clock, hooks)
        yield clock
        clock.leave()


def _part(model: nn.Module, name: str) -> str | None:
    """Return the part that the module of a name begins; None for other modules."""
    part = next((part for part, names in _MODULES.items() if re.fullmatch(names, name)), None)
    if part == "self-attention" and isinstance(model.get_submodule(name.removesuffix("_residual")), AverageAttention):
        return _AVERAGE
    if part == "cross-attention" and getattr(model, "attention", name) is None:  # a recurrent system without attention
        return "recurrent cells"
    return part


def _hook(module: nn.Module, part: str, clock: _Clock, hooks: ExitStack) -> None:
    entering = module.register_forward_pre_hook(lambda module, inputs: clock.enter(part))
    leaving = module.register_forward_hook(lambda module, inputs, output: clock.leave())
    hooks.callback(entering.remove)
    hooks.callback(leaving.remove)


def _wrap(model: nn.Module, name: str, part: str, clock: _Clock, hooks: ExitStack) -> None:
    """Time a method, which is no module."""
    method: Callable[..., Any] = getattr(model, name)

    def timed(*given: Any, **named: Any) -> Any:
        if name == "step":
            clock.enter_step(given[1].numel())
        else:
            clock.enter(part)
        result = method(*given, **named)
        clock.leave()
        return result

    setattr(model, name, timed)
    hooks.callback(delattr, model, name)


def _device(system: System) -> torch.device:
    return system.model.device if system.model else torch.device("cpu")


def _now(device: torch.device) -> float:
    """Return a moment, in seconds."""
    if device.type != "cuda":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute with one thread, in which everything then happens in turn."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
