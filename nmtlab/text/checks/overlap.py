"""What do two texts share? Types, tokens, sentences, and how much text there is (thesis Tables 3.1 and 3.3)."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from nmtlab.errors import CorpusError
from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.tokenizers import Tokenizer, Words, moses_words
from nmtlab.text.segmentation.vocabulary import most_frequent

SIZES = (1000, 2000, 4000, 8000)
"""Vocabulary sizes of the joint subwords."""

_MAX_WORDS = 250


@dataclass(frozen=True)
class LengthLimits:
    """Limits on the lengths of training pairs, which differ for words and subwords (thesis 3.1.3).

    Args:
        words: in a word system, most white-space words on either side (0: as many as a subword system may have, 250).
        subwords: in a subword system, most subwords on either side (0: any).

    Raises:
        CorpusError: a limit is negative.
    """

    words: int = 0
    subwords: int = 0

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if limit < 0:
                raise CorpusError(f"length limit: {name} is {limit}", "give 1 or more, or 0 for no limit")


THESIS_LIMITS = LengthLimits(words=50, subwords=60)
"""The limits of thesis 3.1.3."""

NO_LIMITS = LengthLimits()


@dataclass(frozen=True, eq=False)
class Segmentation:
    """A way to split the text of several corpora: into words, or into subwords learned on all of them.

    Args:
        name: `words`, or `bpe SIZE`.
        source, target: the tokenizers of both sides.
    """

    name: str
    source: Tokenizer
    target: Tokenizer

    @property
    def into_words(self) -> bool:
        """Whether the pieces are words."""
        return isinstance(self.source, Words)

    def training_pairs(
        self, corpus: ParallelCorpus, limits: LengthLimits = NO_LIMITS
    ) -> Iterator[tuple[list[str], list[str]]]:
        """Yield the training pairs within the limits, split; pairs with a blank side are left out."""
        for source, target in self._short_pairs(corpus, limits):
            pair = self.source.split(source), self.target.split(target)
            if not self._most_subwords(limits) or max(map(len, pair)) <= limits.subwords:
                yield pair

    def source_counts(self, corpus: ParallelCorpus, limits: LengthLimits = NO_LIMITS) -> Counter[str]:
        """Return the counts of the source types in the training pairs within the limits."""
        if self._most_subwords(limits):
            return _counts(source for source, _ in self.training_pairs(corpus, limits))
        # The target need not be split.
        return _counts(self.source.split(source) for source, _ in self._short_pairs(corpus, limits))

    def _most_subwords(self, limits: LengthLimits) -> int:
        return 0 if self.into_words else limits.subwords

    def _short_pairs(self, corpus: ParallelCorpus, limits: LengthLimits) -> Iterator[Pair]:
        most = limits.words if self.into_words else 0
        return usable_pairs(corpus, most or _MAX_WORDS)


def segmentations(
    corpora: Sequence[ParallelCorpus], sizes: Sequence[int] = SIZES, transliteration: str = "none"
) -> list[Segmentation]:
    """Return words, and subwords of each size learned on source and target of all corpora (thesis 3.1.2.2).

    Words are split by the rules of the first corpus' languages: the same rules for all, so that what is one word in one
    text is one word in the others.

    Args:
        corpora: with training text.
        sizes: vocabulary sizes of the joint subwords.
        transliteration: of all sources before subwords are learned, as `text.transliteration`; words are never.

    Raises:
        CorpusError: a corpus has no training text.
        RecipeError: a size does not fit the text.
    """
    first, *others = corpora
    found = [Segmentation("words", moses_words(first.source), moses_words(first.target))]
    for size in sizes:
        settings = TextSettings(vocabulary_size=size, transliteration=transliteration)
        pipeline = Pipeline.learn(settings, first, also=others)
        found.append(Segmentation(f"bpe {size}", pipeline.source.tokenizer, pipeline.target.tokenizer))
    return found


def overlap(
    learned: Sequence[Segmentation],
    parent: ParallelCorpus,
    child: ParallelCorpus,
    words: int = 0,
    limits: LengthLimits = NO_LIMITS,
) -> pd.DataFrame:
    """Count the child's source types and tokens that the parent's source text has.

    Args:
        learned: on both texts, as a parent and its child share their subwords (thesis 3.1.2.2).
        parent, child: corpora into one target language, with training text.
        words: how many words each side's vocabulary has, the most frequent ones (0: all).
        limits: longer training pairs of both are left out.

    Returns:
        A row for each segmentation and split of the child (train, and dev if it has one): `segmentation` (`words`, or
        `bpe SIZE`); `split`; `types`, `shared_types` and `type_share`; `tokens`, `shared_tokens` and `token_share`.
    """
    rows = []
    for segmentation in learned:
        most = words if segmentation.into_words else 0
        known = set(most_frequent(segmentation.source_counts(parent, limits), most))
        counts = segmentation.source_counts(child, limits)
        types = most_frequent(counts, most)
        rows.append({"segmentation": segmentation.name, "split": "train", **shares(counts, types, known)})
        if "dev" in child.splits:
            counts = _counts(map(segmentation.source.split, child.lines("dev", child.source)))
            rows.append({"segmentation": segmentation.name, "split": "dev", **shares(counts, list(counts), known)})
    return pd.DataFrame(rows)


def training_sizes(
    learned: Sequence[Segmentation],
    parent: ParallelCorpus,
    child: ParallelCorpus,
    limits: LengthLimits = THESIS_LIMITS,
) -> pd.DataFrame:
    """Count the training sentences and tokens of parent and child within the limits on their lengths (Table 3.1).

    The thesis gives one number of tokens for each text, without saying of which side.

    Args:
        learned, parent, child: as for `overlap`.
        limits: longer pairs are left out, as in training with `text.max_words` and `text.max_subwords`.

    Returns:
        A row for each segmentation and text, the parent's first: `segmentation`, `text` (parent, child), `corpus`, its
        name; `sentences`, the pairs within the limits, and `left_out`, the others; `source_tokens`, `target_tokens`,
        and `tokens`, their sum.
    """
    rows = []
    for segmentation in learned:
        for text, corpus in (("parent", parent), ("child", child)):
            amount = _amount(segmentation.training_pairs(corpus, limits), corpus.count("train"))
            rows.append({"segmentation": segmentation.name, "text": text, "corpus": corpus.name, **amount})
    return pd.DataFrame(rows)


def shares(counts: Counter[str], types: Sequence[str], known: Collection[str]) -> dict[str, float]:
    """Return how many of the types are known, and of their tokens, with the shares.

    Args:
        counts: of a text.
        types: those that are asked about.
        known: the types of another text, or those of a vocabulary.
    """
    shared = [word for word in types if word in known]
    tokens, shared_tokens = (sum(counts[word] for word in some) for some in (types, shared))
    return {
        "types": len(types),
        "shared_types": len(shared),
        "type_share": len(shared) / max(1, len(types)),
        "tokens": tokens,
        "shared_tokens": shared_tokens,
        "token_share": shared_tokens / max(1, tokens),
    }


def _amount(pairs: Iterable[tuple[list[str], list[str]]], of: int) -> dict[str, int]:
    lengths = [(len(source), len(target)) for source, target in pairs]
    source, target = (sum(side) for side in zip(*lengths, strict=True)) if lengths else (0, 0)
    left = len(lengths)
    amount = {"sentences": left, "left_out": of - left, "source_tokens": source, "target_tokens": target}
    return {**amount, "tokens": source + target}


def _counts(sentences: Iterable[list[str]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for tokens in sentences:
        counts.update(tokens)
    return counts
