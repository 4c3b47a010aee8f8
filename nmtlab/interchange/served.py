"""A translation system that computes with CTranslate2."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmtlab.device import choose_device, in_parallel
from nmtlab.errors import NmtlabError, RecipeError
from nmtlab.interchange.conversion import converted
from nmtlab.interchange.ctranslate import Precision, library
from nmtlab.interchange.folding import check_exportable, known_positions
from nmtlab.recipe import MachineSettings, SearchSettings, TransformerSettings
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.search.scores import hypothesis_score
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import sorted_batches
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS
from nmtlab.translation import System, Translation

_COMPUTED = {"fp32": "float32", "int8": "int8", "int16": "int16"}


class ServedSystem:
    """Segments, lets CTranslate2 search on the CPU, and detokenizes.

    Greedy translations are those of `Translator` but for rounding. A beam can find others: there a finished hypothesis
    leaves the beam, and the search ends with as many finished hypotheses as the beam is wide, while here it goes on
    until no better one is possible. The hypotheses that are found are ranked by the score of the settings.

    Args:
        folder: a model that `write_ctranslate2` has written; it is read at once and not needed any more.
        pipeline: the text pipeline that the model was trained with.
        settings: search settings.
        precision: to compute in.
        positions: number of those that the model knows.
        threads: number of CPU threads, each of which translates a batch; torch's default if 0.
        unserved: opens the system that translates the lines for which the model has too few positions.

    Raises:
        NmtlabError: CTranslate2 is not installed, or cannot compute in this precision on this processor; or the folder
            is damaged.
        RecipeError: the search settings have something that CTranslate2 lacks.
    """

    model = None
    limitations = "CTranslate2 shows neither attention nor logits"

    def __init__(
        self,
        folder: Path,
        pipeline: Pipeline,
        settings: SearchSettings,
        precision: Precision,
        positions: int,
        threads: int,
        unserved: Callable[[], System],
    ) -> None:
        check_search(settings)
        self._device = choose_device(MachineSettings(device="cpu", threads=threads))
        self._threads = torch.get_num_threads()
        self._translator = _translator(folder, precision, self._threads)
        self._positions = positions
        self._unserved = unserved
        self.pipeline = pipeline
        self.settings = settings
        self._ids = {piece: number for number, piece in enumerate(pipeline.target.vocabulary.types)}

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
        """Translate lines as `System.translate` says; `n_best` is at most the beam size."""
        scored = scored or self.settings.beam_size > 1  # a beam ranks by scores
        translations = [Translation([""], []) for _ in lines]
        filled, (ids,) = self.pipeline.encode_filled(lines)
        on_progress(len(lines) - len(filled))
        served = [number for number, row in enumerate(ids) if self._limit(row) < self._positions]
        lengths = [len(ids[number]) for number in served]
        budget = max(1, min(self.settings.batch_tokens // self.settings.beam_size, sum(lengths) // self._threads))
        batches = [[served[i] for i in batch] for batch in sorted_batches(lengths, budget)[::-1]]

        def search(batches: Iterable[list[int]]) -> Iterator[list[list[Hypothesis]]]:
            return (self._search([ids[number] for number in batch], scored) for batch in batches)

        with closing(in_parallel(search, batches, self._device, self._threads)) as results:
            for batch, found in zip(batches, results, strict=True):
                for number, hypotheses in zip(batch, found, strict=True):
                    best = hypotheses[:n_best]
                    texts = [self.pipeline.target.text(hypothesis.tokens) for hypothesis in best]
                    translations[filled[number]] = Translation(texts, best)
                on_progress(len(batch))
        if len(served) < len(ids):
            places = [filled[number] for number in sorted({*range(len(ids))} - {*served})]
            long = self._unserved().translate([lines[place] for place in places], n_best, on_progress, scored=scored)
            for place, translation in zip(places, long, strict=True):
                translations[place] = translation
        return translations

    def _limit(self, source: Sequence[int]) -> int:
        """Return the most tokens of the translation of source ids with EOS, its own EOS included."""
        return max(1, len(source) - 1 + self.settings.extra_length)

    def _search(self, sources: list[list[int]], scored: bool) -> list[list[Hypothesis]]:
        """Return the hypotheses for source ids with EOS, best first.

        A batch has one limit of length: what has gone beyond its own is searched for again.
        """
        limits = np.array([self._limit(source) for source in sources])
        found = self._found(sources, limits.max(), scored)
        beyond = np.array([max(len(h.tokens) + h.finished for h in of_line) for of_line in found]) > limits
        for limit in np.unique(limits[beyond]):
            (places,) = np.nonzero(beyond & (limits == limit))
            shorter = self._found([sources[place] for place in places], limit, scored)
            for place, again in zip(places, shorter, strict=True):
                found[place] = again
        return found

    def _found(self, sources: list[list[int]], limit: int, scored: bool) -> list[list[Hypothesis]]:
        """Return the hypotheses for source ids with EOS, best first, of `limit` tokens at most."""
        tags = [self.pipeline.first_tokens[self.languages[1]]] if self.pipeline.reads_start else []
        prefix = self.pipeline.target.vocabulary.tokens(tags)
        results = self._translator.translate_batch(
            [self.pipeline.source.vocabulary.tokens(source[:-1]) for source in sources],  # it adds EOS
            target_prefix=[prefix] * len(sources),
            beam_size=self.settings.beam_size,
            num_hypotheses=self.settings.beam_size,
            length_penalty=0,  # its scores are then log-probabilities
            return_scores=scored,
            return_end_token=True,
            max_input_length=0,
            max_decoding_length=int(limit) + len(prefix),
            min_decoding_length=0 if self.settings.allow_empty else 1 + len(prefix),
        )
        return [self._ranked(result, len(prefix)) for result in results]

    def _ranked(self, result: Any, first: int) -> list[Hypothesis]:
        found = [
            self._hypothesis([self._ids[piece] for piece in pieces[first:]], log_prob)
            for pieces, log_prob in zip(result.hypotheses, result.scores or [math.nan], strict=True)
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
        machine: its number of threads; torch's default if not given.

    Raises:
        NmtlabError: CTranslate2 is not installed, or lacks a part of the model, the search or the precision, which the
            message names; or as `systems.open_system`.
    """
    search = search or run.recipe.search
    threads = machine.threads if machine else 0
    positions = known_positions(check_served(run, search))
    unserved = partial(open_model, run, search, which, MachineSettings(device="cpu", threads=threads))
    pipeline = run.pipeline.shortlisted(search.shortlist).with_length_bin(search.length_bin)
    with converted(run, precision, search, which) as folder:
        return ServedSystem(folder, pipeline, search, precision, positions, threads, unserved)


def check_served(run: Run, search: SearchSettings) -> TransformerSettings:
    """Return the settings of a run's model, having checked that CTranslate2 has its parts and those of a search.

    Raises:
        NmtlabError: it lacks one, which the message names, or is not installed.
    """
    settings = check_exportable(run.name, run.recipe)
    check_search(search)
    library()
    return settings


_UNSERVED = {
    "coverage": "0", "replace_unknown": "false", "prune_below": "0", "per_parent": "0", "shortlist_translations": "0",
    "block_ngrams": "0", "int8": "false",
}  # fmt: skip
"""Settings of a search that CTranslate2 lacks, and their values without it."""


def check_search(settings: SearchSettings) -> None:
    """Raise `RecipeError` if the settings of a search have something that CTranslate2 lacks."""
    for field, without in _UNSERVED.items():
        if getattr(settings, field):
            raise RecipeError(f"search.{field}: CTranslate2 does not search like that", f"set it to {without}")
    if settings.score == "bounded-reward":
        raise RecipeError("search.score = 'bounded-reward': CTranslate2 does not search like that", "choose another")
    if settings.attention_temperature != 1:
        raise RecipeError("search.attention_temperature: CTranslate2 does not search like that", "set it to 1")


def _translator(folder: Path, precision: Precision, threads: int) -> Any:
    """Return what CTranslate2 translates with."""
    compute_type = _compute_type(precision)
    try:
        return library().Translator(str(folder), compute_type=compute_type, inter_threads=threads, intra_threads=1)
    except RuntimeError as error:
        raise NmtlabError(f"{folder}: damaged ({error})", "remove it; it is then made again") from error


def _compute_type(precision: Precision) -> str:
    supported = library().get_supported_compute_types("cpu")
    if _COMPUTED[precision] not in supported:
        known = ", ".join(name for name, theirs in _COMPUTED.items() if theirs in supported)
        raise NmtlabError(f"precision {precision}: CTranslate2 does not have it on this processor", f"choose {known}")
    return _COMPUTED[precision]
