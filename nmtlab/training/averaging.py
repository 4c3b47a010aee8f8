"""Averages of weights: a moving one during a training, and the mean of the checkpoints that a training kept."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from nmtlab.errors import RunError
from nmtlab.nn.low_rank import merged
from nmtlab.runs.log import write_log
from nmtlab.runs.run import INHERITANCE, TABLE, Run
from nmtlab.runs.tensors import checkpoint_path, load_digest, save_tensors
from nmtlab.runs.training_log import METRICS
from nmtlab.training.optimisers import saved_tensor

_AVERAGE = "average"


class MovingAverage:
    """The moving average θ̄_t = d θ̄_{t-1} + (1 - d) θ_t of parameters, d = min(1 - τ, (t + 1) / (t + 10)), as Marian's.

    Args:
        parameters: by name; θ̄_1 is their value after the first update.
        weight: τ, from 0 to below 1; 0 for no average.
    """

    def __init__(self, parameters: Mapping[str, nn.Parameter], weight: float) -> None:
        self.parameters = parameters if weight else {}
        self.weight = weight
        self.averages: dict[str, Tensor] = {}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the parameters after an update, counted from 1."""
        decay = min(1 - self.weight, (step + 1) / (step + 10))
        for name, parameter in self.parameters.items():
            if name in self.averages:
                self.averages[name].lerp_(parameter, 1 - decay)
            else:
                self.averages[name] = parameter.detach().clone()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Give the parameters the values of their averages, and take them back in the end."""
        values = {name: self.parameters[name].detach().clone() for name in self.averages}
        self._set(self.averages)
        try:
            yield
        finally:
            self._set(values)

    def state(self) -> dict[str, Tensor]:
        """Return what `load` restores."""
        return {f"{_AVERAGE}.{name}": average for name, average in self.averages.items()}

    def load(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the averages after some updates.

        Raises:
            RunError: one is missing, or differs in shape or type from its parameter.
        """
        for name, parameter in self.parameters.items():
            self.averages[name] = saved_tensor(f"{_AVERAGE}.{name}", tensors, parameter).clone()

    @torch.no_grad()
    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, value in values.items():
            self.parameters[name].copy_(value)


def average_checkpoints(run: Run, folder: Path, last: int | None = None) -> Run:
    """Make a run whose weights are the mean of checkpoints that a training kept; its log names them.

    Low-rank changes are merged into the weights: the mean of products is not the product of means.

    Args:
        run: trained with `training.keep_checkpoints`.
        folder: of the new run.
        last: how many, the last ones; all that were kept if not given.

    Raises:
        RunError: the training kept none, or fewer; or the new run exists.
    """
    kept = run.checkpoints.kept
    if not kept or len(kept) < (last or 1):
        raise RunError(
            f"run {run.name!r}: {len(kept) or 'no'} kept checkpoints" + (f", not {last}" if last else ""),
            "choose a lower --last" if kept else "train one with --set training.keep_checkpoints=4",
        )
    steps = list(kept)[-last:] if last else list(kept)
    log = run.log.metrics("validation")
    seconds = dict(zip(log["step"], log["seconds"], strict=True)).get(steps[-1], 0.0)
    origin = {"run": run.name, "steps": steps, "weights": [load_digest(kept[step]) for step in steps]}

    def fill(unfinished: Path) -> None:
        mean = mean_weights([merged(run.checkpoints.kept_weights(step)) for step in steps])
        save_tensors(checkpoint_path(unfinished, "best"), mean, {"step": steps[-1]})
        end = {"kind": "end", "step": steps[-1], "status": "finished", "seconds": seconds, "mean_of": origin}
        write_log(unfinished / METRICS, [end])
        for name in (TABLE, INHERITANCE):
            if (run.folder / name).exists():
                shutil.copyfile(run.folder / name, unfinished / name)

    recipe = run.recipe.with_changes({"model.lora_rank": 0}) if run.recipe.model.low_rank else run.recipe
    return Run.create(folder, recipe, run.environment, run.pipeline, fill)


def mean_weights(checkpoints: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of checkpoints, one or more with the same weights, computed in float64."""
    return {
        name: torch.stack([one[name].double() for one in checkpoints]).mean(0).to(weights.dtype)
        for name, weights in checkpoints[0].items()
    }
