"""Translate strings with any model."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import tee
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import torch

from nmtlab.alignment.phrases import PhraseTable
from nmtlab.alignment.table import LexicalTable
from nmtlab.device import in_parallel
from nmtlab.errors import NmtlabError, RecipeError, RunError
from nmtlab.evaluation.expected_utility import expected_utility, pairwise_chrf
from nmtlab.models.interface import Searchable, SourceIds
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.attention import word_attention
from nmtlab.search.forced import ForcedDecoding, forced_decode_all
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.searches import Search, usual_search
from nmtlab.search.shortlist import Shortlist, Shortlisted
from nmtlab.search.token_scores import TokenScores, score_tokens
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.lines import is_blank
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, UNK

ModelT = TypeVar("ModelT", bound=Searchable)

Piece = tuple[int, str]
"""A token id and the piece as written."""

_BATCHES_AT_ONCE = 8
"""Batches that are translated at once on a CPU, at most: more would wait for Python's lock."""

_MANY_TYPES = 100_000
"""Above this size of the target vocabulary batches are translated one by one: the scores of one take hundreds of MB."""


class Replacement(NamedTuple):
    """A word that replaces an UNK.

    Args:
        target_position: of the UNK among the hypothesis' tokens as they are read, from 0.
        source_position: of the word among those of `Pipeline.source_words`, from 0; None for a word of the given
            prefix.
        word: as written.
    """

    target_position: int
    source_position: int | None
    word: str


class _Row(NamedTuple):
    """What is translated together: the line and the ids of each source, and the pieces of the prefix."""

    lines: list[str]
    ids: list[list[int]]
    prefix: list[Piece]


@dataclass(frozen=True)
class Translation:
    """The translations of one line, best first: their texts and the hypotheses behind them.

    A blank line has one blank text and no hypothesis.

    Args:
        texts: plain text.
        hypotheses: one per text.
        replacements: the words that replace the UNKs of each hypothesis, in the order of its tokens; empty if
            replacement was not requested.
    """

    texts: list[str]
    hypotheses: list[Hypothesis]
    replacements: list[tuple[Replacement, ...]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.texts[0]


class System(Protocol):
    """A translation system: a neural model, an ensemble, or a phrase-based system.

    Args:
        pipeline: converts between text and token ids.
        model: the model to search and inspect; None for a phrase-based system.
        limitations: what it cannot do besides translating, as a sentence without its full stop; empty if nothing.
    """

    @property
    def pipeline(self) -> Pipeline: ...

    @property
    def model(self) -> Searchable | None: ...

    @property
    def limitations(self) -> str: ...

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and target language."""

    def translate(
        self,
        lines: Sequence[str],
        n_best: int = 1,
        on_progress: Callable[[int], None] = lambda lines: None,
        *,
        scored: bool = True,
    ) -> list[Translation]:
        """Translate lines; a blank one stays blank.

        Args:
            lines: plain text, one sentence per line.
            n_best: how many translations of each to return, at most.
            on_progress: called with the number of lines just finished.
            scored: whether log-probabilities and scores are asked for; without, they may be NaN, and sooner there.
        """


class Translator(Generic[ModelT]):
    """Segments, searches, replaces unknown words and detokenizes with a trained model, whose mode it restores.

    Args:
        model: produces all types; the lists of `settings.shortlist_translations` are of its searches alone.
        pipeline: of the model.
        settings: of the search.
        lexicon: p(target | source), or phrases, from which these lists are taken; without it, searches are among all
            types.
    """

    def __init__(
        self,
        model: ModelT,
        pipeline: Pipeline,
        settings: SearchSettings,
        lexicon: LexicalTable | PhraseTable | None = None,
    ) -> None:
        temperature = settings.attention_temperature
        model = model if model.attention_temperature == temperature else model.tempered(temperature)
        self.model = model if model.int8 == settings.int8 else model.in_int8(settings.int8)
        self.pipeline = pipeline.with_length_bin(settings.length_bin)
        self.settings = settings
        self.lexicon = lexicon

    def __repr__(self) -> str:
        return f"Translator {'-'.join(self.languages)}: {type(self.model).__name__}, beam {self.settings.beam_size}"

    @property
    def languages(self) -> tuple[str, str]:
        return self.pipeline.languages

    @property
    def limitations(self) -> str:
        others = f"it reads {self.model.sources} sources together, and <NULL> for one that is missing"
        return "; ".join(filter(None, (self.pipeline.left_out, others if self.model.sources > 1 else "")))

    def directed(self, source: str, target: str) -> "Translator[ModelT]":
        """Return a translator in another direction, trained or not, with the same model.

        Raises:
            RunError: the model was not trained on one of the languages.
        """
        pipeline = self.pipeline.directed(source, target)
        return Translator(self.model.directed(source, target), pipeline, self.settings, self.lexicon)

    def searched(self) -> Searchable:
        """Return the model as it is searched: with the shortlists of the settings, if there are any."""
        return Shortlisted(self.model, self._shortlist) if self._shortlist else self.model

    @cached_property
    def _shortlist(self) -> Shortlist | None:
        if self.lexicon is None or not self._lists:
            return None
        settings, sizes = self.settings, (self.settings.shortlist, self.settings.shortlist_translations)
        if isinstance(self.lexicon, LexicalTable):
            return Shortlist.of(self.pipeline, self.lexicon, *sizes)
        of_phrases = settings.shortlist_ngram, settings.shortlist_min_count
        return Shortlist.of_phrases(self.pipeline, self.lexicon, *sizes, *of_phrases)

    def translate(
        self,
        lines: Sequence[str],
        n_best: int = 1,
        on_progress: Callable[[int], None] = lambda lines: None,
        search: Search | None = None,
        prefixes: Sequence[str] | None = None,
        must: Sequence[Sequence[str]] | None = None,
        more: Sequence[Sequence[str]] = (),
        *,
        scored: bool = True,
    ) -> list[Translation]:
        """Translate lines; a blank one stays blank.

        Args:
            lines: plain text, one sentence per line; with `text.context`, after the sentence before (`in_context`).
            n_best: how many translations of each to return, at most the beam size.
            on_progress: called with the number of lines just finished.
            search: replaces that of the settings, and decides how many translations are returned; on a CPU with several
                threads it is run on several batches at once.
            prefixes: for each line, the beginning of its translation as plain text, or empty; of beam search only, and
                not of a system that writes from the end.
            must: for each line, the phrases that occur in its translation, as plain text; of beam search only.
            more: the lines of the other sources, if the model reads several; a blank line is a missing sentence, as are
                all of a source that is left out at the end.
            scored: as of `System`; greedy search is faster without, and finds the same.

        Raises:
            NmtlabError: a phrase cannot occur, the phrases of a line are longer than its translation may be, or there
                are prefixes and the system writes from the end, or there are either and a shortlist for each batch.
        """
        if prefixes is not None or must is not None:
            self._check_unlisted("a prefix, or what must occur, may have types that the list lacks")
        if prefixes is not None and self.pipeline.target.reversed:
            problem = "a prefix: the system writes a translation from its end, and its beginning last"
            raise RunError(problem, "leave it out, or name words that must occur")
        pieces = None if prefixes is None else [self._prefix_pieces(prefix) for prefix in prefixes]
        begun = None if pieces is None else [[number for number, _ in of_line] for of_line in pieces]
        phrases = None if must is None else self._phrase_ids(lines, must)
        search = search or usual_search(self.settings, self.model.plans_length, n_best, begun, phrases, scored)
        translations: list[Translation] = [Translation([""], []) for _ in lines]
        sources = self._sources(lines, more)
        filled, ids = self.pipeline.encode_filled(*sources)
        on_progress(len(lines) - len(filled))
        searched = self.searched()

        @torch.inference_mode()
        def translate_batches(batches: Iterable[np.ndarray]) -> Iterator[list[Translation]]:
            batches, to_search = tee(batches)
            given = ((self._padded(ids, batch), [filled[i] for i in batch]) for batch in to_search)
            for batch, results in zip(batches, search.stream(searched, given, self.languages), strict=True):
                rows = [
                    _Row(
                        [side[filled[i]] for side in sources],
                        [side[i] for side in ids],
                        pieces[filled[i]] if pieces else [],
                    )
                    for i in batch
                ]
                yield self._translations(rows, [result.hypotheses for result in results])

        budget = max(1, self.settings.batch_tokens // search.width)
        longest = [max(map(len, row)) for row in zip(*ids, strict=True)]
        batches = sorted_batches(longest, budget)[::-1]  # the longest first: they take the most time
        at_once = _BATCHES_AT_ONCE if self.pipeline.target.size <= _MANY_TYPES else 1
        was_training = self.model.training
        self.model.eval()
        # Greedy batches are dealt: a sentence is always decoded beside the same others, and so rounded alike.
        with closing(in_parallel(translate_batches, batches, self.model.device, at_once, search.dealt)) as results:
            for batch, found in zip(batches, results, strict=True):
                for i, translation in zip(batch, found, strict=True):
                    translations[filled[i]] = translation
                on_progress(len(batch))
        self.model.train(was_training)
        return translations

    def token_scores(
        self,
        lines: Sequence[str],
        translations: Sequence[Translation],
        top: int = 0,
        more: Sequence[Sequence[str]] = (),
    ) -> list[list[TokenScores]]:
        """Return for each line the scores of the tokens of its hypotheses, in their order; none for a blank line.

        Args:
            lines, more: as translated.
            translations: of the lines, by this translator, whose model is in evaluation mode.
            top: number of alternatives to each token.

        Raises:
            RecipeError: the search had a shortlist for each batch.
        """
        self._check_unlisted("the scores of tokens are among all types")
        filled, ids = self.pipeline.encode_filled(*self._sources(lines, more))
        found: list[list[TokenScores]] = [[] for _ in lines]
        rows = [
            (place, [*one.tokens, *[EOS] * one.finished], *sources)
            for place, *sources in zip(filled, *ids, strict=True)
            for one in translations[place].hypotheses
        ]
        targets, source, *others = zip(*(row[1:] for row in rows), strict=True) if rows else ([], [])
        scored = dict(score_tokens(self.model, source, targets, top, more=others))
        for index, (place, *_) in enumerate(rows):
            found[place].append(scored[index])
        return found

    def _check_unlisted(self, problem: str) -> None:
        """Raise `RecipeError` if there is a shortlist for each batch."""
        if self._lists:
            raise RecipeError(f"search.shortlist_translations: {problem}", "set it to 0")

    @property
    def _lists(self) -> bool:
        return self.settings.shortlist_translations > 0 and self.lexicon is not None

    def _sources(self, lines: Sequence[str], more: Sequence[Sequence[str]]) -> list[Sequence[str]]:
        """Return the lines of all sources that the model reads, blank ones of those that are left out.

        Raises:
            RunError: there are more sources than it reads, or they differ in number of lines.
        """
        if 1 + len(more) > self.model.sources:
            raise RunError(
                f"{1 + len(more)} sources, and the run reads {self.model.sources}",
                "leave some out, or choose a run with corpus.also_sources",
            )
        for number, side in enumerate(more, start=2):
            if len(side) != len(lines):
                problem = f"source {number} has {len(side):,} lines, the first {len(lines):,}"
                raise RunError(problem, "give every source one line per sentence, blank if it is missing")
        missing = self.model.sources - 1 - len(more)
        return [lines, *more, *[[""] * len(lines)] * missing]

    def _padded(self, ids: Sequence[Sequence[Sequence[int]]], batch: np.ndarray) -> SourceIds:
        """Return the ids of some sentences in each source."""
        padded = [torch.from_numpy(pad([side[i] for i in batch])).to(self.model.device) for side in ids]
        return padded if len(padded) > 1 else padded[0]

    def _prefix_pieces(self, prefix: str) -> list[Piece]:
        """Return the token ids of a prefix, each with its piece as written."""
        return list(zip(self.pipeline.target_ids(prefix), self.pipeline.target.tokenizer.split(prefix), strict=False))

    def _phrase_ids(self, lines: Sequence[str], must: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        """Return the ids of the phrases that must occur in the translation of each line, each phrase once.

        Raises:
            NmtlabError: one of them cannot occur.
        """
        found: list[list[list[int]]] = []
        for number, (line, phrases) in enumerate(zip(lines, must, strict=True), start=1):
            ids = {phrase: self.pipeline.target_ids(phrase)[:-1] for phrase in phrases}
            for phrase in ids:
                if is_blank(line):
                    raise NmtlabError(f"line {number}: {phrase!r} must occur, but the line is blank", "leave it out")
                if not self.can_write(phrase):
                    problem = f"line {number}: {phrase!r} must occur, but the run cannot generate it"
                    raise NmtlabError(problem, "write it otherwise, or leave it out")
            found.append(list(map(list, dict.fromkeys(map(tuple, ids.values())))))
        return found

    def can_write(self, phrase: str) -> bool:
        """Return whether a phrase may be required of a translation: it is not blank, and has no UNK or masked type."""
        tokens = self.pipeline.target_ids(phrase)[:-1]
        return bool(tokens) and UNK not in tokens and bool(self.pipeline.target_allowed[tokens].all())

    def _translations(self, rows: Sequence["_Row"], found: Sequence[list[Hypothesis]]) -> list[Translation]:
        replaced = self._replacements(rows, found)
        replaced = [
            [_typed(row.prefix, *one) if row.prefix else one[1] for one in zip(hypotheses, copies, strict=True)]
            for row, hypotheses, copies in zip(rows, found, replaced, strict=True)
        ]
        return [Translation(self._texts(*both), *both) for both in zip(found, replaced, strict=True)]

    def _replacements(
        self, rows: Sequence["_Row"], found: Sequence[Sequence[Hypothesis]]
    ) -> list[list[tuple[Replacement, ...]]]:
        """Return the replacements of the UNKs in each hypothesis of each line, empty if not requested."""
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
        source, *more = ([rows[row].ids[side] for row, _ in unknown] for side in range(self.model.sources))
        for index, forced in forced_decode_all(self.model, source, targets, more=more):
            row, rank = unknown[index]
            replaced[row][rank] = self._copied(rows[row].lines, targets[index], forced)
        return replaced

    def _copied(self, lines: Sequence[str], target: Sequence[int], forced: ForcedDecoding) -> tuple[Replacement, ...]:
        """Return for each UNK of a target, in its order, the word of any source that it attends to most."""
        words, word_of_piece = self.pipeline.words_of_sources(lines)
        peaks = word_attention(forced.attention, word_of_piece).argmax(1).tolist()
        places = enumerate(self.pipeline.target.reading_order(target))
        return tuple(Replacement(place, peaks[t], words[peaks[t]]) for t, place in places if target[t] == UNK)

    def _texts(self, hypotheses: list[Hypothesis], replacements: list[tuple[Replacement, ...]]) -> list[str]:
        return [
            self.pipeline.target.text(hypothesis.tokens, [replacement.word for replacement in replaced])
            for hypothesis, replaced in zip(hypotheses, replacements, strict=True)
        ]


def least_risk(
    samples: Translation, n_best: int = 1, pairwise: Callable[[Sequence[str]], np.ndarray] = pairwise_chrf
) -> Translation:
    """Return the distinct samples with the highest expected utility, which becomes their score, best first.

    Args:
        samples: sampled translations of a line; a blank line stays blank.
        n_best: how many to return, at most.
        pairwise: as of `expected_utility`.
    """
    if not samples.hypotheses:
        return samples
    expected = expected_utility(samples.texts, pairwise)
    _, first = np.unique(np.array(samples.texts, dtype=object), return_index=True)
    best = sorted(first, key=lambda place: (-expected[place], place))[:n_best]
    return Translation(
        [samples.texts[place] for place in best],
        [replace(samples.hypotheses[place], score=float(expected[place])) for place in best],
        [samples.replacements[place] for place in best],
    )


def _typed(prefixed: list[Piece], hypothesis: Hypothesis, copied: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
    """Return the replacements of UNKs in a translation with a prefix: inside the prefix, its pieces as written."""
    pairs = zip(hypothesis.tokens, prefixed, strict=False)
    typed = [Replacement(position, None, piece) for position, (token, (_, piece)) in enumerate(pairs) if token == UNK]
    return (*typed, *(one for one in copied if one.target_position >= len(prefixed)))
