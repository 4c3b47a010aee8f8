"""A number of a run that tables quote, as data: what it is called, which side is better, how it varies."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import pandas as pd

from nmtlab.analysis.access.needs import Need
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

Kind = Literal["score", "ratio", "proportion", "outcome", "count", "number"]
"""What varies a number besides seeds: `score`, of translations, and `ratio`, of sums over sentences: the sentences;
`proportion`, a percentage of sentences, and `outcome`, 1 or 0 of each training: trials; `count`, of the text: nothing,
not even seeds; `number`: seeds alone."""

Better = Literal["higher", "lower", "zero"]
"""Desired direction; systems whose best value is 0 are compared by absolute values."""

USABLE_BLEU = 5.0
"""If neither of two systems reaches this, hardly any words are right, and their difference is meaningless."""


class Text(NamedTuple):
    """The sentences that a score is of, and one set or more of their references."""

    sources: list[str]
    references: list[list[str]]


@dataclass(frozen=True)
class Scoring:
    """How translations are scored.

    Args:
        score: the score.
        detokenized_into: target languages scored on detokenized text, all others on Moses tokens; None for all.
        made_by: names the way in which the translations were made; empty for the recipe's search.
        column: of the answer, with the translations.
        text: from corpus, and run or None, to the text; None if it depends on the run. The split if not given.
        enough: number of sentences below which there is no score.
    """

    score: Literal["BLEU", "chrF"] = "BLEU"
    detokenized_into: tuple[str, ...] | None = None
    made_by: str = ""
    column: str = "text"
    text: Callable[[ParallelCorpus, Run | None], Text | None] | None = None
    enough: int = 0


@dataclass(frozen=True)
class Metric:
    """A number of a run.

    Args:
        key: by which it is stored and compared.
        label: what a person sees.
        kind: what varies it.
        unit: such as BLEU or %.
        better: desired direction.
        split: the text that it is measured on; empty if none.
        given: arguments of the analysis, besides corpus and split.
        find: those that depend on the run.
        needs: what a run must have; the number of others is NaN.
        read: from the answer, named `found`, and `corpus` if wanted, to the number; see `nmtlab.analysis.metrics` for
            kinds that do without.
        stored: from run and corpus to the stored answer with sentences, if that is not the answer of the analysis.
        amount, less, of: columns of the answer whose sums make a ratio: (amount - less) / of.
        where: column and value of the rows that count.
        hits: of a proportion, 1 for each sentence in which it is so, 0 for another, NaN for one that does not count: of
            the answer `found`; or, with `translations`, of the `lines` of a `run` (None if unknown) of a `corpus`.
        translations: key of the score whose translations a proportion is of.
        scoring: of a score, or of a number that is one, but is not resampled.
        usable: if neither of two systems reaches it, their difference is meaningless.
        if_diverged: the value for a training that diverged before its first checkpoint, and so cannot translate.
    """

    key: str
    label: str
    kind: Kind = "number"
    unit: str = ""
    better: Better = "higher"
    split: Literal["dev", "test", ""] = "test"
    given: Mapping[str, Any] = field(default_factory=dict, hash=False)
    find: Callable[[Run, ParallelCorpus], Mapping[str, Any]] = lambda run, corpus: {}
    needs: tuple[Need, ...] = ()
    read: Callable[..., float] | None = None
    stored: Callable[[Run, ParallelCorpus], pd.DataFrame | None] | None = None
    amount: str = ""
    less: str = ""
    of: str = ""
    where: tuple[str, str] | None = None
    hits: Callable[..., Any] | None = None
    translations: str = ""
    scoring: Scoring | None = None
    usable: float = -math.inf
    if_diverged: float = math.nan

    @property
    def scored(self) -> Scoring:
        """How the translations that it is of are scored; only of a metric with `scoring`."""
        assert self.scoring is not None, f"{self.key} is no score"
        return self.scoring
