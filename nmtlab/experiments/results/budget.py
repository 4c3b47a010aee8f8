"""How much training and text a number is of, and what its interval leaves out, in words."""

from collections.abc import Iterable

import pandas as pd

from nmtlab.experiments.measures.quality import Measure, OfSentences
from nmtlab.experiments.tables.corpora import (
    ConcatenatedCorpus,
    Corpus,
    Directed,
    MultiParallelCorpus,
    SyntheticCorpus,
    SyntheticFamily,
)
from nmtlab.experiments.tables.declaration import Row, Scale, Setup, System
from nmtlab.experiments.tables.labels import text_name


def budget(cells: pd.DataFrame, row: Row, scale: Scale, measure: Measure) -> str:
    """Return the most updates of some cells, and the text of their row: "after at most 800 updates, ...".

    Args:
        cells: lines of `nmtlab.experiments.results.collected.results`.
        row: their row.
        scale: the scale at which they were run.
        measure: their number.
    """
    setup, updates = row.at[scale], cells["updates"].dropna()
    parts = [f"after at most {int(updates.max()):,} updates"] if len(updates) else []
    parts += [text_of(setup.corpus)] if isinstance(setup, Setup) else []
    parts += [f"tested on {text_name(setup.tested)}"] if isinstance(setup, Setup) and setup.tested else []
    parts += ["scored on dev, which also selected the checkpoints"] if _is_of_dev(measure) else []
    return ", ".join(parts)


def _is_of_dev(measure: Measure) -> bool:
    return isinstance(measure, OfSentences) and measure.split == "dev"


def mark(measure: Measure, systems: Iterable[System]) -> str:
    """Return what the interval of a number leaves out, in a few words; empty if nothing.

    Args:
        measure: the number.
        systems: those that are compared.
    """
    parts = ["the choice of the best dev evaluation"] if _is_of_dev(measure) else []
    parts += [f"the tuning of {system.label or system.name}" for system in systems if not system.seeded]
    return " and ".join(parts)


def text_of(corpus: Corpus) -> str:
    """Return the size and origin of a training text, as far as they are declared."""
    whole = corpus.corpus if isinstance(corpus, Directed) else corpus
    train = getattr(whole, "train", 0)
    size = f"{train:,} sentence pairs" if train else "all sentence pairs"
    if isinstance(whole, SyntheticCorpus | SyntheticFamily):
        return f"{size} of an artificial language"
    if isinstance(whole, ConcatenatedCorpus | MultiParallelCorpus):
        return f"{size} of {', '.join(whole.parts)}"
    return f"{size} of {whole.name}"
