"""Encoded texts as memory-mapped ids, cached by the content of text and pipeline."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from nmtlab.files import temporary_folder
from nmtlab.text.batching.shards import Shard, read_shards, write_shards
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline

_FORMAT = "3"  # version of the file format: a new one invalidates all caches


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """A text encoded as ids.

    Args:
        skipped: number of pairs left out, by reason.
        source_language, target_language: language codes of the direction.
        weight: weight of each pair in training.
    """

    shards: tuple[Shard, ...]
    skipped: dict[str, int]
    source_language: str = ""
    target_language: str = ""
    weight: float = 1.0

    @classmethod
    def open(
        cls,
        cache_folder: Path,
        pipeline: Pipeline,
        corpus: ParallelCorpus,
        split: str = "train",
        on_progress: Callable[[int], object] | None = None,
        checksum: str = "",
        draw: tuple[int, float] | None = None,
    ) -> "EncodedCorpus":
        """Return a split of `corpus` as ids, from the cache unless text or pipeline have changed.

        From train, pairs with a blank side or more than `max_words` words are left out, and `unk_copy_threshold` adds a
        copy of all pairs with rare types as UNK (thesis 3.1.3); other splits are complete. Of several sources, at least
        one is not blank, and the others may be missing.

        Args:
            cache_folder: folder of the cache, with a subfolder for each content.
            pipeline: encodes the text.
            split: train, dev or test.
            on_progress: called with the number of pairs encoded so far.
            checksum: of the corpus, if known; the text is then read only if it must be encoded.
            draw: number and alpha of a segmentation drawn at random, as of `Subwords.drawn`; None for the likeliest.

        Raises:
            CorpusError: the text cannot be read, or has no usable pair.
        """
        side_key = f"{split} {'+'.join(corpus.sources)}-{corpus.target} {corpus.origin}" + " blank" * corpus.blank
        side_key += f" {corpus.documents_checksum()}" if corpus.context else ""
        if draw:
            side_key, pipeline = f"{side_key} drawn {draw}", pipeline.drawn(*draw)
        content = f"{_FORMAT} {side_key} {pipeline.checksum()} {checksum or corpus.checksum()}"
        folder = cache_folder / sha256(content.encode()).hexdigest()[:32]
        read = read_shards(folder) or _build(folder, pipeline, corpus, split, on_progress or (lambda pairs: None))
        return cls(*read, corpus.source, corpus.target, corpus.weight)

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @property
    def direction(self) -> tuple[str, str]:
        """Codes of source and target language."""
        return self.source_language, self.target_language

    @property
    def longest(self) -> tuple[int, int]:
        """Most tokens of a source and of a target, EOS included."""
        pairs = [(shard.source_lengths.max(initial=0), shard.target.lengths.max(initial=0)) for shard in self.shards]
        source, target = np.max(pairs, axis=0).tolist()
        return source, target

    def source(self, number: int) -> np.ndarray:
        """Return the source ids of a pair."""
        shard, index = self._locate(number)
        return self.shards[shard].source.sentence(index)

    def target(self, number: int) -> np.ndarray:
        """Return the target ids of a pair."""
        shard, index = self._locate(number)
        return self.shards[shard].target.sentence(index)

    def _locate(self, number: int) -> tuple[int, int]:
        shard = int(np.searchsorted(self._starts, number, side="right")) - 1
        return shard, number - int(self._starts[shard])

    @cached_property
    def _starts(self) -> np.ndarray:
        """The number of the first pair of each shard."""
        return np.cumsum([0, *map(len, self.shards)])[:-1]


def _build(
    folder: Path, pipeline: Pipeline, corpus: ParallelCorpus, split: str, on_progress: Callable[[int], object]
) -> tuple[tuple[Shard, ...], dict[str, int]]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder) as outer:
        temporary = outer / folder.name
        temporary.mkdir()
        write_shards(temporary, pipeline, corpus, split, on_progress)
        built = read_shards(temporary)  # stays mapped when the folder is renamed or removed
        _put(temporary, folder)
    assert built is not None  # just written
    return built


def _put(temporary: Path, folder: Path) -> None:
    """Rename `temporary` to `folder`, unless another process has just created the same cache."""
    try:
        os.rename(temporary, folder)
    except OSError:
        if read_shards(folder) is None:
            shutil.rmtree(folder)
            os.rename(temporary, folder)
