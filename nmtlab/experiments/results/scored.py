"""The sentences that a number in a table is of, and how each training translated them."""

from dataclasses import dataclass

import pandas as pd

from nmtlab.analysis.access.translations import text_digest, translations_by_text
from nmtlab.errors import CorpusError
from nmtlab.experiments.measures.quality import Measure, OfSentences, Text
from nmtlab.experiments.results.hypotheses import COLUMNS, read_hypotheses
from nmtlab.experiments.results.stored import Stored
from nmtlab.experiments.tables.corpora import Corpus
from nmtlab.experiments.tables.declaration import Setup
from nmtlab.runs.run import Run
from nmtlab.text.corpus import Direction, ParallelCorpus
from nmtlab.workspace import Workspace


@dataclass(frozen=True)
class Scored:
    """The sentences that a score in a row of a table is of.

    Args:
        score: of translations.
        direction: languages of the text that the row is scored on; None if the table no longer has the row.
        corpus: that text; None if it is not in the workspace.
        beside: translations of the row that are stored beside the table, as of `hypotheses`, for this score.
    """

    score: OfSentences
    direction: Direction | None
    corpus: ParallelCorpus | None
    beside: pd.DataFrame

    @classmethod
    def of(cls, stored: Stored, measure: Measure, row: str, workspace: Workspace) -> "Scored | None":
        """Return the sentences behind a number; None if the table has no score of sentences.

        Args:
            stored: the table.
            measure: one of its numbers; if it is no score of sentences, the table's first score stands in for it.
            row: name of the row.
            workspace: where to look for the text.

        Raises:
            NmtlabError: the file of translations is damaged.
        """
        score = next((one for one in (measure, *stored.table.measures) if isinstance(one, OfSentences)), None)
        if score is None:
            return None
        path = stored.path.with_suffix(".translations.parquet")
        beside = read_hypotheses(path) if path.is_file() else pd.DataFrame(columns=COLUMNS)
        beside = _where(beside, row=row, split=score.split, measure=score.made_by)
        text = _text_of(stored, row)
        direction = (text.source, text.target) if text else None
        return cls(score, direction, _opened(text, workspace) if text else None, beside)

    @property
    def title(self) -> str:
        """What the sentences are: the score, and its text."""
        text = f" ({self.corpus.name} {self.score.split})" if self.corpus else ""
        return f"Sentences scored by {self.score.name}{text}"

    def sentences(self, run: Run | None) -> Text | None:
        """Return the sentences; None if they are not here, or depend on the run and there is none."""
        return self.score.text(self.corpus, run) if self.corpus else None

    def translations(self, column: str, seed: int, run: Run | None) -> list[str] | None:
        """Return a training's translations of the sentences, None if these or some of those are not stored.

        Those beside the table come first: they are of the training that was measured, and the run here may be another
        one of the same recipe and seed.

        Args:
            column: name of the system.
            seed: of the training, 0 for a system without seeds.
            run: the one with its name, if it is here.
        """
        text = self.sentences(run)
        if text is None or self.corpus is None:
            return None
        kept = _where(self.beside, column=column, seed=seed, text=text_digest(text.sources))
        lines = dict(enumerate((self.score.stored(run, self.corpus) if run else None) or []))
        lines |= dict(zip(kept["line"], kept["translation"], strict=True))
        return [lines[number] for number in sorted(lines)] if len(lines) == len(text.sources) else None

    def translations_alone(self, column: str, seed: int, run: Run | None) -> list[str] | None:
        """Return a training's translations of sentences that are not here, None if it is unclear which they are.

        Args:
            column, seed, run: as for `translations`.
        """
        kept = _where(self.beside, column=column, seed=seed)
        texts = self._by_text(run)
        digests = set(kept["text"]) or set(texts)
        if len(digests) != 1:
            return None
        lines = dict(enumerate(texts.get(digests.pop(), ())))
        lines |= dict(zip(kept["line"], kept["translation"], strict=True))
        return [lines[number] for number in sorted(lines)] if len(lines) == max(lines) + 1 else None

    def _by_text(self, run: Run | None) -> dict[str, list[str]]:
        """Return a training's stored translations by the score's search, by the digest of their text."""
        if run is None or self.score.made_by or not self.direction or not run.translates(*self.direction):
            return {}
        return translations_by_text(run.directed(*self.direction), self.score.split)


def _text_of(stored: Stored, row: str) -> Corpus | None:
    """Return the text that a row is scored on; None if the table no longer has the row at this scale."""
    setup = next((one.at[stored.scale] for one in stored.table.rows if one.name == row), None)
    return (setup.tested or setup.corpus) if isinstance(setup, Setup) else None


def _opened(text: Corpus, workspace: Workspace) -> ParallelCorpus | None:
    """Return a text; None if it is not here, for looking at a table must not make it."""
    try:
        return ParallelCorpus.open(workspace.corpus_folder(text.name), text.source, text.target)
    except CorpusError:
        return None


def _where(translations: pd.DataFrame, **wanted: str | int) -> pd.DataFrame:
    """Return the lines with given values."""
    for name, value in wanted.items():
        translations = translations[translations[name] == value]
    return translations
