"""Numbers in the tables on related languages, and on many languages in one model."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from sacrebleu.metrics.base import Metric

from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.languages.directions import PIVOTED
from nmtlab.analysis.languages.off_target import OFF_TARGET_OF, classifier_of, off_target_lines
from nmtlab.analysis.languages.shared_words import TYPES_OF_PARENT
from nmtlab.evaluation import bleu, chrf, chrf_metric, default_tokenizer
from nmtlab.evaluation.language_identification import LanguageClassifier
from nmtlab.experiments.measures.quality import Bleu, Counted, OfSentences, ShareOfSentences
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


@dataclass(frozen=True)
class SharedTypes(Counted):
    """Share of a child's source types that occur in its parent's source text, in percent (Table 3.3).

    Args:
        part: the child's text whose types count.
    """

    part: Literal["train", "dev"]
    split: ClassVar[None] = None
    lower_is_better: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return f"source types in parent, {self.part} (%)"

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the percentage."""
        shares = TYPES_OF_PARENT.of(run, corpus=corpus).set_index("split")["type_share"]
        return 100 * float(shares[self.part])


@dataclass(frozen=True)
class Chrf(OfSentences):
    """chrF of a run's translations of the test text (sacrebleu)."""

    name: str = "test chrF"
    split: ClassVar[Literal["test"]] = "test"
    lower_is_better: ClassVar[bool] = False
    usable: ClassVar[float] = -math.inf
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the chrF, from 0 to 100."""
        return chrf(translations(run, corpus, self.split), corpus.references(self.split)).value

    def metric(self, language: str) -> Metric:
        """Return sacrebleu's metric."""
        return chrf_metric()


@dataclass(frozen=True)
class PivotBleu(OfSentences):
    """BLEU of the test text translated into English and on from there, by the same run."""

    name: str = "test BLEU through English"
    split: ClassVar[Literal["test"]] = "test"
    lower_is_better: ClassVar[bool] = False
    usable: ClassVar[float] = -math.inf
    of_nothing: ClassVar[float] = 0.0

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the BLEU, from 0 to 100."""
        lines = PIVOTED.of(run, corpus=corpus, split=self.split)["translation"].tolist()
        return bleu(lines, corpus.references(self.split), default_tokenizer(corpus.target)).value

    @property
    def made_by(self) -> str:
        """The name that its translations are kept under."""
        return self.name

    def answer(self, run: Run, corpus: ParallelCorpus) -> list[str] | None:
        """Return translations from a stored answer; None if there is none."""
        found = PIVOTED.stored(run, corpus=corpus, split=self.split)
        return None if found is None else found["translation"].tolist()


@dataclass(frozen=True)
class OffTarget(ShareOfSentences):
    """Share of translations of the test text that are in another language than the one asked for, in percent.

    Args:
        of: the score of these translations.
    """

    of: OfSentences
    name: str = "off target (%)"
    split: ClassVar[Literal["test"]] = "test"
    lower_is_better: ClassVar[bool] = True

    def value(self, run: Run, corpus: ParallelCorpus) -> float:
        """Return the percentage, as far as a classifier of the run's languages can tell."""
        found = OFF_TARGET_OF.of(run, corpus=corpus, texts=_trained_on(run, corpus))
        return 100 * float(found["share"].iloc[0])

    def hits(self, run: Run, corpus: ParallelCorpus) -> np.ndarray | None:
        """Return 1 for each sentence whose translation is in another language, NaN for one whose is in none."""
        lines = self.of.stored(run, corpus)
        return None if lines is None else off_target_lines(lines, corpus.target, _classifier(_trained_on(run, corpus)))


@lru_cache(maxsize=4)
def _classifier(texts: tuple[ParallelCorpus, ...]) -> LanguageClassifier:
    return classifier_of(texts)


def _trained_on(run: Run, corpus: ParallelCorpus) -> tuple[ParallelCorpus, ...]:
    """Return a run's training texts, one of each language with another; they are kept beside the corpus."""
    named = {frozenset((one.source, one.target)): one for one in run.recipe.corpora if not one.vocabulary_only}
    folder = corpus.folder.parent
    return tuple(ParallelCorpus.open(folder / one.name, one.source, one.target) for one in named.values())


SHARED_TYPES = (SharedTypes("train"), SharedTypes("dev"))
CHRF = Chrf()
PIVOT_BLEU = PivotBleu()
SACRE_BLEU = Bleu(
    "test BLEU", "test", detokenized_into=("en", "gl", "pt", "es", "tr", "uz", "ug", "qaa", "qab", "qac", "qad")
)
"""Test BLEU of sacrebleu, on detokenized text in every language."""
OFF_TARGET = OffTarget(SACRE_BLEU)
