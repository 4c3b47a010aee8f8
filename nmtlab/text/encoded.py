"""Sentence pairs as memory-mapped ids, cached by the content of text and pipeline."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from zlib import crc32

import numpy as np
from pydantic import BaseModel

from nmtlab.errors import CorpusError
from nmtlab.files import temporary_folder, write_text
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.learning import blocks, usable_pairs
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.vocabulary import PAD, SPECIALS, UNK

_FORM = "2"  # of the files: a new form makes new caches
_META = "meta.json"
_CHUNK = 1_000_000  # numbers rewritten at a time
_BLOCK = 1 << 20  # bytes checked at a time


@dataclass(frozen=True, eq=False)
class EncodedSide:
    """The ids of all sentences of one side, one behind the other.

    Args:
        ids: `(tokens,)` ids, EOS the last of each sentence.
        offsets: `(sentences + 1,)` int64: where each sentence begins, and the end of the last.
        lengths: `(sentences,)` int32: tokens of each sentence, EOS included.
    """

    ids: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray

    def sentence(self, number: int) -> np.ndarray:
        """Return the ids of a sentence."""
        return self.ids[self.offsets[number] : self.offsets[number + 1]]

    def padded(self, numbers: np.ndarray) -> np.ndarray:
        """Return the ids of one sentence or more as `(sentences, longest)` int64, filled up with PAD."""
        lengths = self.lengths[numbers]
        places = np.arange(lengths.max())
        inside = places < lengths[:, None]
        rows = np.full(inside.shape, PAD, dtype=np.int64)
        rows[inside] = self.ids[(self.offsets[numbers][:, None] + places)[inside]]
        return rows


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Sentence pairs as ids; in memory are only the pages that are being read.

    Args:
        source_side: the source sentences.
        target_side: their translations.
        skipped: how many pairs of the text are not among them, by reason.
        source_language, target_language: codes of the direction.
    """

    source_side: EncodedSide
    target_side: EncodedSide
    skipped: dict[str, int]
    source_language: str = ""
    target_language: str = ""

    @classmethod
    def open(
        cls,
        cache_folder: Path,
        pipeline: Pipeline,
        corpus: ParallelCorpus,
        split: str = "train",
        on_progress: Callable[[int], object] | None = None,
        checksum: str = "",
    ) -> "EncodedCorpus":
        """Return a split of `corpus` as ids, encoded at the first time and whenever text or pipeline are others.

        Of train, pairs with a blank side or more than `max_words` words are left out, and with `unk_copy_threshold` all
        pairs come a second time with their rare types as UNK (thesis 3.1.3); other splits are taken whole.

        Args:
            cache_folder: where the ids are kept, in a folder for each content.
            pipeline: gives the ids.
            corpus: the text.
            split: train, dev or test.
            on_progress: is called with the number of pairs encoded so far.
            checksum: of the corpus, if it is known already; then the text is read only if it has to be encoded.

        Raises:
            CorpusError: the text cannot be read, or none of its pairs can be used.
        """
        direction = f"{corpus.source}-{corpus.target}"
        content = f"{_FORM} {split} {direction} {pipeline.checksum()} {checksum or corpus.checksum()}"
        folder = cache_folder / sha256(content.encode()).hexdigest()[:32]
        read = _read(folder) or _build(folder, pipeline, corpus, split, on_progress or (lambda pairs: None))
        return replace(read, source_language=corpus.source, target_language=corpus.target)

    def __len__(self) -> int:
        return len(self.source_lengths)

    def source(self, number: int) -> np.ndarray:
        """Return the source ids of a pair."""
        return self.source_side.sentence(number)

    def target(self, number: int) -> np.ndarray:
        """Return the target ids of a pair."""
        return self.target_side.sentence(number)

    @property
    def source_lengths(self) -> np.ndarray:
        """`(pairs,)` int32: source tokens of each pair, EOS included."""
        return self.source_side.lengths

    @property
    def target_lengths(self) -> np.ndarray:
        """`(pairs,)` int32: target tokens of each pair, EOS included."""
        return self.target_side.lengths


class _Meta(BaseModel):
    """What `meta.json` says of the other files, written when they are whole."""

    skipped: dict[str, int]
    source_type: str
    target_type: str
    checksums: dict[str, int]


def _read(folder: Path) -> EncodedCorpus | None:
    """Return what is kept in `folder`, or None if it is missing or damaged."""
    try:
        meta = _Meta.model_validate_json((folder / _META).read_bytes())
        if meta.checksums != _checksums(folder):
            return None
        source = _mapped(folder, "source", meta.source_type)
        return EncodedCorpus(source, _mapped(folder, "target", meta.target_type), meta.skipped)
    except (OSError, ValueError):
        return None


def _mapped(folder: Path, side: str, id_type: str) -> EncodedSide:
    kinds = {"ids": id_type, "offsets": "int64", "lengths": "int32"}
    return EncodedSide(**{kind: _map(folder / f"{side}.{kind}", dtype) for kind, dtype in kinds.items()})


def _map(path: Path, dtype: str) -> np.ndarray:
    return np.asarray(np.memmap(path, dtype, mode="r"))


def _checksums(folder: Path) -> dict[str, int]:
    """Return the CRC-32 of every file but `meta.json`, which is read at the speed of the disk."""
    return {path.name: _checksum(path) for path in folder.iterdir() if path.name != _META}


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = crc32(block, checksum)
    return checksum


def _build(
    folder: Path, pipeline: Pipeline, corpus: ParallelCorpus, split: str, on_progress: Callable[[int], object]
) -> EncodedCorpus:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder) as outer:
        temporary = outer / folder.name
        temporary.mkdir()
        _write(temporary, pipeline, corpus, split, on_progress)
        built = _read(temporary)  # stays mapped whatever becomes of the folder
        _put(temporary, folder)
    return built


def _put(temporary: Path, folder: Path) -> None:
    """Rename `temporary` to `folder`, unless another process has just put the same there."""
    try:
        os.rename(temporary, folder)
    except OSError:
        if _read(folder) is None:
            shutil.rmtree(folder)
            os.rename(temporary, folder)


def _write(
    folder: Path, pipeline: Pipeline, corpus: ParallelCorpus, split: str, on_progress: Callable[[int], object]
) -> None:
    skipped: Counter[str] = Counter()
    training = split == "train"
    settings = pipeline.settings
    pairs = usable_pairs(corpus, settings.max_words, skipped) if training else corpus.pairs(split)
    sides = (("source", pipeline.source), ("target", pipeline.target))
    types = {name: "uint16" if side.vocabulary.size <= 1 << 16 else "int32" for name, side in sides}
    done = 0
    for block in blocks(pairs):
        for (name, side), lines in zip(sides, zip(*block, strict=True), strict=True):
            rows = side.encode(lines)
            _append(folder / f"{name}.ids", np.fromiter(chain.from_iterable(rows), types[name]))
            _append(folder / f"{name}.lengths", np.fromiter(map(len, rows), "int32"))
        done += len(block)
        on_progress(done)
    if not done:
        raise CorpusError(f"{corpus.folder}: no pair of {split} can be used", "give it text, or raise text.max_words")
    for name, side in sides:
        if training and settings.unk_copy_threshold:
            _append_copy(folder, name, types[name], side.vocabulary.counts < settings.unk_copy_threshold)
        _write_offsets(folder, name)
    meta = _Meta(
        skipped=dict(skipped), source_type=types["source"], target_type=types["target"], checksums=_checksums(folder)
    )
    write_text(folder / _META, meta.model_dump_json(indent=2))


def _append_copy(folder: Path, side: str, id_type: str, rare: np.ndarray) -> None:
    """Append a copy of all sentences with their rare types as UNK."""
    becomes = np.arange(len(rare), dtype=id_type)
    becomes[rare] = UNK
    becomes[: len(SPECIALS)] = range(len(SPECIALS))
    for chunk in _chunks(folder / f"{side}.ids", id_type):
        _append(folder / f"{side}.ids", becomes[chunk])
    for chunk in _chunks(folder / f"{side}.lengths", "int32"):
        _append(folder / f"{side}.lengths", chunk)


def _write_offsets(folder: Path, side: str) -> None:
    path = folder / f"{side}.offsets"
    end = 0
    _append(path, np.array([end]))
    for chunk in _chunks(folder / f"{side}.lengths", "int32"):
        offsets = end + np.cumsum(chunk, dtype="int64")
        end = offsets[-1]
        _append(path, offsets)


def _chunks(path: Path, dtype: str) -> Iterator[np.ndarray]:
    numbers = _map(path, dtype)
    for begin in range(0, len(numbers), _CHUNK):
        yield numbers[begin : begin + _CHUNK]


def _append(path: Path, numbers: np.ndarray) -> None:
    with path.open("ab") as file:
        file.write(np.ascontiguousarray(numbers).data)  # numpy's tofile does not say why it fails
