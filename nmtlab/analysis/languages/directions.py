"""How well does a run translate in all its directions, trained and not?"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.scores import score_texts
from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.errors import CorpusError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

COLUMNS = ["source", "target", "trained", "corpus", "sentences", "bleu", "chrf"]


class ParallelText(NamedTuple):
    """A split of a folder in which several of a run's languages are aligned line by line.

    Args:
        name: of folder and split.
        split: train, dev or test.
        corpora: one for each direction that the run translates, trained or not.
    """

    name: str
    split: str
    corpora: tuple[ParallelCorpus, ...]

    def into(self, target: str) -> list[ParallelCorpus]:
        """Return the corpora of one target language."""
        return [corpus for corpus in self.corpora if corpus.target == target]


def parallel_texts(run: Run, workspace: Workspace) -> list[ParallelText]:
    """Return the test and dev texts of a workspace in two or more directions of a run, most directions first."""
    sources, targets = (tuple(dict.fromkeys(codes)) for codes in zip(*run.directions, strict=True))
    ways = [(source, target) for source in sources for target in targets if source != target]
    parents = (workspace.data / "corpora", *workspace.more_corpora)
    folders = sorted({file.parent for parent in parents for file in parent.glob("[!.]*/*.*")})
    found = []
    for folder in folders:
        corpora = [ParallelCorpus(folder, *way) for way in ways]
        with suppress(CorpusError):  # a folder that is no corpus, or a damaged one
            found += _texts_of(folder.name, corpora)
    return sorted(found, key=lambda text: -len(text.corpora))


def _texts_of(name: str, corpora: Sequence[ParallelCorpus]) -> list[ParallelText]:
    able = {split: tuple(c for c in corpora if split in c.splits) for split in ("test", "dev")}
    return [ParallelText(f"{name} {split}", split, some) for split, some in able.items() if len(some) > 1]


def direction_scores(
    run: Run,
    corpora: Sequence[ParallelCorpus],
    split: str = "test",
    on_progress: Callable[[int], None] = lambda lines: None,
) -> pd.DataFrame:
    """Return the scores of a run's translations in several directions.

    Args:
        run: a trained run.
        corpora: a text in each direction; directions of the run's languages that were not trained are zero-shot.
        split: train, dev or test.
        on_progress: called with the number of lines just done.

    Returns:
        A row for each corpus: `source`, `target`; `trained`, whether the run was trained in the direction; `corpus`,
        its name; `sentences`; `bleu` and `chrf` by sacrebleu.

    Raises:
        CorpusError: no such split, or a language that the run does not have on that side.
    """
    rows = [_row(run, corpus, split, translations(run, corpus, split, on_progress=on_progress)) for corpus in corpora]
    return pd.DataFrame(rows, columns=COLUMNS)


DIRECTION_SCORES = Analysis(
    "How well does a run translate in each direction?", direction_scores, version=1, columns=tuple(COLUMNS)
)


def stored_direction_scores(run: Run, corpora: Sequence[ParallelCorpus], split: str = "test") -> pd.DataFrame:
    """Return the rows of `direction_scores` of the directions whose translations are stored with a run."""
    found = [(corpus, stored_translations(run, corpus, split)) for corpus in corpora]
    rows = [_row(run, corpus, split, lines) for corpus, lines in found if lines is not None]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(run: Run, corpus: ParallelCorpus, split: str, lines: Sequence[str]) -> dict[str, Any]:
    scores = score_texts(lines, corpus.references(split), corpus.target)
    return {
        "source": corpus.source,
        "target": corpus.target,
        "trained": corpus.direction in run.directions,
        "corpus": corpus.name,
        **{name: scores[name] for name in ("sentences", "bleu", "chrf")},
    }
