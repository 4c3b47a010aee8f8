"""Counts of a pipeline's types in a text that it was not learned on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.learning import blocks, usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side


def counted(pipeline: Pipeline, corpus: ParallelCorpus) -> Pipeline:
    """Return a pipeline with the counts of its types in the training text of a corpus.

    Raises:
        RunError: the pipeline does not know the corpus' languages.
        CorpusError: the text cannot be read.
    """
    directed = pipeline.directed(*corpus.direction)
    counts = tuple(np.zeros(size, dtype=np.int64) for size in (pipeline.source.size, pipeline.target.size))
    for block in blocks(usable_pairs(corpus, pipeline.settings.max_words, Counter())):
        source, target = zip(*block, strict=True)
        _add(counts[0], directed.encode_source(source))
        _add(counts[1], directed.encode_target(target))
    return replace(pipeline, source=_with(pipeline.source, counts[0]), target=_with(pipeline.target, counts[1]))


def _add(counts: np.ndarray, ids: Sequence[Sequence[int]]) -> None:
    counts += np.bincount(np.fromiter(chain.from_iterable(ids), dtype=np.int64), minlength=len(counts))


def _with(side: Side, counts: np.ndarray) -> Side:
    return replace(side, vocabulary=replace(side.vocabulary, counts=counts), language_counts={})
