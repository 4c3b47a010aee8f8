"""Differences between systems over the course of training: does a change gain, or does it only gain time?"""

import numpy as np
import pandas as pd

from nmtlab.experiments.results.statistics import difference

COLUMNS = ["system", "step", "seeds", "effect", "low", "high"]


def effects_over_training(curves: pd.DataFrame, row: str, than: str) -> pd.DataFrame:
    """Return how far each system is from another one after each evaluation.

    Compared are the best dev scores so far, which choose the checkpoint; a training that ended early keeps its best.
    The intervals are those of Welch's test, of seeds alone, each of its step alone.

    Args:
        curves: rows of `dev_curves`, of one table.
        row: a row of the table.
        than: the system that the others are compared with.

    Returns:
        A row for each other system and step, from the first one that every seed has: `system`, in the order of the
        curves; `step`, in updates; `seeds`, of the system; `effect`, system minus other in points of dev BLEU, and
        `low` and `high` of its 95 % interval, NaN with a single seed.
    """
    best = _best_so_far(curves[curves["row"] == row])
    names = list(dict.fromkeys(name for name, _ in best.columns))
    rows = []
    for step, scores in best.iterrows():
        of = {name: scores[name].tolist() for name in names}
        for name in (name for name in names if name != than and than in of):
            line = difference(of[name], of[than]).estimate()
            rows.append((name, step, len(of[name]), line.effect, line.low, line.high))
    found = pd.DataFrame(rows, columns=COLUMNS)
    return found.sort_values("system", key=lambda some: some.map(names.index), kind="stable", ignore_index=True)


def still_rising(curves: pd.DataFrame, last: int = 3) -> pd.DataFrame:
    """Return the trainings whose best dev score is among the last evaluations, so that more updates might raise it.

    Args:
        curves: rows of `dev_curves`.
        last: number of evaluations.

    Returns:
        `row`, `column`, `seed`, `steps`, at which the training ended, and `rising`.
    """
    cells = curves.sort_values("step").groupby(["row", "column", "seed"], sort=False)
    found = cells.agg(steps=("step", "max"), rising=("bleu", lambda some: int(np.argmax(some)) >= len(some) - last))
    return found.reset_index()


def _best_so_far(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the best score so far, a row per step, a column per system and seed; those that ended keep theirs."""
    order = pd.MultiIndex.from_frame(curves[["column", "seed"]].drop_duplicates())
    wide = curves.pivot_table(index="step", columns=["column", "seed"], values="bleu", sort=True)[order]
    return wide.cummax().ffill().dropna()
