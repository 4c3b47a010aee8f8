"""Runs as rows of a table: what tells them apart, their scores, and the text that they are grouped by."""

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from nmtlab.runs.naming import layers, stated_changes, system_name
from nmtlab.runs.run import Run

_COLUMNS = ["system", "changes", "layers", "seed", "dev BLEU", "test BLEU", "updates", "state", "run"]
_MAX_PAIRS = 4


def row_of(run: Run, test: float) -> dict[str, object]:
    """Return the row of a run.

    Args:
        run: any.
        test: its test BLEU, NaN if not known.

    Raises:
        NmtlabError: one of its files is damaged.
    """
    scores = run.log.metrics("validation").get("bleu")
    return {
        "system": system_name(run),
        "changes": stated_changes(run) or None,
        "layers": layers(run.recipe),
        "seed": run.recipe.training.seed if run.recipe.model.neural else None,
        "dev BLEU": float("nan") if scores is None or not len(scores) else round(float(scores.max()), 1),
        "test BLEU": round(test, 1),
        "updates": run.checkpoints.best_step,
        "state": "packed" if run.origin.packed else run.status,
        "run": run.name,
    }


def run_table(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return rows of runs as a table, with their names as keys, without columns in which nothing is known."""
    frame = pd.DataFrame(rows, index=[row["run"] for row in rows], columns=_COLUMNS)
    return frame.astype({"seed": "Int64", "updates": "Int64"}).dropna(axis="columns", how="all")


def group_of(run: Run) -> str:
    """Return what a run was trained on: its directions and its first corpus, `tr-en, small-tr-en`."""
    pairs = dict.fromkeys(f"{corpus.source}-{corpus.target}" for corpus in run.recipe.corpora)
    shown = ", ".join(list(pairs)[:_MAX_PAIRS]) + (", …" if len(pairs) > _MAX_PAIRS else "")
    return f"{shown}: {run.recipe.corpus.name}"


def grouped(runs: Sequence[Run], first: Sequence[str]) -> list[Run]:
    """Return runs by group; groups with some of the runs called `first` come first, the rest stays in its order."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(group_of(run), []).append(run)
    ordered = sorted(groups.values(), key=lambda group: not any(run.name in first for run in group))
    return [run for group in ordered for run in group]


def omitted(lacks: Mapping[str, str], broken: Sequence[str]) -> str:
    """Return which runs are not listed and why, as markup that unfolds to their names.

    Args:
        lacks: the reason for each run.
        broken: names of folders that cannot be opened as runs.
    """
    counts = Counter(lacks.values()) + Counter({"incomplete or damaged": len(broken)})
    if not counts:
        return ""
    names = {reason: [name for name, why in lacks.items() if why == reason] for reason in counts}
    if broken:
        names["incomplete or damaged"] = [f"{', '.join(broken)}; see 'nmtlab runs show NAME'"]
    summary = ", ".join(f"{escape(reason)} ({count})" for reason, count in counts.most_common())
    lines = "".join(f"<div><b>{escape(reason)}:</b> {escape(', '.join(some))}</div>" for reason, some in names.items())
    return f"<details><summary>Not listed: {summary}</summary>{lines}</details>"
