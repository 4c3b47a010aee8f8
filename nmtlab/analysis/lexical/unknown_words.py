"""Is the source word that would be copied for an UNK the right one? (thesis 3.2.6.3)

References are forced, since it is not known which source word an UNK in a system's translation *should* stand for: at
each word that the system cannot generate its attention chooses a source word, and the choice is right if the links
connect the two. All systems with the same vocabulary are tested on the same words.

Words are those of `word_pairs`; positions count from 0.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.alignment.word_pairs import WordPair, forced_attention, word_pairs
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import Link

_COLUMNS = {
    "line": int, "target_position": int, "target_words": str, "source_position": int, "source_word": str,
    "linked": bool, "correct": bool, "same": bool,
}  # fmt: skip


def reference_unknowns(
    run: Run,
    corpus: ParallelCorpus,
    split: str,
    links: Sequence[Collection[Link]],
    limit: int | None = None,
    machine: MachineSettings | None = None,
    on_progress: Callable[[int], None] = lambda pairs: None,
) -> pd.DataFrame:
    """Return what would be copied for each reference word that a system cannot generate.

    Args:
        run: a trained neural system.
        corpus: in the run's languages.
        split: train, dev or test.
        links: word links of each pair of the split, as from `gold_links` or a word aligner.
        limit: number of pairs to use, from the first; all if not given.
        machine: where to compute; the recipe's settings if not given.
        on_progress: called with the number of pairs just done.

    Returns:
        A row for each such word: `run`; `line`, from 1; `target_position` in the reference and `target_words`, the word
        there; `source_position` and `source_word`, chosen by attention; `linked`, whether the reference word has a
        link; `correct`, whether it is linked to the chosen word; `same`, whether both words are spelled alike, so that
        the copy matches the reference.

    Raises:
        CorpusError: no such split, other languages, or links that do not belong to it.
        RunError: the run is phrase-based, or its weights cannot be read.
    """
    check_has_model(run)
    run = in_direction(run, corpus)
    pairs = [pair for pair in word_pairs(run, corpus, split, links, limit) if pair.unknown.any()]
    weights = forced_attention(open_model(run, machine=machine), pairs, on_progress)
    rows = (row for pair, matrix in zip(pairs, weights, strict=True) for row in in_reference(pair, matrix))
    return _frame(run, rows)


def unknown_summary(unknowns: pd.DataFrame) -> pd.DataFrame:
    """Return how often the right word is copied.

    Args:
        unknowns: rows of `reference_unknowns`, of one run or several.

    Returns:
        A row for each run: `run`; `unknowns`, their number; `linked`, the share that have links; `accuracy`, the share
        of the linked ones that are `correct` (missing if there are none); `same`, the share of all whose copy matches
        the reference. Shares are from 0 to 1.
    """
    return pd.DataFrame([{"run": name, **_shares(rows)} for name, rows in unknowns.groupby("run", sort=False)])


def in_reference(pair: WordPair, weights: np.ndarray) -> Iterator[dict[str, Any]]:
    """Yield the rows of `reference_unknowns` for one pair and the attention in it, (target words, source words)."""
    for j in np.flatnonzero(pair.unknown).tolist():
        i = int(weights[j].argmax())
        word, copied = pair.target_words[j], pair.source_words[i]
        yield {
            "line": pair.line,
            "target_position": j,
            "target_words": word,
            "source_position": i,
            "source_word": copied,
            "linked": any(t == j for _, t in pair.links),
            "correct": (i, j) in pair.links,
            "same": word == copied,
        }


def _frame(run: Run, rows: Iterator[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
    frame.insert(0, "run", run.label)
    return frame


def _shares(rows: pd.DataFrame) -> dict[str, float]:
    return {
        "unknowns": len(rows),
        "linked": rows["linked"].mean(),
        "accuracy": rows.loc[rows["linked"], "correct"].mean(),
        "same": rows["same"].mean(),
    }
