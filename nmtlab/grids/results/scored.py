"""The sentences behind a number of a table, and their translations by its trainings."""

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from nmtlab.analysis.access.metric import Metric, Text
from nmtlab.analysis.access.translations import translations_by_text
from nmtlab.analysis.metrics import find_metrics, scored_text, stored_lines
from nmtlab.errors import CorpusError
from nmtlab.grids.declared.corpora import Corpus, opened_beside
from nmtlab.grids.declared.declaration import Setup
from nmtlab.grids.results.results import Results
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace


@dataclass(frozen=True)
class Scored:
    """The sentences that a score in a row of a table is of.

    Args:
        score: of translations.
        declared: the text that the row is scored on; None if the table no longer has the row.
        corpus: that text; None if it is not in the workspace.
    """

    score: Metric
    declared: Corpus | None
    corpus: ParallelCorpus | None

    @classmethod
    def of(cls, results: Results, measure: Metric, row: str) -> "Scored | None":
        """Return the sentences behind a number; None if the table has no score of sentences.

        Args:
            results: of the table.
            measure: one of its numbers; if it is no score of sentences, the table's first score stands in for it.
            row: name of the row.
        """
        score = next((one for one in (measure, *find_metrics(results.table.metrics)) if one.kind == "score"), None)
        if score is None:
            return None
        text = _text_of(results, row)
        return cls(score, text, _opened(text, results.workspace) if text else None)

    def made(self, workspace: Workspace) -> "Scored":
        """Return this with its text made outside the workspace, for looking at a table must not change that.

        Args:
            workspace: where to look for the parts of the text.

        Raises:
            CorpusError: the text cannot be made, or the table no longer has the row.
        """
        if self.declared is None:
            raise CorpusError("the table no longer has this row", "reproduce the table again")
        folder = Path(_temporary(self.declared, workspace).name)
        return replace(self, corpus=opened_beside(self.declared, workspace, folder))

    @property
    def title(self) -> str:
        """What the sentences are: the score, and its text."""
        text = f" ({self.corpus.name} {self.score.split})" if self.corpus else ""
        return f"Sentences scored by {self.score.label}{text}"

    def sentences(self, run: Run | None) -> Text | None:
        """Return the sentences; None if they are not here, or depend on the run and there is none."""
        return scored_text(self.score, self.corpus, run) if self.corpus else None

    def translations(self, run: Run | None) -> list[str] | None:
        """Return a training's translations of the sentences; None if these or some of those are not stored.

        Args:
            run: the training that was measured, as of `open_run_of`; None if it is not kept.
        """
        text = self.sentences(run)
        lines = stored_lines(self.score, run, self.corpus) if run and self.corpus else None
        return lines if text and lines and len(lines) == len(text.sources) else None

    def translations_alone(self, run: Run | None) -> list[str] | None:
        """Return a training's translations of sentences that are not here, None if it is unclear which they are.

        Args:
            run: as for `translations`.
        """
        text = self.declared
        if run is None or text is None or not run.translates(text.source, text.target):
            return None
        directed, asked = run.directed(text.source, text.target), (self.score.split, self.score.scored.made_by)
        texts = translations_by_text(directed, *asked, text.name) or translations_by_text(directed, *asked)
        return next(iter(texts.values())) if len(texts) == 1 else None


def _text_of(results: Results, row: str) -> Corpus | None:
    """Return the text that a row is scored on; None if the table no longer has the row at this scale."""
    setup = next((one.at[results.scale] for one in results.table.rows if one.name == row), None)
    return (setup.tested or setup.corpus) if isinstance(setup, Setup) else None


def _opened(text: Corpus, workspace: Workspace) -> ParallelCorpus | None:
    """Return a text; None if it is not here."""
    try:
        return ParallelCorpus.open(workspace.corpus_folder(text.name), text.source, text.target)
    except CorpusError:
        return None


@cache
def _temporary(text: Corpus, workspace: Workspace) -> TemporaryDirectory[str]:
    """Return a folder for a text, removed when the process ends."""
    return TemporaryDirectory(prefix="nmtlab-texts-")
