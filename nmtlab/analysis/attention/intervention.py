"""What would a system generate from here on if it attended elsewhere? (an attention weight moved by hand)"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmtlab.analysis.access.opened import RunOrSystem, opened
from nmtlab.errors import NmtlabError
from nmtlab.models.interface import Memory, TranslationModel
from nmtlab.search.attention import check_attends
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.forced import forced_decode
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.text.segmentation.vocabulary import BOS


class Intervention(NamedTuple):
    """A translation decoded again with moved attention.

    Args:
        before: probability of the original token at the position, with the system's attention.
        after: the same with the moved attention.
    """

    text: str
    hypothesis: Hypothesis
    before: float
    after: float


def redecode(
    system: RunOrSystem, source: str, target: str, position: int, source_position: int, weight: float = 1.0
) -> Intervention:
    """Keep what is written of a translation before a token, move the attention there, and search for the rest.

    Args:
        system: a run with weights, or a translator; it must not plan lengths.
        target: a translation, the system's or any other.
        position: of the target token whose attention is moved, from 0; the number of tokens means EOS.
        source_position: of the source token that attention is moved to, from 0; the number of tokens means EOS.
        weight: attention weight of this source token in every layer and head, 0 to 1; the other weights are rescaled
            in proportion.

    Raises:
        NmtlabError: no such position, or it cannot be attended to; or the system has no attention.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    device = model.device
    source_ids = torch.tensor([pipeline.source_ids(source)], device=device)
    target_ids = torch.tensor([pipeline.target_ids(target)], device=device)
    for name, place, ids in (("position", position, target_ids), ("source position", source_position, source_ids)):
        if not 0 <= place < ids.shape[1]:
            last = ids.shape[1] - 1
            raise NmtlabError(f"{name} {place}: there are {last} tokens", f"choose a number from 0 to {last}")
    with torch.inference_mode():
        memory = model.encode(source_ids)
    if not memory.mask[0, source_position]:
        raise NmtlabError(f"source position {source_position}: this system never attends to EOS", "choose a word")
    (forced,) = forced_decode(model, memory, target_ids)
    check_attends(forced.attention)
    position = pipeline.target.reading_order(target_ids[0].tolist())[position]
    moved = torch.from_numpy(_moved(forced.attention[:, :, position], source_position, weight)).to(device)
    attention = moved.new_full((moved.shape[0], 1, position + 1, *moved.shape[1:]), torch.nan)
    attention[:, 0, position] = moved
    constraints = Constraints(prefix=target_ids[:, :position], attention=attention)
    best = beam_search(model, memory, translator.settings, constraints=constraints)[0].hypotheses[0]
    before = float(np.exp(forced.log_probs[position]))
    after = _probability(model, memory, target_ids[:, : position + 1], constraints)
    return Intervention(pipeline.target.text(best.tokens), best, before, after)


@torch.inference_mode()
def _probability(model: TranslationModel, memory: Memory, target: Tensor, constraints: Constraints) -> float:
    """Return the probability of the last token of a prefix, with the given attention."""
    state, token = model.start(memory), torch.full_like(target[:, :1], BOS)
    first = torch.zeros(1, dtype=torch.long, device=target.device)
    for position in range(target.shape[1]):
        step = model.step(state, token, attention=constraints.imposed(first, position))
        state, token = step.state, target[:, position : position + 1]
    return step.log_probs[0, 0, model.output_index(token)[0]].exp().item()


def _moved(weights: np.ndarray, place: int, weight: float) -> np.ndarray:
    """Return weights, (layers, heads, S), with one of them set and the others rescaled in proportion."""
    rest = weights.copy()
    rest[..., place] = 0
    left = rest.sum(-1, keepdims=True)
    shares = np.divide(rest, left, out=np.zeros_like(rest), where=left > 0)
    moved = shares * (1 - weight)
    moved[..., place] = np.where(left[..., 0] > 0, weight, 1.0)
    return moved
