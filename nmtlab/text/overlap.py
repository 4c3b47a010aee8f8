"""How much of one language's source text is in another's (thesis Table 3.3)."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.segmentation import usable_pairs
from nmtlab.text.vocabulary import most_frequent

SIZES = (1000, 2000, 4000, 8000)
"""Vocabulary sizes of the joint subwords."""

_MAX_WORDS = 250


def overlap(
    parent: ParallelCorpus,
    child: ParallelCorpus,
    sizes: Sequence[int] = SIZES,
    words: int = 0,
    transliteration: str = "none",
) -> pd.DataFrame:
    """Count the child's source types and tokens that the parent's source text has.

    Subwords are learned on source and target of both texts, as a parent and its child share them (thesis 3.1.2.2).

    Args:
        parent, child: corpora into one target language, with training text.
        sizes: vocabulary sizes of the joint subwords.
        words: how many words each side's vocabulary has, the most frequent ones (0: all).
        transliteration: of both sources before they are segmented, as `text.transliteration`; words are never.

    Returns:
        A row for each segmentation and split of the child (train, and dev if it has one): `segmentation` (`words`, or
        `bpe SIZE`); `split`; `types`, `shared_types` and `type_share`; `tokens`, `shared_tokens` and `token_share`.

    Raises:
        CorpusError: a corpus has no training text.
        RecipeError: a size does not fit the text.
    """
    rows = []
    for size in (0, *sizes):
        split, kept, name = _segmenter(parent, child, size, words, transliteration)
        known = set(kept(_counts(split, (source for source, _ in usable_pairs(parent, _MAX_WORDS, Counter())))))
        for part in ("train", "dev"):
            if part in child.splits:
                counts = _counts(split, child.lines(part, child.source))
                types = kept(counts) if part == "train" else list(counts)
                rows.append({"segmentation": name, "split": part, **_shares(counts, types, known)})
    return pd.DataFrame(rows)


def _segmenter(
    parent: ParallelCorpus, child: ParallelCorpus, size: int, words: int, transliteration: str
) -> tuple[Callable[[str], list[str]], Callable[[Counter[str]], list[str]], str]:
    """Return the segmentation of a source sentence, the selection of types from counts, and their name; 0 is words."""
    if not size:
        settings = TextSettings(segmentation="word", vocabulary_size=0, joint=False)
        split = Pipeline.learn(settings, child).source.tokenizer.split
        return split, lambda counts: most_frequent(counts, words), "words"
    settings = TextSettings(vocabulary_size=size, transliteration=transliteration)
    pipeline = Pipeline.learn(settings, child, also=[parent])
    return pipeline.source.tokenizer.split, list, f"bpe {size}"


def _counts(split: Callable[[str], list[str]], lines: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(split(line))
    return counts


def _shares(counts: Counter[str], types: Sequence[str], known: set[str]) -> dict[str, float]:
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
