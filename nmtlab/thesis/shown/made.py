"""Texts that runs of the tables have made: their first pairs beside real ones, how good and how diverse they are."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, islice, pairwise
from statistics import fmean

import pandas as pd

from nmtlab.errors import CorpusError
from nmtlab.evaluation.scores import chrf_metric
from nmtlab.grids.declared.corpora import TranslatedCorpus, planned
from nmtlab.grids.declared.declaration import Scale, Table
from nmtlab.grids.declared.labels import row_label
from nmtlab.grids.running.cells import cells_of
from nmtlab.text.corpora.corpus import Pair
from nmtlab.thesis.tables.monolingual import MONOLINGUAL
from nmtlab.thesis.tables.rounds import IN_ROUNDS
from nmtlab.thesis.tables.sampled import SAMPLED_SOURCES, SELF_TRAINING
from nmtlab.workspace import Workspace

PAIRS_SHOWN = ["text", "system", "made source", "real source", "made target", "real target"]
QUALITIES = ["text", "system", "pairs", "chrf", "words", "among"]

_TABLES: tuple[Table, ...] = (MONOLINGUAL, SAMPLED_SOURCES, SELF_TRAINING, IN_ROUNDS)
_LINES = 250
"""Lines of each text that its quality is measured on."""


def made_pairs(workspace: Workspace, scale: Scale = "small", most: int = 5) -> pd.DataFrame:
    """Return the first pairs of each text that a run here has made with the first seed, beside the real ones.

    What different systems have made of the same line stands together, rounds in their order.

    Args:
        workspace: contains made texts and those that they were made of.
        scale: of the tables.
        most: pairs of each text.

    Returns:
        One line per pair: `text`, as the row is called; `system`, which was trained on it; and as of
        `made_beside_real`.
    """
    lines = [
        (row, system, *pair)
        for row, system, text in _made_texts(scale)
        for pair in made_beside_real(text, workspace, most)
    ]
    return pd.DataFrame(lines, columns=PAIRS_SHOWN).sort_values(["text", "real target"], kind="stable")


def made_beside_real(text: TranslatedCorpus, workspace: Workspace, most: int) -> list[tuple[str, str, str, str]]:
    """Return the first pairs of a made text: made source, real source, made target and real target.

    One side is not made, and the same in both. There are none if the text is not here, or another has its name.
    """
    return [(made[0], real[0], made[1], real[1]) for made, real in islice(_beside(text, workspace), most)]


def made_qualities(workspace: Workspace, scale: Scale = "small") -> pd.DataFrame:
    """Return how good and how diverse the texts are that runs here have made with the first seed, by their first pairs.

    Args:
        workspace: contains made texts and those that they were made of.
        scale: of the tables.

    Returns:
        One line per text: `text`, as the row is called; `system`, which was trained on it; `pairs` that were read;
        `chrf` of the made side against the real one; `words`, different ones of the made side for 100 of the real one;
        `among`, mean chrF of a translation against the next one of its line, NaN with one of each: low if they differ.
    """
    lines = []
    for row, system, text in _made_texts(scale):
        by_line = [list(some) for _, some in islice(groupby(_beside(text, workspace), lambda pair: pair[1]), _LINES)]
        if pairs := [pair for some in by_line for pair in some]:
            place = 0 if text.side == "source" else 1
            made, real = ([pair[side][place] for pair in pairs] for side in (0, 1))
            score = chrf_metric().corpus_score(made, [real]).score
            lines.append((row, system, len(pairs), score, 100 * _words(made) / _words(real), _among(by_line, place)))
    return pd.DataFrame(lines, columns=QUALITIES)


def _made_texts(scale: Scale) -> list[tuple[str, str, TranslatedCorpus]]:
    """Return row, system and text of each made text of the first seed; each text once, of those in turns the first."""
    found: dict[TranslatedCorpus, tuple[str, str]] = {}
    for table in _TABLES:
        labels = {row.name: row_label(row, scale) for row in table.rows}
        for cell in cells_of(table, scale):
            made = (one for one in cell.more if isinstance(one, TranslatedCorpus) and cell.seed == 1)
            for text in (one for one in made if one.turn < 2):
                found.setdefault(text, (labels[cell.row], cell.column))
    return [(row, system, text) for text, (row, system) in found.items()]


def _beside(text: TranslatedCorpus, workspace: Workspace) -> Iterator[tuple[Pair, Pair]]:
    """Yield each made pair with the real one; there are none if the text is not here, or another has its name."""
    if planned(text, workspace) != text:
        return
    kept = 1 if text.side == "source" else 0
    with suppress(CorpusError):
        rest = text.whole.open(workspace).pairs("train")
        real: Pair | None = next(rest, None)
        # Made pairs are in the order of the real ones, some of which have none, and some several.
        for made in text.open(workspace).pairs("train"):
            while real and real[kept] != made[kept]:
                real = next(rest, None)
            if real:
                yield made, real


def _words(lines: list[str]) -> int:
    return len({word for line in lines for word in line.split()})


def _among(by_line: list[list[tuple[Pair, Pair]]], place: int) -> float:
    """Return the mean chrF of a translation against the next one of its line; NaN if no line has two."""
    metric = chrf_metric()
    scores = [
        metric.sentence_score(one[place], [other[place]]).score
        for some in by_line
        for (one, _), (other, _) in pairwise(some)
    ]
    return fmean(scores) if scores else float("nan")
