"""Strings in, strings out, with any model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from nmtlab.models.interface import TranslationModel
from nmtlab.recipe.search import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.text.batches import pad, sorted_batches
from nmtlab.text.pipeline import Pipeline


@dataclass(frozen=True)
class Translation:
    """The translations of one line, best first: their texts and the hypotheses behind them.

    A blank line has one blank text and no hypothesis.
    """

    texts: list[str]
    hypotheses: list[Hypothesis]

    @property
    def text(self) -> str:
        return self.texts[0]


class Translator:
    """Segments, searches and detokenizes with one model.

    Args:
        model: a trained model; its mode (training or evaluation) is left as it was found.
        pipeline: the text pipeline it was trained with.
        settings: how to search.
    """

    def __init__(self, model: TranslationModel, pipeline: Pipeline, settings: SearchSettings) -> None:
        self.model = model
        self.pipeline = pipeline
        self.settings = settings

    def translate(
        self, lines: Sequence[str], n_best: int = 1, on_progress: Callable[[int], None] = lambda lines: None
    ) -> list[Translation]:
        """Translate lines; a blank one stays blank.

        Args:
            lines: plain text, a sentence a line.
            n_best: how many translations of each to return, at most the beam size.
            on_progress: told how many more lines are done.
        """
        translations: list[Translation] = [Translation([""], []) for _ in lines]
        filled = [place for place, line in enumerate(lines) if line.strip()]
        ids = self.pipeline.encode_source([lines[place] for place in filled])
        on_progress(len(lines) - len(filled))
        was_training = self.model.training
        self.model.eval()
        budget = max(1, self.settings.batch_tokens // self.settings.beam_size)
        for batch in sorted_batches([len(row) for row in ids], budget):
            for place, hypotheses in zip(batch, self._search([ids[i] for i in batch], n_best), strict=True):
                texts = [self.pipeline.target_text(hypothesis.tokens) for hypothesis in hypotheses]
                translations[filled[place]] = Translation(texts, hypotheses)
            on_progress(len(batch))
        self.model.train(was_training)
        return translations

    def _search(self, ids: Sequence[Sequence[int]], n_best: int) -> list[list[Hypothesis]]:
        source = torch.from_numpy(pad(ids)).to(self.model.output_types.device)
        results = beam_search(self.model, source, self.settings, n_best)
        return [result.hypotheses for result in results]
