"""One update of a model: the gradient of some batches, clipped, and a step of the optimiser."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import reduce

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from nmtlab.models.interface import Trainable, on_device
from nmtlab.nn.private import private_language
from nmtlab.recipe import Recipe
from nmtlab.text.batching.batch import Batch
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.training.anchors import Anchor, TuneOut, Zeros
from nmtlab.training.metrics import Update
from nmtlab.training.objective import Loss, training_objective
from nmtlab.training.optimisers import optimiser_for
from nmtlab.training.parallel import Group
from nmtlab.training.risk import risk_of


class Stepper:
    """Makes the updates of a model.

    Args:
        model: on its device; parameters that need no gradient stay as they are.
        recipe: objective, optimiser, clipping, noise and precision.
        pipeline: has the vocabularies.
        group: the processes that train together.
        teacher: whose distributions are learned too, if the recipe gives them a weight; None for none.
        anchor: of the model's parameters; None for none.
        tune_out: of the model's parameters; None for none.
    """

    def __init__(
        self,
        model: Trainable,
        recipe: Recipe,
        pipeline: Pipeline,
        group: Group,
        teacher: Trainable | None = None,
        anchor: Anchor | None = None,
        tune_out: TuneOut | None = None,
    ) -> None:
        self.settings, self.machine, self.group = recipe.training, recipe.machine, group
        self.device = model.device
        sides = pipeline.source, pipeline.target
        self.is_text = [torch.from_numpy(side.vocabulary.is_text).to(self.device) for side in sides]
        risk = risk_of(recipe, pipeline), self.settings.likelihood_weight
        taught = teacher, self.settings.teacher_weight
        minimised = training_objective(
            model, self.settings.label_smoothing, *taught, *risk, self.settings.guided_attention,
            teacher_temperature=self.settings.teacher_temperature,
        )  # fmt: skip
        self.anchor, self.tune_out = anchor, tune_out
        self.weights = minimised.weights | ({anchor.name: anchor.weight} if anchor else {})
        compiled = torch.compile(minimised, dynamic=True) if recipe.machine.compile else minimised
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.zeros = Zeros(self.parameters) if recipe.transfer.keep_zeros else None
        self.objective: Callable[[Batch[Tensor]], Loss] = compiled
        self.no_sync: Callable[[], AbstractContextManager] = nullcontext
        if group.size > 1:
            # A batch leaves out the private parts of the languages that it is not in.
            private = any(map(private_language, self.parameters))
            parallel = DistributedDataParallel(compiled, find_unused_parameters=private)
            self.objective, self.no_sync = parallel, parallel.no_sync
        self.optimiser, self.moments = optimiser_for(self.settings, self.parameters.values())

    def update(self, step: int, batches: Sequence[Batch[np.ndarray]], rate: float) -> Update:
        """Make one update.

        Args:
            step: its number, from 1, on which its dropout depends.
            batches: one or more, whose gradients are summed.
            rate: learning rate.
        """
        torch.manual_seed(_step_seed(self.settings.seed, step, self.group.rank))
        counted = sum(batch.counted_tokens for batch in batches)
        tokens = counted if self.settings.loss_reduction == "mean" else 1
        losses = []
        with self._tuned_out(step):
            for number, batch in enumerate(batches, start=1):
                with self.no_sync() if number < len(batches) else nullcontext():
                    losses.append(self._backward(batch, tokens))
        if self.anchor:
            losses.append(self.anchor.pull(tokens / self.group.size))
        if self.zeros:
            self.zeros.hold()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.settings.clip_norm)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = rate
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return Update(
            total=_sum(loss.total for loss in losses),
            nll=_sum(loss.nll for loss in losses),
            terms={name: _sum(loss.terms[name] for loss in losses if name in loss.terms) for name in self.weights},
            norm=norm,
            source_tokens=sum(batch.source_tokens for batch in batches),
            target_tokens=sum(batch.target_tokens for batch in batches),
            counted_tokens=counted,
        )

    def _backward(self, batch: Batch[np.ndarray], tokens: float) -> Loss:
        """Add the gradient of a batch's loss, divided by `tokens`; return the loss, without a gradient."""
        share = on_device(self.group.shard(batch), self.device)
        share = word_dropout(share, self.settings.word_dropout, *self.is_text)
        with self._precision():
            loss = self.objective(share)
        # DistributedDataParallel averages over processes, but every token must have the same weight.
        (loss.total * (self.group.size / tokens)).backward()
        return loss._replace(total=loss.total.detach())

    def _tuned_out(self, step: int) -> AbstractContextManager:
        return self.tune_out.applied(_step_seed(self.settings.seed, step, 0, 1)) if self.tune_out else nullcontext()

    def _precision(self) -> AbstractContextManager:
        if self.machine.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


def _step_seed(*numbers: int) -> int:
    """Return the seed of one update's dropout in one process, from the training's seed, the update and the process.

    It depends on nothing else, so a resumed training draws what an uninterrupted one would have drawn.
    """
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def _sum(values: Iterable[Tensor]) -> Tensor:
    return reduce(torch.add, values)


def word_dropout(batch: Batch[Tensor], share: float, source_words: Tensor, target_words: Tensor) -> Batch[Tensor]:
    """Return a batch with a share of the input words replaced by UNK (thesis 3.3.3.1).

    Args:
        batch: sentence pairs; the tokens to be predicted are unchanged.
        share: from 0 to below 1.
        source_words, target_words: (types,) bool, which types of each vocabulary are words; others are kept.
    """
    if share == 0:
        return batch

    def dropped(ids: Tensor, words: Tensor) -> Tensor:
        return ids.masked_fill(words[ids] & (torch.rand(ids.shape, device=ids.device) < share), UNK)

    return replace(
        batch,
        source=dropped(batch.source, source_words),
        target_input=dropped(batch.target_input, target_words),
        more_sources=tuple(dropped(source, source_words) for source in batch.more_sources),
    )
