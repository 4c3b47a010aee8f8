"""Metrics of updates, collected until they are logged."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from nmtlab.runs.writer import RunWriter
from nmtlab.training.events import Progress
from nmtlab.training.parallel import Group


class Update(NamedTuple):
    """The metrics of one update.

    Args:
        total: loss, summed over this process's rows.
        nll: negative log-likelihood of the targets, summed likewise.
        terms: unweighted values of the objective's terms by name, summed likewise.
        norm: of the gradient.
        source_tokens, target_tokens: of the update, over all processes.
        counted_tokens: target tokens, each weighted by its pair's weight.
    """

    total: Tensor
    nll: Tensor
    terms: dict[str, Tensor]
    norm: Tensor
    source_tokens: int
    target_tokens: int
    counted_tokens: float


class Summary(NamedTuple):
    """Means over some updates, losses per target token; `terms` are the contributions to the loss."""

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
    """Collects the updates since the last line of the log.

    Args:
        weights: of the objective's terms, by name.
        group: the processes that train together.
        peak: peak operations per second of a device; None if not known.
        operations: returns an update's operations, given the numbers of its source and target tokens.
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
        """Restart the clock, after work other than training."""
        self.since = time.perf_counter()

    def summary(self) -> Summary:
        """Summarise the updates over all processes, and clear them."""
        loss, nll, *terms = self.group.sum(self._stacked(self.updates).sum(0)).tolist()
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
        """Return updates as numbers, summed over all processes, as `restore` takes them."""
        sums = self.group.sum(self._stacked(updates)).tolist() if updates else []
        return [
            [loss, nll, made.norm.item(), made.source_tokens, made.target_tokens, made.counted_tokens, *terms]
            for (loss, nll, *terms), made in zip(sums, updates, strict=True)
        ]

    def restore(self, noted: Sequence[Sequence[float]], device: torch.device) -> None:
        """Restore the updates that `noted` returned; the first process takes the sums over all."""
        self.updates = [self._update(values, device) for values in noted]

    def _update(self, values: Sequence[float], device: torch.device) -> Update:
        loss, nll, norm, source_tokens, target_tokens, *more = values
        counted_tokens, *terms = more or (
            target_tokens,
            *[math.nan] * len(self.weights),
        )  # version 0.1 had five numbers
        numbers = torch.tensor((norm, loss, nll, *terms), dtype=torch.float64, device=device)
        if not self.group.is_main:
            numbers[1:] = 0
        of_norm, total, of_nll, *values = numbers
        named = dict(zip(self.weights, values, strict=True))
        return Update(total, of_nll, named, of_norm, int(source_tokens), int(target_tokens), counted_tokens)

    def _stacked(self, updates: Sequence[Update]) -> Tensor:
        """Return loss, negative log-likelihood and every term of updates, (updates, 2 + terms) float64."""
        rows = [(made.total, made.nll, *(made.terms[name] for name in self.weights)) for made in updates]
        return torch.stack([torch.stack(row).double() for row in rows])

    def _utilisation(self, seconds: float) -> float | None:
        """Return the model FLOPs utilisation of the GPUs over the updates."""
        if self.peak is None:
            return None
        operations = sum(self.operations(u.source_tokens, u.target_tokens) for u in self.updates)
        return operations / (seconds * self.peak * self.group.size)


def log_progress(writer: RunWriter, progress: Progress, norms: Sequence[float]) -> None:
    """Log some updates, and the gradient norm of each."""
    known = {} if progress.utilisation is None else {"utilisation": round(progress.utilisation, 4)}
    writer.log(
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
    writer.log_gradient_norms(dict(enumerate(norms, start=progress.step - len(norms) + 1)))
