"""The types of a side: which there are, their ids, and how often training has seen each."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nmtlab.errors import RunError

PAD, BOS, EOS, UNK = 0, 1, 2, 3
"""Ids of padding, of the beginning and end of a sentence, and of all that is not in a vocabulary."""

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
"""How the special types are shown; text that looks like one of them is ordinary text and never gets its id."""

_ESCAPES = {"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"}
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}


def most_frequent(frequencies: Mapping[str, int], most: int = 0, min_frequency: int = 1) -> list[str]:
    """Return the types by falling frequency, equally frequent ones in alphabetical order.

    Args:
        frequencies: how often each type was seen.
        most: how many types at most (0: all).
        min_frequency: how often a type must have been seen.
    """
    seen = (word for word, count in frequencies.items() if count >= min_frequency)
    ordered = sorted(seen, key=lambda word: (-frequencies[word], word))
    return ordered[:most] if most else ordered


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The types of one side; a type's id is its place. A joint vocabulary is two of these with the same types.

    Args:
        types: all types, the special ones first.
        counts: `(size,)` int64, how often the training text of this side has each; of UNK, how many tokens have no
            type of their own; of EOS, the number of sentences.
    """

    types: tuple[str, ...]
    counts: np.ndarray

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @classmethod
    def of_words(cls, words: Iterable[str], frequencies: Mapping[str, int], sentences: int) -> "Vocabulary":
        """Return the special types and `words`, counted in a text of `sentences` with these word `frequencies`."""
        types = (*SPECIALS, *words)
        known = [frequencies.get(word, 0) for word in types[len(SPECIALS) :]]
        unknown = sum(frequencies.values()) - sum(known)
        return cls(types, np.array([0, 0, sentences, unknown, *known]))

    @property
    def size(self) -> int:
        """Number of types, the special ones included."""
        return len(self.types)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token: UNK where there is no such type, and never the id of another special type."""
        known = self._ids
        return [known.get(token, UNK) for token in tokens]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the type of each id, in 0 ... size - 1."""
        return [self.types[number] for number in ids]

    def to_tsv(self) -> str:
        r"""Return a line `type TAB count` for each type in the order of the ids; \t, \n, \r and \\ stand escaped."""
        escape = str.maketrans(_ESCAPES)
        rows = zip(self.types, self.counts, strict=True)
        return "".join(f"{word.translate(escape)}\t{count}\n" for word, count in rows)

    @classmethod
    def from_tsv(cls, text: str, name: str) -> "Vocabulary":
        """Return the vocabulary that `to_tsv` wrote.

        Args:
            text: what was written.
            name: of the file, for the error.

        Raises:
            RunError: a line is not a type and a count, or the special types are not the first.
        """
        lines = text.removesuffix("\n").split("\n")
        rows = [_row(line, f"{name}, line {number}") for number, line in enumerate(lines, start=1)]
        types = tuple(word for word, _ in rows)
        if types[: len(SPECIALS)] != SPECIALS:
            raise RunError(f"{name}: does not begin with {', '.join(SPECIALS)}", "restore the file from a copy")
        return cls(types, np.array([count for _, count in rows]))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.types) if number >= len(SPECIALS)}


def _row(line: str, where: str) -> tuple[str, int]:
    word, tab, count = line.partition("\t")
    if not tab or not count.isascii() or not count.isdigit():
        raise RunError(f"{where}: not a type and a count", "restore the file from a copy")
    return re.sub(r"\\[\\tnr]", lambda escape: _UNESCAPES[escape[0]], word), int(count)
