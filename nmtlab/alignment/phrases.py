"""A phrase table over the ids of two vocabularies: which target types are in the translations of source n-grams?"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from nmtlab.files import replacing
from nmtlab.reading import MAX_BYTES, read_bytes, reading

Ngram = tuple[int, ...]
"""Source ids; the empty one stands for no source word."""

LONGEST = 3
"""Tokens of the longest n-gram."""

_LONGEST_TRANSLATION = 7
_NONE = -1


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """The target types of the translations of source n-grams; of the empty one, those that are linked to nothing.

    Args:
        ngrams: (n-grams, LONGEST) source ids, padded with -1 behind them.
        counts: (n-grams,) how often each occurs in the pairs with links.
        offsets: (n-grams + 1,) int64, the start of each n-gram's entries, and the end of the last.
        targets: (entries,) target ids.
        ranks: (entries,) rank, from 0, of the most frequent translation of the n-gram that contains the type.
    """

    ngrams: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray
    targets: np.ndarray
    ranks: np.ndarray

    @classmethod
    def learned(
        cls, pairs: Iterable[tuple[Sequence[int], Sequence[int]]], links: Iterable[Collection[tuple[int, int]]]
    ) -> "PhraseTable":
        """Return the table of a text.

        Args:
            pairs: ids of source and target sentences, without EOS.
            links: of the tokens of each pair, as pairs of positions from 0; a pair without any was not aligned and
                adds nothing.
        """
        counts: Counter[Ngram] = Counter()
        found: dict[Ngram, Counter[Ngram]] = defaultdict(Counter)
        for (source, target), linked in zip(pairs, links, strict=True):
            if not linked:
                continue  # else all its target tokens would be translations of ()
            for ngram, translation in _phrases(source, target, linked):
                counts[ngram] += 1
                if translation:
                    found[ngram][translation] += 1
        rows = {ngram: _ranked(found[ngram]) for ngram in sorted(found)}
        entries = [entry for row in rows.values() for entry in row.items()]
        return cls(
            np.array([[*ngram, *[_NONE] * (LONGEST - len(ngram))] for ngram in rows], np.int32).reshape(-1, LONGEST),
            np.array([counts[ngram] for ngram in rows], np.int64),
            np.cumsum([0, *map(len, rows.values())], dtype=np.int64),
            np.array([type_ for type_, _ in entries], np.int64),
            np.array([rank for _, rank in entries], np.int64),
        )

    def translations(self, longest: int, most: int, least: int = 1) -> dict[Ngram, np.ndarray]:
        """Return the target types of each n-gram.

        Args:
            longest: tokens of the longest n-grams, from 1 to LONGEST.
            most: translations of an n-gram whose types are taken, the most frequent ones.
            least: occurrences of an n-gram; of the empty one, any.
        """
        lengths = (self.ngrams != _NONE).sum(1)
        (kept,) = np.nonzero((lengths <= longest) & ((self.counts >= least) | (lengths == 0)))
        found = {}
        for row in kept:
            entries = slice(self.offsets[row], self.offsets[row + 1])
            found[tuple(self.ngrams[row, : lengths[row]].tolist())] = self.targets[entries][self.ranks[entries] < most]
        return found

    def save(self, path: Path) -> None:
        """Write the table to a safetensors file atomically."""
        with replacing(path) as temporary:
            temporary.write_bytes(save({name: np.ascontiguousarray(array) for name, array in vars(self).items()}))

    @classmethod
    def load(cls, path: Path, source_types: int, target_types: int, remedy: str) -> "PhraseTable":
        """Return the table saved at `path` for vocabularies of these sizes; `remedy` is what to do about another one.

        Raises:
            RunError: the file is missing, damaged, or of other vocabularies.
        """
        with reading(path, remedy):
            table = cls(**load(read_bytes(path, 16 * MAX_BYTES)))
            rows, entries = len(table.ngrams), len(table.targets)
            shapes = (rows, LONGEST), (rows,), (rows + 1,), (entries,), (entries,)
            if tuple(array.shape for array in vars(table).values()) != shapes:
                raise ValueError("the sizes of its arrays differ")
            if table.offsets[[0, -1]].tolist() != [0, entries] or (np.diff(table.offsets) < 0).any():
                raise ValueError("offsets do not match the entries")
            known = (table.ngrams < source_types).all() and (table.targets < target_types).all()
            if not known or (table.targets < 0).any():
                raise ValueError("it belongs to another vocabulary")
            return table


def _phrases(
    source: Sequence[int], target: Sequence[int], links: Collection[tuple[int, int]]
) -> Iterator[tuple[Ngram, Ngram]]:
    """Yield every source n-gram with its translation, which is empty if it has none.

    That is what lies between the first and the last target token that it is linked to, unless some of that is linked to
    other source tokens (Och and Ney 2004), or it is too long. Target tokens without a link are translations of ().
    """
    of_source: list[list[int]] = [[] for _ in source]
    of_target: list[list[int]] = [[] for _ in target]
    for s, t in links:
        of_source[s].append(t)
        of_target[t].append(s)
    for begin in range(len(source)):
        for end in range(begin + 1, min(begin + LONGEST, len(source)) + 1):
            linked = [t for ts in of_source[begin:end] for t in ts]
            first, last = (min(linked), max(linked) + 1) if linked else (0, 0)
            own = all(begin <= s < end for ss in of_target[first:last] for s in ss)
            fits = own and last - first <= _LONGEST_TRANSLATION
            yield tuple(source[begin:end]), tuple(target[first:last]) if fits else ()
    for token, ss in zip(target, of_target, strict=True):
        if not ss:
            yield (), (token,)


def _ranked(translations: Counter[Ngram]) -> dict[int, int]:
    """Return the types of translations, each with the rank of the first that contains it, ties by ids."""
    ranks: dict[int, int] = {}
    for rank, one in enumerate(sorted(translations, key=lambda phrase: (-translations[phrase], phrase))):
        for type_ in one:
            ranks.setdefault(type_, rank)
    return ranks
