"""Training in several processes, started by torchrun, on the same global batch."""

import os
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as distributed
from torch import Tensor

from nmtlab.text.batches import Batch
from nmtlab.text.vocabulary import PAD

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """The processes that train together: `rank` is this one's place, `size` how many there are."""

    rank: int = 0
    size: int = 1

    @classmethod
    def join(cls, device: torch.device) -> "Group":
        """Join the processes that torchrun started, or be alone without it."""
        if "RANK" not in os.environ:
            return cls()
        if not distributed.is_initialized():
            distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        return cls(distributed.get_rank(), distributed.get_world_size())

    @property
    def is_first(self) -> bool:
        """Whether this process writes the run."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """Return this process's rows of a batch; one without any takes a row that has no target tokens."""
        if self.size == 1:
            return batch
        if self.rank >= len(batch.source):
            return Batch(batch.source[:1], np.full_like(batch.target[:1], PAD))
        return Batch(batch.source[self.rank :: self.size], batch.target[self.rank :: self.size])

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of a tensor over the processes."""
        if self.size > 1:
            distributed.all_reduce(values)
        return values

    def tell(self, value: T) -> T:
        """Return the first process's value, in every process."""
        if self.size == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box)
        return box[0]
