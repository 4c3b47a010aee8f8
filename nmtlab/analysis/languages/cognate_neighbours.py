"""Do a word and its translation in the parent's language become neighbours? (artificial languages)"""

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.opened import opened, source_vectors
from nmtlab.analysis.languages.cognates import BORROWED, cognates
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.side import Side

SPELLING, PARENT, CHILD = "spelling alone", "parent", "child"
"""Whose vectors: drawn at random, so that only shared subwords make words similar; the parent's; the child's."""


def cognate_neighbours(child: Run, parent: Run, corpus: ParallelCorpus, parent_corpus: ParallelCorpus) -> pd.DataFrame:
    """Return how often the nearest word of the parent's language is the translation (precision at 1).

    The vector of a word is the mean of the source vectors of its subwords, without its context, in its own language if
    the run reads it, else in the other one; vectors are compared by cosine. Names, which both languages borrow, are
    left out.

    Args:
        child: a run with the subwords of its parent.
        parent: its parent.
        corpus: the child's corpus, an artificial language.
        parent_corpus: the parent's corpus.

    Returns:
        A row for each kind of word, `cognate` or `no cognate`, and each `vectors`, `spelling alone`, `parent` and
        `child`: `words`; `right`, how many have their translation as nearest neighbour; `precision`, 0 to 1.

    Raises:
        CorpusError: no gold lexicon.
        RunError: a run without weights.
    """
    known = cognates(corpus, parent_corpus)
    known = known[known["kind"] != BORROWED].drop_duplicates("child").drop_duplicates("parent")
    systems = opened(child), opened(parent)
    side, other = (system.pipeline.source for system in systems)
    ways = (corpus.source, parent_corpus.source), (parent_corpus.source, corpus.source)
    of_child, of_parent = ([source_vectors(system, *way) for way in ways] for system in systems)
    rows = []
    for name, tables in (
        (SPELLING, [_random(side.vocabulary.size, of_child[0])] * 2),
        (PARENT, [_aligned(side, other, table) for table in of_parent]),
        (CHILD, of_child),
    ):
        words = zip(("child", "parent"), tables, strict=True)
        ours, theirs = (_unit(_word_vectors(side, known[column], table)) for column, table in words)
        right = (ours @ theirs.T).argmax(dim=1).cpu().numpy() == np.arange(len(known))
        for kind, of_kind in known.assign(right=right).groupby("kind", sort=True):
            rows.append((kind, name, len(of_kind), int(of_kind["right"].sum()), float(of_kind["right"].mean())))
    return pd.DataFrame(rows, columns=["kind", "vectors", "words", "right", "precision"])


COGNATE_NEIGHBOURS = Analysis(
    "How often is the nearest word of the parent's language the translation?",
    cognate_neighbours,
    version=1,
    columns=("kind", "vectors", "words", "right", "precision"),
)


def _word_vectors(side: Side, words: pd.Series, table: Tensor) -> Tensor:
    """Return the mean vector of each word's subwords: (words, E)."""
    encoded = side.encode(list(words))
    return torch.stack([table[torch.tensor(ids[:-1])].double().mean(dim=0) for ids in encoded]).detach()


def _aligned(side: Side, theirs: Side, table: Tensor) -> Tensor:
    """Return the parent's vectors in the order of the child's types; a type that the parent lacks has a zero vector."""
    padded = torch.cat([table, torch.zeros(1, table.shape[1], dtype=table.dtype, device=table.device)])
    ids = {word: number for number, word in enumerate(theirs.vocabulary.types)}
    return padded[torch.tensor([ids.get(word, len(table)) for word in side.vocabulary.types])]


def _random(types: int, like: Tensor) -> Tensor:
    return torch.randn(types, like.shape[1], generator=torch.Generator().manual_seed(1))


def _unit(vectors: Tensor) -> Tensor:
    return vectors / vectors.norm(dim=1, keepdim=True).clamp_min(1e-12)
