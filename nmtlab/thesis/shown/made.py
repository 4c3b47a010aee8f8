"""Texts that runs of the tables have made: their first pairs beside real ones, how good and how diverse they are."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice, pairwise
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
    lines = _beside(text, workspace)
    pairs = chain.from_iterable([(made[0], real[0], made[1], real[1]) for made in some] for some, real in lines)
    return list(islice(pairs, most))


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
        if by_line := list(islice(_beside(text, workspace), _LINES)):
            place = 0 if text.side == "source" else 1
            made = [one[place] for some, _ in by_line for one in some]
            real = [pair[place] for some, pair in by_line for _ in some]
            score = chrf_metric().corpus_score(made, [real]).score
            among = _among([[one[place] for one in some] for some, _ in by_line])
            lines.append((row, system, len(made), score, 100 * _words(made) / _words(real), among))
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


def _beside(text: TranslatedCorpus, workspace: Workspace) -> Iterator[tuple[list[Pair], Pair]]:
    """Yield made pairs with the real one of their line; none if the text is not here, or another has its name."""
    if planned(text, workspace) != text:
        return
    kept, most = 1 if text.side == "source" else 0, max(1, text.samples)
    with suppress(CorpusError):
        made = text.open(workspace).pairs("train")
        one: Pair | None = next(made, None)
        # Made pairs are in the order of the real ones, some of which have none, or fewer than there are samples.
        # Neighbours with the same kept side are told apart by their number only.
        for real in text.whole.open(workspace).pairs("train"):
            some: list[Pair] = []
            while one and one[kept] == real[kept] and len(some) < most:
                some.append(one)
                one = next(made, None)
            if some:
                yield some, real


def _words(lines: list[str]) -> int:
    return len({word for line in lines for word in line.split()})


def _among(by_line: list[list[str]]) -> float:
    """Return the mean chrF of a translation against the next one of its line; NaN if no line has two."""
    metric = chrf_metric()
    scores = [metric.sentence_score(one, [other]).score for some in by_line for one, other in pairwise(some)]
    return fmean(scores) if scores else float("nan")
