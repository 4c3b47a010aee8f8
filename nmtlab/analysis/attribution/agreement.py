"""Do the methods find the word that a word is linked to? Attention, erasure and gradients against word links."""

from typing import Literal

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.alignment.reference_links import reference_links
from nmtlab.analysis.alignment.word_pairs import forced_attention, word_pairs
from nmtlab.analysis.attention.shift import attention_error, peak_shifts, sink_summary
from nmtlab.analysis.attribution.contributions import METHODS, Method, word_contributions
from nmtlab.runs.run import Run
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample

ATTENTION: Literal["attention"] = "attention"
Explanation = Literal["attention"] | Method
EXPLANATIONS: tuple[Explanation, ...] = (ATTENTION, *METHODS)


def agreement(
    run: Run, corpus: ParallelCorpus, part: str = "test", method: Explanation = ATTENTION, sample: int = 100
) -> pd.DataFrame:
    """Return how often the source word with the highest weight is the linked one, under forced references.

    Links are those of `reference_links`. Attention is the mean over the heads of the last layer.

    Args:
        run: a trained neural system.
        corpus: in its languages, with its training text or with links.
        part: the split, dev or test.
        method: attention, or one of `contributions`.
        sample: number of sentence pairs, drawn as by `draw_sample`.

    Returns:
        A row: that of `sink_summary`, of the words with a single link, without the run's name; and `error_rate`,
        `precision` and `recall` of the peaks as links, of all words.

    Raises:
        CorpusError: no such split, no training text, or other languages.
        RunError: the run is phrase-based, or has no weights.
    """
    check_has_model(run)
    run = in_direction(run, corpus)
    links = reference_links(run.pipeline, corpus, part)
    lines = set(draw_sample(corpus, part, sample).lines)
    pairs = [pair for pair in word_pairs(run, corpus, part, links) if pair.line in lines]
    system = open_model(run)
    weights = forced_attention(system, pairs) if method == ATTENTION else word_contributions(system, pairs, method)
    shifts = peak_shifts(run.name, pairs, weights)
    return sink_summary(shifts).merge(attention_error(shifts, links), on="run").drop(columns="run")


AGREEMENT = Analysis(
    "How often does a method find the linked source word?",
    agreement,
    version=1,
    columns=(
        "words",
        "first",
        "first_linked",
        "last",
        "last_linked",
        "on",
        "on_if_moved",
        "most_frequent",
        "error_rate",
        "precision",
        "recall",
    ),
)
