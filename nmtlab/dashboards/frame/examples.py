"""Example sentences for pages where no sentence has been chosen."""

from nmtlab.analysis.access.texts import read_by, texts
from nmtlab.languages import language_of
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

_EXAMPLES = {
    "de": "Ein Bäcker verkauft auf dem Markt frisches Brot, während seine Frau mit den Kunden über das Wetter spricht.",
    "tr": "Tom dün bana bir kitap verdi .",
}


def example(run: Run, workspace: Workspace) -> str:
    """Return the first sentence of a run's texts in its source language, else any in it, else an empty string."""
    source = run.direction[0]
    for text in texts(run, workspace):
        if text.corpus.source == source:
            return next(iter(read_by([run], text).lines(text.split, source)))
    return _EXAMPLES.get(language_of(source), "")
