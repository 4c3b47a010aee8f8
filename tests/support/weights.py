"""Whether two runs have the same weights."""

import torch

from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which


def same_weights(one: Run, other: Run, which: Which = "last") -> bool:
    first, second = one.checkpoints.weights(which)[0], other.checkpoints.weights(which)[0]
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
