"""Searches as values: what a translator runs on its batches, and how much each keeps at once."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nmtlab.errors import RecipeError
from nmtlab.models.interface import Memory, Searchable, SourceIds, encoded
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.diverse import diverse_beam_search
from nmtlab.search.greedy import greedy_search
from nmtlab.search.grid import grid_search
from nmtlab.search.hypothesis import SearchResult
from nmtlab.search.planned import planned_search
from nmtlab.search.sampling import sample
from nmtlab.search.scores import length_limit
from nmtlab.text.batching.batches import pad
from nmtlab.text.segmentation.vocabulary import PAD

Batch = tuple[SourceIds, Sequence[int]]
"""Source ids, and the places of the sentences among the lines that are translated, from 0."""


@dataclass(frozen=True)
class Search(ABC):
    """A way to find translations.

    Args:
        settings: of the search.
    """

    settings: SearchSettings

    dealt: ClassVar[bool] = False
    """Whether a batch goes on while the next begins, so that threads are dealt their batches beforehand."""

    @property
    def width(self) -> int:
        """How many hypotheses of a sentence are kept at once, by which the size of batches is chosen."""
        return self.settings.beam_size

    def stream(
        self, model: Searchable, batches: Iterable[Batch], languages: tuple[str, str]
    ) -> Iterator[list[SearchResult]]:
        """Yield what is found for the sentences of each batch, in their order.

        Args:
            model: in evaluation mode.
            batches: of sentences.
            languages: codes of the source and target language.
        """
        for source, places in batches:
            yield self.batch(model, encoded(model, source, languages[0]), places, languages[1])

    @abstractmethod
    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        """Return what is found for a batch.

        Args:
            model: in evaluation mode.
            memory: of the sources.
            places: of the sentences among the lines that are translated.
            language: code of the target language.
        """


@dataclass(frozen=True)
class Beam(Search):
    """Beam search.

    Args:
        n_best: hypotheses to return per sentence, at most the beam size.
        prefixes: ids with which the translation of each line begins, if any.
    """

    n_best: int = 1
    prefixes: Sequence[Sequence[int]] | None = None

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        constraints = Constraints(prefix=self._prefix(places, model.device))
        return beam_search(model, memory, self.settings, self.n_best, constraints=constraints, language=language)

    def _prefix(self, places: Sequence[int], device: torch.device) -> Tensor | None:
        """Return the prefixes of some lines, padded; None if no line has one."""
        if self.prefixes is None:
            return None
        return torch.from_numpy(pad([[*self.prefixes[place], PAD] for place in places])).to(device)


@dataclass(frozen=True)
class Grid(Beam):
    """Beam search for translations in which phrases occur.

    Args:
        phrases: ids of the phrases that must occur in the translation of each line.
    """

    phrases: Sequence[Sequence[Sequence[int]]] = ()

    @property
    def width(self) -> int:
        return self.settings.beam_size * (1 + max(map(_tokens, self.phrases), default=0))

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        limits = length_limit(model, memory, self.settings.extra_length).tolist()
        for place, limit in zip(places, limits, strict=True):
            if _tokens(self.phrases[place]) >= limit:
                problem = (
                    f"line {place + 1}: {_tokens(self.phrases[place]):,} tokens must occur in its translation, which "
                    f"has at most {limit - 1:,}"
                )
                raise RecipeError(problem, "leave some out, or set search.extra_length higher")
        phrases = [self.phrases[place] for place in places]
        most = max(map(len, phrases))
        longest = max((len(phrase) for of_line in phrases for phrase in of_line), default=0)
        padded = torch.full((len(places), most, longest), PAD)
        for row, of_line in zip(padded, phrases, strict=True):
            for slot, phrase in zip(row, of_line, strict=False):
                slot[: len(phrase)] = torch.tensor(phrase)
        constraints = Constraints(self._prefix(places, model.device), padded.to(model.device))
        return grid_search(model, memory, self.settings, constraints, self.n_best, language=language)


@dataclass(frozen=True)
class Greedy(Beam):
    """Beam search with one hypothesis, as a stream: a sentence takes the place of one that has ended.

    Args:
        scored: whether the log-probabilities and scores of what is found are asked for, as of `greedy_search`.
    """

    scored: bool = True
    dealt: ClassVar[bool] = True

    def stream(
        self, model: Searchable, batches: Iterable[Batch], languages: tuple[str, str]
    ) -> Iterator[list[SearchResult]]:
        return greedy_search(model, (source for source, _ in batches), self.settings, languages, self.scored)


@dataclass(frozen=True)
class Planned(Search):
    """A beam for each of the most probable lengths, for models that plan them; `n_best` hypotheses are returned."""

    n_best: int = 1

    @property
    def width(self) -> int:
        return self.settings.beam_size * self.settings.length_candidates

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        return planned_search(model, memory, self.settings, self.n_best, language=language)


@dataclass(frozen=True)
class OfLengths(Search):
    """A beam for a given length of each line, in tokens, for models that plan lengths."""

    lengths: Sequence[int]

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        wanted = torch.tensor([self.lengths[place] for place in places], device=memory.lengths.device)
        return planned_search(model, memory, self.settings, oracle_lengths=wanted, language=language)


@dataclass(frozen=True)
class Sample(Search):
    """Samples instead of a search; `settings` limit their lengths, the other fields are as of `sampling.sample`."""

    samples: int
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    @property
    def width(self) -> int:
        return self.samples

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        shape = self.samples, self.temperature, self.top_k, self.top_p
        longest = self.settings.extra_length, self.settings.allow_empty
        return sample(model, memory, *shape, *longest, self.seed, places, language=language)


@dataclass(frozen=True)
class Diverse(Search):
    """Diverse beam search, the best translation of each group; the fields are as of `diverse.diverse_beam_search`."""

    groups: int
    diversity_penalty: float = 0.5

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        return diverse_beam_search(model, memory, self.settings, self.groups, self.diversity_penalty, language=language)


def usual_search(
    settings: SearchSettings,
    plans_length: bool,
    n_best: int,
    prefixes: Sequence[Sequence[int]] | None,
    phrases: Sequence[Sequence[Sequence[int]]] | None = None,
    scored: bool = True,
) -> Search:
    """Return the search of some settings, for a model that plans lengths or not.

    Args:
        n_best, prefixes: as of `Beam`.
        phrases: as of `Grid`, if any.
        scored: as of `Greedy`.
    """
    if phrases is not None:
        return Grid(settings, n_best, prefixes, phrases)
    if prefixes is None and plans_length:
        return Planned(settings, n_best)
    if (
        prefixes is None
        and settings.beam_size == 1
        and not (settings.coverage or settings.shortlist_translations or settings.block_ngrams)
    ):
        return Greedy(settings, scored=scored)
    return Beam(settings, n_best, prefixes)


def _tokens(phrases: Sequence[Sequence[int]]) -> int:
    """Return how many tokens some phrases have."""
    return sum(map(len, phrases))
