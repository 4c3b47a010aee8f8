"""Sentences into words or subwords, and back."""

import io
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from typing import Literal, Protocol

from sacremoses import MosesDetokenizer, MosesTokenizer
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from nmtlab.errors import CorpusError, RecipeError
from nmtlab.languages import language_of
from nmtlab.text.truecase import Truecaser
from nmtlab.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

UNKNOWN = "<unk>"
"""What stands in plain text for an UNK that nothing has replaced."""

_GLUED = ("ja", "zh", "yue")  # Moses joins their words without spaces, which the text of a word system has

_SPACE = "▁"  # SentencePiece's mark of the white space before a word


class Tokenizer(Protocol):
    """Cuts the sentences of one language into pieces and joins them again. Blank text has no pieces."""

    def split(self, text: str) -> list[str]:
        """Return the pieces of a sentence; no text is refused."""

    def words(self, text: str) -> tuple[list[str], list[int]]:
        """Return the words of a sentence as they are written, and for each of its pieces the place of its word."""

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        """Return the ids of each line, EOS the last."""

    def whole(self, word: str) -> str:
        """Return `word`, which may be any text, as one piece to be joined with others."""

    def join(self, pieces: Sequence[str]) -> str:
        """Return pieces as plain text."""

    def to_bytes(self) -> bytes:
        """Return what was learned, to be saved."""


def plain(text: str) -> str:
    """Return `text` with single spaces for all white space, and ? for lone surrogates, which UTF-8 has not."""
    return " ".join(text.encode(errors="replace").decode().replace(_SPACE, " ").split())


class Words:
    """Moses words: punctuation apart, hyphenated words whole, nothing escaped (thesis 3.1.3).

    Args:
        language: its code; languages that Moses does not know are cut as English is.
        truecaser: gives words their true case, if given.
    """

    def __init__(self, language: str, truecaser: Truecaser | None = None) -> None:
        language = language_of(language)
        self._tokenizer = _moses_tokenizer(language)
        self._detokenizer = None if language in _GLUED else MosesDetokenizer(language)
        self.truecaser = truecaser

    def split(self, text: str) -> list[str]:
        written = self._written(text)
        return self.truecaser.apply(written) if self.truecaser else written

    def words(self, text: str) -> tuple[list[str], list[int]]:
        written = self._written(text)
        return written, list(range(len(written)))

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        return [[*vocabulary.ids(self.split(line)), EOS] for line in lines]

    def to_bytes(self) -> bytes:
        return self.truecaser.to_text().encode() if self.truecaser else b""

    def whole(self, word: str) -> str:
        return word

    def join(self, pieces: Sequence[str]) -> str:
        written = self.truecaser.undo(pieces) if self.truecaser else pieces
        return self._detokenizer.detokenize(written, unescape=False) if self._detokenizer else " ".join(written)

    def _written(self, text: str) -> list[str]:
        return self._tokenizer.tokenize(plain(text), aggressive_dash_splits=False, escape=False)


class Subwords:
    """SentencePiece subwords; their ids are SentencePiece's own.

    Args:
        model: a serialised SentencePiece model whose special types have our ids.
    """

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)

    @classmethod
    def learn(cls, lines: Iterable[str], kind: Literal["bpe", "unigram"], size: int) -> "Subwords":
        """Learn a model; the same lines give the same model.

        Args:
            lines: sentences, all of which SentencePiece holds in memory.
            kind: byte-pair merges or a unigram model.
            size: number of types, the special ones included.

        Raises:
            RecipeError: the text has more letters than `size`, or too few different subwords for it.
            CorpusError: there is no text.
        """
        model = io.BytesIO()
        try:
            SentencePieceTrainer.train(
                sentence_iterator=map(plain, lines),
                model_writer=model,
                model_type=kind,
                # Less than the special types is refused in other words than less than the letters.
                vocab_size=max(size, len(SPECIALS)),
                **dict(zip(("pad_id", "bos_id", "eos_id", "unk_id"), (PAD, BOS, EOS, UNK), strict=True)),
                # Every letter of a small training text is worth a type: with fewer, rare ones become UNK for good.
                character_coverage=1.0,
                byte_fallback=False,
                # The default (NFKC) rewrites text, which then differs from the references: full-width signs in a
                # third of the lines of Japanese news, the joiners inside Urdu words, marks of direction in Hebrew.
                normalization_rule_name="identity",
                max_sentence_length=1 << 16,
                num_threads=1,  # the result depends on their number
                minloglevel=2,
            )
        except RuntimeError as error:
            raise _explained(str(error), size) from None
        return cls(model.getvalue())

    @property
    def types(self) -> tuple[str, ...]:
        """All types in the order of their ids."""
        return tuple(self._processor.id_to_piece(number) for number in range(len(self._processor)))

    def ids(self, lines: Iterable[str]) -> list[list[int]]:
        """Return the ids of each line, EOS the last."""
        return self._processor.encode([plain(line) for line in lines], add_eos=True)

    def split(self, text: str) -> list[str]:
        return self._processor.encode(plain(text), out_type=str)

    def words(self, text: str) -> tuple[list[str], list[int]]:
        text = plain(text)
        pieces = self._processor.encode(text, out_type=str)
        word, places = -1, []
        for piece in pieces:
            word += piece.startswith(_SPACE)
            places.append(word)
        return text.split(), places

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        return self.ids(lines)

    def to_bytes(self) -> bytes:
        return self.model

    def whole(self, word: str) -> str:
        return _SPACE + word

    def join(self, pieces: Sequence[str]) -> str:
        return plain("".join(pieces))


@cache
def _moses_tokenizer(language: str) -> MosesTokenizer:
    tokenizer = MosesTokenizer(language)
    # Listed one by one, as sacremoses has them, the letters beyond U+FFFF make Japanese 30 times slower.
    tokenizer.PAD_NOT_ISALNUM = re.compile(rf"([^{_ranges(tokenizer.IsAlnum)}\s.'`,\-])"), r" \1 "
    return tokenizer


def _ranges(letters: str) -> str:
    """Return what stands between the brackets of a regular expression for any of `letters`."""
    codes = enumerate(sorted(set(map(ord, letters))))
    runs = (list(run) for _, run in groupby(codes, lambda place_and_code: place_and_code[1] - place_and_code[0]))
    return "".join(f"{re.escape(chr(run[0][1]))}-{re.escape(chr(run[-1][1]))}" for run in runs)


def _explained(message: str, size: int) -> Exception:
    """Return what SentencePiece's complaint means to a person."""
    field = f"text.vocabulary_size = {size}"
    if found := re.search(r"too high .* value <= (\d+)", message):
        return RecipeError(f"{field}: more subwords than the training text has", f"set it to {found[1]} at most")
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return RecipeError(f"{field}: fewer types than the training text has letters", f"set it to {found[1]} at least")
    if "sentences_.empty()" in message:
        return CorpusError("training text: all of it is blank", "give it sentences")
    return RuntimeError(message)
