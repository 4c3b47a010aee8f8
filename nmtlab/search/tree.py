"""Search trees: the slots of a search after each step, with their attention."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from torch import Tensor

from nmtlab.text.segmentation.vocabulary import PAD


@dataclass(frozen=True)
class TreeStep:
    """The slots of a search after one step: those of a beam best first, samples in the order of drawing.

    Args:
        parent: (K,) the slot of the previous step that each continues; a search begins with one slot, or one for each
            separate beam or sample.
        token: (K,) the id added; PAD if a finished hypothesis keeps its slot.
        log_prob, score: (K,) of the hypothesis so far; -inf for an empty slot.
        finished: (K,) whether it has ended.
        attention: (layers, K', heads, S) weights on the source of each slot of the previous step, when this step's
            tokens were chosen.
    """

    parent: np.ndarray
    token: np.ndarray
    log_prob: np.ndarray
    score: np.ndarray
    finished: np.ndarray
    attention: np.ndarray


def record_step(
    trees: Sequence[list[TreeStep]],
    places: Tensor,
    parent: Tensor,
    token: Tensor,
    log_prob: Tensor,
    score: Tensor,
    finished: Tensor,
    attention: Tensor,
) -> None:
    """Add a step to some trees.

    Args:
        trees: one per sentence of the batch.
        places: (B,) indices of the trees to add to.
        parent, token, log_prob, score, finished: (B, K), as of `TreeStep`.
        attention: (layers, B, K', heads, S).
    """
    slots = [values.cpu().numpy() for values in (parent, token, log_prob, score, finished)]
    slots.append(attention.cpu().numpy().swapaxes(0, 1))
    for row, index in enumerate(places.tolist()):
        trees[index].append(TreeStep(*(values[row] for values in slots)))


def attention_of(tree: Sequence[TreeStep], slot: int, length: int) -> np.ndarray:
    """Trace a hypothesis back from its slot after the last step, and collect the attention of its tokens.

    Args:
        tree: of the search, up to the hypothesis' last step or beyond.
        slot: its slot after the tree's last step.
        length: its number of tokens, EOS included.

    Returns:
        (layers, heads, length, S).
    """
    weights = []
    for step in reversed(tree):
        slot = int(step.parent[slot])
        weights.append(step.attention[:, slot])
    return np.stack(weights[::-1][:length], axis=2)


def merge_trees(trees: Sequence[Sequence[TreeStep]]) -> list[TreeStep]:
    """Merge the trees of several searches for one sentence, their slots side by side.

    Args:
        trees: one per search; the slots of a shorter tree stay as they are after its end.
    """
    longest = max(map(len, trees), default=0)
    return [_joined([tree[at] if at < len(tree) else _kept(tree[-1]) for tree in trees]) for at in range(longest)]


def _joined(steps: Sequence[TreeStep]) -> TreeStep:
    attention = [step.attention for step in steps]
    before = np.cumsum([0] + [weights.shape[1] for weights in attention[:-1]])
    parent = [step.parent + slots for step, slots in zip(steps, before, strict=True)]
    named = ([getattr(step, name) for step in steps] for name in ("token", "log_prob", "score", "finished"))
    return TreeStep(*[*map(np.concatenate, (parent, *named)), np.concatenate(attention, axis=1)])


def _kept(step: TreeStep) -> TreeStep:
    slots = np.arange(len(step.token))
    nowhere = np.zeros_like(step.attention[:, :1]).repeat(len(slots), axis=1)
    return replace(step, parent=slots, token=np.full_like(step.token, PAD), attention=nowhere)
