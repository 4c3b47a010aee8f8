"""Sentence pairs as words, a system's attention between them, and how often training has seen them.

Words are cut as by `Pipeline.source_words`, on both sides: Moses' for word systems, else what stands between white
space.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from nmtlab.analysis.access.checks import check_languages
from nmtlab.errors import CorpusError
from nmtlab.runs.run import Run
from nmtlab.search.attention import pieces_of_words, word_attention
from nmtlab.search.forced import forced_decode_all
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.learning import usable_pairs
from nmtlab.text.links import Link, check_links
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.vocabulary import UNK
from nmtlab.translation import Translator


@dataclass(frozen=True)
class WordPair:
    """A sentence pair as words.

    Args:
        line: its number in the split, from 1.
        source: its source text.
        source_words, target_words: as written.
        source_places, target_places: for each piece the place of its word.
        source_ids, target_ids: EOS the last of each.
        unknown: (target words,) bool, the words that the system cannot say: they have a piece that is UNK or may not
            be produced.
        links: of its words, (source position, target position).
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
    """Return the pairs of a split as the words of a run, without those that have a blank side.

    Args:
        run: whose pipeline cuts them.
        corpus: of the run's languages.
        split: train, dev or test.
        links: of the words of each pair of the split, as from `gold_links` or a word aligner.
        limit: take only so many pairs, the first; all if not given.

    Raises:
        CorpusError: no such split, other languages, or links that do not belong to it.
    """
    check_languages(run, corpus)
    pairs = list(corpus.pairs(split))
    if len(links) != len(pairs):
        raise CorpusError(
            f"links of {len(links):,} pairs, but {split} of corpus {corpus.name!r} has {len(pairs):,}",
            "give a set of links for each pair, empty where there is none",
        )
    numbered = enumerate(zip(pairs[:limit], links[:limit], strict=True), start=1)
    found = (
        pair_of_words(run.pipeline, *pair, own, line, f"links of {split}, line {line}")
        for line, (pair, own) in numbered
    )
    return [pair for pair in found if pair.source_words and pair.target_words]


def piece_links(pair: WordPair) -> frozenset[Link]:
    """Return the links of a pair's words between their pieces: each piece of the one with each of the other."""
    return frozenset(
        (s, t)
        for s, i in enumerate(pair.source_places)
        for t, j in enumerate(pair.target_places)
        if (i, j) in pair.links
    )


def forced_attention(
    system: Translator, pairs: Sequence[WordPair], on_progress: Callable[[int], None] = lambda pairs: None
) -> list[np.ndarray]:
    """Return a system's attention in each pair while its target is forced, (target words, source words).

    A target word's attention is the mean of its pieces'; a source word gets the sum of its pieces'. What EOS gets is
    left out, so that rows may add up to less than 1.

    Args:
        system: a neural one.
        pairs: cut by the system's pipeline.
        on_progress: told how many more pairs are done.
    """
    found: list[np.ndarray] = [np.empty((0, 0)) for _ in pairs]
    sources, targets = ([getattr(pair, ids) for pair in pairs] for ids in ("source_ids", "target_ids"))
    for place, forced in forced_decode_all(system.model, sources, targets):
        weights = word_attention(forced.attention, pairs[place].source_places)[:-1]
        belongs = pieces_of_words(pairs[place].target_places)
        found[place] = belongs.T @ weights / belongs.sum(0)[:, None]
        on_progress(1)
    return found


def target_word_counts(pipeline: Pipeline, corpus: ParallelCorpus) -> Counter[str]:
    """Return how often the training text of a corpus has each target word, pairs that training leaves out excepted.

    Raises:
        CorpusError: the corpus has no training text, or it cannot be read.
    """
    usable = usable_pairs(corpus, pipeline.settings.max_words, Counter())
    return Counter(word for _, target in usable for word in pipeline.target.tokenizer.words(target)[0])


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
        pipeline: that cuts them.
        source, target: its text.
        links: of its words.
        line: its number in a split, from 1.
        where: whose links they are, for the error.

    Raises:
        CorpusError: a link to a word that is not there.
    """
    source_words, source_places = pipeline.source_words(source)
    target_words, target_places = pipeline.target.tokenizer.words(target)
    check_links(links, len(source_words), len(target_words), where)
    target_ids = pipeline.target_ids(target)
    sayable = pipeline.target_allowed
    sayable[UNK] = False
    unsayable_pieces = ~sayable[target_ids[:-1]]
    return WordPair(
        line=line,
        source=source,
        source_words=source_words,
        target_words=target_words,
        source_places=source_places,
        target_places=target_places,
        source_ids=pipeline.source_ids(source),
        target_ids=target_ids,
        unknown=pieces_of_words(target_places)[unsayable_pieces].any(0),
        links=frozenset(links),
    )
