"""A sparse table p(target | source) over the ids of two vocabularies."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from nmtlab.files import replacing
from nmtlab.reading import MAX_BYTES, read_bytes, reading


@dataclass(frozen=True, eq=False)
class LexicalTable:
    """Translation probabilities p(target | source), grouped by source type.

    Args:
        offsets: (source types + 1,) int64, the start of each source type's entries, and the end of the last.
        targets: (entries,) target ids.
        probabilities: (entries,) float32, summing to at most 1 for each source type.
    """

    offsets: np.ndarray
    targets: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[tuple[int, float]]]) -> "LexicalTable":
        """Return the table with one row of (target id, probability) entries per source type, in order of their ids."""
        # A model's rounding must not make a row sum to more than 1.
        sums = [max(1.0, sum(probability for _, probability in row)) for row in rows]
        entries = [
            (target, probability / total)
            for row, total in zip(rows, sums, strict=True)
            for target, probability in sorted(row)
        ]
        return cls(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.array([target for target, _ in entries], dtype=np.int64),
            np.array([probability for _, probability in entries], dtype=np.float32),
        )

    def top(self, source: int, k: int) -> list[tuple[int, float]]:
        """Return the k most probable translations of a source type, ties by id."""
        entries = slice(self.offsets[source], self.offsets[source + 1])
        targets, probabilities = self.targets[entries], self.probabilities[entries]
        best = np.lexsort((targets, -probabilities))[:k]
        return list(zip(targets[best].tolist(), probabilities[best].tolist(), strict=True))

    def translations(self, source: int) -> np.ndarray:
        """Return the ids of all translations of a source type."""
        return self.targets[self.offsets[source] : self.offsets[source + 1]]

    def by_type(self) -> dict[tuple[int, ...], np.ndarray]:
        """Return the ids of all translations of each source type that has some."""
        (known,) = np.diff(self.offsets).nonzero()
        return {(number,): self.translations(number) for number in known.tolist()}

    def log_probs(
        self, source: Sequence[int], translations: Sequence[Sequence[int]], floor: float = 1e-4
    ) -> list[float]:
        """Return log p of translations given a source by Model 1 (Brown et al. 1993), but for their lengths.

        It is Σ_j log((1 - f) 1/|x| Σ_i p(y_j | x_i) + f).

        Args:
            source: ids of x, one or more, without EOS.
            translations: ids of each y, without EOS; it may be empty.
            floor: f, the share of target words that no source word translates to, above 0.
        """
        entries = np.concatenate([np.arange(*self.offsets[type_ : type_ + 2]) for type_ in source])
        most = max((token for ids in translations for token in ids), default=0)
        size = max(most, self.targets[entries].max(initial=0)) + 1
        means = np.bincount(self.targets[entries], self.probabilities[entries], minlength=size) / len(source)
        logs = np.log((1 - floor) * means + floor)
        return [float(logs[np.array(ids, dtype=int)].sum()) for ids in translations]

    def pruned(self, k: int) -> "LexicalTable":
        """Return the table with at most the k most probable translations of each source type."""
        sizes = np.diff(self.offsets)
        rows = np.repeat(np.arange(len(sizes)), sizes)
        ranked = np.lexsort((self.targets, -self.probabilities, rows))  # by row, so that a place in it is a rank
        kept = np.sort(ranked[np.arange(len(rows)) - self.offsets[rows] < k])
        ends = np.cumsum([0, *np.minimum(sizes, k)], dtype=np.int64)
        return LexicalTable(ends, self.targets[kept], self.probabilities[kept])

    def among(self, allowed: np.ndarray) -> "LexicalTable":
        """Return the table without other targets than the `allowed` ones, (target types,) bool."""
        kept = allowed[self.targets]
        ends = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        return LexicalTable(ends, self.targets[kept], self.probabilities[kept])

    def save(self, path: Path | str) -> None:
        """Write the table to a safetensors file atomically."""
        with replacing(Path(path)) as temporary:
            temporary.write_bytes(save({name: np.ascontiguousarray(array) for name, array in vars(self).items()}))

    @classmethod
    def load(cls, path: Path | str, remedy: str = "restore it from a copy, or train the run again") -> "LexicalTable":
        """Return the table saved at `path`; `remedy` is what to do about a damaged one.

        Raises:
            RunError: the file is missing or damaged.
        """
        path = Path(path)
        with reading(path, remedy):
            table = cls(**load(read_bytes(path, 16 * MAX_BYTES)))
            table.check()
            return table

    def fits(self, source_types: int, target_types: int) -> bool:
        """Return whether the table fits vocabularies of these sizes: a row per source type, no other target types."""
        return len(self.offsets) == source_types + 1 and not (self.targets >= target_types).any()

    def check(self) -> None:
        """Raise `ValueError` if the arrays are inconsistent."""
        ends = self.offsets[[0, -1]].tolist() if len(self.offsets) else []
        if ends != [0, len(self.targets)] or (np.diff(self.offsets) < 0).any():
            raise ValueError("offsets do not match the entries")
        if len(self.targets) != len(self.probabilities) or (self.targets < 0).any():
            raise ValueError("targets and probabilities do not match")
