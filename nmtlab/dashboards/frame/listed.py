"""Runs as rows of a table: what tells them apart, their scores, and the text that they are grouped by."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from nmtlab.dashboards.frame.systems import mentioned
from nmtlab.runs.kept import read_kept, trace, write_kept
from nmtlab.runs.naming import layers, stated_changes, system_name
from nmtlab.runs.run import Run
from nmtlab.thesis.measured import scores_on_test
from nmtlab.workspace import RESULTS, Workspace

_COLUMNS = ["system", "changes", "layers", "seed", "dev BLEU", "test BLEU", "updates", "state", "run"]
_MAX_PAIRS = 4


def row_of(run: Run) -> dict[str, Any]:
    """Return the row of a run, but for its test BLEU and its state, and under `group` the text that it is grouped by.

    Raises:
        NmtlabError: one of its files is damaged.
    """
    scores = run.log.metrics("validation").get("bleu")
    return {
        "system": system_name(run),
        "changes": stated_changes(run) or None,
        "layers": layers(run.recipe),
        "seed": run.recipe.training.seed if run.recipe.model.neural else None,
        "dev BLEU": None if scores is None or not len(scores) else round(float(scores.max()), 1),
        "updates": run.checkpoints.best_step,
        "packed": bool(run.origin.packed),
        "run": run.name,
        "group": group_of(run),
    }


def test_scores(workspace: Workspace) -> dict[str, float]:
    """Return `scores_on_test`, kept in the cache until a result changes."""
    file = workspace.cache / "test-scores.json"
    found = trace(sorted(path for folder in (workspace.results, RESULTS) for path in folder.glob("*")))
    kept = read_kept(file)
    if kept.get("results") != found:
        kept = {"results": found, "scores": scores_on_test(workspace)}
        write_kept(file, kept)
    return kept["scores"]


def run_table(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return rows of runs as a table, with their names as keys, without columns in which nothing is known."""
    frame = pd.DataFrame(rows, index=[row["run"] for row in rows], columns=_COLUMNS)
    return frame.astype({"seed": "Int64", "updates": "Int64"}).dropna(axis="columns", how="all")


def group_of(run: Run) -> str:
    """Return what a run was trained on: its directions and its first corpus, `tr-en, small-tr-en`."""
    pairs = dict.fromkeys(f"{corpus.source}-{corpus.target}" for corpus in run.recipe.corpora)
    shown = ", ".join(list(pairs)[:_MAX_PAIRS]) + (", …" if len(pairs) > _MAX_PAIRS else "")
    return f"{shown}: {run.recipe.corpus.name}"


def grouped(rows: Mapping[str, Mapping[str, Any]], first: Sequence[str]) -> list[str]:
    """Return the names of runs by group: groups with some of the runs called `first`, then the others in their order.

    Args:
        rows: the row of each run, by name.
        first: names of runs.
    """
    groups: dict[str, list[str]] = {}
    for name, row in rows.items():
        groups.setdefault(row["group"], []).append(name)
    ordered = sorted(groups.values(), key=lambda group: not any(name in first for name in group))
    return [name for group in ordered for name in group]


def limits(run: Run) -> str:
    """Return what a run cannot do, in short; nothing if it was trained here."""
    if run.origin.packed and run.checkpoints.has_weights():
        return "half-precision weights: translates, cannot be trained further; log p ± 0.01"
    return run.origin.limitations


def by_fact(runs: Sequence[Run], fact: Callable[[Run], str]) -> list[tuple[str, list[Run]]]:
    """Return what there is to say of some runs, each with the runs that it is true of."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(fact(run), []).append(run)
    return [(text, some) for text, some in found.items() if text]


def about_runs(runs: Sequence[Run]) -> str:
    """Return the full names of runs and what they cannot do, as markup that is folded behind a sign."""
    lines = [f"{run.label}: {run.name}" for run in runs if run.label != run.name]
    lines += [f"{mentioned(some)}: {text}" for text, some in by_fact(runs, limits)]
    text = "".join(f"<div>{escape(line)}</div>" for line in lines)
    return (
        f"<details><summary>ⓘ About {'this run' if len(runs) == 1 else 'these runs'}</summary>{text}</details>"
        if text
        else ""
    )


def omitted(lacks: Mapping[str, str], broken: Sequence[str]) -> str:
    """Return which runs are not listed and why, as markup that unfolds to their names.

    Args:
        lacks: the reason for each run.
        broken: names of folders that cannot be opened as runs.
    """
    counts = Counter(lacks.values()) + Counter({"incomplete or damaged": len(broken)})
    if not counts.total():
        return ""
    names = {reason: [name for name, why in lacks.items() if why == reason] for reason in counts}
    if broken:
        names["incomplete or damaged"] = [f"{', '.join(broken)}; see 'nmtlab runs show NAME'"]
    summary = ", ".join(f"{escape(reason)} ({count})" for reason, count in counts.most_common() if count)
    lines = "".join(f"<div><b>{escape(reason)}:</b> {escape(', '.join(some))}</div>" for reason, some in names.items())
    total = counts.total()
    return f"<details><summary>{total} run{'s' * (total > 1)} not shown: {summary}</summary>{lines}</details>"
