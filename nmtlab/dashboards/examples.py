"""A sentence to begin with, where nobody has chosen one."""

from nmtlab.analysis.access.sentences import texts
from nmtlab.runs.run import Run
from nmtlab.workspace import Workspace

_EXAMPLES = {
    "de": "Drei Kinder bauen im Garten hinter dem Haus ihrer Großeltern eine Burg aus alten Kisten.",
    "tr": "Tom dün bana bir kitap verdi .",
}


def example(run: Run, workspace: Workspace) -> str:
    """Return the first sentence of a run's texts, else one of its source language, else nothing."""
    for text in texts(run, workspace):
        return next(iter(text.corpus.lines(text.split, text.corpus.source)))
    return _EXAMPLES.get(run.recipe.corpus.source, "")
