"""Translations of one text by several systems, as text and as words."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from sacrebleu.metrics.base import Metric

from nmtlab.errors import CorpusError
from nmtlab.evaluation.resampling import Counted, counted, counted_scores
from nmtlab.evaluation.scores import bleu_metric, check_parallel, chrf_metric, default_tokenizer
from nmtlab.text.segmentation.tokenizers import Words

Lines = Sequence[Sequence[str]]
"""The words of each line of a text."""


class Frequency(NamedTuple):
    """How often words were seen in training, as far as it is known.

    Args:
        title: what is counted, as an axis names it.
        of: from a word to its count.
        about: a sentence on where the counts are from; empty for the training text.
    """

    title: str
    of: Callable[[str], int]
    about: str = ""


class Given(NamedTuple):
    """Scores of sentences from elsewhere, such as COMET's or a person's.

    Args:
        name: of the metric.
        of: name of each system -> its seeds -> a score for each line.
        better: which scores are better, `higher` or `lower`.
    """

    name: str
    of: Mapping[str, Sequence[Sequence[float]]]
    better: Literal["higher", "lower"] = "higher"


@dataclass(frozen=True)
class Compared:
    """A text with its references, and its translations by systems of one or more seeds.

    Words are Moses tokens for every system, so that systems with different segmentations can be compared. Of several
    references, words are compared with the first.

    Args:
        source: the lines that are translated; empty ones if they are not known.
        references: one or more sets, each with a line for each source line.
        systems: name -> the translations of each seed, each with a line for each source line.
        languages: codes of the source and target language.
        counts: how often each word is in the target side of the training text; empty if unknown.
        names: words of the target language that are names; empty if unknown.
        seen: how often words were seen, if `counts` is empty and a vocabulary or another text knows it.
        metrics: title -> metric; BLEU, chrF and chrF++ if none are given.
        given: scores of the sentences from elsewhere.
        labels: one for each line; none if there are none.

    Raises:
        CorpusError: no system, or a system without translations; or the numbers of lines differ.
    """

    source: Sequence[str]
    references: Sequence[Sequence[str]]
    systems: Mapping[str, Sequence[Sequence[str]]]
    languages: tuple[str, str]
    counts: Mapping[str, int] = field(default_factory=Counter)
    names: frozenset[str] = frozenset()
    seen: Frequency | None = None
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    given: Sequence[Given] = ()
    labels: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.systems:
            raise CorpusError("0 systems: nothing to compare", "name at least one")
        check_parallel(self.source, self.references)
        for name, seeds in self.systems.items():
            if not seeds:
                raise CorpusError(f"{name}: no translations", "name at least one seed of each system")
            for lines in seeds:
                if len(lines) != len(self.source):
                    raise CorpusError(
                        f"{name}: {len(lines)} translations of {len(self.source)} sentences",
                        "give one translation per sentence, in the same order",
                    )

    @property
    def frequency(self) -> Frequency | None:
        """How often words were seen in the training text, or else in a vocabulary; None if neither is known."""
        return Frequency("training frequency", lambda word: self.counts.get(word, 0)) if self.counts else self.seen

    @cached_property
    def source_words(self) -> Lines:
        """The words of each source line."""
        return _words(self.source, self.languages[0])

    @cached_property
    def reference_words(self) -> Lines:
        """The words of each line of the first set of references."""
        return _words(self.references[0], self.languages[1])

    @cached_property
    def words(self) -> dict[str, list[Lines]]:
        """Name -> the words of each line, for each seed."""
        return {name: [_words(lines, self.languages[1]) for lines in seeds] for name, seeds in self.systems.items()}

    @property
    def titles(self) -> list[str]:
        """The titles of all metrics, those of `given` last."""
        return [*self._metrics, *(one.name for one in self.given)]

    def counted(self, title: str) -> dict[str, Counted]:
        """Return what a metric counts in each line of each seed: by name of the system."""
        if title not in self._counted:
            self._counted[title] = self._count(title)
        return self._counted[title]

    def _count(self, title: str) -> dict[str, Counted]:
        if given := next((one for one in self.given if one.name == title), None):
            return {name: counted_scores(title, given.of[name], given.better) for name in self.systems}
        metric = self._metrics[title]
        return {name: counted(title, seeds, self.references, metric) for name, seeds in self.systems.items()}

    @cached_property
    def _metrics(self) -> Mapping[str, Metric]:
        language = self.languages[1]
        return self.metrics or {
            "BLEU": bleu_metric(default_tokenizer(language)), "chrF": chrf_metric(), "chrF++": chrf_metric(2),
        }  # fmt: skip

    @cached_property
    def _counted(self) -> dict[str, dict[str, Counted]]:
        return {}


def _words(lines: Sequence[str], language: str) -> Lines:
    split = Words(language).split
    return [split(line) for line in lines]
