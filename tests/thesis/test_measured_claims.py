"""What is said of the claims on the measured tables, against a second computation in pandas and statsmodels."""

import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from nmtlab.grids.results.schemas import CELLS, as_stored
from nmtlab.grids.results.statistics import DECIDED
from nmtlab.thesis.claims.declared import Claim, declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims, not_measured
from nmtlab.workspace import RESULTS

pytestmark = pytest.mark.usefixtures("all_kept")


@cache
def lines_of(path: Path) -> pd.DataFrame:
    return pd.read_csv(as_stored(path))


def recomputed(claim: Claim, table: pd.DataFrame, spreads: pd.DataFrame) -> tuple[float, float, float]:
    """Return effect and interval of a claim from the cells of a row, worked out anew."""
    table = table.assign(value=table["value"].abs()) if claim.absolute else table
    seeds = table.groupby(["column", "seed"], dropna=False)["value"].mean().dropna()  # over machines
    values = {str(name): some.to_numpy() for name, some in seeds.groupby("column")}
    exact = {str(name) for name, some in table.groupby("column") if some["seed"].isna().all()}
    one, other = values[claim.system], values[claim.than] if isinstance(claim.than, str) else claim.than
    trained = [name for name in (claim.system, claim.than) if name in values and name not in exact]
    parts = [(values[name].var(ddof=1) / len(values[name]), len(values[name]) - 1) for name in trained]
    if claim.metric.kind == "proportion" and not isinstance(claim.than, str):
        (alone,) = spreads[(spreads["system"] == claim.system) & spreads["than"].isna()].itertuples()
        return recomputed_share(one, claim.than, alone.variance, alone.sentences)
    pair = {claim.system, claim.than if isinstance(claim.than, str) else ""}
    for line in spreads.fillna({"than": ""}).itertuples():
        if {line.system, line.than} == pair:
            parts.append((line.variance, line.freedom))
    variance = 0.0 if claim.metric.kind == "count" else sum(v for v, _ in parts)
    freedom = variance**2 / sum(v**2 / f for v, f in parts if v) if variance else math.nan
    effect = float(one.mean() - (other.mean() if isinstance(claim.than, str) else other))
    exactly = 0.0 if claim.metric.kind == "count" else math.nan  # equal values alone prove nothing
    margin = stats.t.isf(0.025, freedom) * variance**0.5 if variance else exactly
    return effect, effect - margin, effect + margin


def recomputed_share(
    percentages: np.ndarray, than: float, variance: float, sentences: int
) -> tuple[float, float, float]:
    """Return a percentage of sentences less a number, and its interval by statsmodels."""
    seeds, share = len(percentages), percentages.mean() / 100
    parts = [(percentages.var(ddof=1) / seeds, seeds - 1), (variance, sentences - 1)]
    whole, trials = sum(v for v, _ in parts), float(sentences)
    if whole:
        freedom = whole**2 / sum(v**2 / f for v, f in parts)
        trials = min(1e4 * share * (1 - share) / whole, seeds * sentences)
        trials *= (stats.norm.isf(0.025) / stats.t.isf(0.025, freedom)) ** 2
    low, high = proportion_confint(share * trials, trials, 0.05, "wilson")
    return 100 * share - than, 100 * low - than, 100 * high - than


@pytest.mark.full
def test_what_is_said_of_the_measured_tables_is_what_pandas_finds_in_their_files():
    if not any(RESULTS.glob("*.small.csv*")):
        pytest.skip("nothing was measured in this checkout")
    found = measured_claims()
    by_text = {claim.text: claim for claim in declared_claims()}
    decided = found[(found["seeds"] >= 3) & (found["metric"] != "converged")]
    assert len(decided) > 100
    for line in decided.itertuples():
        claim = by_text[line.claim]
        whole = lines_of(RESULTS / line.evidence).query("row == @line.pair")
        table = whole[whole["metric"] == claim.metric.key]
        if not isinstance(claim.than, str | float):  # another setting of the same runs
            other = whole[whole["metric"] == claim.than.key].set_index("run")["value"]
            table, claim = table.assign(value=table["value"] - table["run"].map(other)), replace(claim, than=0.0)
        table, path = table.dropna(subset="value"), as_stored(RESULTS / claim.sentences)
        spreads = lines_of(path) if path.exists() else pd.DataFrame(columns=["row", "metric", "system", "than"])
        compared = f"|{claim.metric.key}|" if claim.absolute and isinstance(claim.than, str) else claim.metric.key
        spreads = spreads[(spreads["row"] == line.pair) & (spreads["metric"] == compared)]
        _, low, high = worked = recomputed(claim, table, spreads)
        assert (line.effect, line.low, line.high) == pytest.approx(worked, rel=1e-9, abs=1e-12, nan_ok=True)
        used = table[table["column"].isin([claim.system, claim.than])]
        assert line.runs == used["run"].unique().tolist()
        null = -claim.tolerance if claim.expects == "higher" else claim.tolerance
        if line.verdict in ("reproduced here", "contradicted here"):
            above = low > null
            assert above or high < null
            assert (line.verdict == "reproduced here") == (above == (claim.expects == "higher"))
            assert line.q <= 0.05
        elif line.verdict == "equivalent":
            assert max(-low, high) < line.bound  # at 95 %, so at 90 % too
        else:
            assert line.reason
    undecided = found[~found["verdict"].isin(DECIDED)]
    assert undecided["reason"].ne("").all()
    measured, missing = set(found["claim"]), {claim.text for claim in not_measured(found)}
    assert (measured | missing, measured & missing) == (set(by_text), set())


@pytest.mark.full
def test_a_claim_is_not_measured_only_if_what_it_compares_has_no_run():
    for claim in not_measured(measured_claims()):
        cells = CELLS.read(RESULTS / claim.evidence)
        made = cells[(cells["status"] != "not run") & (cells["metric"] == claim.metric.key)]
        compared = {claim.system, claim.than} - {""}
        assert not any(compared <= set(columns) for _, columns in made.groupby("row")["column"])


def test_the_page_on_search_has_the_effects_of_a_wider_beam():
    claims = [one for one in declared_claims() if one.evidence.startswith("length-planning")]
    found = measured_claims(claims=claims)
    text = (Path(__file__).parents[2] / "docs/results/search.md").read_text(encoding="utf-8")
    section = re.sub(r"\s+", " ", text.partition("## Wider beams")[2].partition("##")[0])
    about = found["claim"].str.contains("worse at a beam of 12 than|as good as at a beam of 4", regex=True)
    shown = [f"{line.effect:+.1f} ± {(line.high - line.low) / 2:.1f}" for line in found[about].itertuples()]
    assert len(shown) == 8
    assert [number for number in shown if number not in section] == []
