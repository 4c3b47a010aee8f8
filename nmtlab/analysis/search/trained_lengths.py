"""The lengths of the sentence pairs that a run was trained on."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nmtlab.analysis.access.checks import in_direction
from nmtlab.errors import RunError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.segmentation.learning import beyond_token_limits, blocks, usable_pairs


class EncodedPair(NamedTuple):
    """A sentence pair, with the ids of each side, EOS last."""

    pair: Pair
    source: list[int]
    target: list[int]


class Lengths(NamedTuple):
    """Lengths of the sides of some sentence pairs, (n,) each, in tokens without EOS."""

    source: np.ndarray
    target: np.ndarray


def trained_lengths(run: Run, corpus: ParallelCorpus) -> Lengths:
    """Return the lengths of the pairs of a corpus that a run was trained on: those within its recipe's limits.

    Raises:
        CorpusError: other languages, or no training text.
        RunError: the run was not trained on this corpus.
    """
    text = run.recipe.text
    pairs = encoded_pairs(run, corpus, text.max_words)
    kept = [(len(source) - 1, len(target) - 1) for _, source, target in pairs if not _left_out(run, source, target)]
    return Lengths(*np.array(kept).reshape(-1, 2).T)


def encoded_pairs(run: Run, corpus: ParallelCorpus, max_words: int) -> Iterator[EncodedPair]:
    """Yield the training pairs of a corpus with at most `max_words` words on each side, as a run reads them.

    Raises:
        CorpusError, RunError: as for `trained_lengths`.
    """
    run = in_direction(run, corpus)
    if corpus.checksum() not in run.checksums:
        raise RunError(f"run {run.name!r}: was not trained on {corpus.name!r}", "choose the corpus of its recipe")
    for block in blocks(usable_pairs(corpus, max_words, Counter())):
        sources, targets = zip(*block, strict=True)
        ids = run.pipeline.encode_source(sources), run.pipeline.encode_target(targets)
        yield from map(EncodedPair, block, *ids)


def _left_out(run: Run, source: list[int], target: list[int]) -> bool:
    return bool(beyond_token_limits(run.recipe.text, source, target))
