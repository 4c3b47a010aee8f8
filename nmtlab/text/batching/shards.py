"""Sentence pairs as files of ids.

A text of more than `SHARD_PAIRS` pairs is split at random into shards of about that size. Each shard is a random sample
that fits in memory: reading shard after shard, each in random order, shuffles the text without random reads from a file
larger than memory.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from zlib import crc32

import numpy as np
from pydantic import BaseModel

from nmtlab.errors import CorpusError
from nmtlab.files import write_text
from nmtlab.recipe.text import TextSettings
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.learning import beyond_token_limits, blocks, usable_rows
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.vocabulary import PAD, UNK

SHARD_PAIRS = 1_000_000
"""Approximate maximum number of pairs in a shard: about 150 MB at 30 words a side."""

_META = "meta.json"
_CHUNK = 1_000_000  # numbers rewritten at a time
_DEALT = 100_000  # pairs dealt at a time
_BLOCK = 1 << 20  # bytes checked at a time
_SIDES = ("source", "target")
"""The sides of a text; those of further sources follow, as `source2` and so on."""


@dataclass(frozen=True, eq=False)
class EncodedSide:
    """The concatenated ids of all sentences of one side.

    Args:
        ids: `(tokens,)` ids, each sentence ended by EOS.
        offsets: `(sentences + 1,)` int64, the start of each sentence, and the end of the last.
        lengths: `(sentences,)` int32, tokens of each sentence, with EOS.
    """

    ids: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray

    def sentence(self, number: int) -> np.ndarray:
        """Return the ids of a sentence."""
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def padded(self, numbers: np.ndarray) -> np.ndarray:
        """Return the ids of one or more sentences as `(sentences, longest)` int64, padded with PAD."""
        lengths = self.lengths[numbers]
        positions = np.arange(lengths.max())
        inside = positions < lengths[:, None]
        rows = np.full(inside.shape, PAD, dtype=np.int64)
        rows[inside] = self.ids[(self.offsets[numbers][:, None] + positions)[inside]]
        return rows


@dataclass(frozen=True, eq=False)
class Shard:
    """Sentence pairs as memory-mapped ids: only pages in use are in memory; with further sources, if there are any."""

    source: EncodedSide
    target: EncodedSide
    more_sources: tuple[EncodedSide, ...] = ()

    @property
    def sides(self) -> tuple[EncodedSide, ...]:
        """Source, target, and the further sources."""
        return self.source, self.target, *self.more_sources

    @property
    def source_lengths(self) -> np.ndarray:
        """`(pairs,)` int32, tokens of the longest source of each pair, with EOS."""
        return np.maximum.reduce([side.lengths for side in (self.source, *self.more_sources)])

    def __len__(self) -> int:
        return len(self.source.lengths)


class _Meta(BaseModel):
    """The content of `meta.json`, which describes the other files and is written last."""

    shards: int
    skipped: dict[str, int]
    types: dict[str, str]
    checksums: dict[str, int]


def read_shards(folder: Path) -> tuple[tuple[Shard, ...], dict[str, int]] | None:
    """Return the shards of a folder, and the pairs left out by reason; None if the folder is missing or damaged."""
    try:
        meta = _Meta.model_validate_json((folder / _META).read_bytes())
        if meta.checksums != _checksums(folder):
            return None
        sides = ([_mapped(folder / f"{n}.{side}", of) for side, of in meta.types.items()] for n in range(meta.shards))
        return tuple(Shard(source, target, tuple(more)) for source, target, *more in sides), meta.skipped
    except (OSError, ValueError):
        return None


def write_shards(
    folder: Path, pipeline: Pipeline, corpus: ParallelCorpus, split: str, on_progress: Callable[[int], object]
) -> None:
    """Encode a split into a new folder; see `EncodedCorpus.open`."""
    skipped: Counter[str] = Counter()
    names = (*_SIDES, *(f"source{number}" for number in range(2, len(corpus.sources) + 1)))
    types = {name: _smallest_type(_side(pipeline, name).size) for name in names}
    training = split == "train"
    rows = usable_rows(corpus, pipeline.settings.max_words, skipped) if training else corpus.rows(split)
    encoded = kept = 0
    for block in blocks(rows):
        sources, *more, targets = zip(*block, strict=True)
        sides: Sequence[list[list[int]]] = pipeline.encode_pairs(sources, targets, corpus.target, corpus.origin, more)
        if left_out := pipeline.notes_left_out(sources, corpus.target, corpus.origin):
            skipped["suggestions beyond the limit on tokens"] += left_out
        if training:
            sides = _short_enough(sides, pipeline.settings, skipped)
        for name, ids in zip(names, sides, strict=True):
            _append(folder / f"{name}.ids", np.fromiter(chain.from_iterable(ids), types[name]))
            _append(folder / f"{name}.lengths", np.fromiter(map(len, ids), "int32"))
        kept += len(sides[0])
        encoded += len(block)
        on_progress(encoded)
    if not kept:
        raise CorpusError(f"{corpus.folder}: {split} has no usable pair", "add text, or raise text.max_words")
    if training and pipeline.settings.unk_copy_threshold:
        for name in names:
            _append_copy(folder / name, types[name], _becomes_unknown(pipeline, name))
    shards = _deal(folder, types)
    meta = _Meta(shards=shards, skipped=dict(skipped), types=types, checksums=_checksums(folder))
    write_text(folder / _META, meta.model_dump_json(indent=2))


def _short_enough(
    sides: Sequence[list[list[int]]], settings: TextSettings, skipped: Counter[str]
) -> Sequence[list[list[int]]]:
    """Return the sides of the pairs within the limits on tokens; count the others."""
    kept = []
    for source, target, *more in zip(*sides, strict=True):
        if reason := beyond_token_limits(settings, source, *more, target):
            skipped[reason] += 1
        else:
            kept.append((source, target, *more))
    return [list(side) for side in zip(*kept, strict=True)] or [[] for _ in sides]


def _side(pipeline: Pipeline, name: str) -> Side:
    """Return the pipeline's side that a side of the text is encoded with."""
    return pipeline.target if name == "target" else pipeline.source


def _smallest_type(size: int) -> str:
    """Return the smallest dtype that holds the ids of a vocabulary."""
    return "uint16" if size <= 1 << 16 else "int32"


def _becomes_unknown(pipeline: Pipeline, name: str) -> np.ndarray:
    """Return the id that replaces each type of a side in the copy of the text: UNK for rare types."""
    vocabulary = _side(pipeline, name).vocabulary
    becomes = np.arange(vocabulary.size)
    rare = vocabulary.counts < pipeline.settings.unk_copy_threshold
    rare[~vocabulary.is_text] = False
    becomes[rare] = UNK
    return becomes


def _append_copy(path: Path, id_type: str, becomes: np.ndarray) -> None:
    """Append a copy of all sentences of a side with their types replaced."""
    for chunk in _chunks(path.with_suffix(".ids"), id_type):
        _append(path.with_suffix(".ids"), becomes[chunk].astype(id_type))
    for chunk in _chunks(path.with_suffix(".lengths"), "int32"):
        _append(path.with_suffix(".lengths"), chunk)


def _deal(folder: Path, types: dict[str, str]) -> int:
    """Distribute the pairs over shards at random but reproducibly; return the number of shards."""
    lengths = {side: _map(folder / f"{side}.lengths", "int32") for side in types}
    pairs = len(lengths["source"])
    shards = -(-pairs // SHARD_PAIRS)
    random, begins = np.random.default_rng(0), dict.fromkeys(types, 0)
    for first in range(0, pairs, _DEALT):
        chosen = random.permutation(np.arange(first, min(first + _DEALT, pairs)) % shards)
        for side in types:
            some = lengths[side][first : first + _DEALT]
            ids = _map(folder / f"{side}.ids", types[side])[begins[side] : begins[side] + some.sum(dtype=int)]
            begins[side] += len(ids)
            where = np.repeat(chosen, some)
            for shard in range(shards):
                _append(folder / f"{shard}.{side}.ids", ids[where == shard])
                _append(folder / f"{shard}.{side}.lengths", some[chosen == shard])
    for side in types:
        (folder / f"{side}.ids").unlink()
        (folder / f"{side}.lengths").unlink()
        for shard in range(shards):
            _write_offsets(folder / f"{shard}.{side}")
    return shards


def _write_offsets(path: Path) -> None:
    end = 0
    _append(_with(path, "offsets"), np.array([end]))
    for chunk in _chunks(_with(path, "lengths"), "int32"):
        offsets = end + np.cumsum(chunk, dtype="int64")
        end = offsets[-1]
        _append(_with(path, "offsets"), offsets)


def _mapped(path: Path, id_type: str) -> EncodedSide:
    kinds = {"ids": id_type, "offsets": "int64", "lengths": "int32"}
    return EncodedSide(**{kind: _map(_with(path, kind), dtype) for kind, dtype in kinds.items()})


def _with(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.name}.{kind}")


def _map(path: Path, dtype: str) -> np.ndarray:
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _checksums(folder: Path) -> dict[str, int]:
    """Return the CRC-32 of every file but `meta.json`; CRC-32 is as fast as reading the disk."""
    return {path.name: _checksum(path) for path in folder.iterdir() if path.name != _META}


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = crc32(block, checksum)
    return checksum


def _chunks(path: Path, dtype: str) -> Iterator[np.ndarray]:
    numbers = _map(path, dtype)
    for begin in range(0, len(numbers), _CHUNK):
        yield numbers[begin : begin + _CHUNK]


def _append(path: Path, numbers: np.ndarray) -> None:
    with path.open("ab") as file:
        file.write(np.ascontiguousarray(numbers).data)  # numpy's tofile hides the reason of a failure
