"""Figures of many languages in one model (thesis 4.2), drawn from measured runs."""

from collections.abc import Sequence

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.insides import insides
from nmtlab.analysis.languages.layers import SIMILARITY_BY_LAYER
from nmtlab.analysis.languages.parameters import PARAMETER_COUNTS
from nmtlab.analysis.languages.probes import LANGUAGE_BY_LAYER
from nmtlab.errors import RunError
from nmtlab.plots import Numbers, View, probe_figure, similarity_figure
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


def similarity_view(run: Run, corpora: Sequence[ParallelCorpus] = (), split: str = "test") -> View:
    """Show how alike a run's source languages are after each encoder layer; its table has CKA and precision.

    Args:
        run: of a Transformer.
        corpora: of two or more source languages; line n of all means the same. Without any, the answer that is stored
            with the run, for whatever text.
        split: train, dev or test.

    Raises:
        NmtlabError: as of `layers.SIMILARITY_BY_LAYER`; or no answer is stored.
    """
    found = _found(run, SIMILARITY_BY_LAYER, corpora, split)
    shown = ["layer", "language", "other_language", "cka", "null_95", "precision", "precision_back"]
    return View(found[shown], similarity_figure(found))


def probe_view(run: Run, corpora: Sequence[ParallelCorpus] = (), split: str = "test") -> View:
    """Show how well a run's source languages can be read off encoder states; its table has the accuracy.

    Args:
        run, corpora, split: as of `similarity_view`.

    Raises:
        NmtlabError: as of `probes.LANGUAGE_BY_LAYER`.
    """
    found = _found(run, LANGUAGE_BY_LAYER, corpora, split)
    return View(found[["layer", "units", "width", "accuracy", "chance"]], probe_figure(found))


def costs_table(runs: Sequence[Run]) -> Numbers:
    """Return what each run costs: its parameters, counted three ways, and what its log says of the training.

    Its columns are the system, parameters stored, used by one direction, and trained (see `counted_parameters`), in
    millions; the target tokens it was trained on, in millions; and the median of its tokens per second, which depends
    on the machine and what else ran there.

    Args:
        runs: trained ones, with or without weights.

    Raises:
        RunError: a phrase-based run.
    """
    rows = []
    for run in runs:
        counts = PARAMETER_COUNTS.of(run).set_index("count")["total"] / 1e6
        log = run.metrics("train")
        tokens = (log["tokens_per_second"] * log["seconds"].diff().fillna(log["seconds"])).sum() / 1e6
        speed = round(log["tokens_per_second"].median())
        rows.append({"system": run.label, **counts, "target tokens": tokens, "tokens/s": speed})
    return Numbers(pd.DataFrame(rows))


def insides_table(runs: Sequence[Run]) -> Numbers:
    """Return what the languages of each run share inside: similarity, what a probe reads, and cosines of gradients.

    Args:
        runs: of Transformers, with stored answers of `SIMILARITY_BY_LAYER`, `LANGUAGE_BY_LAYER` and `GRADIENT_COSINES`.

    Raises:
        RunError: an answer is not stored.
    """
    analyses = (SIMILARITY_BY_LAYER, LANGUAGE_BY_LAYER, GRADIENT_COSINES)
    rows = [{"system": run.label, **insides(*(_found(run, one, (), "") for one in analyses))} for run in runs]
    return Numbers(pd.DataFrame(rows))


def _found(run: Run, analysis: Analysis, corpora: Sequence[ParallelCorpus], split: str) -> pd.DataFrame:
    """Measure a run on texts; without any, return its stored answer."""
    if corpora:
        return analysis.of(run, corpora=list(corpora), split=split)
    stored = analysis.answers(run)
    if not stored:
        raise RunError(
            f"run {run.name!r}: has no stored answer of {analysis.compute.__name__}", "name texts to measure it on"
        )
    return stored[0].frame()
