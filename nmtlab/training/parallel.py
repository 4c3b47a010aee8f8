"""Data-parallel training: processes started by torchrun share each global batch."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as distributed
from torch import Tensor

from nmtlab.text.batching.batch import A, Batch

T = TypeVar("T")

_STARTED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # set by torchrun
_PATIENCE = timedelta(days=7)
"""How long processes wait for each other: the first alone prepares a large corpus and decodes dev text."""


@dataclass(frozen=True)
class Group:
    """The processes that train together: `rank` is this process's number, from 0, `size` how many there are."""

    rank: int = 0
    size: int = 1
    control: distributed.ProcessGroup | None = None
    """Broadcasts objects and waits on the CPU: a GPU's collectives time out after minutes and stop the job."""

    @classmethod
    def init(cls, device: torch.device) -> "Group":
        """Join the processes that torchrun started; without torchrun, return a group of one."""
        if not all(name in os.environ for name in _STARTED):
            return cls()
        if device.type == "cuda":
            torch.cuda.set_device(device)
        if not distributed.is_initialized():
            gpu = device if device.type == "cuda" else None
            distributed.init_process_group("nccl" if gpu else "gloo", timeout=_PATIENCE, device_id=gpu)
        control = distributed.new_group(backend="gloo", timeout=_PATIENCE)
        return cls(distributed.get_rank(), distributed.get_world_size(), control)

    @staticmethod
    def leave() -> None:
        """Leave the group before the program ends: its threads may fail when the other processes are gone."""
        if distributed.is_initialized():
            distributed.destroy_process_group()

    @property
    def is_main(self) -> bool:
        """Whether this process writes the run."""
        return self.rank == 0

    def on_main(self, work: Callable[[], T]) -> T:
        """Return what `work` returns in the first process, in every process: the others wait until it is done."""
        return cast(T, self.broadcast(work() if self.is_main else None))

    def shard(self, batch: Batch[A]) -> Batch[A]:
        """Return this process's rows of a batch; a process without any gets a row without target tokens."""
        if self.size == 1:
            return batch
        if self.rank >= batch.rows:
            return batch.cut(slice(1)).without_targets()
        return batch.cut(slice(self.rank, None, self.size))

    def sum(self, values: Tensor) -> Tensor:
        """Return the sum of a tensor over the processes."""
        if self.size > 1:
            distributed.all_reduce(values)
        return values

    def broadcast(self, value: T) -> T:
        """Return the first process's value, in every process."""
        if self.size == 1:
            return value
        box = [value]
        distributed.broadcast_object_list(box, group=self.control)
        return box[0]
