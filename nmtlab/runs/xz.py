"""Decompression of `.xz` files within limits on size and memory."""

import lzma
from pathlib import Path

from nmtlab.errors import RunError

_MAX_MEMORY = 128 << 20  # for the dictionary: a file may ask for 4 GiB


def decompressed(path: Path, most: int) -> bytes:
    """Return the content of an `.xz` file.

    Args:
        path: of the file.
        most: largest decompressed size in bytes; no more than that is held in memory.

    Raises:
        RunError: the file is damaged or truncated, or its content is larger.
    """
    decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY)
    content = _decompress(decompressor, path, most + 1)
    if len(content) > most:
        raise RunError(f"{path}: larger than {most >> 20} MiB when decompressed", "do not trust it")
    if not decompressor.eof:
        raise RunError(f"{path}: truncated", "get a fresh copy")
    return content


def decompressed_start(path: Path, size: int) -> bytes:
    """Return at most the first `size` bytes of the content of an `.xz` file.

    Raises:
        RunError: the file is damaged.
    """
    return _decompress(lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_MEMORY), path, size)


def _decompress(decompressor: lzma.LZMADecompressor, path: Path, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            return decompressor.decompress(file.read(size), max_length=size)
    except lzma.LZMAError as error:
        raise RunError(f"{path}: damaged ({error})", "get a fresh copy") from error
