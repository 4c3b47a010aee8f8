"""Bytes as pieces: 256 types write any text, so that none is UNK (survey 8.2)."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from nmtlab.text.corpora.lines import SPACE
from nmtlab.text.segmentation.tokenizers import plain
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, Vocabulary


def _name(byte: int) -> str:
    """Return the type of a byte: its letter in ASCII, SentencePiece's mark for a space, else <0xNN>."""
    if byte == ord(" "):
        return SPACE
    return chr(byte) if 0x21 <= byte <= 0x7E else f"<0x{byte:02X}>"


BYTES = tuple(map(_name, range(256)))
"""The types in the order of the bytes."""

_BYTE_OF = {name: byte for byte, name in enumerate(BYTES)}


class Bytes:
    """The bytes of UTF-8, with ids behind those of the special types and control tokens.

    Args:
        tags: control tokens of the side.
    """

    has_bytes = True

    def __init__(self, tags: Sequence[str] = ()) -> None:
        self.types = (*SPECIALS, *tags, *BYTES)
        self._first = len(SPECIALS) + len(tags)

    def split(self, text: str) -> list[str]:
        return [BYTES[byte] for byte in plain(text).encode()]

    def words(self, text: str) -> tuple[list[str], list[int]]:
        return plain(text).split(), list(accumulate(piece == SPACE for piece in self.split(text)))

    def ids(self, lines: Iterable[str]) -> list[list[int]]:
        """Return the ids of each line, ended by EOS."""
        return [[*(self._first + byte for byte in plain(line).encode()), EOS] for line in lines]

    def encode(self, lines: Sequence[str], vocabulary: Vocabulary) -> list[list[int]]:
        return self.ids(lines)

    def whole(self, word: str) -> str:
        return f" {word}"

    def join(self, pieces: Sequence[str]) -> str:
        """Return pieces as plain text; bytes that are no UTF-8 together become the replacement character."""
        found = (bytes([_BYTE_OF[piece]]) if piece in _BYTE_OF else piece.encode() for piece in pieces)
        return plain(b"".join(found).decode(errors="replace"))

    def to_bytes(self) -> bytes:
        return b""
