"""Do the claims of the thesis and the survey hold here? Verdicts from the measured tables.

found = measured_claims()
print(overall(found), [claim.text for claim in not_measured(found)])
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, get_args

import pandas as pd

from nmtlab.analysis.access.metric import Metric
from nmtlab.grids.declared.corpora import Corpus, Directed
from nmtlab.grids.declared.declaration import Column, Row, Scale, Setup
from nmtlab.grids.declared.labels import is_artificial, row_label, text_title
from nmtlab.grids.declared.whole_corpora import (
    ConcatenatedCorpus,
    MultiParallelCorpus,
    SyntheticCorpus,
    SyntheticFamily,
    ToyCorpus,
)
from nmtlab.grids.results.judgement import Answer, answered, is_begun, judged, with_aim
from nmtlab.grids.results.kept import STILL_RISING, Kept, largest_late_gain
from nmtlab.grids.results.results import Results
from nmtlab.grids.results.sentences import spread_of
from nmtlab.grids.results.statistics import Verdict
from nmtlab.thesis.claims.declared import ORIGINS, Claim, declared_claims
from nmtlab.thesis.claims.settings import changes, hindrance
from nmtlab.workspace import RESULTS, Workspace

COLUMNS = [
    "claim", "origin", "source", "direction", "pair", "text", "artificial", "system", "metric", "seeds", "effect",
    "low", "high", "p", "pooled_p", "q", "detectable", "bound", "seeds_needed", "interval", "mark", "budget",
    "late_gain", "verdict", "reason",
    "runs", "evidence",
]  # fmt: skip

_NEEDED = ["row", "column", "metric", "seed", "value", "status", "run", "machine", "updates"]
"""Columns of the cells that are read here; each of the others would be copied for every line of every claim."""


class _Line(NamedTuple):
    claim: Claim
    pair: str
    text: str
    artificial: bool
    system: str
    mark: str
    budget: str
    late_gain: float
    answer: Answer


def measured_claims(
    folder: Path = RESULTS, claims: Sequence[Claim] | None = None, workspace: Workspace | None = None
) -> pd.DataFrame:
    """Judge claims against the measured tables, by the rule of `nmtlab.grids.results.judgement`.

    Args:
        folder: contains the cells of tables, as written by `nmtlab reproduce --save`; missing tables are skipped.
        claims: claims to judge, all those about a table together; all declared ones if not given.
        workspace: contains more runs than the evidence; that of the environment if not given.

    Returns:
        One line per claim and pair with a run of a compared system, if the table has both there, in
        the order of declaration: `claim`, `origin`, `source`;
        `direction`, the difference that is taken and the side of 0 that is claimed; `pair`, a row of the table;
        `text`, what that row is called, and whether it is `artificial`;
        `system`, that which is compared, or, if it has no cells there, the other one; `metric`; `seeds`, `effect`,
        `low`, `high`, `p`, `pooled_p`, `q`, `detectable`, `bound`, `seeds_needed`, `interval`, `reason` and `runs`
        as of `judged`; `mark`, what that interval leaves out; `budget`, the training and the text that the numbers are
        of; `late_gain`, the dev BLEU that a compared system still gained in the last fifth of its training, if it is
        more than `STILL_RISING`; `verdict`: `reproduced here`, `contradicted here`, `equivalent`, `underpowered`,
        `inconclusive`, or that the runs are not kept; `evidence`, the name of the table's file, as `--save` writes it.

    Raises:
        NmtlabError: a file is damaged.
    """
    claims, workspace = declared_claims() if claims is None else claims, workspace or Workspace.find()
    found = {claim.stored: Results(claim.table, claim.scale, workspace, folder) for claim in claims}
    tables = [results for results in found.values() if results.exists]
    kept = Kept.of(workspace) if tables else Kept(frozenset())
    frames = [_of_table(one, [claim for claim in claims if claim.stored == one.name], kept) for one in tables]
    if not frames:
        return pd.DataFrame(columns=COLUMNS)
    order = {claim.text: place for place, claim in enumerate(claims)}
    whole = pd.concat([frame for frame in frames if len(frame)] or frames)  # an empty one has no types
    return whole.sort_values("claim", key=lambda claim: claim.map(order), kind="stable", ignore_index=True)


def judged_claims(
    claims: Sequence[Claim],
    cells: pd.DataFrame,
    sentences: pd.DataFrame,
    kept: Kept | None = None,
) -> pd.DataFrame:
    """Judge claims about one table together, as `measured_claims` does.

    Args:
        claims: all that are about the table.
        cells: lines of `CELLS`.
        sentences: lines of `SENTENCES`.
        kept: what is kept of the table's trainings; if not given, everything is.
    """
    return _frame([line for claim in claims for line in _lines(claim, cells, sentences, kept)])


_latest: dict[Path, tuple[object, pd.DataFrame]] = {}
"""What was judged last about each table, after what it was judged from: pages ask for the same again and again."""


def _of_table(results: Results, claims: Sequence[Claim], kept: Kept) -> pd.DataFrame:
    """Judge claims about the table in a file, if anything has changed since the last time."""
    path, judged_from = results.path(), ([*claims], kept, results.version)
    if path not in _latest or _latest[path][0] != judged_from:
        found = judged_claims(claims, results.cells[_NEEDED], results.sentences, kept)
        _latest[path] = judged_from, found
    return _latest[path][1]


def overall(measured: pd.DataFrame) -> pd.DataFrame:
    """Summarise `measured_claims`, a line per claim, by origin.

    Returns:
        `claim`, `origin`, `source`, `direction`, and `found`: texts by verdict.
    """
    lines, about = [], ["claim", "origin", "source", "direction"]
    ordered = measured.sort_values("origin", key=lambda origin: origin.map([*ORIGINS].index), kind="stable")
    for names, group in ordered.groupby(about, sort=False):
        texts = group.groupby("verdict")["text"].agg(" · ".join)
        found = [f"{kind}: {texts[kind]}" for kind in get_args(Verdict) if kind in texts]
        lines.append({**dict(zip(about, names, strict=True)), "found": "; ".join(found)})
    return pd.DataFrame(lines, columns=[*about, "found"])


def counted(measured: pd.DataFrame) -> pd.DataFrame:
    """Count the lines of `measured_claims` by whose claim it is, and by kind of text.

    Returns:
        A line for each that has any: `origin`, one of `nmtlab.thesis.claims.declared.ORIGINS`; `kind of text`,
        natural or artificial; `claims`, how many; and how many lines have each verdict, in a column of its name.
    """
    kinds = measured["artificial"].map({False: "natural", True: "artificial"}).rename("kind of text")
    kept = [kind for kind in get_args(Verdict) if kind in set(measured["verdict"])]
    counts = pd.crosstab([measured["origin"], kinds], measured["verdict"]).reindex(columns=kept)
    claims = measured.groupby(["origin", kinds])["claim"].nunique().rename("claims")
    order = [(origin, kind) for origin in ORIGINS for kind in ("natural", "artificial")]
    whole = counts.join(claims).reindex([one for one in order if one in counts.index])
    return whole[["claims", *kept]].rename_axis(columns=None).reset_index()


def not_measured(measured: pd.DataFrame, claims: Sequence[Claim] | None = None) -> list[Claim]:
    """Return the claims that have no line in `measured_claims`: no system that they compare has a run."""
    claims = declared_claims() if claims is None else claims
    return [claim for claim in claims if claim.text not in set(measured["claim"])]


def _lines(claim: Claim, cells: pd.DataFrame, sentences: pd.DataFrame, kept: Kept | None) -> Iterator[_Line]:
    """Yield the lines of a claim."""
    rows = {row.name: row for row in claim.table.rows if row not in claim.but}
    asked, own = claim.question, _cells_of(claim, cells)
    for name, some in own[own["row"].isin(list(rows))].groupby("row", sort=False):
        systems = (one for one in claim.table.columns if claim.table.leaves_out(rows[str(name)], one, claim.scale))
        if not {*asked.compared} & {one.name for one in systems} and is_begun(asked, some):
            question = with_aim(asked, claim.table, str(name), [row.name for row in claim.but])
            spread = spread_of(sentences, str(name), asked.measure, asked.system, asked.than, claim.absolute)
            compared = some[some["column"].isin(question.compared)]
            text = budget(compared, rows[str(name)], claim.scale, claim.metric)
            shown = next(system for system in question.compared if system in set(compared["column"]))
            found = answered(question, some, claim.table.converging, spread, kept)
            if isinstance(claim.than, Metric):
                there = cells[(cells["row"] == name) & (cells["column"] == claim.system)]
                found = replace(found, hindrance=found.hindrance or hindrance(claim.metric, claim.than, there))
            label = row_label(rows[str(name)], claim.scale)
            marked = mark(claim.metric, [one for one in claim.table.columns if one.name in question.compared])
            artificial, late = is_artificial(rows[str(name)], claim.scale), largest_late_gain(compared)
            yield _Line(claim, str(name), label, artificial, shown, marked, text, late, found)


def _cells_of(claim: Claim, cells: pd.DataFrame) -> pd.DataFrame:
    """Return the cells with the number that a claim is about."""
    if isinstance(claim.than, Metric):
        return changes(claim.metric, claim.than, cells)
    return cells[cells["metric"] == claim.metric.key]


def _frame(lines: Sequence[_Line]) -> pd.DataFrame:
    about = {
        "claim": [line.claim.text for line in lines],
        "origin": [line.claim.origin for line in lines],
        "source": [line.claim.source for line in lines],
        "direction": [line.claim.direction for line in lines],
        "pair": [line.pair for line in lines],
        "text": [line.text for line in lines],
        "artificial": [line.artificial for line in lines],
        "system": [line.system for line in lines],
        "metric": [line.claim.metric.label for line in lines],
        "mark": [line.mark for line in lines],
        "budget": [line.budget for line in lines],
        "late_gain": [line.late_gain if line.late_gain > STILL_RISING else math.nan for line in lines],
        "evidence": [line.claim.evidence for line in lines],
    }
    return judged([line.answer for line in lines]).assign(**about)[COLUMNS]


def budget(cells: pd.DataFrame, row: Row, scale: Scale, metric: Metric) -> str:
    """Return the most updates of some cells, and the text of their row: "after at most 800 updates, ...".

    Args:
        cells: lines of `CELLS`.
        row: their row.
        scale: the scale at which they were run.
        metric: their number.
    """
    setup, updates = row.at[scale], cells["updates"].dropna()
    parts = [f"after at most {int(updates.max()):,} updates"] if len(updates) else []
    parts += [_text_of(setup.corpus)] if isinstance(setup, Setup) else []
    parts += [f"tested on {text_title(setup.tested)}"] if isinstance(setup, Setup) and setup.tested else []
    parts += ["scored on dev, which also selected the checkpoints"] if _is_of_dev(metric) else []
    return ", ".join(parts)


def _is_of_dev(metric: Metric) -> bool:
    return metric.kind == "score" and metric.split == "dev"


def mark(metric: Metric, systems: Iterable[Column]) -> str:
    """Return what the interval of a number leaves out, in a few words; empty if nothing.

    Args:
        metric: the number.
        systems: those that are compared.
    """
    parts = ["the choice of the best dev evaluation"] if _is_of_dev(metric) else []
    parts += [f"the tuning of {system.label or system.name}" for system in systems if not system.seeded]
    return " and ".join(parts)


def _text_of(corpus: Corpus) -> str:
    """Return the size and origin of a training text, as far as they are declared."""
    whole = corpus.corpus if isinstance(corpus, Directed) else corpus
    train = getattr(whole, "train", 0)
    size = f"{train:,} sentence pairs" if train else "all sentence pairs"
    if isinstance(whole, ToyCorpus):
        return f"{size} of a toy task"
    if isinstance(whole, SyntheticCorpus | SyntheticFamily):
        return f"{size} of an artificial language"
    if isinstance(whole, ConcatenatedCorpus | MultiParallelCorpus):
        return f"{size} of {', '.join(whole.parts)}"
    return f"{size} of {whole.name}"
