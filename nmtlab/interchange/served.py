"""A translation system that computes with CTranslate2."""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from nmtlab.errors import NmtlabError, RecipeError
from nmtlab.interchange.ctranslate import Precision, library, write_ctranslate2
from nmtlab.interchange.folding import MAX_POSITIONS, check_exportable
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.scores import hypothesis_score
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import sorted_batches
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS
from nmtlab.translation import Translation

_COMPUTED = {"fp32": "float32", "int8": "int8", "int16": "int16"}


class ServedSystem:
    """Segments, lets CTranslate2 search on the CPU, and detokenizes.

    Greedy translations are those of `Translator` but for rounding. A beam can find others: there a finished hypothesis
    leaves the beam, and the search ends with as many finished hypotheses as the beam is wide, while here it goes on
    until no better one is possible. The hypotheses that are found are ranked by the score of the settings. Sources are
    cut off after `MAX_POSITIONS` tokens.

    Args:
        folder: a model that `write_ctranslate2` has written; it is read at once and not needed any more.
        pipeline: the text pipeline that the model was trained with.
        settings: search settings.
        precision: to compute in.
        threads: number of CPU threads; CTranslate2's choice if 0.

    Raises:
        NmtlabError: CTranslate2 is not installed, or cannot compute in this precision on this processor.
        RecipeError: the search settings have something that CTranslate2 lacks.
    """

    model = None
    limitations = "CTranslate2 shows neither attention nor logits"

    def __init__(
        self, folder: Path, pipeline: Pipeline, settings: SearchSettings, precision: Precision, threads: int
    ) -> None:
        _check_search(settings)
        self._translator = library().Translator(
            str(folder), compute_type=_compute_type(precision), intra_threads=threads, max_queued_batches=-1
        )
        self.pipeline = pipeline
        self.settings = settings
        self._ids = {piece: number for number, piece in enumerate(pipeline.target.vocabulary.types)}

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and target language."""
        return self.pipeline.languages

    def translate(
        self, lines: Sequence[str], n_best: int = 1, on_progress: Callable[[int], None] = lambda lines: None
    ) -> list[Translation]:
        """Translate lines as `System.translate` says; `n_best` is at most the beam size."""
        translations = [Translation([""], []) for _ in lines]
        filled, ids = self.pipeline.encode_filled(lines)
        on_progress(len(lines) - len(filled))
        budget = max(1, self.settings.batch_tokens // self.settings.beam_size)
        for batch in sorted_batches([len(row) for row in ids], budget):
            for i, hypotheses in zip(batch, self._search([ids[i] for i in batch]), strict=True):
                best = hypotheses[:n_best]
                texts = [self.pipeline.target.text(hypothesis.tokens) for hypothesis in best]
                translations[filled[i]] = Translation(texts, best)
            on_progress(len(batch))
        return translations

    def _search(self, sources: list[list[int]]) -> list[list[Hypothesis]]:
        """Return the hypotheses for source ids with EOS, best first."""
        tags = [self.pipeline.first_tokens[self.languages[1]]] if self.pipeline.reads_start else []
        prefix = self.pipeline.target.vocabulary.tokens(tags)
        limits = [max(1, len(source) - 1 + self.settings.extra_length) for source in sources]
        results = self._translator.translate_batch(
            [self.pipeline.source.vocabulary.tokens(source[:-1]) for source in sources],  # it adds EOS
            target_prefix=[prefix] * len(sources),
            beam_size=self.settings.beam_size,
            num_hypotheses=self.settings.beam_size,
            length_penalty=0,  # its scores are then log-probabilities
            return_scores=True,
            return_end_token=True,
            max_input_length=MAX_POSITIONS,
            max_decoding_length=min(max(limits) + len(prefix), MAX_POSITIONS),
            min_decoding_length=0 if self.settings.allow_empty else 1 + len(prefix),
        )
        return [self._ranked(result, len(prefix), limit) for result, limit in zip(results, limits, strict=True)]

    def _ranked(self, result: Any, first: int, limit: int) -> list[Hypothesis]:
        found = [
            self._hypothesis([self._ids[piece] for piece in pieces[first:]][:limit], log_prob)
            for pieces, log_prob in zip(result.hypotheses, result.scores, strict=True)
        ]
        return sorted(found, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))

    def _hypothesis(self, tokens: list[int], log_prob: float) -> Hypothesis:
        finished = tokens[-1:] == [EOS]
        score = hypothesis_score(self.settings, torch.tensor(log_prob), torch.tensor(len(tokens)))
        return Hypothesis(tuple(tokens[: len(tokens) - finished]), log_prob, float(score), finished)


def open_served(
    run: Run,
    precision: Precision = "fp32",
    search: SearchSettings | None = None,
    which: Which = "best",
    machine: MachineSettings | None = None,
) -> ServedSystem:
    """Open a Transformer's run as a system that computes with CTranslate2 on the CPU.

    Args:
        precision: to compute in.
        run, search, which: as of `systems.open_system`.
        machine: its number of threads; CTranslate2's choice if not given.

    Raises:
        NmtlabError: CTranslate2 is not installed, or lacks a part of the model, the search or the precision, which the
            message names; or as `systems.open_system`.
    """
    settings = check_exportable(run.name, run.recipe)
    machine = machine or MachineSettings()
    system = open_model(run, search, which, machine)
    with TemporaryDirectory() as folder:
        write_ctranslate2(system, settings, Path(folder), precision)
        return ServedSystem(Path(folder), system.pipeline, system.settings, precision, machine.threads)


def _compute_type(precision: Precision) -> str:
    supported = library().get_supported_compute_types("cpu")
    if _COMPUTED[precision] not in supported:
        known = ", ".join(name for name, theirs in _COMPUTED.items() if theirs in supported)
        raise NmtlabError(f"precision {precision}: CTranslate2 does not have it on this processor", f"choose {known}")
    return _COMPUTED[precision]


def _check_search(settings: SearchSettings) -> None:
    for field, without in (("coverage", "0"), ("replace_unknown", "false")):
        if getattr(settings, field):
            raise RecipeError(f"search.{field}: CTranslate2 does not search like that", f"set it to {without}")
