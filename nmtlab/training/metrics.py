"""What updates come to, summed up until it is logged."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtlab.runs.run import Run
from nmtlab.training.events import Progress
from nmtlab.training.parallel import Group


class Update(NamedTuple):
    """What an update has come to.

    Args:
        sums: loss, negative log-likelihood and every term of the objective, summed over this process's rows.
        norm: of the gradient.
        source_tokens, target_tokens: of the whole update.
        counted_tokens: the target's, each as often as its pair counts.
    """

    sums: Tensor
    norm: Tensor
    source_tokens: int
    target_tokens: int
    counted_tokens: float


class Summary(NamedTuple):
    """Means over some updates, of losses a target token; `terms` are what each adds to the loss."""

    loss: float
    terms: dict[str, float]
    perplexity: float
    norms: list[float]
    tokens_per_second: float
    utilisation: float | None

    @property
    def finite(self) -> bool:
        return math.isfinite(self.loss) and all(map(math.isfinite, self.norms))


class Meter:
    """The updates since the last line of the log.

    Args:
        weights: of the objective's terms, by name.
        group: the processes that train together.
        peak: operations a second that a processor is made for; None if not known.
        operations: of an update, by the numbers of its source and target tokens.
    """

    def __init__(
        self,
        weights: Mapping[str, float],
        group: Group,
        peak: float | None,
        operations: Callable[[float, float], float],
    ) -> None:
        self.weights, self.group, self.peak, self.operations = weights, group, peak, operations
        self.updates: list[Update] = []
        self.since = time.perf_counter()

    def restart(self) -> None:
        """Begin to measure time anew, after something that was no training."""
        self.since = time.perf_counter()

    def summary(self) -> Summary:
        """Return what the updates have come to over all processes, and forget them."""
        loss, nll, *terms = self.group.sum(_sums(self.updates).sum(0)).tolist()
        now = time.perf_counter()
        seconds, tokens = now - self.since, sum(update.counted_tokens for update in self.updates)
        weighted = zip(self.weights.items(), terms, strict=True)
        found = Summary(
            loss=loss / tokens,
            terms={name: weight * value / tokens for (name, weight), value in weighted},
            perplexity=math.exp(min(nll / tokens, 700.0)),
            norms=[update.norm.item() for update in self.updates],
            tokens_per_second=sum(update.target_tokens for update in self.updates) / seconds,
            utilisation=self._utilisation(seconds),
        )
        self.updates, self.since = [], now
        return found

    def noted(self, updates: Sequence[Update]) -> list[list[float]]:
        """Return updates as numbers, summed over all processes, for `restore`."""
        sums = self.group.sum(_sums(updates)).tolist() if updates else []
        return [
            [loss, nll, update.norm.item(), *update[2:], *terms]
            for (loss, nll, *terms), update in zip(sums, updates, strict=True)
        ]

    def restore(self, noted: Sequence[Sequence[float]], device: torch.device) -> None:
        """Go on from updates that a stop has noted; their sums over the processes are the first one's."""
        self.updates = [self._update(values, device) for values in noted]

    def _update(self, values: Sequence[float], device: torch.device) -> Update:
        loss, nll, norm, source_tokens, target_tokens, *more = values
        counted_tokens, *terms = more or (target_tokens, *[math.nan] * len(self.weights))  # of version 0.1
        numbers = torch.tensor((loss, nll, *terms, norm), dtype=torch.float64, device=device)
        sums = numbers[:-1] if self.group.is_main else torch.zeros_like(numbers[:-1])
        return Update(sums, numbers[-1], int(source_tokens), int(target_tokens), counted_tokens)

    def _utilisation(self, seconds: float) -> float | None:
        """Return the share of the GPUs' arithmetic that the updates have used."""
        if self.peak is None:
            return None
        operations = sum(self.operations(u.source_tokens, u.target_tokens) for u in self.updates)
        return operations / (seconds * self.peak * self.group.size)


def log_progress(run: Run, progress: Progress, norms: Sequence[float]) -> None:
    """Log some updates, and the gradient norm of each of them."""
    known = {} if progress.utilisation is None else {"utilisation": round(progress.utilisation, 4)}
    run.log(
        "train",
        progress.step,
        loss=progress.loss,
        terms=progress.terms,
        perplexity=progress.perplexity,
        gradient_norm=progress.gradient_norm,
        rate=progress.rate,
        tokens_per_second=round(progress.tokens_per_second, 1),
        seconds=round(progress.seconds, 3),
        **known,
    )
    run.log_gradient_norms(dict(enumerate(norms, start=progress.step - len(norms) + 1)))


def _sums(updates: Sequence[Update]) -> Tensor:
    """Return the sums of updates, (updates, n) float64."""
    return torch.stack([update.sums.double() for update in updates])
