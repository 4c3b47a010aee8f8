"""`nmtlab runs list`, which loads little: most of what it prints is in the index."""

from typing import TYPE_CHECKING

from nmtlab.cli.tables import print_table
from nmtlab.runs.index import RunIndex
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.runs.run import Run


def list_() -> None:
    """List the runs, newest first, with their best dev BLEU, followed by the packed ones."""
    index = RunIndex(Workspace.find())

    def facts(name: str) -> dict[str, str]:
        return index.fact(name, "line", _line) | {"status": index.status(name)}

    found = index.read(facts)
    index.save()
    rows = [
        [name, one["texts"], one["status"] + one["packed"], one["updates"], one["bleu"]] for name, one in found.items()
    ]
    if rows:
        print_table("Runs", ["run", "corpus", "status", "updates", "dev BLEU"], rows, {"updates", "dev BLEU"})
    else:
        print("no runs yet; 'nmtlab demo' or 'nmtlab train' makes some")
    for name, one in found.items():
        if one["overlap"]:
            print(f"{name}: {one['overlap']}")
    for name, problem in sorted(index.broken.items()):
        print(f"{name}: {problem}")


def _line(run: "Run") -> dict[str, str]:
    """Return what the list says of a run, but for its status."""
    best = run.checkpoints.best_bleu
    return {
        "texts": ", ".join(f"{corpus.name} {corpus.source}-{corpus.target}" for corpus in run.recipe.corpora),
        "packed": ", packed" if run.origin.packed else "",
        "updates": f"{run.log.last_step:,}",
        "bleu": "-" if best is None else f"{best:.2f}",
        "overlap": run.overlap,
    }
