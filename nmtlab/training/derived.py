"""Runs whose weights come from those of another: the mean of checkpoints that it kept, or lighter ones."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmtlab.errors import NmtlabError, RunError
from nmtlab.nn.low_rank import merged
from nmtlab.nn.pruning import pruned, truncated
from nmtlab.runs.log import write_log
from nmtlab.runs.origin import IMPORTED
from nmtlab.runs.run import INHERITANCE, TABLE, Run
from nmtlab.runs.tensors import checkpoint_path, load_digest, save_tensors
from nmtlab.runs.training_log import METRICS


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
    mean = mean_weights([merged(run.checkpoints.kept_weights(step)) for step in steps])
    origin = {"run": run.name, "steps": steps, "weights": [load_digest(kept[step]) for step in steps]}
    return _derived(run, folder, mean, steps[-1], {"mean_of": origin})


def prune_run(run: Run, folder: Path, share: float, blind: bool = False) -> Run:
    """Make a run whose weights lack the smallest values of another's (`nmtlab.nn.pruning`); its log says so.

    Low-rank changes are merged into the weights before.

    Args:
        run: with weights.
        folder: of the new run.
        share: of the values, above 0 and below 1.
        blind: whether the share is one of all matrices together, not of each.

    Raises:
        NmtlabError: no such share.
        RunError: the run has no weights, or the new run exists.
    """
    _check_share("share", share)
    weights, facts = run.checkpoints.weights()
    origin = {"run": run.name, "share": share, "blind": blind, "weights": run.checkpoints.digest}
    return _derived(run, folder, pruned(merged(weights), share, blind), facts["step"], {"pruned": origin})


def cut_run(run: Run, folder: Path, share: float) -> Run:
    """Make a run whose matrices are those of another one at a lower rank (`nmtlab.nn.pruning`); its log says so.

    They are stored whole: the run shows what a cut costs, and is not smaller. Low-rank changes are merged before.

    Args:
        run: with weights.
        folder: of the new run.
        share: of the singular values of each matrix that are kept, above 0 and below 1.

    Raises:
        NmtlabError: no such share.
        RunError: the run has no weights, or the new run exists.
    """
    _check_share("rank", share)
    weights, facts = run.checkpoints.weights()
    origin = {"run": run.name, "share": share, "weights": run.checkpoints.digest}
    return _derived(run, folder, truncated(merged(weights), share), facts["step"], {"cut": origin})


def _check_share(of: str, share: float) -> None:
    if not 0 < share < 1:
        raise NmtlabError(f"{of} {share:g}: not above 0 and below 1", "give one such as 0.4")


def _derived(run: Run, folder: Path, weights: Mapping[str, Tensor], step: int, origin: Mapping[str, Any]) -> Run:
    """Make a run like another, with its low-rank changes merged, whose log has a last line alone, with the origin."""
    log = run.log.metrics("validation")
    seconds = dict(zip(log["step"], log["seconds"], strict=True)).get(step, 0.0) if len(log) else 0.0

    def fill(unfinished: Path) -> None:
        save_tensors(checkpoint_path(unfinished, "best"), weights, {"step": step})
        end = {"kind": "end", "step": step, "status": "finished", "seconds": seconds, **origin}
        write_log(unfinished / METRICS, [end])
        for name in (TABLE, INHERITANCE, IMPORTED):
            if (run.folder / name).exists():
                shutil.copyfile(run.folder / name, unfinished / name)

    return Run.create(folder, run.recipe.without_low_rank(), run.environment, run.pipeline, fill)


def mean_weights(checkpoints: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of checkpoints, one or more with the same weights, computed in float64."""
    return {
        name: torch.stack([one[name].double() for one in checkpoints]).mean(0).to(weights.dtype)
        for name, weights in checkpoints[0].items()
    }
