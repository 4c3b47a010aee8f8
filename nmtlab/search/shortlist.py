"""Shortlists: a batch is translated into frequent types and into translations of its source types (Jean et al. 2015).

Or into those of its n-grams (Senellart et al. 2018). Only their logits are computed, and probabilities are among them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic

import numpy as np
import torch
from torch import Tensor

from nmtlab.alignment.phrases import Ngram, PhraseTable
from nmtlab.alignment.table import LexicalTable
from nmtlab.models.interface import MemoryT, Searchable, StateT, Step, encoded
from nmtlab.models.several import Joint
from nmtlab.text.segmentation.pipeline import Pipeline


@dataclass(frozen=True, eq=False)
class Shortlist:
    """The types that a batch may be translated into.

    Args:
        always: (n,) ids of the types that are in every list, EOS and UNK among them.
        translations: of each source n-gram that has some.
    """

    always: np.ndarray
    translations: Mapping[Ngram, np.ndarray]

    @classmethod
    def of(cls, pipeline: Pipeline, lexicon: LexicalTable, frequent: int, translations: int) -> "Shortlist":
        """Return the shortlist with the most frequent types and most probable translations of each source type.

        Args:
            pipeline: in use for the direction of translation.
            lexicon: p(target | source) of its types.
            frequent, translations: how many, at most; from 1.

        Raises:
            RunError: the frequencies of the types are not known.
        """
        (always,) = pipeline.shortlisted(frequent).target_allowed.nonzero()
        return cls(always, lexicon.among(pipeline.target_allowed).pruned(translations).by_type())

    @classmethod
    def of_phrases(
        cls, pipeline: Pipeline, phrases: PhraseTable, frequent: int, translations: int, longest: int, least: int = 1
    ) -> "Shortlist":
        """Return the shortlist with the most frequent types, and those of the phrases that source n-grams become.

        The most frequent target types that are linked to no source word are in every list.

        Args:
            pipeline, frequent: as of `of`.
            phrases: of its types.
            translations, longest, least: as of `PhraseTable.translations`.

        Raises:
            RunError: as of `of`.
        """
        (always,) = pipeline.shortlisted(frequent).target_allowed.nonzero()
        found = phrases.translations(longest, translations, least)
        of_each = {ngram: types[pipeline.target_allowed[types]] for ngram, types in found.items()}
        return cls(np.union1d(always, of_each.pop((), always)), of_each)

    def types(self, source: np.ndarray) -> np.ndarray:
        """Return the list of a batch, given its source ids, (B, S), padded or not: (n,), ascending."""
        lengths = range(1, self._longest + 1)
        ngrams = {
            tuple(row[place : place + n]) for row in source.tolist() for n in lengths for place in range(len(row))
        }
        found = [self.translations[ngram] for ngram in ngrams if ngram in self.translations]
        return np.unique(np.concatenate([self.always, *found]))

    @cached_property
    def _longest(self) -> int:
        """Tokens of the longest n-gram."""
        return max(map(len, self.translations), default=0)

    def coverage(self, pairs: Iterable[tuple[Sequence[int], Sequence[int]]]) -> tuple[float, float]:
        """Return the mean size of the lists of single sentences, and the share of target tokens that they contain.

        Args:
            pairs: ids of source and target sentences, one or more, with EOS.
        """
        lists = [(self.types(np.array([source])), target) for source, target in pairs]
        contained = sum(np.isin(target, types).sum() for types, target in lists)
        return float(np.mean([len(types) for types, _ in lists])), contained / sum(len(target) for _, target in lists)


@dataclass(frozen=True)
class _Memory(Generic[MemoryT]):
    """A model's memory of a batch, and the batch's list, (n,)."""

    memory: MemoryT
    types: Tensor

    @property
    def lengths(self) -> Tensor:
        return self.memory.lengths

    @property
    def mask(self) -> Tensor:
        return self.memory.mask

    @property
    def joint(self) -> Joint | None:
        return self.memory.joint

    def select(self, sentences: Tensor) -> "_Memory[MemoryT]":
        """Return the memory of some sentences, with the list of the whole batch."""
        return _Memory(self.memory.select(sentences), self.types)


class Shortlisted(Searchable[_Memory[MemoryT], StateT]):
    """A model that generates only the types of a batch's list.

    Args:
        model: one model, or an ensemble, in evaluation mode.
        shortlist: of its vocabularies.
    """

    def __init__(self, model: Searchable[MemoryT, StateT], shortlist: Shortlist) -> None:
        self.model, self.shortlist = model, shortlist
        self.plans_length, self.longest, self.sources = model.plans_length, model.longest, model.sources

    @property
    def device(self) -> torch.device:
        return self.model.device

    def directed(self, source: str, target: str) -> "Shortlisted[MemoryT, StateT]":
        """Return the same for another direction, with the same list."""
        return Shortlisted(self.model.directed(source, target), self.shortlist)

    def encode(self, source: Tensor, language: str | None = None, *, more: Sequence[Tensor] = ()) -> _Memory[MemoryT]:
        """Return the model's memory, and the list of the batch."""
        lists = [self.shortlist.types(ids.cpu().numpy()) for ids in (source, *more)]
        types = torch.from_numpy(np.unique(np.concatenate(lists))).to(source.device)
        return _Memory(encoded(self.model, (source, *more), language), types)

    def length_log_probs(self, memory: _Memory[MemoryT]) -> Tensor:
        """Return those of the model, which depend on no list."""
        return self.model.length_log_probs(memory.memory)

    def start(
        self,
        memory: _Memory[MemoryT],
        language: str | None = None,
        length: Tensor | None = None,
        types: Tensor | None = None,
    ) -> StateT:
        """Return the model's state, which generates only the types of the list; no others are asked for."""
        return self.model.start(memory.memory, language, length, memory.types)

    def step(self, state: StateT, token: Tensor, record: bool = False, attention: Tensor | None = None) -> Step[StateT]:
        """Read one token per slot, and score the next one among the types of the list."""
        return self.model.step(state, token, record, attention)
