"""The demo-size runs that `nmtlab demo` and the notebooks share: found in the workspace, or trained there once.

They learn an artificial language, so that a bare checkout can show every kind of system within minutes. Each is one
seed of a small model on little text: an illustration, not evidence.
"""

from typing import Any

from nmtlab.recipe import Recipe, named_recipe
from nmtlab.runs.run import Run
from nmtlab.text.artificial import write_corpus
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.events import OnEvent, ignore
from nmtlab.training.setup import train
from nmtlab.workspace import Workspace

CORPUS = "demo-artificial"
LANGUAGE = "qaa"
PARENT_CORPUS, CHILD_CORPUS = "demo-parent", "demo-child"

_TRANSFORMER = {
    "text.vocabulary_size": 1500, "model.d_model": 64, "model.d_ff": 256, "model.heads": 2,
    "training.batch_tokens": 1536, "training.validate_every": 100, "training.max_evaluations": 8,
    "training.warmup_updates": 150, "training.lr_scale": 1.0,
}  # fmt: skip
# A few passes over text without rare words. Recurrent models do not gain from a second thread.
_RECURRENT = {
    "text.min_frequency": 5, "training.schedule": "constant", "training.max_evaluations": 4, "machine.threads": 1,
}  # fmt: skip

_SUBWORDS = {
    **_RECURRENT, "text.segmentation": "bpe", "text.min_frequency": 1, "text.vocabulary_size": 1000,
    "text.unk_copy_threshold": 0, "training.patience": 15,
}  # fmt: skip
_CHILD = {"training.validate_every": 50, "training.max_evaluations": 16, "training.patience": 6}

TRANSFER = ("demo-alone", "demo-parent", "demo-child")
"""A child alone; a parent in a related language; the child that starts from the parent (thesis 3.1)."""

TRANSFORMERS = ("demo-postnorm", "demo-prenorm", "demo-scalenorm")
RECURRENT = ("demo-tied", "demo-fixnorm", "demo-fixnorm-lex")

_SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "demo-postnorm": ("postnorm", _TRANSFORMER),
    "demo-prenorm": ("prenorm", _TRANSFORMER),
    "demo-scalenorm": ("prenorm-fixnorm-scalenorm", _TRANSFORMER),
    "demo-tied": ("tied-small", {**_RECURRENT, "training.max_evaluations": 12}),  # it learns to attend much later
    "demo-fixnorm": ("fixnorm-small", _RECURRENT),
    "demo-fixnorm-lex": ("fixnorm-lex-small", _RECURRENT),
    "demo-alone": ("fixnorm-small", {**_SUBWORDS, **_CHILD}),
    "demo-parent": (
        "fixnorm-small",
        {**_SUBWORDS, "training.max_evaluations": 5, "more_corpora": [{"name": CHILD_CORPUS, "vocabulary_only": True}]},
    ),
    "demo-child": ("fixnorm-small", {**_SUBWORDS, **_CHILD, "transfer.parent": "demo-parent"}),
}
_CORPORA = {"demo-parent": PARENT_CORPUS, "demo-alone": CHILD_CORPUS, "demo-child": CHILD_CORPUS}
_GENERATED: dict[str, tuple[str, dict[str, Any]]] = {
    CORPUS: (LANGUAGE, {"train": 6000, "dev": 200, "test": 500}),
    PARENT_CORPUS: ("qaa", {"train": 6000, "dev": 200, "test": 200}),
    # Its sentences are far from the parent's, so that their English is new to the parent.
    CHILD_CORPUS: ("qab", {"train": 500, "dev": 200, "test": 500, "start": 10_000_000}),
}


def demo_corpus(workspace: Workspace, name: str = CORPUS) -> ParallelCorpus:
    """Return pairs of an artificial language and an English-like one, generating them if they are missing.

    Args:
        workspace: where the corpus is kept.
        name: `CORPUS`; or `CHILD_CORPUS`, which has little text, or `PARENT_CORPUS`, in a related language.
    """
    folder = workspace.data / "corpora" / name
    language, options = _GENERATED[name]
    if not folder.exists():
        write_corpus(folder, [language], **options)
    return ParallelCorpus.open(folder, language, "en")


def demo_recipe(name: str) -> Recipe:
    """Return the recipe of a demo run, one of `TRANSFORMERS`, `RECURRENT` or `TRANSFER`."""
    recipe, changes = _SYSTEMS[name]
    return named_recipe(recipe).with_changes(changes)


def demo_runs(workspace: Workspace, *names: str, on_event: OnEvent = ignore, threads: int | None = None) -> list[Run]:
    """Return demo runs, training those that are missing and resuming those that were interrupted.

    Args:
        workspace: where the runs and their corpus are kept.
        names: from `TRANSFORMERS`, `RECURRENT` and `TRANSFER`, a parent before its child; each takes about half a
            minute to train on 2 CPU cores.
        on_event: called with progress events.
        threads: CPU threads; the recipe's setting, or torch's choice, if not given.

    Raises:
        RunError: another process is training one of them.
    """
    return [finished(workspace, name) or _trained(workspace, name, on_event, threads) for name in names]


def finished(workspace: Workspace, name: str) -> Run | None:
    """Return the demo run `name` if it has finished training, else None."""
    folder = workspace.run_folder(name)
    run = Run(folder) if folder.exists() else None
    return run if run and run.status == "finished" else None


def _trained(workspace: Workspace, name: str, on_event: OnEvent, threads: int | None) -> Run:
    recipe = demo_recipe(name)
    if threads:
        recipe = recipe.with_changes({"machine.threads": threads})
    resume = workspace.run_folder(name).exists()
    for more in recipe.more_corpora:
        demo_corpus(workspace, more.name)
    corpus = demo_corpus(workspace, _CORPORA.get(name, CORPUS))
    return train(name, recipe, corpus, workspace, resume=resume, on_event=on_event)
