"""Open any run as a translation system."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from nmtlab.alignment.phrases import PhraseTable
from nmtlab.alignment.table import LexicalTable
from nmtlab.device import choose_device
from nmtlab.errors import RunError
from nmtlab.models.build import model_for, use_weights
from nmtlab.models.interface import TranslationModel
from nmtlab.nn.low_rank import merged
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.family import NO_DECODER
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which
from nmtlab.search.ensemble import Ensemble, Mean
from nmtlab.translation import System, Translator


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
        which: the best checkpoint by its dev score, or the last.
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
) -> Translator[TranslationModel]:
    """Return a translator with a run's weights, as constants; arguments as of `open_system`.

    Constant weights need no gradients, which makes products faster; `model.requires_grad_()` undoes it.

    Raises:
        RunError: as `open_system`; or the run has no model that can be searched and inspected, or no lexicon for the
            shortlists of the search.
    """
    check_has_model(run)
    device = choose_device(machine or MachineSettings())
    search = search or run.recipe.search
    pipeline = run.pipeline.shortlisted(search.fixed_shortlist)
    lists = _lists_of(run, search) if search.shortlist_translations else None
    with torch.device("meta"):  # the weights are those of the file, mapped and not copied
        model = model_for(run.recipe.without_low_rank(), pipeline, run.model_table)
    weights = merged(run.checkpoints.weights(which)[0])
    use_weights(model, weights, _dtype(weights))
    return Translator(model.to(device).eval().requires_grad_(False), pipeline, search, lists)


def _lists_of(run: Run, search: SearchSettings) -> LexicalTable | PhraseTable:
    """Return what the shortlists of batches are taken from."""
    return phrases_of(run) if search.shortlist_from == "phrases" else lexicon_of(run)


PHRASES = "phrases.safetensors"
"""File among the notes of a run, with the translations of source n-grams."""


def phrases_of(run: Run) -> PhraseTable:
    """Return the translations of n-grams of a run's source types.

    Raises:
        RunError: it has none.
    """
    path, command = run.notes.path(PHRASES), f"nmtlab runs align {run.name} --phrases"
    if not path.exists():
        raise RunError(f"run {run.name!r}: has no phrases", f"align its training text first: {command}")
    sizes = run.pipeline.source.size, run.pipeline.target.size
    return PhraseTable.load(path, *sizes, f"remove it, and align again: {command}")


def lexicon_of(run: Run) -> LexicalTable:
    """Return p(target | source) of a run's types.

    Raises:
        RunError: it has none.
    """
    if (table := run.translation_table) is not None:
        return table
    remedy = f"align its training text first: nmtlab runs align {run.name}"
    raise RunError(f"run {run.name!r}: has no lexicon", remedy)


def _dtype(weights: Mapping[str, Tensor]) -> torch.dtype:
    """Return the type to compute in: that of bfloat16 weights, which only imported models have, else float32.

    The weights of packed runs are in half precision for their size alone.
    """
    types = {tensor.dtype for tensor in weights.values()}
    return torch.bfloat16 if types == {torch.bfloat16} else torch.float32


def open_ensemble(
    runs: Sequence[Run],
    search: SearchSettings | None = None,
    mean: Mean = "arithmetic",
    machine: MachineSettings | None = None,
    which: Which = "best",
) -> Translator[Ensemble]:
    """Return a translator with the weights of several runs.

    Args:
        runs: neural, with the same vocabularies; the first run's search settings are the default, and its direction
            is the translator's.
        search, machine, which: as of `open_system`.
        mean: of the probabilities of the next token, arithmetic or geometric.

    Raises:
        RunError: a run is phrase-based, has no weights, or has another vocabulary or text settings than the first.
    """
    first = runs[0]
    for run in runs:
        check_has_model(run)
        if run.pipeline.checksum() != first.pipeline.checksum():
            raise RunError(
                f"runs {first.name!r} and {run.name!r}: different vocabularies or text settings",
                "train both on the same corpus with the same text settings",
            )
    shown = open_model(first, search, which, machine)
    search = shown.settings
    if search.shortlist_translations:  # the first run's lists are those of all
        search = search.with_shortlist(0)
    others = [open_model(run.directed(*first.direction), search, which, machine) for run in runs[1:]]
    ensemble = Ensemble([system.model for system in (shown, *others)], mean)
    return Translator(ensemble, shown.pipeline, shown.settings, shown.lexicon)


def check_has_model(run: Run) -> None:
    """Raise `RunError` if a run's system has no attention, logits or embeddings to inspect."""
    if not run.recipe.model.neural:
        raise RunError(f"run {run.name!r}: {NO_DECODER}", "choose a transformer or an rnn")
