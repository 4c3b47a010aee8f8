"""One side of a text pipeline: from text to ids and back."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from typing import TypeVar

import numpy as np

from nmtlab.text.segmentation.annotation import NOTE_TAGS, Annotated, Notes
from nmtlab.text.segmentation.tokenizers import UNKNOWN, Subwords, Tokenizer
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary, known_counts

T = TypeVar("T", bound=int | str)

_ENDS = ([EOS], [SPECIALS[EOS]])

LanguageCounts = dict[str, np.ndarray]
"""Language -> `(size,)` int64, counts in its training text; empty for a side of one language."""


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a pipeline: from text to ids and back, in one language or several.

    Ids are in the order in which a model reads or writes them; pieces, words and text are as a person reads them.

    Args:
        language: code of the language in use.
        tokenizer: splits sentences into pieces.
        vocabulary: types of the pieces, with counts from the training text.
        languages: codes of all its languages, in the order of the corpora; only the one in use if not given.
        language_counts: language -> `(size,)` int64, counts in its training text, without tags; empty if there is only
            one language, or for a side saved before these were counted.
        reversed: whether ids run from the last token of a sentence to the first, EOS remaining the last.
        notes: what is suggested beside rare words of a source; None for nothing.
    """

    language: str
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    languages: tuple[str, ...] = ()
    language_counts: Mapping[str, np.ndarray] = field(default_factory=dict)
    reversed: bool = False
    notes: Notes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "languages", self.languages or (self.language,))

    @property
    def size(self) -> int:
        """Number of types, including special ones."""
        return self.vocabulary.size

    @property
    def counts(self) -> np.ndarray:
        """`(size,)` int64: counts of the types in the training text of the language in use; float64 NaN if unknown."""
        return known_counts(self.counts_in(self.language))

    def counts_in(self, language: str) -> np.ndarray:
        """Return `(size,)` int64: counts of the types in the training text of one language, of tags in that of all.

        Without counts by language they are those of the side's whole training text.
        """
        counts = self.language_counts.get(language, self.vocabulary.counts).copy()
        tags = self.vocabulary.tag_ids(self.vocabulary.tags)
        counts[tags] = self.vocabulary.counts[tags]
        return counts

    def recounted(self, counts: LanguageCounts) -> "Side":
        """Return the side with the counts of another text, by language; one that is not there has none."""
        by_language = {code: counts.get(code, np.zeros(self.size, dtype=np.int64)) for code in self.languages}
        vocabulary = replace(self.vocabulary, counts=np.sum([*by_language.values()], axis=0))
        return replace(self, vocabulary=vocabulary, language_counts=by_language)

    def drawn(self, number: int, alpha: float) -> "Side":
        """Return the side with subwords that are drawn at random; arguments as of `Subwords.drawn`."""
        assert isinstance(self.tokenizer, Subwords)  # the recipe has been checked
        return replace(self, tokenizer=self.tokenizer.drawn(number, alpha))

    def encode(self, lines: Sequence[str], tags: Sequence[str] = ()) -> list[list[int]]:
        """Return the ids of each line, preceded by those of `tags` and ended by EOS; a blank line is EOS alone."""
        if self.notes:
            encoded = [self._annotated_ids(line, len(tags)) for line in lines]
        else:
            encoded = [self.turned(ids) for ids in self.tokenizer.encode(lines, self.vocabulary)]
        if not tags:
            return encoded
        before = self.vocabulary.tag_ids(tags)
        return [[*before, *ids] if len(ids) > 1 else ids for ids in encoded]

    def split(self, text: str, before: int = 0) -> list[str]:
        """Return the pieces of a sentence as written, with its notes, given how many tags precede it."""
        return (
            [piece.text for piece in self.annotated(text, before).pieces] if self.notes else self.tokenizer.split(text)
        )

    def words(self, text: str, before: int = 0) -> tuple[list[str], list[int]]:
        """Return the words of a sentence as written, and the index of each piece's word; arguments as of `split`."""
        words, places = self.tokenizer.words(text)
        return words, [piece.word for piece in self.annotated(text, before).pieces] if self.notes else places

    def annotated(self, text: str, before: int = 0) -> Annotated:
        """Return a sentence with its notes, of a side that has some; arguments as of `split`."""
        assert self.notes
        words, places = self.tokenizer.words(text)
        return self.notes.annotated(words, self.tokenizer.split(text), places, before)

    def suggested(self, ids: Iterable[int]) -> list[list[int]]:
        """Return the types of each suggestion among the ids of a source sentence."""
        begin, end = self.vocabulary.tag_ids(NOTE_TAGS)
        found: list[list[int]] = []
        inside = False
        for number in ids:
            if number == begin:
                found.append([])
            elif inside and number != end:
                found[-1].append(number)
            inside = number == begin or (inside and number != end)
        return found

    def _annotated_ids(self, line: str, before: int) -> list[int]:
        pieces = self.annotated(line, before).pieces
        ids = self.vocabulary.ids(piece.text for piece in pieces)
        tags = (self.vocabulary.tag_ids([piece.text])[0] if piece.is_tag else None for piece in pieces)
        return [*(number if tag is None else tag for number, tag in zip(ids, tags, strict=True)), EOS]

    def text(self, ids: Iterable[int], replacements: Iterable[str] = ()) -> str:
        """Return `ids` as plain text, without padding, BOS, EOS and tags.

        Args:
            ids: of this side's vocabulary.
            replacements: words that replace the UNKs in turn, in the order of `ids`; further UNKs become `<unk>`.
        """
        words = chain(replacements, repeat(UNKNOWN))
        types, is_text = self.vocabulary.types, self.vocabulary.is_text
        kept = [number for number in ids if number == UNK or is_text[number]]
        pieces = [self.tokenizer.whole(next(words)) if number == UNK else types[number] for number in kept]
        return self.tokenizer.join(pieces[::-1] if self.reversed else pieces)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Return the type of each of `ids` as they are read, without padding, BOS and EOS."""
        return self.vocabulary.tokens(self.turned([number for number in ids if number not in (PAD, BOS, EOS)]))

    def turned(self, tokens: Sequence[T]) -> list[T]:
        """Return tokens, ids or types, as they are read, given as a model writes them, or the other way round."""
        return [tokens[place] for place in self.reading_order(tokens)] if self.reversed else list(tokens)

    def reading_order(self, tokens: Sequence[int | str]) -> list[int]:
        """Return the place of each token in the order of reading, given the tokens as a model writes them.

        It is its own inverse: it also has the step in which a model writes the token at each place as it is read.
        """
        places = list(range(len(tokens)))
        if not self.reversed:
            return places
        end = len(tokens) - (list(tokens[-1:]) in _ENDS)
        return [*places[:end][::-1], *places[end:]]
