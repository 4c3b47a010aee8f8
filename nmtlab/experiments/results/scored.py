"""The sentences that the scores of a table are of, and how each training translated them.

A verdict takes in sentences as well as seeds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from nmtlab.analysis.access.metric import Metric, Text
from nmtlab.analysis.access.translations import text_digest, translations_by_text
from nmtlab.analysis.metrics import find_metrics, scored_text, stored_lines
from nmtlab.errors import CorpusError
from nmtlab.experiments.results.collected import rows_with_text
from nmtlab.experiments.results.stored import Stored
from nmtlab.experiments.running.cells import ENDED, Cell, is_the_training, made_run
from nmtlab.experiments.tables.corpora import Corpus, opened_beside
from nmtlab.experiments.tables.declaration import Scale, Setup, Table
from nmtlab.runs.packed import open_evidence, open_packed
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

COLUMNS = ["row", "column", "seed", "split", "measure", "text", "line", "translation"]


def hypotheses(table: Table, scale: Scale, workspace: Workspace, cells: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the stored translations of a table's cells, from runs in the workspace and, of the others, packed ones.

    Args:
        table: its declaration.
        scale: the scale at which it was run.
        workspace: contains the text; rows without it are left out.
        cells: lines of `nmtlab.experiments.results.collected.results`, to leave out those without a value.

    Returns:
        A row for each sentence of each cell and each text that the table scores: `row`, `column`, `seed`; `split`;
        `measure`, the score whose search made it, empty for the recipe's search, which several scores share; `text`,
        the digest of the sources; `line`, its place among them, from 0; `translation`.

    Raises:
        RunError: a run with a cell's name is a different training, or an archive is damaged.
    """
    made = list(_made(table, scale, workspace))
    if cells is not None:
        wanted = set(cells.dropna(subset="value")[["row", "run"]].itertuples(index=False, name=None))
        made = [one for one in made if (one[0].row, one[0].run) in wanted]
    frames = [_of_cell(score, cell, run, corpus) for cell, run, corpus in made for score in scores_of(table)]
    return pd.concat(frames or [pd.DataFrame(columns=COLUMNS)], ignore_index=True)


def scores_of(table: Table) -> list[Metric]:
    """Return a score for each kind of translations that a table scores."""
    return list(
        {(one.split, one.scoring.made_by): one for one in find_metrics(table.metrics) if one.kind == "score"}.values()
    )


def _made(table: Table, scale: Scale, workspace: Workspace) -> Iterator[tuple[Cell, Run, ParallelCorpus]]:
    """Yield the cells whose text is available and whose training has ended, with run and text."""
    for text, trained in rows_with_text(table, scale, workspace):
        for cell, corpus in trained:
            if run := _run(cell, corpus, workspace):
                yield cell, run, text


def _run(cell: Cell, corpus: ParallelCorpus, workspace: Workspace) -> Run | None:
    if made := made_run(cell, corpus, workspace):
        return made if made.status in ENDED else None
    packed = open_packed(cell.run, workspace) or open_evidence(cell.run, workspace)
    return packed if packed and is_the_training(cell, packed, corpus) else None


def _of_cell(score: Metric, cell: Cell, run: Run, corpus: ParallelCorpus) -> pd.DataFrame:
    """Return the translations of a cell that a score is of, without rows if it has not made them."""
    lines = stored_lines(score, run, corpus)
    if lines is None:
        return pd.DataFrame(columns=COLUMNS)
    text = scored_text(score, corpus, run)
    about = {"row": cell.row, "column": cell.column, "seed": cell.seed or 0, "split": score.split}
    frame = pd.DataFrame({"line": range(len(lines)), "translation": lines})
    return frame.assign(**about, measure=score.scoring.made_by, text=text_digest(text.sources))[COLUMNS]


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
    def of(cls, stored: Stored, measure: Metric, row: str, workspace: Workspace) -> "Scored | None":
        """Return the sentences behind a number; None if the table has no score of sentences.

        Args:
            stored: the table.
            measure: one of its numbers; if it is no score of sentences, the table's first score stands in for it.
            row: name of the row.
            workspace: where to look for the text.
        """
        score = next((one for one in (measure, *find_metrics(stored.table.metrics)) if one.kind == "score"), None)
        if score is None:
            return None
        text = _text_of(stored, row)
        return cls(score, text, _opened(text, workspace) if text else None)

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
        directed, asked = run.directed(text.source, text.target), (self.score.split, self.score.scoring.made_by)
        texts = translations_by_text(directed, *asked, text.name) or translations_by_text(directed, *asked)
        return next(iter(texts.values())) if len(texts) == 1 else None


def _text_of(stored: Stored, row: str) -> Corpus | None:
    """Return the text that a row is scored on; None if the table no longer has the row at this scale."""
    setup = next((one.at[stored.scale] for one in stored.table.rows if one.name == row), None)
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
