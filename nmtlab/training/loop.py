"""The training loop."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from nmtlab.models.build import load_weights
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import Recipe
from nmtlab.runs.run import Run
from nmtlab.text.batch import Batch
from nmtlab.text.batches import Batches
from nmtlab.text.corpus import Direction
from nmtlab.text.inspection import DevText
from nmtlab.text.mixture import Mixture
from nmtlab.training import checkpoints
from nmtlab.training.data import BatchStream
from nmtlab.training.events import Ended, OnEvent, Prepared, Preparing, Progress, Validated
from nmtlab.training.inheritance import Inheritance
from nmtlab.training.metrics import Meter, Update, log_progress
from nmtlab.training.noise import word_dropout
from nmtlab.training.objective import training_objective
from nmtlab.training.optimisers import load_moments, moments, optimiser_for
from nmtlab.training.parallel import Group
from nmtlab.training.prepare import model_for, step_seed
from nmtlab.training.probes import embedding_norms, g_values
from nmtlab.training.schedules import Schedule
from nmtlab.training.stopping import EarlyStopping
from nmtlab.training.transfer import freeze, inherit
from nmtlab.training.utilisation import peak_operations, update_operations
from nmtlab.training.validation import DevScores, dev_scores

LOG_EVERY = 10
"""Updates between lines of the log, and between checks that the loss is finite."""


class Trainer:
    """A training in progress: the model, the optimiser, and the position in the data."""

    def __init__(
        self,
        run: Run,
        recipe: Recipe,
        mixture: Mixture,
        dev: Mapping[Direction, DevText],
        device: torch.device,
        group: Group,
    ) -> None:
        self.run, self.recipe, self.dev, self.device, self.group = run, recipe, dev, device, group
        self.settings = recipe.training
        self.mixture = mixture
        self.reserved = (run.pipeline.source.vocabulary.reserved, run.pipeline.target.vocabulary.reserved)
        batches = Batches(
            mixture, self.settings.batch_tokens, self.settings.seed, max_sentences=self.settings.batch_sentences
        )
        self.stream = BatchStream(batches)
        torch.manual_seed(self.settings.seed)
        self.model: TranslationModel = model_for(recipe, run.pipeline, run.translation_table).to(device)
        freeze(self.model, recipe.transfer)
        minimised = training_objective(self.model, self.settings.label_smoothing)
        compiled = torch.compile(minimised, dynamic=True) if recipe.machine.compile else minimised
        self.parameters = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        self.objective = compiled
        if group.size > 1:
            # A batch leaves out the private parts of the languages that it is not in.
            private = any(map(self.model.private_language, self.parameters))
            self.objective = DistributedDataParallel(compiled, find_unused_parameters=private)
        self.optimiser, self.moments = optimiser_for(self.settings, self.parameters.values())
        self.schedule = Schedule(self.settings, recipe.model.d_model)
        self.stopping = EarlyStopping(self.settings)
        self.step = 0
        self.seconds_before = 0.0
        self.started = self.saved = time.perf_counter()
        peak = peak_operations(device, recipe.machine)
        self.meter = Meter(minimised.weights, group, peak, partial(update_operations, self.model))

    @property
    def updates(self) -> int:
        """Most updates that this training can make; an estimate if evaluations are once per epoch."""
        epoch_updates = -(-self.stream.size // self.settings.accumulate)
        return (self.settings.validate_every or epoch_updates) * self.settings.max_evaluations

    @property
    def seconds(self) -> float:
        """Time spent on this training so far, including before it was resumed."""
        return self.seconds_before + time.perf_counter() - self.started

    def train(self, on_event: OnEvent, should_stop: Callable[[], bool]) -> None:
        """Train until the training finishes, is stopped, or diverges.

        Args:
            on_event: called with progress events.
            should_stop: polled before every update.
        """
        parameters = sum(p.numel() for p in self.model.parameters())
        on_event(Prepared(parameters, len(self.mixture), self.mixture.skipped, self.updates))
        if self.recipe.machine.compile:
            on_event(Preparing("compiling the model, which takes minutes"))
        self.model.train()
        self.meter.restart()
        status = self._train(on_event, should_stop)
        if status == "stopped" and self.step:
            pending = self.meter.updates
            if self._report(on_event):
                self._save(pending)
        if self.group.is_main:
            self.run.log("end", self.step, status=status, seconds=round(self.seconds, 3))
        on_event(Ended(status, self.step, self.stopping.best, self.seconds))

    def restore(self) -> None:
        """Restore the run's last checkpoint: weights, optimiser, schedule and position in the data.

        Raises:
            RunError: the checkpoint is incomplete or damaged, or the training has ended.
        """
        last = checkpoints.last_checkpoint(self.run)
        if last is None:
            if self.group.is_main:
                self.run.truncate_after(0)
            return  # interrupted before its first checkpoint: start from scratch
        weights, kept, facts = last
        load_weights(self.model, weights)
        load_moments(self.optimiser, self.parameters, self.moments, kept, facts["step"])
        self.step, self.seconds_before = facts["step"], facts["seconds"]
        self.stream = BatchStream(self.stream.batches, facts["epoch"], facts["batch"])
        checkpoints.restore_evaluations(facts, self.schedule, self.stopping)
        self.meter.restore(facts.get("pending", []), self.device)
        if self.group.is_main:
            self.run.truncate_after(self.step, facts.get("reported"))

    def inherit(self, parent: Run) -> Inheritance:
        """Start from a parent's weights instead of those that were drawn, and save them: the parent may go."""
        settings, weights = self.recipe.transfer, parent.weights()[0]
        rows = inherit(self.model, self.run.pipeline, weights, parent.pipeline, settings, self.settings.seed)
        inheritance = Inheritance(parent.name, parent.weights_digest, tuple(rows))
        if self.group.is_main:
            self.run.save_inheritance(asdict(inheritance))
        self._save()
        return inheritance

    def _train(self, on_event: OnEvent, should_stop: Callable[[], bool]) -> str:
        """Make updates until the training ends; return the run's status."""
        while not (self.stopping.ended or self.schedule.exhausted(self.step)):
            if self.group.broadcast(should_stop()):
                return "stopped"
            self._update(self.stream.take(self.settings.accumulate))
            validates = self._validates()
            if (self.step % LOG_EVERY == 0 or validates) and not self._report(on_event):
                return "diverged"
            if validates:
                self._validate(on_event)
            if validates or self._is_time_to_save():
                self._save()
        return "finished"

    def _validates(self) -> bool:
        """Return whether an evaluation is due: after a number of updates, or at the end of an epoch."""
        if self.settings.validate_every:
            return self.step % self.settings.validate_every == 0
        return self.stream.at_end

    def _is_time_to_save(self) -> bool:
        """Return whether a checkpoint between evaluations is due: by the clock, once all updates are logged."""
        waited = time.perf_counter() - self.saved
        return not self.meter.updates and 0 < 60 * self.settings.save_minutes < waited

    def _update(self, batches: Sequence[Batch[np.ndarray]]) -> None:
        self.step += 1
        torch.manual_seed(step_seed(self.settings.seed, self.step, self.group.rank))
        counted = sum(batch.counted_tokens for batch in batches)
        tokens = counted if self.settings.loss_reduction == "mean" else 1
        sums = []
        for number, batch in enumerate(batches, start=1):
            with self._accumulating(number < len(batches)):
                sums.append(self._backward(batch, tokens))
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.settings.clip_norm)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = self.schedule.rate(self.step)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        sizes = (sum(getattr(batch, side) for batch in batches) for side in ("source_tokens", "target_tokens"))
        self.meter.updates.append(Update(torch.stack(sums).sum(0), norm, *sizes, counted))

    def _backward(self, batch: Batch[np.ndarray], tokens: float) -> Tensor:
        """Add the gradient of a batch's loss, divided by `tokens`; return the sums of `Update`."""
        share = on_device(self.group.shard(batch), self.device)
        share = word_dropout(share, self.settings.word_dropout, *self.reserved)
        with self._precision():
            loss = self.objective(share)
        # DistributedDataParallel averages over processes, but every token must have the same weight.
        (loss.total * (self.group.size / tokens)).backward()
        return torch.stack((loss.total.detach(), loss.nll, *loss.terms.values()))

    def _accumulating(self, more_follow: bool) -> AbstractContextManager:
        """Return a context without gradient synchronisation if more batches of the update follow."""
        return self.objective.no_sync() if more_follow and self.group.size > 1 else nullcontext()

    def _precision(self) -> AbstractContextManager:
        if self.recipe.machine.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _report(self, on_event: OnEvent) -> bool:
        """Log the updates since the last report; return whether all of them were finite."""
        if not self.meter.updates:
            return True
        summary = self.meter.summary()
        progress = Progress(
            step=self.step,
            updates=self.updates,
            loss=summary.loss,
            perplexity=summary.perplexity,
            tokens_per_second=summary.tokens_per_second,
            gradient_norm=float(np.mean(summary.norms)),
            rate=self.schedule.rate(self.step),
            seconds=self.seconds,
            seconds_left=self._seconds_left(),
            utilisation=summary.utilisation,
            terms=summary.terms,
        )
        if self.group.is_main:
            log_progress(self.run, progress, summary.norms)
        on_event(progress)
        return summary.finite

    def _validate(self, on_event: OnEvent) -> None:
        scores = DevScores(0.0, 0.0, {})
        if self.group.is_main:
            scores = dev_scores(self.model, self.run.pipeline, self.dev, self.recipe)
        bleu, perplexity, directions = self.group.broadcast(scores)
        improved = self.stopping.evaluated(bleu)
        self.schedule.evaluated(self.step, self.stopping.since_best)
        if self.group.is_main:
            each = {"directions": directions} if directions else {}
            seconds = round(self.seconds, 3)
            self.run.log("validation", self.step, bleu=bleu, **each, perplexity=perplexity, seconds=seconds)
            self.run.log_g(self.step, g_values(self.model))
            self.run.save_embedding_norms(self.step, embedding_norms(self.model))
            if improved:
                self.run.save_best(self._weights(), {"step": self.step, "bleu": bleu})
        left = self._seconds_left()
        on_event(Validated(self.step, bleu, perplexity, self.stopping.best, self.seconds, left, directions))
        self.meter.restart()

    def _save(self, pending: Sequence[Update] = ()) -> None:
        """Save all that is needed to resume; `pending` are the updates since the last full line of the log."""
        noted = self.meter.noted(pending)
        self.saved = time.perf_counter()
        if not self.group.is_main:
            return
        kept = moments(self.optimiser, self.parameters, self.moments, self.step)
        facts = checkpoints.facts(self.step, self.stream, self.seconds, self.schedule, self.stopping, noted)
        self.run.save_last(self._weights(), kept, facts)

    def _weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    def _seconds_left(self) -> float:
        return self.seconds / max(self.step, 1) * (self.updates - self.step)
