"""Train any recipe, and open any run as a translation system."""

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from nmtlab.device import choose_device
from nmtlab.errors import RunError
from nmtlab.interchange.ctranslate import Precision
from nmtlab.interchange.folding import check_exportable
from nmtlab.interchange.served import ServedSystem, served
from nmtlab.models.build import use_weights
from nmtlab.recipe import Recipe, SearchSettings
from nmtlab.recipe.family import NO_DECODER
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which
from nmtlab.search.ensemble import Ensemble, Mean
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training import setup
from nmtlab.training.events import Ended, OnEvent, Preparing, ignore
from nmtlab.training.prepare import model_for
from nmtlab.translation import System, Translator
from nmtlab.workspace import Workspace


def train(
    name: str,
    recipe: Recipe,
    corpus: ParallelCorpus,
    workspace: Workspace,
    resume: bool = False,
    on_event: OnEvent = ignore,
    should_stop: Callable[[], bool] = lambda: False,
    allow_overlap: bool = False,
    minutes: float = math.inf,
) -> Run:
    """Train a recipe of any family into a run; see `training.setup.train`.

    A phrase-based system is trained in one pass: a stopped training keeps nothing and cannot be resumed.

    Raises:
        NmtlabError: a problem that the user can fix; nothing is lost.
    """
    if (Run(workspace.run_folder(name)).recipe if resume else recipe).model.neural:
        return setup.train(name, recipe, corpus, workspace, resume, on_event, should_stop, allow_overlap, minutes)
    from nmtlab.baselines.phrase import train_phrase  # its libraries take a second to load

    if resume:
        raise RunError(f"run {name!r}: a phrase-based training cannot be resumed", "leave out --resume")
    if minutes < math.inf:
        raise RunError(f"run {name!r}: a phrase-based training is one pass over the text", "leave out --minutes")
    current = ""

    def report(what: str, share: float) -> None:
        nonlocal current
        if what != current:
            on_event(Preparing(what))
        current = what

    run = train_phrase(name, recipe, corpus, workspace, report, should_stop, allow_overlap)
    best, seconds = run.log.metrics("validation")["bleu"].max(), run.log.metrics("end")["seconds"].iloc[-1]
    on_event(Ended("finished", 1, float(best), float(seconds)))
    return run


def open_system(
    run: Run,
    search: SearchSettings | None = None,
    which: Which = "best",
    machine: MachineSettings | None = None,
) -> System:
    """Open a run as a translation system; a neural run as a `Translator`.

    Args:
        run: a trained run; the system translates in its direction.
        search: search settings; the recipe's if not given.
        which: the best checkpoint by dev BLEU, or the last.
        machine: where to compute; if not given, a GPU if available, with torch's default number of threads.

    Raises:
        RunError: the checkpoint is missing or damaged, or the run was packed without its model.
    """
    run.origin.check_model()
    if run.recipe.model.neural:
        return open_model(run, search, which, machine)
    from nmtlab.baselines.translator import open_phrase_system

    return open_phrase_system(run, search)


def open_model(
    run: Run,
    search: SearchSettings | None = None,
    which: Which = "best",
    machine: MachineSettings | None = None,
) -> Translator:
    """Return a translator with a run's weights, as constants; arguments as of `open_system`.

    Constant weights need no gradients, which makes products faster; `model.requires_grad_()` undoes it.

    Raises:
        RunError: as `open_system`; or the run has no model that can be searched and inspected.
    """
    check_has_model(run)
    device = choose_device(machine or MachineSettings())
    search = search or run.recipe.search
    pipeline = run.pipeline.shortlisted(search.shortlist)
    with torch.device("meta"):  # the weights are those of the file, mapped and not copied
        model = model_for(run.recipe, pipeline, run.translation_table)
    weights, _ = run.checkpoints.weights(which)
    use_weights(model, weights, _dtype(weights))
    return Translator(model.to(device).eval().requires_grad_(False), pipeline, search)


def _dtype(weights: Mapping[str, Tensor]) -> torch.dtype:
    """Return the type to compute in: that of bfloat16 weights, which only imported models have, else float32.

    The weights of packed runs are in half precision for their size alone.
    """
    types = {tensor.dtype for tensor in weights.values()}
    return torch.bfloat16 if types == {torch.bfloat16} else torch.float32


def open_served(
    run: Run,
    precision: Precision = "fp32",
    search: SearchSettings | None = None,
    which: Which = "best",
    machine: MachineSettings | None = None,
) -> ServedSystem:
    """Open a Transformer's run as a system that computes with CTranslate2 on the CPU.

    Args:
        precision: to compute in.
        run, search, which: as of `open_system`.
        machine: its number of threads; CTranslate2's choice if not given.

    Raises:
        NmtlabError: CTranslate2 is not installed, or lacks a part of the model, the search or the precision, which the
            message names; or as `open_system`.
    """
    check_exportable(run.name, run.recipe)
    machine = machine or MachineSettings()
    system = open_model(run, search, which, machine)
    return served(system, run.recipe.model, precision, machine.threads)


def open_ensemble(
    runs: Sequence[Run],
    search: SearchSettings | None = None,
    mean: Mean = "arithmetic",
    machine: MachineSettings | None = None,
    which: Which = "best",
) -> Translator:
    """Return a translator with the weights of several runs.

    Args:
        runs: neural, with the same vocabularies; the first run's search settings are the default, and its direction
            is the translator's.
        search, machine, which: as of `open_system`.
        mean: of the probabilities of the next token, arithmetic or geometric.

    Raises:
        RunError: a run is phrase-based, has no weights, or has a different vocabulary from the first.
    """
    first = runs[0]
    for run in runs:
        check_has_model(run)
        if run.pipeline.checksum() != first.pipeline.checksum():
            raise RunError(
                f"runs {first.name!r} and {run.name!r}: different vocabularies",
                "train both on the same corpus with the same text settings",
            )
    systems = [open_model(run.directed(*first.direction), search, which, machine) for run in runs]
    return Translator(Ensemble([system.model for system in systems], mean), systems[0].pipeline, systems[0].settings)


def check_has_model(run: Run) -> None:
    """Raise `RunError` if a run's system has no attention, logits or embeddings to inspect."""
    if not run.recipe.model.neural:
        raise RunError(f"run {run.name!r}: {NO_DECODER}", "choose a transformer or an rnn")
