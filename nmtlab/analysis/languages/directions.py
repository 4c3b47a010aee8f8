"""How well does a run translate in all its directions, trained and not, at once and through a third language?"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Literal, NamedTuple

import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric, Scoring
from nmtlab.analysis.access.scoring import score_texts
from nmtlab.analysis.access.translations import stored_translations, translations
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import SHADES, dressed, plain
from nmtlab.figures.words import number
from nmtlab.languages import language_of
from nmtlab.recipe import MachineSettings, SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

_CELL = 34
"""Pixels of a heatmap's row."""

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
        corpora: a text in each direction; directions of the run's languages that were not trained are zero-shot.
        on_progress: called with the number of lines just done.

    Returns:
        A row for each corpus: `source`, `target`; `trained`, whether the run was trained in the direction; `corpus`,
        its name; `sentences`; `bleu` and `chrf` by sacrebleu.

    Raises:
        CorpusError: no such split, or a language that the run does not have on that side.
    """
    rows = [_row(run, corpus, split, translations(run, corpus, split, on_progress=on_progress)) for corpus in corpora]
    return pd.DataFrame(rows, columns=COLUMNS)


def directions_figure(scores: pd.DataFrame, metric: str = "bleu", title: str = "") -> go.Figure:
    """Draw the scores of all directions, sources down and targets across; zero-shot ones are marked.

    A click on a cell gives the target as `x` and the source as `y`.

    Args:
        scores: rows of `direction_scores`: `source`, `target`, `trained`, and a score.
        metric: column with the score, `bleu` or `chrf`.
        title: what was translated, and by what.
    """
    name = {"bleu": "BLEU", "chrf": "chrF"}[metric]
    known = dict.fromkeys([*scores["source"], *scores["target"]])
    sources, targets = ([code for code in known if code in set(scores[side])] for side in ("source", "target"))
    labelled = scores.assign(
        label=[
            f"<b>{score:.1f}</b>" if trained else f"{score:.1f}<br>zero-shot"
            for score, trained in zip(scores[metric], scores["trained"], strict=True)
        ]
    )
    values, labels = (
        labelled.pivot(index="source", columns="target", values=column).reindex(sources, columns=targets)
        for column in (metric, "label")
    )
    figure = go.Figure(
        go.Heatmap(
            x=targets, y=sources, z=values, text=labels.fillna(""), texttemplate="%{text}", colorscale=SHADES, zmin=0,
            zmax=max(1.0, scores[metric].max()), hoverongaps=False, colorbar={"title": {"text": name}}, xgap=2, ygap=2,
            hovertemplate="%{y} to %{x}: %{text}<extra></extra>",
        )
    )  # fmt: skip
    figure.update_xaxes(title_text="target language", type="category", showgrid=False)
    figure.update_yaxes(title_text="source language", type="category", autorange="reversed", showgrid=False)
    of = f": {plain(title)}" if title else ""
    return dressed(figure, f"{name} of all directions, trained ones bold{of}", 170 + 2 * _CELL * len(sources))


def directions_finding(scores: pd.DataFrame) -> str:
    """Return the mean BLEU of trained and of zero-shot directions, from rows of `direction_scores`."""
    kinds = (("trained", scores[scores["trained"]]), ("zero-shot", scores[~scores["trained"]]))
    said = [
        f"{len(some)} {kind} direction{'s' if len(some) > 1 else ''} {number(some['bleu'].mean(), 1)} BLEU"
        for kind, some in kinds
        if len(some)
    ]
    return f"Mean of all directions: {', '.join(said)}." if said else ""


DIRECTION_SCORES = Analysis(
    "How well does a run translate in each direction?",
    direction_scores,
    version=1,
    columns=tuple(COLUMNS),
    figure=directions_figure,
    finding=directions_finding,
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

    It is what a zero-shot direction has to beat.

    Args:
        run: trained into the third language and from it.
        corpus: the text; its target is the target language.
        through: code of the third language, which may differ from the run's code of it: en for eng_Latn.
        machine: where to compute; torch's choice if not given.
        on_progress: called with the number of lines just translated, twice for each.

    Returns:
        One row per line: `between`, its translation into the third language; `translation`.

    Raises:
        RunError: the run does not translate into the third language or from it.
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
    "How does a run translate through a third language?",
    pivoted,
    version=1,
    columns=("between", "translation"),
    stored_as="pivot.pivoted",
    metrics=(
        Metric(
            "pivot-bleu",
            "test BLEU through English",
            "score",
            "BLEU",
            scoring=Scoring(made_by="test BLEU through English", column="translation"),
            if_diverged=0.0,
        ),
    ),
)
