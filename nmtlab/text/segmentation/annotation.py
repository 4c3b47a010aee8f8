"""Suggested translations, written beside rare source words (Pham et al. 2018): `… x <note> y </note> …`.

A note has control tokens around pieces of the target side, which a joint vocabulary has ids for: a model that reads one
can copy it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple
from unicodedata import category

from nmtlab.recipe.text import TextSettings
from nmtlab.text.segmentation.tokenizers import MAX_TOKENS, Tokenizer, plain

NOTE_TAGS = "<note>", "</note>"
"""What a suggestion stands between."""


class Piece(NamedTuple):
    """A piece of an annotated sentence.

    Args:
        text: as written.
        word: index of the source word that it belongs to: a note belongs to the word that it explains.
        is_tag: whether it is one of `NOTE_TAGS`.
    """

    text: str
    word: int
    is_tag: bool = False


class Annotated(NamedTuple):
    """The pieces of a sentence with its notes.

    Args:
        pieces: in their order.
        suggested: source word, without marks, and its suggestion, for each note.
        left_out: notes that the limit on the sentence's length leaves out.
    """

    pieces: list[Piece]
    suggested: list[tuple[str, str]]
    left_out: int


@dataclass(frozen=True, eq=False)
class Notes:
    """The suggestions of a run, for all words that its training text has too rarely.

    Args:
        suggestions: source word, without marks around it -> its translation.
        target: splits the translations.
        most: most tokens of a sentence with its notes, without EOS; a note that would exceed it is left out.
    """

    suggestions: Mapping[str, str]
    target: Tokenizer
    most: int

    @classmethod
    def within(cls, settings: TextSettings, suggestions: Mapping[str, str], target: Tokenizer) -> "Notes":
        """Return notes that keep sentences within the limits of a recipe's text section."""
        return cls(suggestions, target, settings.max_subwords or MAX_TOKENS)

    def annotated(self, words: Sequence[str], pieces: Sequence[str], places: Sequence[int], before: int) -> Annotated:
        """Return a sentence with its notes.

        Args:
            words: as written.
            pieces: of the words.
            places: index of each piece's word.
            before: tokens before the sentence.
        """
        room = self.most - before - len(pieces)
        found: list[Piece] = []
        suggested: list[tuple[str, str]] = []
        left_out = 0
        for place, group in groupby(zip(places, pieces, strict=True), key=lambda pair: pair[0]):
            found += [Piece(text, place) for _, text in group]
            note = self._notes.get(bare(words[place]))
            if note is None:
                continue
            if len(note) > room:
                left_out += 1
                continue
            room -= len(note)
            suggested.append((bare(words[place]), self.suggestions[bare(words[place])]))
            found += [Piece(text, place, end in (0, len(note) - 1)) for end, text in enumerate(note)]
        return Annotated(found, suggested, left_out)

    def to_tsv(self) -> str:
        """Return a line `word TAB suggestion` for each word."""
        return "".join(f"{word}\t{suggestion}\n" for word, suggestion in self.suggestions.items())

    @cached_property
    def _notes(self) -> dict[str, list[str]]:
        begin, end = NOTE_TAGS
        return {word: [begin, *self.target.split(said), end] for word, said in self.suggestions.items()}


def bare(word: str) -> str:
    """Return a word without the punctuation and symbols before and after it; empty if it has nothing else."""
    kept = [place for place, letter in enumerate(word) if category(letter)[0] not in "PS"]
    return word[kept[0] : kept[-1] + 1] if kept else ""


def suggestions_of(text: str) -> dict[str, str]:
    """Return word -> suggestion of lines `word TAB suggestion`; of several for a word, the first.

    Raises:
        ValueError: a line is not of that form; the message names it.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        fields = [plain(field) for field in line.split("\t")]
        if not any(fields):
            continue
        if len(fields) != 2 or not all(fields) or " " in fields[0]:
            raise ValueError(f"line {number} is not a source word, a tab and its translation")
        if bare(fields[0]):
            found.setdefault(bare(fields[0]), fields[1])
    return found
