"""The training loop."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from nmtlab.models.build import load_weights, model_for
from nmtlab.models.interface import Trainable, TranslationModel
from nmtlab.recipe import PhraseSettings, Recipe, TrainingSettings, named_recipe
from nmtlab.runs.run import Run
from nmtlab.runs.writer import RunWriter
from nmtlab.text.batching.batch import Batch
from nmtlab.text.batching.batches import Batches
from nmtlab.text.batching.curriculum import Curriculum
from nmtlab.text.batching.mixture import Mixture
from nmtlab.text.checks.inspection import DevText
from nmtlab.text.corpora.corpus import Direction
from nmtlab.training.anchors import PAIRS, anchor_of, anchored, tune_out_of
from nmtlab.training.averaging import MovingAverage
from nmtlab.training.cost import peak_operations, update_operations
from nmtlab.training.events import Ended, Hint, OnEvent, Prepared, Preparing, Progress, Validated
from nmtlab.training.inheritance import Inheritance
from nmtlab.training.metrics import Meter, Update, log_progress
from nmtlab.training.optimisers import load_moments, moments
from nmtlab.training.parallel import Group
from nmtlab.training.resuming import checkpoint_facts, last_checkpoint, restore_evaluations
from nmtlab.training.schedules import Schedule
from nmtlab.training.step import Stepper
from nmtlab.training.stopping import NOISE, DevScore, EarlyStopping
from nmtlab.training.stream import BatchStream
from nmtlab.training.transfer import freeze, inherit, inherited_checkpoint, lineage
from nmtlab.training.validation import DevScores, dev_scores, embedding_norms, g_values

LOG_EVERY = 10
"""Updates between lines of the log, and between checks that the loss is finite."""

_HINT_AFTER = 3  # evaluations


class Trainer:
    """A training in progress: the model, the optimiser, and the position in the data.

    Args:
        waits: passes over the text before early stopping and decay count evaluations.
    """

    def __init__(
        self,
        run: Run,
        recipe: Recipe,
        mixture: Mixture,
        dev: Mapping[Direction, DevText],
        device: torch.device,
        group: Group,
        teacher: Trainable | None = None,
        waits: int = 0,
    ) -> None:
        self.run, self.recipe, self.dev, self.device, self.group = run, recipe, dev, device, group
        self.waits = waits
        self.writer = RunWriter(run)
        self.settings = recipe.training
        self.mixture = mixture
        batches = Batches(
            mixture,
            self.settings.batch_tokens,
            self.settings.seed,
            max_sentences=self.settings.batch_sentences,
            curriculum=_curriculum(mixture, self.settings),
        )
        self.stream = BatchStream(batches)
        torch.manual_seed(self.settings.seed)
        self.model: TranslationModel = model_for(recipe, run.pipeline, run.model_table).to(device)
        freeze(self.model, recipe.transfer)
        anchor, tune_out = anchor_of(recipe.transfer, self.model), tune_out_of(recipe.transfer, self.model)
        self.held = [one for one in (anchor, tune_out) if one]
        self.stepper = Stepper(self.model, recipe, run.pipeline, group, teacher, anchor, tune_out)
        self.average = MovingAverage(self.stepper.parameters, self.settings.average)
        assert not isinstance(recipe.model, PhraseSettings)
        self.schedule = Schedule(self.settings, recipe.model.d_model)
        self.stopping = EarlyStopping(self.settings)
        self.step = 0
        self.evaluated_at = 0
        self.is_out_of_time = False
        self.seconds_before = 0.0
        self.started = self.saved = time.perf_counter()
        peak = peak_operations(device, recipe.machine)
        self.meter = Meter(self.stepper.weights, group, peak, partial(update_operations, self.model))

    @property
    def updates(self) -> int:
        """Most updates that this training can make; an estimate if evaluations are once per epoch."""
        epoch_updates = -(-self.stream.size // self.settings.accumulate)
        return (self.settings.validate_every or epoch_updates) * self.settings.max_evaluations

    @property
    def seconds(self) -> float:
        """Time spent on this training so far, including before it was resumed."""
        return self.seconds_before + time.perf_counter() - self.started

    def train(self, on_event: OnEvent, should_stop: Callable[[], bool], minutes: float = math.inf) -> None:
        """Train until the training finishes, is stopped, or diverges; after `minutes`, it is evaluated and stopped."""
        parameters = sum(p.numel() for p in self.model.parameters())
        pairs = sum(map(len, self.mixture.begins_with))
        on_event(Prepared(parameters, pairs, self.mixture.skipped, self.updates))
        if self.recipe.machine.compile:
            on_event(Preparing("compiling the model, which takes minutes"))
        self.model.train()
        self.meter.restart()
        status = self._train(on_event, should_stop, 60 * minutes)
        if status == "stopped" and self.step:
            pending = self.meter.updates
            if self._report(on_event):
                if self.is_out_of_time and self.evaluated_at != self.step:
                    self._validate(on_event, scheduled=False)
                self._save(pending)
        if self.group.is_main:
            self.writer.log("end", self.step, status=status, seconds=round(self.seconds, 3))
        on_event(Ended(status, self.step, self.stopping.kept.bleu, self.seconds))

    def restore(self) -> None:
        """Restore the run's last checkpoint: weights, optimiser, schedule and position in the data.

        Raises:
            RunError: the checkpoint is incomplete or damaged, or the training has ended.
        """
        last = last_checkpoint(self.run)
        if last is None:
            if self.group.is_main:
                self.writer.truncate_after(0)
            return  # interrupted before its first checkpoint: start from scratch
        (weights, kept, facts), own = last, self.stepper
        load_weights(self.model, weights)
        load_moments(own.optimiser, own.parameters, own.moments, kept, facts["step"])
        self.step, self.seconds_before = facts["step"], facts["seconds"]
        if self.step:
            self.average.load(kept)
        self.stream = BatchStream(self.stream.batches, facts["epoch"], facts["batch"])
        restore_evaluations(facts, self.schedule, self.stopping)
        self._hold()
        self.meter.restore(facts.get("pending", []), self.device)
        if self.group.is_main:
            self.writer.truncate_after(self.step, facts.get("reported"))

    def inherit(self, parent: Run, text: Mixture | None = None) -> Inheritance:
        """Start from a parent's weights instead of those that were drawn, and save them: the parent may go.

        Args:
            text: the parent's, if the anchor needs it.
        """
        settings = self.recipe.transfer
        which = inherited_checkpoint(settings)
        weights, facts = parent.checkpoints.weights(which)
        rows = inherit(self.model, self.run.pipeline, weights, parent.pipeline, settings, self.settings.seed)
        if settings.keep_optimiser:
            own, kept = self.stepper, parent.checkpoints.optimiser(facts["step"])[0]
            load_moments(own.optimiser, own.parameters, own.moments, kept, facts["step"])
        if self.held:
            names = [one.name for one in rows if one.use == "tune"]
            self.group.on_main(lambda: self._drop_anchor(names, text))
            self._hold()
        origin = lineage(parent) if settings.continued else ""
        inheritance = Inheritance(parent.name, parent.checkpoints.digest_of(which), tuple(rows), origin)
        if self.group.is_main:
            self.writer.save_inheritance(asdict(inheritance))
        self._save()
        return inheritance

    def _drop_anchor(self, names: Sequence[str], text: Mixture | None) -> None:
        """Save what holds some parameters where they are, so that resuming needs no text of the parent."""
        pairs = Batches(text, 1, self.settings.seed, max_sentences=1).epoch(0) if text else None
        self.writer.save_anchor(anchored(self.model, names, islice(pairs, PAIRS) if pairs else None))

    def _hold(self) -> None:
        tensors = self.run.checkpoints.anchor() if self.held else {}
        on_device = {name: tensor.to(self.device) for name, tensor in tensors.items()}
        for one in self.held:
            one.hold(on_device)

    def _train(self, on_event: OnEvent, should_stop: Callable[[], bool], seconds: float) -> str:
        """Make updates until the training ends; return the run's status."""
        while not (self.stopping.ended or self.schedule.exhausted(self.step)):
            if self.is_out_of_time or self.group.broadcast(should_stop()):
                return "stopped"
            self._update(self.stream.take(self.settings.accumulate))
            validates = self._validates()
            if (self.step % LOG_EVERY == 0 or validates) and not self._report(on_event):
                return "diverged"
            if validates:
                self._validate(on_event)
            if validates or self._is_time_to_save():
                self._save()
            self.is_out_of_time = self.group.broadcast(time.perf_counter() - self.started > seconds)
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
        self.meter.updates.append(self.stepper.update(self.step, batches, self.schedule.rate(self.step)))
        self.average.update(self.step)

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
            log_progress(self.writer, progress, summary.norms)
        on_event(progress)
        return summary.finite

    def _validate(self, on_event: OnEvent, scheduled: bool = True) -> None:
        self.evaluated_at = self.step
        with self.average.in_use():
            self._evaluate(on_event, scheduled)
        self.meter.restart()

    def _evaluate(self, on_event: OnEvent, scheduled: bool) -> None:
        """Score the model as it is, log its scores and probes, and save it if it is the best or to be kept."""
        scores = DevScores(0.0, 0.0, {})
        if self.group.is_main:
            scores = dev_scores(self.model, self.run.pipeline, self.dev, self.recipe)
        bleu, perplexity, directions, chrf = self.group.broadcast(scores)
        counts = self.stream.passes >= self.waits
        is_best = self.stopping.evaluated(DevScore(bleu, perplexity, chrf or 0.0), scheduled, counts)
        if scheduled:
            self.schedule.evaluated(self.step, self.stopping.since_best)
        if self.group.is_main:
            more = ({"directions": directions} if directions else {}) | ({} if chrf is None else {"chrf": chrf})
            seconds = round(self.seconds, 3)
            self.writer.log("validation", self.step, bleu=bleu, **more, perplexity=perplexity, seconds=seconds)
            self.writer.log_g(self.step, g_values(self.model))
            self.writer.save_embedding_norms(self.step, embedding_norms(self.model))
            facts = {"step": self.step, "bleu": bleu}
            if is_best:
                self.writer.save_best(self._weights(), facts)
            if scheduled:  # so that a resumed training keeps what one that was not stopped would have kept
                self.writer.save_kept(self._weights(), facts, self.settings.keep_checkpoints)
        left, best = self._seconds_left(), self.stopping.kept.bleu
        on_event(Validated(self.step, bleu, perplexity, best, self.seconds, left, directions, is_best, chrf))
        if scheduled and self.stopping.evaluations == _HINT_AFTER and self.stopping.kept.bleu < NOISE:
            on_event(Hint(hint(self.recipe)))

    def _save(self, pending: Sequence[Update] = ()) -> None:
        """Save all that is needed to resume; `pending` are the updates since the last full line of the log."""
        noted = self.meter.noted(pending)
        self.saved = time.perf_counter()
        if not self.group.is_main:
            return
        own = self.stepper
        kept = moments(own.optimiser, own.parameters, own.moments, self.step) | self.average.state()
        facts = checkpoint_facts(self.step, self.stream, self.seconds, self.schedule, self.stopping, noted)
        self.writer.save_last(self._weights(), kept, facts)

    def _weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    def _seconds_left(self) -> float:
        return self.seconds / max(self.step, 1) * (self.updates - self.step)


def _curriculum(mixture: Mixture, settings: TrainingSettings) -> Curriculum | None:
    if settings.curriculum == "none":
        return None
    kind = Curriculum.by_length if settings.curriculum == "length" else Curriculum.by_rarity
    return kind(mixture, settings.curriculum_passes)


def hint(recipe: Recipe) -> str:
    """Return a sentence about a training whose dev BLEU stays below 1, which names recipes for little text.

    One that goes on from a run has that run's model, whatever the recipe.
    """
    names = recipe.model.for_little_text
    if recipe.transfer.continued or recipe.about in (named_recipe(name).about for name in names):
        return "dev BLEU is still below 1: more updates may help, or more text"
    return f"dev BLEU is still below 1; for at most some ten thousand pairs, there are the recipes {', '.join(names)}"
