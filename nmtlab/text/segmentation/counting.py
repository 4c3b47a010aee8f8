"""Counts of a pipeline's types in a text that it was not learned on."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.learning import blocks, usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import LanguageCounts, Side
from nmtlab.text.segmentation.vocabulary import UNK


def counted(pipeline: Pipeline, corpus: ParallelCorpus) -> Pipeline:
    """Return a pipeline with the counts of its types in the training text of a corpus.

    Raises:
        RunError: the pipeline does not know the corpus' languages.
        CorpusError: the text cannot be read.
    """
    (source,), (target,) = (counts.values() for counts in counts_in(pipeline, corpus))
    return replace(pipeline, source=_with(pipeline.source, source), target=_with(pipeline.target, target))


def counts_in(pipeline: Pipeline, *corpora: ParallelCorpus) -> tuple[LanguageCounts, LanguageCounts]:
    """Return the counts of the types of either side in the training text of corpora; errors as of `counted`."""
    sources: LanguageCounts = defaultdict(lambda: np.zeros(pipeline.source.size, dtype=np.int64))
    targets: LanguageCounts = defaultdict(lambda: np.zeros(pipeline.target.size, dtype=np.int64))
    for corpus in corpora:
        directed = pipeline.directed(*corpus.direction)
        for block in blocks(usable_pairs(corpus, pipeline.settings.max_words)):
            source, target = zip(*block, strict=True)
            rows = directed.encode_pairs(source, target, origin=corpus.origin)
            _add(sources[corpus.source], rows[0])
            _add(targets[corpus.target], rows[1])
    return sources, targets


def unknown_shares(pipeline: Pipeline) -> tuple[float, float]:
    """Return the shares of source and target tokens of the counted text that are UNK, or can only be read, to it."""
    allowed = np.any([*pipeline.allowed_by_language.values()], axis=0)
    known = np.ones(pipeline.source.size, dtype=bool), allowed
    return _unknown(pipeline.source, known[0]), _unknown(pipeline.target, known[1])


def _unknown(side: Side, known: np.ndarray) -> float:
    words = side.vocabulary.is_text
    counts, unknown = side.vocabulary.counts, side.vocabulary.counts[UNK]
    return float((unknown + counts[words & ~known].sum()) / max(1, unknown + counts[words].sum()))


def _add(counts: np.ndarray, ids: Sequence[Sequence[int]]) -> None:
    counts += np.bincount(np.fromiter(chain.from_iterable(ids), dtype=np.int64), minlength=len(counts))


def _with(side: Side, counts: np.ndarray) -> Side:
    return replace(side, vocabulary=replace(side.vocabulary, counts=counts), language_counts={})
