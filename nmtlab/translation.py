"""Strings in, strings out, with any model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import torch

from nmtlab.models.interface import Memory, Searchable
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.attention import word_attention
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import UNCONSTRAINED, Constraints
from nmtlab.search.forced import ForcedDecoding, forced_decode_all
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.planned import planned_search
from nmtlab.text.batches import pad, sorted_batches
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.vocabulary import EOS, PAD, UNK

Search = Callable[[Searchable, Memory, Sequence[int], str], list[SearchResult]]
"""Finds translations of a batch: of the model, the memory of its sources, the places of the batch's lines among those
that are translated, and the code of the language that they are translated into."""


class Replacement(NamedTuple):
    """A word that is written for an UNK.

    Args:
        target_position: of the UNK among the hypothesis' tokens, from 0.
        source_position: of the word among those of `Pipeline.source_words`, from 0; None of one that a person has begun
            the translation with.
        word: as written.
    """

    target_position: int
    source_position: int | None
    word: str


@dataclass(frozen=True)
class Translation:
    """The translations of one line, best first: their texts and the hypotheses behind them.

    A blank line has one blank text and no hypothesis.

    Args:
        texts: plain text.
        hypotheses: one a text.
        replacements: what each text has in place of its hypothesis' UNKs; nothing where that was not asked for.
    """

    texts: list[str]
    hypotheses: list[Hypothesis]
    replacements: list[tuple[Replacement, ...]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.texts[0]


NO_DECODER = "a phrase-based system has no decoder to look into"


class System(Protocol):
    """What translates: a neural model, several of them, or phrases and their statistics.

    Args:
        pipeline: between text and ids.
        model: what can be searched and looked into; None if there is no such thing.
        limitations: what it cannot do beside translating, in a sentence without its full stop; empty if nothing.
    """

    pipeline: Pipeline
    model: Searchable | None
    limitations: str

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of what it translates from and into."""

    def translate(
        self, lines: Sequence[str], n_best: int = 1, on_progress: Callable[[int], None] = lambda lines: None
    ) -> list[Translation]:
        """Translate lines; a blank one stays blank.

        Args:
            lines: plain text, a sentence a line.
            n_best: how many translations of each to return, at most.
            on_progress: told how many more lines are done.
        """


class Translator:
    """Segments, searches, replaces unknown words and detokenizes with one model.

    Args:
        model: a trained model; its mode (training or evaluation) is left as it was found.
        pipeline: the text pipeline it was trained with.
        settings: how to search.
    """

    limitations = ""

    def __init__(self, model: Searchable, pipeline: Pipeline, settings: SearchSettings) -> None:
        self.model = model
        self.pipeline = pipeline
        self.settings = settings

    @property
    def languages(self) -> tuple[str, str]:
        return self.pipeline.languages

    @torch.inference_mode()
    def translate(
        self,
        lines: Sequence[str],
        n_best: int = 1,
        on_progress: Callable[[int], None] = lambda lines: None,
        search: Search | None = None,
        prefixes: Sequence[str] | None = None,
        hypotheses_per_source: int | None = None,
    ) -> list[Translation]:
        """Translate lines; a blank one stays blank.

        Args:
            lines: plain text, a sentence a line.
            n_best: how many translations of each to return, at most the beam size.
            on_progress: told how many more lines are done.
            search: another way of searching than the settings' beam, which then decides how many there are.
            prefixes: how the translation of each line begins, plain text, empty where nothing is begun; only of a beam.
            hypotheses_per_source: how many hypotheses of a line `search` keeps at once; the beam size if not given.
        """
        begun = None if prefixes is None else [self._begun(prefix) for prefix in prefixes]
        search = search or self._beam(n_best, begun)
        translations: list[Translation] = [Translation([""], []) for _ in lines]
        filled = [place for place, line in enumerate(lines) if line.strip()]
        ids = self.pipeline.encode_source([lines[place] for place in filled])
        on_progress(len(lines) - len(filled))
        was_training = self.model.training
        self.model.eval()
        hypotheses_per_source = hypotheses_per_source or self.settings.beam_size * (
            self.settings.length_candidates if self.model.plans_length else 1
        )
        budget = max(1, self.settings.batch_tokens // hypotheses_per_source)
        for batch in sorted_batches([len(row) for row in ids], budget):
            source = torch.from_numpy(pad([ids[i] for i in batch])).to(self.model.device)
            memory = self.model.encode(source, self.languages[0])
            results = search(self.model, memory, [filled[i] for i in batch], self.languages[1])
            found = [result.hypotheses for result in results]
            replaced = self._replacements([lines[filled[i]] for i in batch], [ids[i] for i in batch], found)
            if begun:
                replaced = [
                    [_typed(begun[filled[i]], hypothesis, copies) for hypothesis, copies in zip(*both, strict=True)]
                    for i, *both in zip(batch, found, replaced, strict=True)
                ]
            for i, hypotheses, replacements in zip(batch, found, replaced, strict=True):
                translations[filled[i]] = Translation(self._texts(hypotheses, replacements), hypotheses, replacements)
            on_progress(len(batch))
        self.model.train(was_training)
        return translations

    def _begun(self, prefix: str) -> list[tuple[int, str]]:
        """Return the ids of what a person has begun, each with its piece as written."""
        return list(zip(self.pipeline.target_ids(prefix), self.pipeline.target.tokenizer.split(prefix), strict=False))

    def _beam(self, n_best: int, begun: list[list[tuple[int, str]]] | None) -> Search:
        def search(model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
            if begun is None and model.plans_length:
                return planned_search(model, memory, self.settings, n_best, language=language)
            constraints = UNCONSTRAINED
            if begun is not None:
                rows = [[*(number for number, _ in begun[place]), PAD] for place in places]
                constraints = Constraints(prefix=torch.from_numpy(pad(rows)).to(model.device))
            return beam_search(model, memory, self.settings, n_best, constraints=constraints, language=language)

        return search

    def _replacements(
        self, lines: Sequence[str], ids: Sequence[Sequence[int]], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[tuple[Replacement, ...]]]:
        """Return what is written for the UNKs of each hypothesis of each line, nothing where it was not asked for."""
        replaced: list[list[tuple[Replacement, ...]]] = [[() for _ in hypotheses] for hypotheses in found]
        if not self.settings.replace_unknown:
            return replaced
        unknown = [
            (row, rank)
            for row, hypotheses in enumerate(found)
            for rank, hypothesis in enumerate(hypotheses)
            if UNK in hypothesis.tokens
        ]
        targets = [[*found[row][rank].tokens, EOS] for row, rank in unknown]
        for place, forced in forced_decode_all(self.model, [ids[row] for row, _ in unknown], targets):
            row, rank = unknown[place]
            replaced[row][rank] = self._copied(lines[row], targets[place], forced)
        return replaced

    def _copied(self, line: str, target: Sequence[int], forced: ForcedDecoding) -> tuple[Replacement, ...]:
        """Return for each UNK of a target the source word that it attends to most."""
        words, places = self.pipeline.source_words(line)
        if not words:
            return ()
        peaks = word_attention(forced.attention, places).argmax(1).tolist()
        return tuple(Replacement(t, peaks[t], words[peaks[t]]) for t, token in enumerate(target) if token == UNK)

    def _texts(self, hypotheses: list[Hypothesis], replacements: list[tuple[Replacement, ...]]) -> list[str]:
        return [
            self.pipeline.target_text(hypothesis.tokens, [replacement.word for replacement in replaced])
            for hypothesis, replaced in zip(hypotheses, replacements, strict=True)
        ]


def _typed(
    begun: list[tuple[int, str]], hypothesis: Hypothesis, copied: tuple[Replacement, ...]
) -> tuple[Replacement, ...]:
    """Return what stands for the UNKs of a begun translation: at first what a person has written."""
    pairs = zip(hypothesis.tokens, begun, strict=False)
    typed = [Replacement(place, None, piece) for place, (token, (_, piece)) in enumerate(pairs) if token == UNK]
    return (*typed, *(one for one in copied if one.target_position >= len(begun)))
