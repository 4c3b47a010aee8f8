"""Do the claims of the thesis and the survey hold here? Verdicts from the measured tables in `data/results`.

found = measured_claims()
print(overall(found), [claim.text for claim in not_measured(found)])
"""

from collections.abc import Sequence
from pathlib import Path
from statistics import median_high
from typing import Literal

import pandas as pd

from nmtlab.experiments.claims.declared import Claim, declared_claims
from nmtlab.experiments.results.comparisons import ps_of, read_comparisons
from nmtlab.experiments.results.stored import RESULTS, read_cells
from nmtlab.experiments.results.summary import SIGNIFICANT, interval, verdict

Judgement = Literal["reproduced here", "contradicted here", "inconclusive"]

COLUMNS = [
    "claim", "source", "direction", "pair", "metric", "seeds", "effect", "margin", "p", "significant", "verdict",
    "runs", "evidence",
]  # fmt: skip

_JUDGEMENT: dict[str, Judgement] = {
    "better": "reproduced here",
    "worse": "contradicted here",
    "inconclusive": "inconclusive",
}


def measured_claims(folder: Path = RESULTS, claims: Sequence[Claim] | None = None) -> pd.DataFrame:
    """Judge claims against the measured tables.

    Intervals are not corrected for multiple comparisons: where nothing differs, one in twenty still excludes zero.
    Values of systems without seeds are taken as exact.

    Args:
        folder: contains the cells of tables, as written by `nmtlab reproduce --save`; missing tables are skipped.
        claims: claims to judge; all declared ones if not given.

    Returns:
        One line per claim and pair with values to compare, in the order of declaration: `claim`, `source`;
        `direction`, the difference that is taken and the side of 0 that is claimed; `pair`, a row of the table;
        `metric`; `seeds`, the number of seeds compared; `effect`, the mean of the per-seed differences, and its
        `margin` (95 %, Student's t; NaN for a single seed); `p` of the paired bootstrap for the median seed, and
        `significant`, the number of seeds with p below 0.01, both missing if there are no sentences to resample;
        `verdict`, `reproduced here` or `contradicted here` if the interval excludes zero (or minus the claim's
        tolerance), else `inconclusive`; it is also `inconclusive` with fewer than three seeds, with a cell that is
        missing or diverged without a value, and if no system of the pair is good enough for differences to be
        meaningful; `runs`, a list of names; `evidence`, the name of the file.

    Raises:
        NmtlabError: a file is damaged.
    """
    claims = declared_claims() if claims is None else claims
    there = {name for name in (claim.evidence for claim in claims) if (folder / name).is_file()}
    cells = {name: read_cells(folder / name) for name in there}
    drawn = {claim.bootstrap: read_comparisons(folder / claim.bootstrap) for claim in claims}
    lines = [
        line
        for claim in claims
        if claim.evidence in there
        for line in _judged(claim, cells[claim.evidence], drawn[claim.bootstrap])
    ]
    return pd.DataFrame(lines, columns=COLUMNS).astype({"p": float, "significant": "Int64"})


def overall(measured: pd.DataFrame) -> pd.DataFrame:
    """Summarise `measured_claims`, a line per claim: `claim`, `source`, `direction`, and `found`: pairs by verdict."""
    lines = []
    for (claim, source, direction), group in measured.groupby(["claim", "source", "direction"], sort=False):
        pairs = group.groupby("verdict")["pair"].agg(", ".join)
        found = [f"{kind}: {pairs[kind]}" for kind in _JUDGEMENT.values() if kind in pairs]
        lines.append({"claim": claim, "source": source, "direction": direction, "found": "; ".join(found)})
    return pd.DataFrame(lines, columns=["claim", "source", "direction", "found"])


def not_measured(measured: pd.DataFrame, claims: Sequence[Claim] | None = None) -> list[Claim]:
    """Return the claims that have no line in `measured_claims`."""
    claims = declared_claims() if claims is None else claims
    return [claim for claim in claims if claim.text not in set(measured["claim"])]


def _judged(claim: Claim, cells: pd.DataFrame, drawn: pd.DataFrame) -> list[dict[str, object]]:
    but = [row.name for row in claim.but]
    cells = cells[(cells["metric"] == claim.measure.name) & ~cells["row"].isin(but)]
    if claim.absolute:
        cells = cells.assign(value=cells["value"].abs())
    ps = ps_of(claim, drawn)
    if claim.than == claim.table.baseline:  # tables saved without a bootstrap file have this p in their cells
        tested = cells[(cells["column"] == claim.system) & cells["p"].notna()]
        ps = {str(row): some["p"].tolist() for row, some in tested.groupby("row")} | ps
    lines = (_line(claim, row, some) | _significance(ps.get(row, [])) for row, some in cells.groupby("row", sort=False))
    return [line for line in lines if line["seeds"]]


def _line(claim: Claim, row: str, cells: pd.DataFrame) -> dict[str, object]:
    compared = cells[cells["column"].isin([claim.system, claim.than])]
    known = compared["value"].notna()
    differences = _differences(compared, claim.system, claim.than)
    effect, margin = interval(differences)
    usable = (cells["value"] >= claim.measure.usable).any() and known.all()
    forgiven = claim.tolerance if claim.expects == "higher" else -claim.tolerance
    return {
        "claim": claim.text,
        "source": claim.source,
        "direction": claim.direction,
        "pair": row,
        "metric": claim.measure.name,
        "seeds": len(differences),
        "effect": effect,
        "margin": margin,
        "verdict": _JUDGEMENT[verdict([d + forgiven for d in differences], bool(usable), claim.expects == "lower")],
        "runs": compared.loc[known, "run"].tolist(),
        "evidence": claim.evidence,
    }


def _significance(ps: Sequence[float]) -> dict[str, object]:
    if not ps:
        return {"p": None, "significant": None}
    return {"p": median_high(ps), "significant": sum(p < SIGNIFICANT for p in ps)}


def _differences(cells: pd.DataFrame, system: str, than: str | float) -> list[float]:
    """Return system minus other for each seed that both have; a value without seeds is paired with every seed."""
    one = _by_seed(cells, system)
    other = _by_seed(cells, than) if isinstance(than, str) else than
    return pd.Series(one - other, dtype=float).dropna().tolist()


def _by_seed(cells: pd.DataFrame, system: str) -> pd.Series | float:
    """Return the values of a system by seed, or the single value of a system without seeds."""
    values = cells[cells["column"] == system].set_index("seed")["value"]
    return values.iloc[0] if len(values) and values.index.isna().all() else values
