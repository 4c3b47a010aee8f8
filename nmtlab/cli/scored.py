"""What `evaluate` and `compare` share: their options, and the text that translations are scored on."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from nmtlab.analysis.comparison.compared import Given
from nmtlab.analysis.comparison.files import (
    COMPUTED,
    ScoredText,
    check_directions,
    read_segment_scores,
    text_of_files,
    text_of_split,
)
from nmtlab.cli.answer import Part
from nmtlab.errors import CorpusError, NmtlabError
from nmtlab.text.corpora.corpus import ParallelCorpus, open_corpus
from nmtlab.workspace import Workspace

if TYPE_CHECKING:
    from nmtlab.analysis.access.scoring import TextMetrics

References = Annotated[
    list[Path] | None,
    typer.Option(
        "--reference",
        help="File with a reference for each line of the translations, instead of a corpus; repeatable. Its ending, as "
        "in ref.en, names the language, unless --target does.",
    ),
]
Ter = Annotated[bool, typer.Option("--ter", help="Also TER: 1,000 sentences take up to 20 seconds.")]
SpBleu = Annotated[bool, typer.Option("--spbleu", help="Also spBLEU: BLEU on the subwords of FLORES-200.")]
Segments = Annotated[
    list[str] | None,
    typer.Option(
        "--segment-scores",
        metavar="[NAME=]FILE",
        help="Scores of the sentences by another metric, or a person: a table with a column for each system, or what "
        "comet-score --to_json writes; repeatable.",
    ),
]
LowerIsBetter = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A metric of --segment-scores whose lower scores are better; repeatable."),
]

FIELDS = dict(zip(COMPUTED, ("bleu", "chrf", "chrf_plus_plus", "ter", "spbleu", "tokenized_bleu"), strict=True))
"""Title of a metric -> its field in answers."""


class Score(Part):
    """A score, in `Evaluation` and `Comparison`."""

    score: float
    """On the text."""
    mean: float
    """Of resampled texts: 1,000, or --samples."""
    margin: float
    """Half of the 95 % interval: `mean` ± `margin`."""
    better: Literal["higher", "lower"]
    """Which scores are better."""
    signature: str
    """How it was computed: sacrebleu's, or that it is the mean of the sentences."""

    @classmethod
    def of_row(cls, row: Any) -> "Score":
        """Return the score in a row of compared systems, which has all fields and more."""
        return cls(**{name: getattr(row, name) for name in cls.model_fields})


class Asked(NamedTuple):
    """What is scored beside BLEU, chrF and chrF++, by the options of the same names."""

    ter: bool
    spbleu: bool
    segment_scores: Sequence[str]
    lower_is_better: Sequence[str]

    def metrics(self, text: ScoredText) -> "TextMetrics":
        """Return the metrics of a text."""
        from nmtlab.analysis.access.scoring import text_metrics  # after the names are checked: it loads torch

        return text_metrics(text.references, text.languages[1], self.ter, self.spbleu)

    def given(self, systems: Sequence[str], text: ScoredText) -> list[Given]:
        """Return the scores of systems' sentences from elsewhere."""
        sentences = len(text.source)
        found = [read_segment_scores(one, systems, sentences, self.lower_is_better) for one in self.segment_scores]
        check_directions(found, self.lower_is_better)
        return found


def text_of(
    systems: Sequence[str],
    reference: Sequence[Path] | None,
    corpus: str,
    split: str,
    source: str,
    target: str,
    source_text: Path | None = None,
) -> tuple[ScoredText, ParallelCorpus | None]:
    """Return the text that files translate, and its corpus if it is from one; nothing is written.

    Raises:
        NmtlabError: a system is no file, or neither or both of reference and corpus are given.
    """
    if reference:
        if corpus:
            raise NmtlabError("--reference and --corpus: two texts", "give one of them")
        if missing := next((name for name in systems if not Path(name).is_file()), None):
            raise NmtlabError(f"{missing!r}: no such file", "with --reference, name files of translations, not runs")
        return text_of_files(reference, source_text, (source, target)), None
    if not corpus:
        remedy = "name its file with --reference, or the corpus with --corpus"
        raise CorpusError(f"{', '.join(systems)}: no reference", remedy)
    opened = open_corpus(corpus, Workspace.find(), source, target)
    return text_of_split(opened, split), opened


def warn(problem: str) -> None:
    """Print a warning on standard error."""
    print(problem, file=sys.stderr)
