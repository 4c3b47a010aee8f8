"""Cleaning: which pairs are dropped from training, and why."""

import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from types import TracebackType
from typing import TypeVar

import regex

from nmtlab.errors import CorpusError
from nmtlab.languages import is_without_spaces, scripts_of
from nmtlab.text.corpora.corpus import Pair
from nmtlab.text.corpora.lines import is_blank

_CACHE_KIB = 64 << 10  # held in memory; the rest is in a private file in the system's temporary folder


class Marks:
    """A set of digests of equal size, as a context manager that discards them at its end."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        for command in (
            "PRAGMA journal_mode = OFF",
            "PRAGMA synchronous = OFF",
            f"PRAGMA cache_size = -{_CACHE_KIB}",
            "CREATE TABLE marks (mark BLOB PRIMARY KEY) WITHOUT ROWID",
            "BEGIN",
        ):
            self._database.execute(command)

    def add(self, mark: bytes) -> bool:
        """Add a digest and return whether it is new.

        Raises:
            CorpusError: the disk with the temporary files is full.
        """
        try:
            return self._database.execute("INSERT OR IGNORE INTO marks VALUES (?)", (mark,)).rowcount == 1
        except sqlite3.OperationalError as error:
            raise CorpusError(
                f"temporary folder: {error}", "free some space, or set SQLITE_TMPDIR to another folder"
            ) from error

    def __len__(self) -> int:
        return self._database.execute("SELECT COUNT(*) FROM marks").fetchone()[0]

    def smallest(self, rank: int) -> bytes:
        """Return the `rank`-th smallest digest, from 1."""
        return self._database.execute("SELECT mark FROM marks ORDER BY mark LIMIT 1 OFFSET ?", (rank - 1,)).fetchone()[
            0
        ]

    def __enter__(self) -> "Marks":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._database.close()


BLANK = "blank side"
BLANK_LINE = "blank line"
TOO_LONG = "too long"
RATIO = "length ratio"
COPIED = "same on both sides"
SCRIPT = "another script"
LANGUAGE = "another language"
DUPLICATE = "duplicate"
LEAK = "sentence of dev or test"
SIMILAR = "similar to dev or test"

_MAX_WORD_LENGTH = 100
"""Maximum mean length of words, in characters: a word may be as long as a file, and subwords take each letter apart."""

_Sides = TypeVar("_Sides", bound=tuple[str, ...])


@dataclass(frozen=True)
class Limits:
    """Limits on the lengths of a pair, in white-space words.

    Args:
        max_words: maximum words on either side, at least 1.
        max_ratio: maximum ratio of the longer to the shorter side, at least 1 (0: any).
        by_characters: whether the ratio is of characters: without spaces, words cannot be counted.
    """

    max_words: int = 250
    max_ratio: float = 0.0
    by_characters: bool = False

    def __post_init__(self) -> None:
        if self.max_words < 1:
            raise CorpusError(f"max_words is {self.max_words}", "give 1 or more")
        if self.max_ratio and not self.max_ratio >= 1:
            raise CorpusError(f"max_ratio is {self.max_ratio}", "give 1 or more, or 0 for any ratio")

    def of(self, *languages: str) -> "Limits":
        """Return the limits for text in some languages: by characters if one is written without spaces."""
        return replace(self, by_characters=any(map(is_without_spaces, languages)))

    @property
    def options(self) -> dict[str, object]:
        """The limits, for a report."""
        options: dict[str, object] = {"max_words": self.max_words, "max_ratio": self.max_ratio}
        return {**options, "by_characters": True} if self.by_characters else options

    def ratio(self, pair: Pair) -> float:
        """Return the ratio of the longer to the shorter side of a pair without a blank side."""
        shorter, longer = sorted(len(side.strip() if self.by_characters else side.split()) for side in pair)
        return longer / shorter


def normalise(sentence: str) -> str:
    """Return `sentence` normalised for comparison: NFC, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFC", sentence).casefold().split())


def digest(text: str) -> bytes:
    """Return a 16-byte digest of `text` (BLAKE2b)."""
    return blake2b(text.encode(), digest_size=16).digest()


def rejection_reason(pair: Pair, limits: Limits) -> str:
    """Return why `pair` is unusable (blank side, too long, length ratio), or an empty string."""
    if any(map(is_blank, pair)):
        return BLANK
    if any(is_too_long(side, limits.max_words) for side in pair):
        return TOO_LONG
    return RATIO if limits.max_ratio and limits.ratio(pair) > limits.max_ratio else ""


def is_too_long(sentence: str, max_words: int) -> bool:
    """Return whether a sentence has more white-space words, or as many characters as if each word were a long one."""
    return len(sentence.split()) > max_words or len(sentence) > _MAX_WORD_LENGTH * max_words


def is_copied(pair: Pair) -> bool:
    """Return whether both sides are the same, whatever their case and white space, and not blank."""
    return normalise(pair[0]) == normalise(pair[1]) != ""


def is_in_other_script(sentence: str, language: str) -> bool:
    """Return whether most letters are of another script than a language is written in; not if that is unknown."""
    scripts = scripts_of(language)
    return bool(scripts) and sum(map(_letters(scripts).__getitem__, sentence)) < 0


class _Letters(dict[str, int]):
    """1 for each letter of some scripts, -1 for one of another; 0 for other characters, and letters of all scripts."""

    def __init__(self, scripts: tuple[str, ...]) -> None:
        try:
            self._own = regex.compile("|".join(rf"\p{{Script={script}}}" for script in scripts))
        except regex.error:  # a script that Unicode does not know: any letter may be of it
            self._own = regex.compile("")
        self._common = regex.compile(r"\P{L}|\p{Script=Common}|\p{Script=Inherited}")

    def __missing__(self, sign: str) -> int:
        self[sign] = 0 if self._common.match(sign) else 1 if self._own.match(sign) else -1
        return self[sign]


_letters = cache(_Letters)


def clean(pairs: Iterable[Pair], limits: Limits, dropped: Counter[str]) -> Iterator[Pair]:
    """Yield the pairs without `rejection_reason`, each once; count the dropped ones in `dropped`, by reason.

    A pair is a duplicate if both sides match exactly. Digests of the pairs are kept on disk.
    """
    with Marks() as seen:
        for pair in pairs:
            reason = rejection_reason(pair, limits)
            if not reason and not seen.add(digest("\n".join(pair))):
                reason = DUPLICATE
            if reason:
                dropped[reason] += 1
            else:
                yield pair


def sentence_digests(pairs: Iterable[tuple[str, ...]]) -> set[bytes]:
    """Return the digests of all normalised sentences of both sides, for `without_leaks`."""
    return {digest(normalise(side)) for pair in pairs for side in pair}


def without_leaks(pairs: Iterable[_Sides], held_out: set[bytes], dropped: Counter[str]) -> Iterator[_Sides]:
    """Yield the pairs with neither side in `held_out` (`sentence_digests` of dev or test); count the rest in `dropped`.

    Sentences are normalised first: case and white space are ignored.
    """
    for pair in pairs:
        if any(digest(normalise(side)) in held_out for side in pair):
            dropped[LEAK] += 1
        else:
            yield pair
