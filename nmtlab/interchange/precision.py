"""Which precision CTranslate2 computes in: 8-bit integers where they cost at most 0.2 BLEU on dev text, else floats."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress

from pydantic import BaseModel, ConfigDict

from nmtlab.errors import NmtlabError
from nmtlab.evaluation.scores import bleu_metric, default_tokenizer
from nmtlab.files import write_text
from nmtlab.interchange.conversion import converted
from nmtlab.interchange.ctranslate import Precision
from nmtlab.interchange.served import open_served
from nmtlab.reading import read_json
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.environment import processor
from nmtlab.runs.run import Run
from nmtlab.runs.tensors import Which
from nmtlab.text.corpora.corpus import ParallelCorpus

TOLERANCE = 0.2
"""Points of dev BLEU that int8 may lose."""


class _Scores(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    fp32: float
    int8: float


def choose_precision(
    run: Run, search: SearchSettings, which: Which, machine: MachineSettings, dev_text: Callable[[], ParallelCorpus]
) -> tuple[Precision, str]:
    """Return int8 if its BLEU on dev text is at most `TOLERANCE` below that of fp32, else fp32; and why, as a clause.

    Dev text is translated in both precisions by the first call on a kind of processor, and the scores are kept with the
    converted model; where that is not kept, every call translates the text again.

    Args:
        run, search, which, machine: as of `open_served`.
        dev_text: opens a corpus in the run's direction that has dev text.

    Raises:
        NmtlabError: CTranslate2 is not installed, or lacks a part of the model or of the search.
    """
    open_served(run, "fp32", search, which, machine)  # what is lacking whatever the precision is an error
    if run.recipe.text.context:
        return "fp32", "int8 is not checked on sentences in context"
    try:
        corpus = dev_text()
        scores = _dev_scores(run, corpus, search, which, machine)
    except NmtlabError as error:
        return "fp32", f"int8 cannot be checked: {error}"
    said = f"dev BLEU {scores['int8']:.2f} in int8, {scores['fp32']:.2f} in fp32, on {corpus.name}"
    return "int8" if scores["int8"] >= scores["fp32"] - TOLERANCE else "fp32", said


def _dev_scores(
    run: Run, corpus: ParallelCorpus, search: SearchSettings, which: Which, machine: MachineSettings
) -> dict[str, float]:
    """Return BLEU on dev text by precision."""
    content = search.decisive(), corpus.checksum(), processor()
    key = hashlib.sha256(repr(content).encode()).hexdigest()[:12]
    with converted(run, "int8", search, which) as folder:
        path = folder / f"dev-{key}.json"
        if path.exists():
            return read_json(path, _Scores, "remove it; it is then made again")
        lines, references = list(corpus.lines("dev", corpus.source)), corpus.references("dev")
        metric, scores = bleu_metric(default_tokenizer(corpus.target)), {}
        for precision in ("fp32", "int8"):
            system = open_served(run, precision, search, which, machine)
            texts = [one.text for one in system.translate(lines)]
            scores[precision] = metric.corpus_score(texts, references).score
        with suppress(OSError):  # another user's folder
            write_text(path, json.dumps(scores))
        return scores
