"""What does a cognate in the parent's language give? (artificial languages, whose cognates are known)

Are words better translated that have one, and do a word and its translation in the parent's language become neighbours?
"""

from collections import Counter
from collections.abc import Container, Mapping
from typing import Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import NEURAL, PARENT, WEIGHTS
from nmtlab.analysis.access.opened import opened, source_vectors
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.lexical.gold import gold_lexicon
from nmtlab.evaluation.rare_words import bucket_names, bucket_of
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import gold_links
from nmtlab.text.segmentation.side import Side

COGNATE, UNRELATED, BORROWED = "cognate", "no cognate", "name"
KINDS = (COGNATE, UNRELATED, BORROWED)

SPELLING, OF_PARENT, OF_CHILD = "spelling alone", "parent", "child"
"""Whose vectors: drawn at random, so that only shared subwords make words similar; the parent's; the child's."""

_VECTORS = {SPELLING: "spelling alone", OF_PARENT: "the parent's vectors", OF_CHILD: "the child's"}

EDGES = (0, 1, 5, 20)
"""Lower edges of the classes of how often a concept was seen."""


def cognates(child: ParallelCorpus, parent: ParallelCorpus) -> pd.DataFrame:
    """Return each concept's stem in two artificial languages, and whether the stems have one root.

    Args:
        child, parent: corpora with gold lexicons, of one family: with the same seed, vocabulary and names.

    Returns:
        A row for each English word with a stem in both: `group`, of concepts; `target`, the word; `forms`, all its
        forms, a list; `child` and `parent`, the stems; `kind`: `cognate`, `no cognate` or `name`, borrowed by both.

    Raises:
        CorpusError: a corpus has no gold lexicon.
    """
    keys = ["group", "target"]
    ours, theirs = (gold_lexicon(corpus) for corpus in (child, parent))
    both = ours.merge(theirs, on=keys, suffixes=("", "_parent"))
    both = both[(both["stem"] != "") & (both["origin"] != "")]
    inherited = (both["origin"] == "inherited") & (both["origin_parent"] == "inherited")
    borrowed = (both["origin"] == "borrowed") & (both["origin_parent"] == "borrowed")
    kind = inherited.map({True: COGNATE, False: UNRELATED}).mask(borrowed, BORROWED)
    columns = {"stem": "child", "stem_parent": "parent"}
    return (
        both.rename(columns=columns)
        .assign(kind=kind, forms=both["forms"].str.split(" "))[[*keys, "forms", "child", "parent", "kind"]]
        .reset_index(drop=True)
    )


def cognate_recall(
    run: Run, corpus: ParallelCorpus, parent: ParallelCorpus, part: Literal["dev", "test"] = "test"
) -> pd.DataFrame:
    """Return how many words of a text a run translates, with and without a cognate in the parent's language.

    A word of the source is translated if the English word that it is linked to is in the run's translation.

    Args:
        run: any system of the child's language, with or without a parent.
        corpus: the child's corpus, an artificial language.
        parent: corpus of the parent's language.
        part: the split that is translated.

    Returns:
        A row for each kind and frequency with words: `kind`; `seen`, how often the child's training text has the
        concept; `words`; `right`, how many of them are translated; `recall`, 0 to 1.

    Raises:
        CorpusError: no such split, or no gold data.
    """
    known = cognates(corpus, parent)
    kind_of = {form: row.kind for row in known.itertuples() for form in row.forms}
    seen = _seen(corpus, known)
    found: Counter[tuple[str, int]] = Counter()
    right: Counter[tuple[str, int]] = Counter()
    hypotheses, references = translations(run, corpus, part), corpus.lines(part, corpus.target)
    for hypothesis, reference, links in zip(hypotheses, references, gold_links(corpus, part), strict=True):
        words, produced = _words(reference, kind_of), Counter(_words(hypothesis, kind_of))
        for word in (words[j] for _, j in sorted(links) if words[j] in kind_of):
            cell = kind_of[word], bucket_of(seen[word], EDGES)
            found[cell] += 1
            right[cell] += produced[word] > 0
            produced[word] -= 1
    names = bucket_names(EDGES)
    rows = [
        (kind, names[bucket], found[kind, bucket], right[kind, bucket], right[kind, bucket] / found[kind, bucket])
        for kind in KINDS
        for bucket in range(len(names))
        if found[kind, bucket]
    ]
    return pd.DataFrame(rows, columns=["kind", "seen", "words", "right", "recall"])


COGNATE_RECALL = Analysis(
    "How many words does a child translate, with and without a cognate in its parent's language?",
    cognate_recall,
    version=1,
    columns=("kind", "seen", "words", "right", "recall"),
)


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
        (OF_PARENT, [_aligned(side, other, table) for table in of_parent]),
        (OF_CHILD, of_child),
    ):
        words = zip(("child", "parent"), tables, strict=True)
        ours, theirs = (normalize(_word_vectors(side, known[column], table)) for column, table in words)
        right = (ours @ theirs.T).argmax(dim=1).cpu().numpy() == np.arange(len(known))
        for kind, of_kind in known.assign(right=right).groupby("kind", sort=True):
            rows.append((kind, name, len(of_kind), int(of_kind["right"].sum()), float(of_kind["right"].mean())))
    return pd.DataFrame(rows, columns=["kind", "vectors", "words", "right", "precision"])


def cognate_finding(found: pd.DataFrame) -> str:
    """Return how often a cognate is found by the child's vectors and before, from `cognate_neighbours` with `run`."""
    said = []
    for run, of_run in found[found["kind"] == COGNATE].groupby("run", sort=False):
        shares = dict(zip(of_run["vectors"], of_run["precision"], strict=True))
        said.append(f"{run}: {', '.join(f'{100 * shares[one]:.0f} % by {name}' for one, name in _VECTORS.items())}")
    return f"A cognate is the nearest word of the parent's language: {listed(said, '; ')}." if said else ""


COGNATE_NEIGHBOURS = Analysis(
    "How often is the nearest word of the parent's language the translation?",
    cognate_neighbours,
    needs=(NEURAL, WEIGHTS, PARENT),
    version=1,
    columns=("kind", "vectors", "words", "right", "precision"),
    finding=cognate_finding,
    stored_as="cognate_neighbours.cognate_neighbours",
)


def _seen(corpus: ParallelCorpus, known: pd.DataFrame) -> Mapping[str, int]:
    """Return how often the training text has the concept of each English form."""
    forms = {form for row in known.itertuples() for form in row.forms}
    counts = Counter(word for line in corpus.lines("train", corpus.target) for word in _words(line, forms))
    return {form: sum(counts[one] for one in set(row.forms)) for row in known.itertuples() for form in row.forms}


def _words(line: str, known: Container[str]) -> list[str]:
    """Return the words of a sentence, the first as it is written inside one."""
    first, *others = line.split(" ")
    return [first if first in known else first.lower(), *others]


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
