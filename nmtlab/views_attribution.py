"""What source words contribute to target words, which methods find linked words, and what heads attend to."""

from collections.abc import Sequence

import pandas as pd

from nmtlab.analysis.attribution.agreement import EXPLANATIONS, Explanation, agreement
from nmtlab.plots import View, agreement_figure
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


def agreement_view(
    runs: Sequence[Run],
    corpus: ParallelCorpus,
    part: str,
    methods: Sequence[Explanation] = EXPLANATIONS,
    sample: int = 100,
) -> View:
    """Show how often attention and other methods have their peak on the linked word, and how often on the first.

    Args:
        runs: neural, one or more, with weights.
        corpus: in their languages, with its training text or with links.
        part: the split, dev or test.
        methods: what to compare.
        sample: number of sentence pairs.

    Raises:
        CorpusError: no such split, no training text, or other languages.
        RunError: a run is phrase-based, or has no weights.
    """
    asked = [(run, method) for run in runs for method in methods]
    rows = [agreement(run, corpus, part, method, sample).assign(run=run.label, method=method) for run, method in asked]
    found = pd.concat(rows, ignore_index=True)
    return View(found[["run", "method", "words", "on", "first", "first_linked"]], agreement_figure(found))
