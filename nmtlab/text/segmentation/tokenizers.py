"""Tokenizers: sentences to words or subwords, and back."""

import io
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Literal, Protocol, Self
from zlib import crc32

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer, set_random_generator_seed
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]  # generated

from nmtlab.errors import CorpusError, RecipeError
from nmtlab.languages import language_of
from nmtlab.recipe.text import WordRules
from nmtlab.text.corpora.lines import SPACE, is_blank
from nmtlab.text.segmentation.moses import MosesRules, UnicodeRules
from nmtlab.text.segmentation.transliteration import transliterated
from nmtlab.text.segmentation.truecase import Truecaser
from nmtlab.text.segmentation.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary

UNKNOWN = "<unk>"
"""Plain text of an UNK that was not replaced."""


MAX_TOKENS = 10_000
"""Maximum tokens of a sentence, without EOS: the time of attention and search grows with their square."""


SubwordKind = Literal["bpe", "unigram"]


class Tokenizer(Protocol):
    """Splits sentences of one language into pieces and joins them again. Blank text has no pieces."""

    def split(self, text: str) -> list[str]:
        """Return the pieces of a sentence; any text is accepted."""

    def words(self, text: str) -> tuple[list[str], list[int]]:
        """Return the words of a sentence as written, and the index of each piece's word."""

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        """Return the ids of each line, ended by EOS."""

    def whole(self, word: str) -> str:
        """Return `word`, which may be any text, as a single piece to join with others."""

    def join(self, pieces: Sequence[str]) -> str:
        """Return pieces as plain text."""

    def to_bytes(self) -> bytes:
        """Return what was learned, for saving."""


def plain(text: str) -> str:
    """Return `text` with white space collapsed to single spaces, and lone surrogates, invalid in UTF-8, as ?.

    Blank text is empty, see `is_blank`.
    """
    if is_blank(text):
        return ""
    return " ".join(text.encode(errors="replace").decode().replace(SPACE, " ").split())


class Words:
    """Words, with punctuation marks as words of their own (thesis 3.1.3).

    Args:
        language: language code; languages unknown to Moses are tokenized as English.
        truecaser: optional truecaser of the words.
        rules: Moses' own, or these with Unicode's (`nmtlab.text.segmentation.moses`).
    """

    def __init__(self, language: str, truecaser: Truecaser | None = None, rules: WordRules = "unicode") -> None:
        self.truecaser = truecaser
        self._rules = MosesRules(language) if rules == "moses" else UnicodeRules(language)

    def split(self, text: str) -> list[str]:
        words = self._rules.split(plain(text))
        return self.truecaser.apply(words) if self.truecaser else words

    def words(self, text: str) -> tuple[list[str], list[int]]:
        words = self._rules.split(plain(text))
        return words, list(range(len(words)))

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        return [[*vocabulary.ids(self.split(line)), EOS] for line in lines]

    def to_bytes(self) -> bytes:
        return self.truecaser.to_text().encode() if self.truecaser else b""

    def whole(self, word: str) -> str:
        return word

    def join(self, pieces: Sequence[str]) -> str:
        return self._rules.join(self.truecaser.undo(pieces) if self.truecaser else pieces)


def moses_words(language: str) -> Words:
    """Return the tokenizer of tokenized BLEU: Moses' rules of a language, under any of its codes."""
    return Words(language_of(language), rules="moses")


class _SentencePieces:
    """The pieces of a serialised SentencePiece model."""

    def __init__(self, model: bytes) -> None:
        self.model = model
        self._processor = SentencePieceProcessor()
        self._processor.LoadFromSerializedProto(model)

    def normalised(self, text: str) -> str:
        """Return text as it is segmented."""
        return plain(text)

    def split(self, text: str) -> list[str]:
        return self._processor.encode(self.normalised(text), out_type=str)

    def to_bytes(self) -> bytes:
        return self.model

    def whole(self, word: str) -> str:
        return SPACE + word

    @property
    def types(self) -> tuple[str, ...]:
        """All types in the order of their ids."""
        return tuple(self._processor.id_to_piece(number) for number in range(len(self._processor)))

    @property
    def has_bytes(self) -> bool:
        """Whether a letter without a piece becomes the pieces of its bytes instead of UNK."""
        return bool(ModelProto.FromString(self.model).trainer_spec.byte_fallback)

    def with_letters(self, letters: Iterable[str]) -> Self:
        """Return the same subwords with a type for each letter that they lack, behind all others.

        A new letter is a piece by itself: no other text is cut in another way.
        """
        known = set(self.types)
        written = {letter for letter in letters if not letter.isspace() and letter != SPACE}
        new = sorted(written - known)
        proto = ModelProto.FromString(self.model)
        lowest = min(piece.score for piece in proto.pieces)
        for rank, letter in enumerate(new, start=1):
            proto.pieces.add(piece=letter, score=lowest - rank)
        return self._with(proto) if new else self

    def with_tag(self, tag: str) -> Self:
        """Return the same subwords with a control token behind all other types."""
        proto = ModelProto.FromString(self.model)
        proto.pieces.add(piece=tag, score=0.0, type=ModelProto.SentencePiece.CONTROL)
        return self._with(proto)

    def _with(self, proto: ModelProto) -> Self:
        """Return these subwords with other pieces."""
        proto.trainer_spec.vocab_size = len(proto.pieces)
        return self._of(proto.SerializeToString(deterministic=True))

    def _of(self, model: bytes) -> Self:
        """Return these subwords with another model."""
        return type(self)(model)


class Subwords(_SentencePieces):
    """SentencePiece subwords, with SentencePiece's ids: the special types of the model have ours."""

    _draw: tuple[int, float] | None = None

    @classmethod
    def learn(cls, lines: Iterable[str], kind: SubwordKind, size: int, tags: Sequence[str] = ()) -> "Subwords":
        """Learn a model; the same lines give the same model.

        Args:
            lines: sentences; SentencePiece holds them all in memory.
            tags: control tokens; their ids follow those of the special types.

        Raises:
            RecipeError: `size` is less than the text's number of letters, or more than its number of subwords.
            CorpusError: the text is blank.
        """
        model = io.BytesIO()
        try:
            SentencePieceTrainer.train(
                sentence_iterator=map(plain, lines),
                model_writer=model,
                model_type=kind,
                # Below the special types, SentencePiece's message differs from that for too few letters.
                vocab_size=max(size, len(SPECIALS) + len(tags)),
                control_symbols=list(tags),
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                # In a small training text every letter is worth a type: a rare letter without one is always UNK.
                character_coverage=1.0,
                byte_fallback=False,
                # The default (NFKC) rewrites text so that it differs from the references: full-width characters in a
                # third of the lines of Japanese news, joiners inside Urdu words, direction marks in Hebrew.
                normalization_rule_name="identity",
                max_sentence_length=1 << 16,
                num_threads=1,  # the result depends on their number
                minloglevel=2,
            )
        except RuntimeError as error:
            raise _explained(str(error), size) from None
        return cls(model.getvalue())

    def drawn(self, number: int, alpha: float) -> Self:
        """Return the same subwords, whose `ids` are drawn at random (Kudo 2018; Provilkov et al. 2020).

        Args:
            number: of the draw: the same lines have the same ids in it.
            alpha: share of merges left out, of BPE; exponent of the probabilities of segmentations, of a unigram model.
        """
        other = copy(self)
        other._draw = number, alpha
        return other

    def ids(self, lines: Iterable[str]) -> list[list[int]]:
        """Return the ids of each line, ended by EOS."""
        texts = [self.normalised(line) for line in lines]
        if self._draw is None:
            return self._processor.encode(texts, add_eos=True)
        number, alpha = self._draw
        seed = crc32("\n".join([str(number), *texts]).encode()) >> 1  # SentencePiece takes no seed of 32 bits

        def draw() -> list[list[int]]:
            set_random_generator_seed(seed)
            sample = partial(self._processor.encode, add_eos=True, enable_sampling=True, alpha=alpha, nbest_size=-1)
            return [sample(text) for text in texts]

        with ThreadPoolExecutor(1) as thread:  # a new thread: SentencePiece seeds its generator once in each
            return thread.submit(draw).result()

    def words(self, text: str) -> tuple[list[str], list[int]]:
        begun = accumulate(piece.startswith(SPACE) for piece in self.split(text))
        return plain(text).split(), [number - 1 for number in begun]

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        return self.ids(lines)

    def join(self, pieces: Sequence[str]) -> str:
        return plain("".join(pieces))


class Transliterated(Subwords):
    """Subwords of transliterated text, whose words are shown as written.

    Args:
        subwords: subwords learned on transliterated text.
        transliterate: maps a word to other letters; a word that it maps to nothing is kept.
    """

    def __init__(self, subwords: Subwords, transliterate: Callable[[str], str]) -> None:
        super().__init__(subwords.model)
        self._transliterate = transliterate

    def normalised(self, text: str) -> str:
        return plain(transliterated(plain(text), self._transliterate))

    def _of(self, model: bytes) -> Self:
        return type(self)(Subwords(model), self._transliterate)


class ImportedSubwords(_SentencePieces):
    """SentencePiece subwords of an imported model, whose vocabulary may have other types and another order.

    A piece without a type in the vocabulary becomes UNK.
    """

    def words(self, text: str) -> tuple[list[str], list[int]]:
        pieces, written = self.split(text), plain(text).split()
        indices = [max(0, begun - 1) for begun in accumulate(piece.startswith(SPACE) for piece in pieces)]
        parts = groupby(zip(indices, pieces, strict=True), key=itemgetter(0))
        found = [[piece for _, piece in group] for _, group in parts]
        if ["".join(word) for word in found] == ["".join(self.split(word)) for word in written]:
            return written, indices
        # The model's normalisation has split, joined or removed words of this sentence.
        return [self.join(word) for word in found], indices

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        pieces = self._processor.encode([plain(line) for line in lines], out_type=str)
        return [[*vocabulary.ids(line), EOS] for line in pieces]

    def join(self, pieces: Sequence[str]) -> str:
        return plain(self._processor.decode_pieces(list(pieces)))  # which makes letters of pieces that are bytes


def _explained(message: str, size: int) -> Exception:
    """Return SentencePiece's error as a readable one."""
    field = f"text.vocabulary_size = {size}"
    if found := re.search(r"too high .* value <= (\d+)", message):
        return RecipeError(f"{field}: more subwords than the training text has", f"set it to at most {found[1]}")
    if found := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return RecipeError(f"{field}: fewer types than the training text has letters", f"set it to at least {found[1]}")
    if "sentences_.empty()" in message:
        return CorpusError("training text: every line is blank", "add sentences")
    return RuntimeError(message)
