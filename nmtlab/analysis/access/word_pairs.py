"""Sentence pairs as words, a system's attention between the words, and their training counts.

Both sides are split into words as by `Pipeline.source_words`: Moses tokens for word systems, otherwise at white space.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from nmtlab.analysis.access.needs import in_direction
from nmtlab.errors import CorpusError
from nmtlab.runs.run import Run
from nmtlab.search.attention import last_layer, pieces_of_words
from nmtlab.search.forced import forced_decode_all
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link, check_links
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.translation import Translator


@dataclass(frozen=True)
class WordPair:
    """A sentence pair as words.

    Args:
        line: its number in the split, from 1.
        source_words, target_words: as written.
        source_places, target_places: for each of the ids but EOS, the index of its word.
        source_ids, target_ids: each ending in EOS, as the system reads and writes them.
        unknown: (target words,) bool, the words that the system cannot generate: they have a piece that is UNK or not
            allowed in its output.
        links: between its words, (source position, target position).
    """

    line: int
    source: str
    source_words: list[str]
    target_words: list[str]
    source_places: list[int]
    target_places: list[int]
    source_ids: list[int]
    target_ids: list[int]
    unknown: np.ndarray
    links: frozenset[Link]


def word_pairs(
    run: Run,
    corpus: ParallelCorpus,
    split: str,
    links: Sequence[Collection[Link]],
    limit: int | None = None,
) -> list[WordPair]:
    """Return the pairs of a split as words, without pairs that have a blank side.

    Args:
        run: whose pipeline splits the text into words.
        links: word links of each pair of the split, as from `gold_links` or a word aligner.
        limit: number of pairs to use, from the first; all if not given.

    Raises:
        CorpusError: no such split, other languages, or links that do not belong to it.
    """
    run = in_direction(run, corpus)
    pairs = list(corpus.pairs(split))
    if len(links) != len(pairs):
        raise CorpusError(
            f"links of {len(links):,} pairs, but {split} of corpus {corpus.name!r} has {len(pairs):,}",
            "give a set of links for each pair, empty for a pair without links",
        )
    numbered = enumerate(zip(pairs[:limit], links[:limit], strict=True), start=1)
    found = (
        pair_of_words(run.pipeline, *pair, pair_links, line, f"links of {split}, line {line}")
        for line, (pair, pair_links) in numbered
    )
    return [pair for pair in found if pair.source_words and pair.target_words]


def piece_links(pair: WordPair) -> frozenset[Link]:
    """Return a pair's word links as piece links: each piece of a source word with each piece of its target word.

    Pieces are counted as they are read.
    """
    return frozenset(
        (s, t)
        for s, i in enumerate(pair.source_places)
        for t, j in enumerate(sorted(pair.target_places))
        if (i, j) in pair.links
    )


def forced_attention(
    system: Translator, pairs: Sequence[WordPair], on_progress: Callable[[int], None] = lambda pairs: None
) -> list[np.ndarray]:
    """Return a system's attention in each pair under its forced target, (target words, source words).

    It is the mean over the heads of the last layer, brought to words by `between_words`. The weight of EOS is left out,
    so rows may add up to less than 1.

    Args:
        pairs: split into words by the system's pipeline.
    """
    found: list[np.ndarray] = [np.empty((0, 0)) for _ in pairs]
    sources, targets = ([getattr(pair, ids) for pair in pairs] for ids in ("source_ids", "target_ids"))
    for place, forced in forced_decode_all(system.model, sources, targets):
        found[place] = between_words(last_layer(forced.attention).mean(0), pairs[place])
        on_progress(1)
    return found


def attention_links(system: Translator, pairs: Sequence[WordPair]) -> list[frozenset[Link]]:
    """Return links of each target word with the source word that a system attends to most; as of `forced_attention`.

    A pair with a blank side has none.
    """
    found: list[frozenset[Link]] = [frozenset() for _ in pairs]
    filled = [place for place, pair in enumerate(pairs) if pair.source_words and pair.target_words]
    for place, weights in zip(filled, forced_attention(system, [pairs[place] for place in filled]), strict=True):
        found[place] = frozenset((s, t) for t, s in enumerate(weights.argmax(1).tolist()))
    return found


def between_words(weights: np.ndarray, pair: WordPair) -> np.ndarray:
    """Return weights between the words of a pair, (target words, source words), given those between its pieces.

    That of a target word is the mean over its pieces; that of a source word is the sum over its pieces.

    Args:
        weights: (|y|, S); those of EOS are left out.
        pair: with the words.
    """
    places = pair.source_places
    summed = weights[:-1, : len(places)] @ pieces_of_words(places)
    belongs = pieces_of_words(pair.target_places)
    return belongs.T @ summed / belongs.sum(0)[:, None]


def pair_of_words(
    pipeline: Pipeline,
    source: str,
    target: str,
    links: Collection[Link],
    line: int = 1,
    where: str = "links",
) -> WordPair:
    """Return one pair as words.

    Args:
        pipeline: that splits the text into words.
        links: between its words.
        line: its number in a split, from 1.
        where: the place to name in error messages about the links.

    Raises:
        CorpusError: a link to a word that does not exist.
    """
    source_words, source_places = pipeline.source_words(source)
    target_words, indices = pipeline.target.tokenizer.words(target)
    check_links(links, len(source_words), len(target_words), where)
    target_ids = pipeline.target_ids(target)
    target_places = [indices[place] for place in pipeline.target.reading_order(target_ids)[:-1]]
    producible = pipeline.target_allowed
    producible[UNK] = False
    unknown_pieces = ~producible[target_ids[:-1]]
    return WordPair(
        line=line,
        source=source,
        source_words=source_words,
        target_words=target_words,
        source_places=source_places,
        target_places=target_places,
        source_ids=pipeline.source_ids(source),
        target_ids=target_ids,
        unknown=pieces_of_words(target_places)[unknown_pieces].any(0),
        links=frozenset(links),
    )
