"""`nmtlab runs list`, which loads little: most of what it prints is in the index."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmtlab.cli.answer import Answer, Json, Part, print_answer
from nmtlab.cli.tables import print_table
from nmtlab.runs.index import RunIndex
from nmtlab.runs.schemas import Status
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.runs.run import Run

NOT_EVALUATED = {"dev_bleu": "not evaluated on dev"}


class TrainingText(Part):
    """A corpus that a run was trained on, in one direction."""

    name: str
    """Of the corpus; empty for a model imported without one."""
    source: str
    """Code of the source language."""
    target: str
    """Code of the target language."""


class RunFacts(Answer):
    """What `nmtlab runs list --json` says of a run."""

    name: str
    """Of the run."""
    texts: list[TrainingText]
    """What it was trained on."""
    status: Status
    """How its training ended, or that it is running or was interrupted."""
    packed: bool
    """Whether it is a packed run."""
    updates: int
    """Updates so far; 0 for an imported model."""
    dev_bleu: float | None
    """Of the best checkpoint, in percent; the mean over directions if there are several."""
    overlap: str
    """How much of dev and test is also in its training text, as a sentence; empty if nothing is."""


class RunsListed(Answer):
    """What `nmtlab runs list --json` prints."""

    runs: list[RunFacts]
    """Newest first; with `--packed`, followed by the packed ones that come with nmtlab."""
    packed_runs: int
    """How many packed runs come with nmtlab, listed or not."""
    damaged: dict[str, str]
    """Folder or file that cannot be opened as a run -> what is wrong, and what to do."""


def list_(
    packed: Annotated[
        bool, typer.Option("--packed", help="Also list the packed runs that come with nmtlab, after the others.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the runs of the workspace, newest first, with their best dev BLEU."""
    index = RunIndex(Workspace.find())
    names = [*index.trained, *(index.packed if packed else [])]
    found = list(index.read(lambda name: run_facts(index, name), names).values())
    index.save()
    if as_json:
        damaged = dict(sorted(index.broken.items()))
        print_answer(RunsListed(runs=found, packed_runs=len(index.packed), damaged=damaged))
        return
    if found:
        columns = ["run", "corpus", "status", "updates", "dev BLEU"]
        print_table("Runs", columns, [_row(one) for one in found], {"updates", "dev BLEU"})
    else:
        print("no runs yet; 'nmtlab demo' or 'nmtlab train' makes some")
    for one in found:
        if one.overlap:
            print(f"{one.name}: {one.overlap}")
    for name, problem in sorted(index.broken.items()):
        print(f"{name}: {problem}")
    if index.packed and not packed:
        print(f"{_counted(len(index.packed))} with nmtlab: 'nmtlab runs list --packed'")


def run_facts(index: RunIndex, name: str) -> RunFacts:
    """Return what the list says of a run.

    Raises:
        NmtlabError, OSError: the run is damaged.
    """
    facts = index.fact(name, "line", _line)
    return RunFacts.of(NOT_EVALUATED, name=name, status=index.status(name), **facts)


def _line(run: "Run") -> dict[str, Any]:
    """Return what the list says of a run, but for its name and status."""
    return {
        "texts": [{"name": one.name, "source": one.source, "target": one.target} for one in run.recipe.corpora],
        "packed": bool(run.origin.packed),
        "updates": run.log.last_step,
        "dev_bleu": run.checkpoints.best_bleu,
        "overlap": run.overlap,
    }


def _counted(packed: int) -> str:
    return "1 packed run comes" if packed == 1 else f"{packed:,} packed runs come"


def _row(run: RunFacts) -> list[str]:
    texts = ", ".join(f"{text.name} {text.source}-{text.target}" for text in run.texts)
    bleu = "-" if run.dev_bleu is None else f"{run.dev_bleu:.2f}"
    return [run.name, texts, run.status + ", packed" * run.packed, f"{run.updates:,}", bleu]
