"""The training loop."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from nmtlab.device import choose_device
from nmtlab.errors import RunError
from nmtlab.models.build import load_weights
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.recipe import MachineSettings, Recipe
from nmtlab.runs.environment import environment
from nmtlab.runs.run import Run
from nmtlab.text.batch import Batch
from nmtlab.text.batches import Batches
from nmtlab.text.checked import DevText, checked_corpus
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.encoded import EncodedCorpus
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.vocabulary import BOS, EOS, PAD, UNK
from nmtlab.training.events import Ended, OnEvent, Prepared, Preparing, Progress, Validated, ignore
from nmtlab.training.objective import training_objective
from nmtlab.training.optimisers import load_moments, optimiser_for
from nmtlab.training.parallel import Group
from nmtlab.training.prepare import learned_table, model_for, needs_table, step_seed
from nmtlab.training.probes import embedding_norms, g_values
from nmtlab.training.schedules import Schedule
from nmtlab.training.utilisation import peak_operations, update_operations
from nmtlab.training.validation import dev_bleu, text_perplexity
from nmtlab.workspace import Workspace

LOG_EVERY = 10
"""Updates between lines of the log, and between looks at whether the loss is still finite."""


def train(
    name: str,
    recipe: Recipe,
    corpus: ParallelCorpus,
    workspace: Workspace,
    resume: bool = False,
    on_event: OnEvent = ignore,
    should_stop: Callable[[], bool] = lambda: False,
    allow_overlap: bool = False,
) -> Run:
    """Train a model into a run, or go on with one that was interrupted.

    Args:
        name: of the run; a new one unless `resume`.
        recipe: what to train; when resuming, the run's own recipe counts, but for processor and threads.
        corpus: what to learn from.
        workspace: where runs and caches are kept.
        resume: continue from the last checkpoint, with the same losses as if nothing had happened.
        on_event: told how far things are.
        should_stop: asked after every update; the training can be resumed after a stop.
        allow_overlap: accept pairs of dev and test that are in train too; the run notes how many. A run that was begun
            so is resumed so.

    Raises:
        NmtlabError: something a person can mend, before anything is lost.
    """
    device = choose_device(recipe.machine)
    group = Group.join(device)
    on_event = on_event if group.is_first else ignore
    folder = workspace.run_folder(name)
    if resume:
        run = Run(folder)
        _check_same_training(run, corpus, group)
        recipe, allow_overlap = resumed_recipe(run, recipe.machine), bool(run.environment.get("overlap"))
    elif group.tell(folder.exists()):
        raise RunError(f"run {name!r}: there is one already", "choose another --name, or add --resume to go on with it")

    on_event(Preparing("checking the corpus"))
    dev, overlap = checked_corpus(corpus, allow_overlap)
    checksum = corpus.checksum()
    if resume:
        _check_same_text(run, checksum)
    elif group.is_first:
        on_event(Preparing("learning the vocabulary"))
        recipe = recipe.with_changes(
            {"corpus.name": corpus.name, "corpus.source": corpus.source, "corpus.target": corpus.target}
        )
        pipeline = Pipeline.learn(recipe.text, corpus)
        Run.create(folder, recipe, environment(checksum, device, group.size, overlap), pipeline)
    group.tell(None)  # the others wait for the run to be made
    run = Run(folder)
    with run.writing() if group.is_first else nullcontext():
        on_event(Preparing("encoding the corpus"))
        if group.is_first:
            EncodedCorpus.open(workspace.cache, run.pipeline, corpus)
        group.tell(None)
        encoded = EncodedCorpus.open(workspace.cache, run.pipeline, corpus)
        if group.is_first and needs_table(run):
            on_event(Preparing("aligning words"))
            run.save_translation_table(learned_table(run, encoded))
        group.tell(None)
        trainer = Trainer(run, resumed_recipe(run, recipe.machine), encoded, dev, device, group)
        if resume:
            trainer.restore()
        trainer.train(on_event, should_stop)
    return run


def resumed_recipe(run: Run, machine: MachineSettings) -> Recipe:
    """Return a run's recipe, to be computed on another processor or with other threads, which leave it the same."""
    kept = run.recipe.machine.model_copy(update={"device": machine.device, "threads": machine.threads})
    return run.recipe.model_copy(update={"machine": kept})


class _Update(NamedTuple):
    """What an update has come to, until it is reported.

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


class Trainer:
    """One training under way: the model, the optimiser, and where in the data it is."""

    def __init__(
        self, run: Run, recipe: Recipe, encoded: EncodedCorpus, dev: DevText, device: torch.device, group: Group
    ) -> None:
        self.run, self.recipe, self.dev, self.device, self.group = run, recipe, dev, device, group
        self.settings = recipe.training
        self.batches = Batches(
            encoded, self.settings.batch_tokens, self.settings.seed, most_rows=self.settings.batch_sentences
        )
        self.encoded = encoded
        torch.manual_seed(self.settings.seed)
        self.model: TranslationModel = model_for(recipe, run.pipeline, run.translation_table).to(device)
        minimised = training_objective(self.model, self.settings.label_smoothing)
        self.term_weights = minimised.weights
        compiled = torch.compile(minimised, dynamic=True) if recipe.machine.compile else minimised
        self.objective = DistributedDataParallel(compiled) if group.size > 1 else compiled
        self.parameters = {name: p for name, p in self.model.named_parameters() if p.requires_grad}
        self.optimiser, self.moments = optimiser_for(self.settings, self.parameters.values())
        self.schedule = Schedule(self.settings, recipe.model.d_model)
        self.step = 0
        self.epoch = 0
        self.batch = 0
        self.stream = self.batches.epoch(0)
        self.epoch_batches = self.batches.count(0)
        self.seconds_before = 0.0
        self.started = time.perf_counter()
        self.recent: list[_Update] = []
        self.recent_since = self.started
        self.peak = peak_operations(device, recipe.machine)

    @property
    def updates(self) -> int:
        """Most updates that this training may make; an estimate where it is passes over the text that count."""
        epoch_updates = math.ceil(self.epoch_batches / self.settings.accumulate)
        return (self.settings.validate_every or epoch_updates) * self.settings.max_evaluations

    @property
    def seconds(self) -> float:
        """Time spent on this training so far, earlier parts of it included."""
        return self.seconds_before + time.perf_counter() - self.started

    def train(self, on_event: OnEvent, should_stop: Callable[[], bool]) -> None:
        """Train to the end, to a stop, or until the loss is no longer finite."""
        left_out = self.encoded.left_out
        on_event(Prepared(sum(p.numel() for p in self.model.parameters()), len(self.encoded), left_out, self.updates))
        if self.recipe.machine.compile:
            on_event(Preparing("compiling the model, which takes minutes"))
        self.model.train()
        self.recent_since = time.perf_counter()
        status = "finished"
        while self.schedule.evaluations < self.settings.max_evaluations and not self.schedule.exhausted(self.step):
            if self.group.tell(should_stop()):
                status = "stopped"
                break
            self._update(self._next_batches())
            validates = self._validates()
            if (self.step % LOG_EVERY == 0 or validates) and not self._report(on_event):
                status = "diverged"
                break
            if validates:
                self._validate(on_event)
                self._save()
        if status == "stopped" and self.step:
            pending = self.recent
            if self._report(on_event):
                self._save(pending)
        if self.group.is_first:
            self.run.log("end", self.step, status=status, seconds=round(self.seconds, 3))
        on_event(Ended(status, self.step, self.schedule.best, self.seconds))

    def restore(self) -> None:
        """Go back to the run's last checkpoint: weights, optimiser, schedule and place in the data.

        Raises:
            RunError: there is no whole checkpoint, or the run has ended.
        """
        if self.run.status in ("finished", "diverged"):
            raise RunError(
                f"run {self.run.name!r}: it has {self.run.status}", "there is nothing to resume; train a new run"
            )
        if not self.run.has_weights("last"):
            if self.group.is_first:
                self.run.cut_back(0)
            return  # interrupted before its first checkpoint: it begins again
        weights, facts = self.run.weights("last")
        optimiser, same_facts = self.run.optimiser(facts["step"])
        if facts != same_facts:
            raise RunError(f"run {self.run.name!r}: its optimiser's state is of another checkpoint", "train it again")
        load_weights(self.model, weights)
        load_moments(self.optimiser, self.parameters, self.moments, optimiser, facts["step"])
        self.step, self.epoch, self.batch = facts["step"], facts["epoch"], facts["batch"]
        self.stream = self.batches.epoch(self.epoch, self.batch)
        self.epoch_batches = self.batches.count(self.epoch)
        self.seconds_before = facts["seconds"]
        best = -math.inf if facts["best"] is None else facts["best"]
        self.schedule = replace(
            self.schedule, **{key: facts[key] for key in ("factor", "since_best", "evaluations")}, best=best
        )
        self.recent = [self._noted(values) for values in facts.get("pending", [])]
        if self.group.is_first:
            self.run.cut_back(self.step, facts.get("reported"))

    def _noted(self, values: Sequence[float]) -> _Update:
        """Return an update that a stop has noted; what was summed over the processes is the first one's."""
        loss, nll, norm, source_tokens, target_tokens, *more = values
        counted_tokens, *terms = more or (target_tokens, *[math.nan] * len(self.term_weights))  # of version 0.1
        numbers = torch.tensor((loss, nll, *terms, norm), dtype=torch.float64, device=self.device)
        sums = numbers[:-1] if self.group.is_first else torch.zeros_like(numbers[:-1])
        return _Update(sums, numbers[-1], int(source_tokens), int(target_tokens), counted_tokens)

    def _validates(self) -> bool:
        """Return whether it is time for an evaluation: after so many updates, or at the end of a pass over the text."""
        if self.settings.validate_every:
            return self.step % self.settings.validate_every == 0
        return self.batch == self.epoch_batches

    def _next_batches(self) -> list[Batch[np.ndarray]]:
        """Return the batches of an update, as many as are accumulated; fewer at the end of a pass over the text."""
        batches = list(islice(self.stream, self.settings.accumulate))
        if not batches:
            self.epoch, self.batch = self.epoch + 1, 0
            self.stream = self.batches.epoch(self.epoch)
            self.epoch_batches = self.batches.count(self.epoch)
            batches = list(islice(self.stream, self.settings.accumulate))
        self.batch += len(batches)
        return batches

    def _update(self, batches: Sequence[Batch[np.ndarray]]) -> None:
        self.step += 1
        torch.manual_seed(step_seed(self.settings.seed, self.step, self.group.rank))
        counted = sum(batch.counted_tokens for batch in batches)
        tokens = counted if self.settings.loss_reduction == "mean" else 1
        sums = []
        for place, batch in enumerate(batches, start=1):
            with self._apart(place < len(batches)):
                sums.append(self._backward(batch, tokens))
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), self.settings.clip_norm)
        for parameters in self.optimiser.param_groups:
            parameters["lr"] = self.schedule.rate(self.step)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        sizes = (sum(getattr(batch, side) for batch in batches) for side in ("source_tokens", "target_tokens"))
        self.recent.append(_Update(torch.stack(sums).sum(0), norm, *sizes, counted))

    def _backward(self, batch: Batch[np.ndarray], tokens: float) -> Tensor:
        """Add the gradient of a batch's loss, divided by `tokens`; return the sums of `_Update`."""
        share = _word_dropout(on_device(self.group.share(batch), self.device), self.settings.word_dropout)
        with self._precision():
            loss = self.objective(share)
        # DistributedDataParallel takes the mean over processes; every token is to count the same.
        (loss.total * (self.group.size / tokens)).backward()
        return torch.stack((loss.total.detach(), loss.nll, *loss.terms.values()))

    def _apart(self, waits: bool) -> AbstractContextManager:
        """Return a context in which processes keep their gradients to themselves, if others of the update follow."""
        return self.objective.no_sync() if waits and self.group.size > 1 else nullcontext()

    def _precision(self) -> AbstractContextManager:
        if self.recipe.machine.precision == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def _report(self, on_event: OnEvent) -> bool:
        """Log the updates since the last report; return whether all of them were finite."""
        if not self.recent:
            return True
        loss, nll, *terms = self.group.sum(_sums(self.recent).sum(0)).tolist()
        norms = [update.norm.item() for update in self.recent]
        tokens = sum(update.target_tokens for update in self.recent)
        counted = sum(update.counted_tokens for update in self.recent)
        now = time.perf_counter()
        first = self.step - len(norms) + 1
        progress = Progress(
            step=self.step,
            updates=self.updates,
            loss=loss / counted,
            terms={
                name: weight * value / counted
                for (name, weight), value in zip(self.term_weights.items(), terms, strict=True)
            },
            perplexity=math.exp(min(nll / counted, 700.0)),
            tokens_per_second=tokens / (now - self.recent_since),
            gradient_norm=float(np.mean(norms)),
            rate=self.schedule.rate(self.step),
            seconds=self.seconds,
            seconds_left=self._seconds_left(),
            utilisation=self._utilisation(now - self.recent_since),
        )
        self.recent, self.recent_since = [], now
        finite = math.isfinite(progress.loss) and all(map(math.isfinite, norms))
        if self.group.is_first:
            self._log(progress, {first + i: norm for i, norm in enumerate(norms)})
        on_event(progress)
        return finite

    def _utilisation(self, seconds: float) -> float | None:
        """Return the share of the GPUs' arithmetic that the updates since the last report have used."""
        if self.peak is None:
            return None
        operations = sum(update_operations(self.model, u.source_tokens, u.target_tokens) for u in self.recent)
        return operations / (seconds * self.peak * self.group.size)

    def _log(self, progress: Progress, norms: dict[int, float]) -> None:
        known = {} if progress.utilisation is None else {"utilisation": round(progress.utilisation, 4)}
        self.run.log(
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
        self.run.log_gradient_norms(norms)

    def _validate(self, on_event: OnEvent) -> None:
        bleu, perplexity = 0.0, 0.0
        if self.group.is_first:
            bleu = dev_bleu(self.model, self.run.pipeline, self.dev, self.recipe)
            perplexity, _ = text_perplexity(self.model, self.run.pipeline, self.dev.source, self.dev.references[0])
        bleu, perplexity = self.group.tell((bleu, perplexity))
        improved = bleu > self.schedule.best
        self.schedule.evaluated(self.step, bleu)
        if self.group.is_first:
            self.run.log("validation", self.step, bleu=bleu, perplexity=perplexity, seconds=round(self.seconds, 3))
            self.run.log_g(self.step, g_values(self.model))
            self.run.save_embedding_norms(self.step, embedding_norms(self.model))
            if improved:
                self.run.save_best(self._weights(), {"step": self.step, "bleu": bleu})
        on_event(Validated(self.step, bleu, perplexity, self.schedule.best, self.seconds, self._seconds_left()))
        self.recent_since = time.perf_counter()

    def _save(self, pending: Sequence[_Update] = ()) -> None:
        """Save all that is needed to go on; `pending` are the updates since the last full line of the log."""
        sums = self.group.sum(_sums(pending)).tolist() if pending else []
        if not self.group.is_first:
            return
        moments = {
            f"{key}.{name}": self.optimiser.state[parameter][key]
            for name, parameter in self.parameters.items()
            for key in self.moments
        }
        best = self.schedule.best
        facts = {
            "step": self.step,
            "epoch": self.epoch,
            "batch": self.batch,
            "seconds": self.seconds,
            "factor": self.schedule.factor,
            "best": None if best == -math.inf else best,
            "since_best": self.schedule.since_best,
            "evaluations": self.schedule.evaluations,
            "reported": self.step - len(pending),
            "pending": [
                (loss, nll, update.norm.item(), *update[2:], *terms)
                for (loss, nll, *terms), update in zip(sums, pending, strict=True)
            ],
        }
        self.run.save_last(self._weights(), moments, facts)

    def _weights(self) -> dict[str, Tensor]:
        return dict(self.model.named_parameters())

    def _seconds_left(self) -> float:
        return self.seconds / max(self.step, 1) * (self.updates - self.step)


def _word_dropout(batch: Batch[Tensor], share: float) -> Batch[Tensor]:
    """Return a batch with a share of the input words, not BOS, EOS or padding, replaced by UNK."""
    if share == 0:
        return batch

    def dropped(ids: Tensor) -> Tensor:
        words = (ids != PAD) & (ids != BOS) & (ids != EOS)
        return ids.masked_fill(words & (torch.rand(ids.shape, device=ids.device) < share), UNK)

    return replace(batch, source=dropped(batch.source), target_input=dropped(batch.target_input))


def _sums(updates: Sequence[_Update]) -> Tensor:
    """Return the sums of updates, (updates, n) float64."""
    return torch.stack([update.sums.double() for update in updates])


def _check_same_training(run: Run, corpus: ParallelCorpus, group: Group) -> None:
    languages = run.recipe.corpus
    if (corpus.source, corpus.target) != (languages.source, languages.target):
        raise RunError(
            f"run {run.name!r}: translates {languages.source} to {languages.target}, the corpus was opened as "
            f"{corpus.source} to {corpus.target}",
            f"resume it with --source {languages.source} --target {languages.target}, or without both",
        )
    if group.size != (begun := run.environment.get("processes", 1)):
        raise RunError(
            f"run {run.name!r}: begun by {begun} processes, which draw other dropout than {group.size}",
            f"resume it with {begun}" + (" under torchrun" if begun > 1 else ""),
        )


def _check_same_text(run: Run, checksum: str) -> None:
    if run.environment.get("corpus_checksum") != checksum:
        raise RunError(f"run {run.name!r}: it was begun on other text", "resume it on the corpus it was begun on")
