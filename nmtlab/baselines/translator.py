"""Translate strings with a phrase-based system.

The tokens that it reads and writes are ids, written `s7` in the source and `t7` in the target, so that white space,
delimiters of its file formats and words such as `<s>` need no escaping. An UNK of the source is written by its place,
as in `x0`, so that the decoder copies it like every token that it cannot translate.
"""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np

from nmtlab.baselines.decoder import PhraseDecoder, load_verified_weights
from nmtlab.recipe.family import NO_DECODER
from nmtlab.recipe.phrase import PhraseSettings
from nmtlab.recipe.search import SearchSettings
from nmtlab.runs.run import MODELS, Run
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.translation import Replacement, Translation


class PhraseTranslator:
    """Segments, decodes, copies unknown words and detokenizes with a trained system."""

    model = None
    limitations = NO_DECODER

    def __init__(self, decoder: PhraseDecoder, pipeline: Pipeline) -> None:
        self.decoder = decoder
        self.pipeline = pipeline

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and target language."""
        return self.pipeline.languages

    def translate(
        self,
        lines: Sequence[str],
        n_best: int = 1,
        on_progress: Callable[[int], None] = lambda lines: None,
        *,
        scored: bool = True,
    ) -> list[Translation]:
        """Translate lines as `System.translate` says; all translations of a line are different.

        The log-probability and the score of a hypothesis are both the decoder's score. Its attention,
        (1, 1, |y| + 1, S + 1), is uniform over the source phrase that a token's phrase translates; EOS attends to EOS.
        """
        translations = []
        for line in lines:
            translations.append(self._translate(line, n_best))
            on_progress(1)
        return translations

    def _translate(self, line: str, n_best: int) -> Translation:
        tokens = source_tokens(self.pipeline, line)
        if not tokens:
            return Translation([""], [])
        pieces = self.pipeline.source_pieces(line)
        words, word_of_piece = self.pipeline.source_words(line)
        found: dict[str, tuple[Hypothesis, tuple[Replacement, ...]]] = {}
        for decoded in self.decoder.translate(tokens, n_best):
            written = decoded.tokens
            target = [self._piece(token, dict(zip(tokens, pieces, strict=True))) for token in written]
            ids = self._ids(written, target)
            attention = _attention(decoded.sources, len(tokens))
            hypothesis = Hypothesis(tuple(ids), decoded.score, decoded.score, True, attention)
            copied = tuple(
                Replacement(position, word_of_piece[tokens.index(token)], words[word_of_piece[tokens.index(token)]])
                for position, (token, number) in enumerate(zip(written, ids, strict=True))
                if number == UNK and translated(token) is None
            )
            found.setdefault(self.pipeline.target.tokenizer.join(target), (hypothesis, copied))
        hypotheses, replacements = zip(*found.values(), strict=True)
        return Translation(list(found), list(hypotheses), list(replacements))

    def _piece(self, token: str, source: dict[str, str]) -> str:
        number = translated(token)
        return source[token] if number is None else self.pipeline.target.vocabulary.types[number]

    def _ids(self, written: Sequence[str], pieces: Sequence[str]) -> list[int]:
        """Return the ids of the decoder's output; a copied piece is UNK unless the target vocabulary has it."""
        copies = self.pipeline.target.vocabulary.ids(pieces)
        numbers = (translated(token) for token in written)
        return [copy if number is None else number for copy, number in zip(copies, numbers, strict=True)]


def open_phrase_system(run: Run, search: SearchSettings | None = None) -> PhraseTranslator:
    """Return a translator with a run's phrase-based models; the beam size of `search` is the stack size.

    Raises:
        RunError: the models are missing or damaged.
    """
    settings, folder = cast(PhraseSettings, run.recipe.model), run.folder / MODELS
    stack_size = (search or run.recipe.search).beam_size
    decoder = PhraseDecoder(
        folder, load_verified_weights(folder), stack_size, settings.distortion_limit, settings.max_phrase_length
    )
    return PhraseTranslator(decoder, run.pipeline)


def _attention(sources: Sequence[tuple[int, int]], source_length: int) -> np.ndarray:
    """Return (1, 1, |y| + 1, source_length + 1) weights, each token's uniform over the source of its phrase."""
    weights = np.zeros((len(sources) + 1, source_length + 1), dtype=np.float32)
    for row, (begin, end) in enumerate(sources):
        weights[row, begin:end] = 1 / (end - begin)
    weights[-1, -1] = 1.0
    return weights[None, None]


def source_tokens(pipeline: Pipeline, line: str) -> list[str]:
    """Return the tokens of a source sentence, one for each of its pieces."""
    ids = pipeline.source_ids(line)[:-1]
    return [f"s{number}" if number != UNK else f"x{position}" for position, number in enumerate(ids)]


def target_tokens(pipeline: Pipeline, line: str) -> list[str]:
    """Return the tokens of a target sentence."""
    return [f"t{number}" for number in pipeline.target_ids(line)[:-1]]


def training_tokens(pipeline: Pipeline, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    """Return the tokens of training pairs, UNK being a type like any other."""
    sources = pipeline.encode_source([source for source, _ in pairs])
    targets = pipeline.encode_target([target for _, target in pairs])
    return [
        ([f"s{number}" for number in source[:-1]], [f"t{number}" for number in target[:-1]])
        for source, target in zip(sources, targets, strict=True)
    ]


def translated(token: str) -> int | None:
    """Return the target id of a token that the decoder has generated; None if it is a copied source token."""
    return int(token[1:]) if token[0] == "t" else None
