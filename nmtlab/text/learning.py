"""Tokenizers and vocabularies learned on the training text of a corpus."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from random import Random
from typing import TypeVar

import numpy as np

from nmtlab.errors import CorpusError, RecipeError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.cleaning import Limits, rejection_reason
from nmtlab.text.corpus import Pair, ParallelCorpus
from nmtlab.text.tokenizers import Subwords, Tokenizer, Words
from nmtlab.text.truecase import Truecaser
from nmtlab.text.vocabulary import SPECIALS, Vocabulary, most_frequent

T = TypeVar("T")

BLOCK = 10_000
"""Sentence pairs that are segmented at a time."""

# Learners hold sentences or words in memory; of 150 bytes each, so many sentences take about 400 MB.
_MAX_SENTENCES = {"word": 1_000_000, "bpe": 500_000, "unigram": 150_000}


def usable_pairs(corpus: ParallelCorpus, max_words: int, skipped: Counter[str]) -> Iterator[Pair]:
    """Yield the training pairs with no blank side and at most `max_words` words on each; count the others by reason."""
    limits = Limits(max_words)
    for pair in corpus.pairs("train"):
        if reason := rejection_reason(pair, limits):
            skipped[reason] += 1
        else:
            yield pair


def blocks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield `items` in lists of `BLOCK`."""
    iterator = iter(items)
    while block := list(islice(iterator, BLOCK)):
        yield block


def sample(items: Iterable[T], count: int, most: int) -> Iterator[T]:
    """Yield `most` of `count` items, chosen evenly at random, in their order; always the same ones (Knuth's S)."""
    random = Random(1)
    for left, item in zip(range(count, 0, -1), items, strict=False):
        if left * random.random() < most:
            most -= 1
            yield item


def learn_tokenizers(settings: TextSettings, corpus: ParallelCorpus) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of source and target; joint subwords have one for both.

    Raises:
        CorpusError: no training pair can be used.
        RecipeError: `text.vocabulary_size` does not fit the text.
    """
    count = _count_usable(settings, corpus)
    most = _MAX_SENTENCES[settings.segmentation]
    sources = (source for source, _ in _sampled(settings, corpus, count, most))
    targets = (target for _, target in _sampled(settings, corpus, count, most))
    kind, size = settings.segmentation, settings.vocabulary_size
    if kind == "word":
        return _words(corpus.source, settings, sources), _words(corpus.target, settings, targets)
    if settings.joint:
        shared = Subwords.learn(chain.from_iterable(_sampled(settings, corpus, count, most // 2)), kind, size)
        return shared, shared
    return Subwords.learn(sources, kind, size), Subwords.learn(targets, kind, size)


def learn_vocabularies(
    settings: TextSettings, corpus: ParallelCorpus, tokenizers: tuple[Tokenizer, Tokenizer]
) -> tuple[Vocabulary, Vocabulary]:
    """Return the vocabularies of source and target, counted in all usable training pairs.

    Raises:
        RecipeError: `text.vocabulary_size` or `text.min_frequency` leaves no word.
    """
    pairs = usable_pairs(corpus, settings.max_words, Counter())
    if settings.segmentation == "word":
        return _word_vocabularies(settings, pairs, tokenizers)
    source, target = tokenizers
    counts = _counted(pairs, source, target)
    return Vocabulary(source.types, counts[0]), Vocabulary(target.types, counts[1])


def _count_usable(settings: TextSettings, corpus: ParallelCorpus) -> int:
    skipped: Counter[str] = Counter()
    count = sum(1 for _ in usable_pairs(corpus, settings.max_words, skipped))
    if not count:
        reasons = ", ".join(f"{fallen:,} {reason}" for reason, fallen in sorted(skipped.items()))
        raise CorpusError(
            f"{corpus.folder}: no pair of train can be used ({reasons})", "give it text, or raise text.max_words"
        )
    return count


def _sampled(settings: TextSettings, corpus: ParallelCorpus, count: int, most: int) -> Iterator[Pair]:
    return sample(usable_pairs(corpus, settings.max_words, Counter()), count, most)


def _words(language: str, settings: TextSettings, lines: Iterator[str]) -> Words:
    words = Words(language)
    return Words(language, Truecaser.learn(map(words.split, lines))) if settings.truecase else words


def _word_vocabularies(
    settings: TextSettings, pairs: Iterable[Pair], tokenizers: tuple[Tokenizer, Tokenizer]
) -> tuple[Vocabulary, Vocabulary]:
    source: Counter[str] = Counter()
    target: Counter[str] = Counter()
    sentences = 0
    for pair in pairs:
        source.update(tokenizers[0].split(pair[0]))
        target.update(tokenizers[1].split(pair[1]))
        sentences += 1
    if settings.joint:
        source_words = target_words = _kept_words(settings, source + target)
    else:
        source_words, target_words = _kept_words(settings, source), _kept_words(settings, target)
    return (
        Vocabulary.of_words(source_words, source, sentences),
        Vocabulary.of_words(target_words, target, sentences),
    )


def _kept_words(settings: TextSettings, frequencies: Counter[str]) -> list[str]:
    if 0 < settings.vocabulary_size <= len(SPECIALS):
        raise RecipeError(
            f"text.vocabulary_size = {settings.vocabulary_size}: no place for words beside the special types",
            f"set it to {len(SPECIALS) + 1} at least, or to 0 for all words",
        )
    most = settings.vocabulary_size - len(SPECIALS) if settings.vocabulary_size else 0
    words = most_frequent(frequencies, most, settings.min_frequency)
    if not words:
        raise RecipeError(
            f"text.min_frequency = {settings.min_frequency}: no word of the training text is seen so often",
            f"set it to {max(frequencies.values())} at most",
        )
    return words


def _counted(pairs: Iterable[Pair], source: Subwords, target: Subwords) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each side has each subword, both as `(size,)` int64."""
    counts = tuple(np.zeros(len(side.types), dtype=np.int64) for side in (source, target))
    for block in blocks(pairs):
        for count, side, lines in zip(counts, (source, target), zip(*block, strict=True), strict=True):
            ids = np.fromiter(chain.from_iterable(side.ids(lines)), dtype=np.int64)
            count += np.bincount(ids, minlength=len(count))
    return counts
