"""Which sentences can systems be looked at with, and what have they made of them?"""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from sacrebleu.metrics import CHRF

from nmtlab.analysis.access.translations import stored_translations
from nmtlab.errors import NmtlabError
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

MOST = 1000
"""Most sentences of a text that are shown."""


class Text(NamedTuple):
    """A split of a corpus."""

    corpus: ParallelCorpus
    split: str
    packed: bool

    @property
    def name(self) -> str:
        return (
            f"{self.corpus.folder.parent.name} (packed {self.split})"
            if self.packed
            else f"{self.corpus.name} {self.split}"
        )


def texts(run: Run, workspace: Workspace) -> list[Text]:
    """Return the texts of a run's own corpus that are here: its test and dev text, or what was packed with it."""
    found = []
    languages = run.recipe.corpus
    try:
        corpus = ParallelCorpus.open(workspace.corpus_folder(languages.name), languages.source, languages.target)
        found += [Text(corpus, split, False) for split in ("test", "dev") if split in corpus.splits]
    except NmtlabError:
        pass  # it was trained elsewhere
    if packed := run.sentences:
        found.append(Text(packed, "dev", True))
    return found


def sentences(runs: Sequence[Run], text: Text, most: int = MOST) -> pd.DataFrame:
    """Return the sentences of a text beside what systems have made of them, where that is stored.

    Args:
        runs: of the text's languages.
        text: dev or test.
        most: how many sentences, the first.

    Returns:
        A row for each, its index the `line` from 1: `source`; `reference`; and for each run that has translated the
        text, by the name of the run, its translation, and as `NAME chrF` its score. Of two such runs or more there is
        `gain`, the last one's chrF less the first one's.
    """
    pairs = list(text.corpus.pairs(text.split))[:most]
    table = pd.DataFrame(pairs, columns=["source", "reference"])
    table.index = pd.RangeIndex(1, len(pairs) + 1, name="line")
    scores = []
    for run in runs:
        lines = stored_translations(run, text.corpus, text.split)
        if lines is None:
            continue
        table[run.name] = lines[: len(pairs)]
        scores.append(f"{run.name} chrF")
        table[scores[-1]] = _chrf(table[run.name], table["reference"])
    if len(scores) > 1:
        table["gain"] = (table[scores[-1]] - table[scores[0]]).round(1)
    return table


def _chrf(hypotheses: pd.Series, references: pd.Series) -> list[float]:
    chrf = CHRF()
    both = zip(hypotheses, references, strict=True)
    return [round(chrf.sentence_score(ours, [theirs]).score, 1) for ours, theirs in both]
