"""Learning tokenizers and vocabularies from the training text of one or more corpora."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from random import Random
from typing import TypeVar, cast

import numpy as np

from nmtlab.errors import CorpusError, RecipeError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpora.cleaning import Limits, rejection_reason
from nmtlab.text.corpora.context import SEPARATOR, apart
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus, Row
from nmtlab.text.corpora.lines import is_blank
from nmtlab.text.segmentation.annotation import NOTE_TAGS, Notes, bare
from nmtlab.text.segmentation.byte_pieces import Bytes
from nmtlab.text.segmentation.length_bins import length_edges, length_tags
from nmtlab.text.segmentation.side import LanguageCounts, Side
from nmtlab.text.segmentation.tags import NULL, tags_before, tags_for
from nmtlab.text.segmentation.tokenizers import SubwordKind, Subwords, Tokenizer, Transliterated, Words
from nmtlab.text.segmentation.transliteration import transliterated, transliterator
from nmtlab.text.segmentation.truecase import Truecaser
from nmtlab.text.segmentation.vocabulary import SPECIALS, UNK, Vocabulary, most_frequent

T = TypeVar("T")

_Numbered = Subwords | Bytes
"""Tokenizers whose types have ids of their own."""

BLOCK = 10_000
"""Number of sentence pairs segmented at a time."""

# Learners hold sentences or words in memory: this many sentences of 150 bytes take about 400 MB.
_MAX_SENTENCES = {"word": 1_000_000, "bpe": 500_000, "unigram": 150_000}


def usable_rows(corpus: ParallelCorpus, max_words: int, skipped: Counter[str] | None = None) -> Iterator[Row]:
    """Yield the training rows with a target and at least one source; see `usable_pairs`, which these are with one.

    Sources may be in context, which does not count.
    """
    limits = Limits(max_words)
    for row in corpus.rows("train"):
        *sources, target = row
        sources = [apart(source)[1] for source in sources] if corpus.context else sources
        present = [source for source in sources if not is_blank(source)] or [target if corpus.blank else ""]
        reasons = (rejection_reason((source, target), limits) for source in present)
        reason = next(filter(None, reasons), "")
        if not reason:
            yield row
        elif skipped is not None:
            skipped[reason] += 1


def usable_pairs(corpus: ParallelCorpus, max_words: int, skipped: Counter[str] | None = None) -> Iterator[Pair]:
    """Yield training pairs with no blank side and at most `max_words` words on each; count the rest in any `skipped`.

    A source may be blank if those of the corpus are to be. None is in context.
    """
    limits = Limits(max_words)
    for pair in corpus.alone.pairs("train"):
        reason = rejection_reason((pair[1], pair[1]) if corpus.blank else pair, limits)
        if not reason:
            yield pair
        elif skipped is not None:
            skipped[reason] += 1


def beyond_token_limits(settings: TextSettings, *row: Sequence[int]) -> str:
    """Return why a training row of ids, target last, EOS the last of each, is too long in tokens, or an empty string.

    EOS is not counted.
    """
    target = row[-1]
    if settings.max_subwords and max(map(len, row)) - 1 > settings.max_subwords:
        return "too many subwords"
    if settings.max_target_tokens and len(target) - 1 > settings.max_target_tokens:
        return "too many target tokens"
    return ""


def blocks(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield `items` in lists of `BLOCK`."""
    iterator = iter(items)
    while block := list(islice(iterator, BLOCK)):
        yield block


def sample(items: Iterable[T], count: int, most: int) -> Iterator[T]:
    """Yield `most` of `count` items, sampled uniformly, in order and reproducibly (Knuth's algorithm S)."""
    random = Random(1)
    for left, item in zip(range(count, 0, -1), items, strict=False):
        if left * random.random() < most:
            most -= 1
            yield item


def learn_sides(
    settings: TextSettings,
    corpora: Sequence[ParallelCorpus],
    also: Sequence[ParallelCorpus],
    parent: tuple[Side, Side] | None,
    edges: tuple[float, ...],
    suggestions: Mapping[str, str],
) -> tuple[Side, Side, tuple[float, ...]]:
    """Return a source and a target side, and the ratios of length between the bins of the length tokens.

    Args:
        corpora: whose training pairs are counted, each sentence alone.
        also: further corpora from which subwords are learned.
        parent: sides whose subwords are extended; None to learn new types.
        edges: the parent's ratios; those of the text if empty.
        suggestions: source word -> translation, written beside rare words.

    Raises:
        CorpusError: the training text cannot be read, has no usable pair, or nothing is left to suggest.
        RecipeError: the size or frequency of types does not fit the text, or a side has words of several languages.
    """
    special = (*(NOTE_TAGS if settings.annotate else ()), *((SEPARATOR,) if settings.context else ()))
    needed = (*tags_for(corpora, settings.target_tag != "none"), *length_tags(settings.length_bins), *special)
    tags = dict.fromkeys(parent[0].vocabulary.tags if parent else needed, 0)
    usable = sum(_count_usable(settings, corpus) for corpus in also)
    for corpus in corpora:
        pairs = _count_usable(settings, corpus)
        usable += pairs
        missing = _count_missing(settings, corpus)
        named = corpus.target if settings.target_tag == "source" else ""
        for tag in tags_before(named, corpus.origin, tuple(tags)):
            tags[tag] += pairs * len(corpus.sources) - missing
        tags |= {NULL: tags[NULL] + missing} if missing else {}
    if parent:
        tokenizers = _extended_tokenizers(settings, corpora, (parent[0].tokenizer, parent[1].tokenizer))
    else:
        texts = corpora if settings.segmentation == "word" else (*corpora, *also)
        tokenizers = _learned_tokenizers(settings, texts, usable, tuple(tags))
    if settings.length_bins:
        edges, pairs_of_bins = _bins(settings, corpora, tokenizers, edges)
        tags |= dict(zip(length_tags(settings.length_bins), pairs_of_bins, strict=True))
    if settings.context:
        tags[SEPARATOR] = _count_in_context(settings, corpora)
    vocabularies, counts = _vocabularies(settings, corpora, tokenizers, tags)
    sources = tuple(dict.fromkeys(code for corpus in corpora for code in corpus.sources))
    targets = tuple(dict.fromkeys(corpus.target for corpus in corpora))
    source = Side(sources[0], tokenizers[0], vocabularies[0], sources, counts[0])
    if settings.annotate:
        source = _annotating(settings, corpora, source, tokenizers[1], suggestions)
    target = Side(targets[0], tokenizers[1], vocabularies[1], targets, counts[1], settings.reversed_target)
    return source, target, edges


def _count_usable(settings: TextSettings, corpus: ParallelCorpus) -> int:
    """Return the number of `usable_rows`; raise `CorpusError` if there are none."""
    skipped: Counter[str] = Counter()
    count = sum(1 for _ in usable_rows(corpus, settings.max_words, skipped))
    if not count:
        reasons = ", ".join(f"{fallen:,} {reason}" for reason, fallen in sorted(skipped.items()))
        raise CorpusError(f"{corpus.folder}: train has no usable pair ({reasons})", "add text, or raise text.max_words")
    return count


def _count_missing(settings: TextSettings, corpus: ParallelCorpus) -> int:
    """Return the number of blank sources in `usable_rows`, which stand for missing ones if there are several."""
    rows = usable_rows(corpus, settings.max_words) if corpus.also else ()
    return sum(sum(map(is_blank, row[:-1])) for row in rows)


def _count_in_context(settings: TextSettings, corpora: Iterable[ParallelCorpus]) -> int:
    """Return the number of sources of `usable_rows` that are in context."""
    in_context = (replace(corpus, context=True) for corpus in corpora)
    return sum(SEPARATOR in row[0] for row in _all_usable(settings, list(in_context)))


def _learned_tokenizers(
    settings: TextSettings, corpora: Sequence[ParallelCorpus], usable: int, tags: Sequence[str]
) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of source and target; joint subwords share one.

    Args:
        tags: control tokens of the source side.
    """
    if settings.segmentation == "byte":
        return Bytes(tags), Bytes(tags if settings.joint else ())
    most = _MAX_SENTENCES[settings.segmentation]
    transliterate = transliterator(settings.transliteration)

    def sampled(count: int) -> Iterator[Row]:
        for *sources, target in sample(_all_usable(settings, corpora), usable, count):
            present = [one for one in sources if not is_blank(one)]
            yield *(transliterated(one, transliterate) if transliterate else one for one in present), target

    sources = (source for row in sampled(most) for source in row[:-1])
    targets = (row[-1] for row in sampled(most))
    if settings.segmentation == "word":
        languages = _one_language_a_side(corpora)
        return _words(languages[0], settings, sources), _words(languages[1], settings, targets)
    kind: SubwordKind = "unigram" if settings.segmentation == "unigram" else "bpe"
    size = settings.vocabulary_size
    if settings.joint:
        source = target = Subwords.learn(chain.from_iterable(sampled(most // 2)), kind, size, tags)
    else:
        source, target = Subwords.learn(sources, kind, size, tags), Subwords.learn(targets, kind, size)
    return source_tokenizer(settings, source), target


def _extended_tokenizers(
    settings: TextSettings,
    corpora: Sequence[ParallelCorpus],
    tokenizers: tuple[Tokenizer, Tokenizer],
) -> tuple[Tokenizer, Tokenizer]:
    """Return tokenizers of source and target extended by a type for each letter of the corpora that they lack."""
    if settings.segmentation == "byte":
        return tokenizers
    source, target = (Subwords(tokenizer.to_bytes()) for tokenizer in tokenizers)
    letters: tuple[set[str], set[str]] = set(), set()
    sides = source_tokenizer(settings, source), target
    for *sources, target_sentence in _all_usable(settings, corpora):
        for found, tokenizer, sentences in zip(letters, sides, (sources, [target_sentence]), strict=True):
            found.update(*map(tokenizer.normalised, sentences))
    if settings.joint:
        source = target = source.with_letters(letters[0] | letters[1])
    else:
        source, target = source.with_letters(letters[0]), target.with_letters(letters[1])
    return source_tokenizer(settings, source), target


def source_tokenizer(settings: TextSettings, subwords: Subwords) -> Subwords:
    """Return the tokenizer of a source: subwords of its text, transliterated if the settings ask for it."""
    transliterate = transliterator(settings.transliteration)
    return Transliterated(subwords, transliterate) if transliterate else subwords


def _vocabularies(
    settings: TextSettings,
    corpora: Sequence[ParallelCorpus],
    tokenizers: tuple[Tokenizer, Tokenizer],
    tags: Mapping[str, int],
) -> tuple[tuple[Vocabulary, Vocabulary], tuple[LanguageCounts, LanguageCounts]]:
    """Return the vocabularies of source and target, and the counts of their types by language, without tags.

    All usable training pairs are counted.

    Args:
        tags: control token -> number of source sentences that have it; a joint target has these types too.
    """
    target_tags = dict.fromkeys(tags, 0) if settings.joint else {}
    if settings.segmentation == "word":
        pairs = _all_usable(settings, corpora)
        return _word_vocabularies(settings, pairs, tokenizers, (tags, target_tags)), ({}, {})
    subwords = cast(tuple[_Numbered, _Numbered], tokenizers)
    counts = _counted_by_language(settings, corpora, subwords)
    source, target = (
        _subword_vocabulary(side, np.sum(list(of_side.values()), axis=0), of_tags)
        for side, of_side, of_tags in zip(subwords, counts, (tags, target_tags), strict=True)
    )
    by_source, by_target = (of_side if len(of_side) > 1 else {} for of_side in counts)
    return (source, target), (by_source, by_target)


def _bins(
    settings: TextSettings,
    corpora: Sequence[ParallelCorpus],
    tokenizers: tuple[Tokenizer, Tokenizer],
    edges: tuple[float, ...] = (),
) -> tuple[tuple[float, ...], list[int]]:
    """Return the ratios of length between the bins of the length tokens, and the number of pairs in each bin.

    Args:
        edges: those of a parent; of the text's own ratios if empty.
    """
    source, target = tokenizers
    pairs = _all_usable(settings, corpora)
    ratios = np.array([len(target.split(two)) / len(source.split(one)) for one, two in pairs])
    edges = edges or length_edges(ratios, settings.length_bins)
    pairs_of_bins = np.bincount(np.searchsorted(edges, ratios, side="right"), minlength=settings.length_bins)
    return edges, pairs_of_bins.tolist()


def _annotating(
    settings: TextSettings,
    corpora: Sequence[ParallelCorpus],
    source: Side,
    target: Tokenizer,
    suggestions: Mapping[str, str],
) -> Side:
    """Return a source side that annotates words seen fewer than `text.annotate` times; its types are counted with that.

    A suggestion with a piece that the vocabulary lacks is left out.

    Args:
        source: without notes; its vocabulary has types for the target side too.
        target: splits suggestions.
        suggestions: source word -> translation.
    """
    lines = (line for line, _ in _all_usable(settings, corpora))
    seen = Counter(map(bare, chain.from_iterable(source.tokenizer.words(line)[0] for line in lines)))

    def is_written(suggestion: str) -> bool:
        ids = source.vocabulary.ids(target.split(suggestion))
        return bool(ids) and UNK not in ids

    rare = {word: said for word, said in suggestions.items() if seen[word] < settings.annotate}
    kept = {word: said for word, said in rare.items() if is_written(said)}
    if not kept:
        raise CorpusError(
            f"text.annotate: nothing is suggested, in types of the vocabulary, for words seen fewer than "
            f"{settings.annotate} times in training",
            "name a lexicon of more text with text.annotate_from, or raise text.annotate",
        )
    annotated = replace(source, notes=Notes.within(settings, kept, target))
    counts = np.zeros(source.size, dtype=np.int64)
    for block in blocks(_all_usable(settings, corpora)):
        ids = annotated.encode([line for line, _ in block])
        counts += np.bincount(np.fromiter(chain.from_iterable(ids), dtype=np.int64), minlength=source.size)
    before = [number for number in source.vocabulary.tag_ids(source.vocabulary.tags) if not counts[number]]
    counts[before] = source.vocabulary.counts[before]
    return replace(annotated, vocabulary=replace(source.vocabulary, counts=counts))


def _all_usable(settings: TextSettings, corpora: Sequence[ParallelCorpus]) -> Iterator[Row]:
    return chain.from_iterable(usable_rows(corpus, settings.max_words) for corpus in corpora)


def _one_language_a_side(corpora: Sequence[ParallelCorpus]) -> tuple[str, str]:
    sides = {code for corpus in corpora for code in corpus.sources}, {corpus.target for corpus in corpora}
    for name, languages in zip(("source", "target"), sides, strict=True):
        if len(languages) > 1:
            raise RecipeError(
                f"text.segmentation = 'word': the {name} side has several languages ({', '.join(sorted(languages))})",
                "set it to bpe or unigram, which segment all languages alike",
            )
    return corpora[0].source, corpora[0].target


def _words(language: str, settings: TextSettings, lines: Iterator[str]) -> Words:
    words = Words(language, rules=settings.word_rules)
    if not settings.truecase:
        return words
    return Words(language, Truecaser.learn(map(words.split, lines)), settings.word_rules)


def _word_vocabularies(
    settings: TextSettings,
    pairs: Iterable[Row],
    tokenizers: tuple[Tokenizer, Tokenizer],
    tags: tuple[Mapping[str, int], Mapping[str, int]],
) -> tuple[Vocabulary, Vocabulary]:
    source: Counter[str] = Counter()
    target: Counter[str] = Counter()
    sentences = 0
    for pair in pairs:
        source.update(tokenizers[0].split(pair[0]))
        target.update(tokenizers[1].split(pair[1]))
        sentences += 1
    if settings.joint:
        source_words = target_words = _kept_words(settings, source + target, len(tags[0]))
    else:
        source_words = _kept_words(settings, source, len(tags[0]))
        target_words = _kept_words(settings, target, len(tags[1]))
    return (
        Vocabulary.of_words(source_words, source, sentences, tags[0]),
        Vocabulary.of_words(target_words, target, sentences, tags[1]),
    )


def _kept_words(settings: TextSettings, frequencies: Counter[str], tags: int) -> list[str]:
    reserved = len(SPECIALS) + tags
    if 0 < settings.vocabulary_size <= reserved:
        raise RecipeError(
            f"text.vocabulary_size = {settings.vocabulary_size}: no room for words besides the special types",
            f"set it to at least {reserved + 1}, or to 0 for all words",
        )
    most = settings.vocabulary_size - reserved if settings.vocabulary_size else 0
    words = most_frequent(frequencies, most, settings.min_frequency)
    if not words:
        raise RecipeError(
            f"text.min_frequency = {settings.min_frequency}: no word of the training text is that frequent",
            f"set it to at most {max(frequencies.values())}",
        )
    return words


def _subword_vocabulary(tokenizer: _Numbered, counts: np.ndarray, tags: Mapping[str, int]) -> Vocabulary:
    vocabulary = Vocabulary(tokenizer.types, counts, tuple(tags))
    counts[vocabulary.tag_ids(tags)] = list(tags.values())
    return replace(vocabulary, counts=counts)


def _counted_by_language(
    settings: TextSettings, corpora: Sequence[ParallelCorpus], tokenizers: tuple[_Numbered, _Numbered]
) -> tuple[LanguageCounts, LanguageCounts]:
    """Return the subword counts of each side by language."""
    counts: tuple[LanguageCounts, LanguageCounts] = ({}, {})
    for corpus in corpora:
        sides = [tokenizers[0]] * len(corpus.sources), tokenizers[1]
        *sources, target = _counted(_all_usable(settings, [corpus]), *sides)
        for of_side, languages, found in ((counts[0], corpus.sources, sources), (counts[1], [corpus.target], [target])):
            for language, more in zip(languages, found, strict=True):
                of_side[language] = of_side.get(language, 0) + more
    return counts


def _counted(rows: Iterable[Row], sources: Sequence[_Numbered], target: _Numbered) -> list[np.ndarray]:
    """Return the subword counts of each source and of the target, each `(size,)` int64; blank lines have none."""
    sides = (*sources, target)
    counts = [np.zeros(len(side.types), dtype=np.int64) for side in sides]
    for block in blocks(rows):
        for count, side, lines in zip(counts, sides, zip(*block, strict=True), strict=True):
            present = [line for line in lines if not is_blank(line)]
            ids = np.fromiter(chain.from_iterable(side.ids(present)), dtype=np.int64)
            count += np.bincount(ids, minlength=len(count))
    return counts
