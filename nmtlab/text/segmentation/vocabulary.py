"""Vocabularies: the types of a side, their ids and their training counts."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from nmtlab.errors import RunError

PAD, BOS, EOS, UNK = 0, 1, 2, 3
"""Ids of padding, beginning of sentence, end of sentence, and out-of-vocabulary tokens."""

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
"""Names of the special types; text that looks like one is ordinary text and never gets its id."""

UNKNOWN_COUNT = -1
"""Count of every type of a vocabulary whose training text is not known."""

_UNKNOWN = "?"  # such a count in a file

_ESCAPES = {"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"}
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}


def most_frequent(frequencies: Mapping[str, int], most: int = 0, min_frequency: int = 1) -> list[str]:
    """Return at most `most` types (0: all) by decreasing frequency, ties in alphabetical order."""
    seen = (word for word, count in frequencies.items() if count >= min_frequency)
    ordered = sorted(seen, key=lambda word: (-frequencies[word], word))
    return ordered[:most] if most else ordered


def known_counts(counts: np.ndarray) -> np.ndarray:
    """Return counts as they are, or as float64 with NaN where they are unknown."""
    unknown = counts == UNKNOWN_COUNT
    return np.where(unknown, np.nan, counts) if unknown.any() else counts


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The types of one side; a type's id is its index. A joint vocabulary is two of these with the same types.

    Args:
        types: special types, control tokens, and types of the text, in this order; then what was added later.
        counts: `(size,)` int64, counts in this side's training text; for UNK, the number of out-of-vocabulary tokens;
            for EOS, the number of sentences. All are `UNKNOWN_COUNT` if the text is not known.
        tags: the control tokens (see `text.tags`).
        added_tags: those that were added later, the last of `tags` -> id.
    """

    types: tuple[str, ...]
    counts: np.ndarray
    tags: tuple[str, ...] = ()
    added_tags: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        counts.flags.writeable = False
        object.__setattr__(self, "counts", counts)

    @classmethod
    def of_words(
        cls, words: Sequence[str], frequencies: Mapping[str, int], sentences: int, tags: Mapping[str, int] | None = None
    ) -> "Vocabulary":
        """Return the vocabulary of a text of words.

        Args:
            frequencies: count of each word of the text.
            tags: control token -> number of sentences that have it.
        """
        tags = tags or {}
        known = [frequencies.get(word, 0) for word in words]
        unknown = sum(frequencies.values()) - sum(known)
        counts = np.array([0, 0, sentences, unknown, *tags.values(), *known])
        return cls((*SPECIALS, *tags, *words), counts, tuple(tags))

    @property
    def size(self) -> int:
        """Number of types, including special ones."""
        return len(self.types)

    @property
    def counts_known(self) -> bool:
        """Whether the counts are those of a text."""
        return not (self.counts == UNKNOWN_COUNT).any()

    @property
    def reserved(self) -> int:
        """Number of types that never occur in text and come first: special types, and control tokens but added ones."""
        return len(SPECIALS) + len(self.tags) - len(self.added_tags)

    @cached_property
    def is_text(self) -> np.ndarray:
        """`(size,)` bool: the types that occur in text, neither special types nor control tokens."""
        found = np.arange(self.size) >= self.reserved
        found[list(self.added_tags.values())] = False
        return found

    def tag_ids(self, tags: Iterable[str]) -> list[int]:
        """Return the ids of control tokens."""
        return [self.added_tags.get(tag, len(SPECIALS) + self.tags.index(tag)) for tag in tags]

    def extended(self, types: Sequence[str], tags: Sequence[str] = ()) -> "Vocabulary":
        """Return the vocabulary with more types and control tokens behind the others, whose ids they keep."""
        counts = np.full(len(types) + len(tags), 0 if self.counts_known else UNKNOWN_COUNT)
        added = {tag: self.size + len(types) + place for place, tag in enumerate(tags)}
        return Vocabulary(
            (*self.types, *types, *tags),
            np.concatenate((self.counts, counts)),
            (*self.tags, *tags),
            {**self.added_tags, **added},
        )

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Return the id of each token: UNK if out of vocabulary, and never another reserved id."""
        known = self._ids
        return [known.get(token, UNK) for token in tokens]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Return the type of each id, 0 to size - 1."""
        return [self.types[number] for number in ids]

    def to_tsv(self) -> str:
        r"""Return one line `type TAB count` per type in order of ids; \t, \n, \r and \\ are escaped.

        An unknown count is written as ?.
        """
        escape = str.maketrans(_ESCAPES)
        rows = zip(self.types, self.counts, strict=True)
        return "".join(
            f"{word.translate(escape)}\t{_UNKNOWN if count == UNKNOWN_COUNT else count}\n" for word, count in rows
        )

    @classmethod
    def from_tsv(
        cls, text: str, name: str, tags: Sequence[str] = (), added_tags: Mapping[str, int] | None = None
    ) -> "Vocabulary":
        """Return the vocabulary that `to_tsv` wrote to a file of that name, with these control tokens, first and added.

        Raises:
            RunError: a line is not a type and a count, or special types and control tokens do not come first.
        """
        lines = text.removesuffix("\n").split("\n")
        rows = [_row(line, f"{name}, line {number}") for number, line in enumerate(lines, start=1)]
        types = tuple(word for word, _ in rows)
        reserved = (*SPECIALS, *tags)
        if types[: len(reserved)] != reserved:
            raise RunError(f"{name}: does not begin with {', '.join(reserved)}", "restore the file from a copy")
        added = added_tags or {}
        if any(types[number : number + 1] != (tag,) for tag, number in added.items()):
            raise RunError(f"{name}: lacks one of {', '.join(added)}", "restore the file from a copy")
        return cls(types, np.array([count for _, count in rows]), (*tags, *added), added)

    @cached_property
    def _ids(self) -> dict[str, int]:
        text = self.is_text.tolist()
        return {word: number for number, word in enumerate(self.types) if text[number]}


def _row(line: str, where: str) -> tuple[str, int]:
    word, tab, count = line.partition("\t")
    if not tab or not (count == _UNKNOWN or (count.isascii() and count.isdigit())):
        raise RunError(f"{where}: not a type and a count", "restore the file from a copy")
    word = re.sub(r"\\[\\tnr]", lambda escape: _UNESCAPES[escape[0]], word)
    return word, UNKNOWN_COUNT if count == _UNKNOWN else int(count)
