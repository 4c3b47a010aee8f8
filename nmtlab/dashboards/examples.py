"""A sentence to begin with, where a run brings none."""

from nmtlab.runs.run import Run

_EXAMPLES = {
    "de": "Drei Kinder bauen im Garten hinter dem Haus ihrer Großeltern eine Burg aus alten Kisten.",
    "tr": "Tom dün bana bir kitap verdi .",
}


def example(run: Run) -> str:
    """Return a sentence of a run's packed text, else one of its language, else nothing."""
    if run.sentences:
        return next(iter(run.sentences.lines("dev", run.sentences.source)))
    return _EXAMPLES.get(run.recipe.corpus.source, "")
