"""The counts of a side's types in each of its languages, as a table."""

from collections.abc import Mapping, Sequence

import numpy as np

LanguageCounts = dict[str, np.ndarray]
"""Language -> `(size,)` int64, counts in its training text; empty for a side of one language."""


def to_tsv(counts: Mapping[str, np.ndarray]) -> str:
    """Return a column for each language: its code, and the count of each type in order of ids."""
    rows = zip(*(column.tolist() for column in counts.values()), strict=True)
    return "".join("\t".join(map(str, row)) + "\n" for row in (tuple(counts), *rows))


def from_tsv(text: str, languages: Sequence[str], size: int) -> LanguageCounts:
    """Return what `to_tsv` wrote.

    Raises:
        ValueError: it is no such table, or of other languages or another number of types.
    """
    header, *rows = (line.split("\t") for line in text.splitlines())
    counts = np.array(rows, dtype=np.int64).reshape(len(rows), -1)
    if header != list(languages) or counts.shape != (size, len(languages)):
        raise ValueError("counts of other languages or types")
    return dict(zip(languages, np.ascontiguousarray(counts.T), strict=True))
