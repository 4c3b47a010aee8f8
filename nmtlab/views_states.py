"""Vectors of words and states: their projections, and the training sentences with the nearest states."""

from collections.abc import Sequence

import pandas as pd

from nmtlab.analysis.access.measure import measure
from nmtlab.analysis.lexical.norms import spearman
from nmtlab.analysis.states.projection import Method, state_projection, word_projection
from nmtlab.analysis.states.state_neighbours import SAMPLE, state_neighbours
from nmtlab.analysis.states.token_states import Where
from nmtlab.plots import View, projection_figure
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus


def word_projection_view(runs: Sequence[Run], method: Method = "pca") -> View:
    """Show the output vectors of words in the plane, by frequency, system by system.

    Its table has the rank correlation of each axis with frequency; the sign of an axis has no meaning.

    Args:
        runs: neural, with weights.
        method: `pca`, or `umap`, which needs `pip install 'nmtlab[projection]'`.

    Raises:
        NmtlabError: UMAP is not installed.
        RunError: a run is phrase-based, or has no weights.
    """
    points = pd.concat([measure(run, word_projection, method=method).assign(panel=run.label) for run in runs])
    return _view(points, "Output vectors of words")


def state_projection_view(
    runs: Sequence[Run],
    corpus: ParallelCorpus,
    split: str = "dev",
    where: Where = "decoder",
    sample: int = 100,
    method: Method = "pca",
) -> View:
    """Show encoder or decoder states of a sample of sentences in the plane, by frequency of their tokens.

    Args:
        runs: neural, with weights.
        corpus: in their languages.
        split: train, dev or test.
        where: `encoder` or `decoder`.
        sample: number of sentences.
        method: as for `word_projection_view`.

    Raises:
        CorpusError: no such split, or other languages.
        NmtlabError, RunError: as of `word_projection_view`.
    """
    asked = {"corpus": corpus, "split": split, "where": where, "sample": sample, "method": method}
    points = pd.concat([measure(run, state_projection, **asked).assign(panel=run.label) for run in runs])
    return _view(points, f"{where.capitalize()} states of {sample} sentences")


def state_neighbours_table(
    run: Run,
    corpus: ParallelCorpus,
    source: str,
    target: str,
    position: int,
    where: Where = "decoder",
    k: int = 10,
    sample: int = SAMPLE,
) -> pd.DataFrame:
    """Return the training sentences in which a system's state is nearest to that at a position of a sentence.

    Arguments and columns are those of `analysis.states.state_neighbours.state_neighbours`; the answer is stored.
    """
    asked = {"source": source, "target": target, "position": position, "where": where, "k": k, "sample": sample}
    return measure(run, state_neighbours, corpus=corpus, **asked)


def _view(points: pd.DataFrame, title: str) -> View:
    rows = [
        {
            "run": panel,
            "points": len(drawn),
            "share 1": drawn["x_share"].iloc[0],
            "share 2": drawn["y_share"].iloc[0],
            "spearman 1": spearman(drawn["count"], drawn["x"]),
            "spearman 2": spearman(drawn["count"], drawn["y"]),
        }
        for panel, drawn in points.groupby("panel", sort=False)
    ]
    return View(pd.DataFrame(rows), projection_figure(points, title))
