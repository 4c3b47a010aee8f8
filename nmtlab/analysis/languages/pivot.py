"""Translation through a third language: what a zero-shot direction has to beat."""

from collections.abc import Callable
from itertools import chain
from typing import Literal

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.languages import language_of
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus


def pivoted(
    run: Run,
    corpus: ParallelCorpus,
    split: Literal["dev", "test"] = "test",
    through: str = "en",
    search: SearchSettings | None = None,
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda lines: None,
) -> pd.DataFrame:
    """Translate a text into a third language with a run, and from there into the target language with the same run.

    Args:
        run: trained into the third language and from it.
        corpus: the text; its target is the target language.
        split: dev or test.
        through: code of the third language, which may differ from the run's code of it: en for eng_Latn.
        search: search settings; the recipe's if not given.
        machine: where to compute; torch's choice if not given.
        on_progress: called with the number of lines just translated, twice for each.

    Returns:
        One row per line: `between`, its translation into the third language; `translation`.

    Raises:
        RunError: the run does not translate into the third language or from it.
        CorpusError: no such split.
    """
    lines = list(corpus.lines(split, corpus.source))
    pivot = next((code for code in chain(*run.directions) if language_of(code) == language_of(through)), through)
    first, second = (
        open_system(run.directed(*direction), search, machine=machine)
        for direction in ((corpus.source, pivot), (pivot, corpus.target))
    )
    between = [translation.text for translation in first.translate(lines, on_progress=on_progress)]
    last = [translation.text for translation in second.translate(between, on_progress=on_progress)]
    return pd.DataFrame({"between": between, "translation": last})


PIVOTED = Analysis(
    "How does a run translate through a third language?", pivoted, version=1, columns=("between", "translation")
)
