"""Do the verdicts on the claims follow from the stored numbers? Worked out again without nmtlab's statistics.

    python tests/oracles/recompute_verdicts.py

Reads the cells of the tables in `data/evidence/results`, `*.sentences.csv` beside them, and the published values.
nmtlab is asked only what is claimed and, to compare, what it says: the lines on which the two disagree are printed.
"""

import json
import math
import sys
import tarfile
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import optimize, stats

from nmtlab.grids.results.schemas import as_stored
from nmtlab.thesis.claims.declared import Claim, declared_claims
from nmtlab.thesis.claims.verdicts import measured_claims
from nmtlab.workspace import Workspace

EVIDENCE = Path(__file__).parents[2] / "data/evidence"
HERE = EVIDENCE / "results"
LEVEL, POWER, FEWEST_SEEDS = 0.05, 0.8, 3
PRECISION = 1e-6
NUMBERS = ["effect", "low", "high", "p", "detectable", "q", "bound"]


def main() -> int:
    claims = {claim.text: claim for claim in declared_claims()}
    found = measured_claims(HERE, list(claims.values()), Workspace(HERE.parents[1]))
    lines = pd.DataFrame(
        {"claim": line.claim, "pair": line.pair, **worked_out(claims[line.claim], line.pair)}
        for line in found.itertuples()
    )
    lines["bound"] = [bound_of(claims[line.claim], line.pair) for line in found.itertuples()]
    lines["equivalence_p"] = stats.t.sf((lines["bound"] - lines["effect"].abs()) / lines["error"], lines["freedom"])
    for _, some in lines.groupby(found["evidence"]):
        for p, q in (("p", "q"), ("equivalence_p", "equivalence_q")):
            lines.loc[some.index, q] = false_discoveries(some[p].where(some["usable"] & some["kept"]), some["runs"])
    lines["verdict"] = [verdict(claims[line.claim], line) for line in lines.itertuples()]
    differs = lines["verdict"] != found["verdict"]
    for name in NUMBERS:
        differs |= ~np.isclose(lines[name], found[name], 1e-5, 2 * PRECISION, equal_nan=True)
    print(f"{len(lines)} lines of {lines['claim'].nunique()} claims recomputed; nmtlab disagrees on {differs.sum()}")
    for name in ("claim", "pair", "verdict", *NUMBERS):
        for place in lines.index[differs]:
            print(f"{place}: {name} {lines.loc[place, name]}; nmtlab: {found.loc[place, name]}")
    return int(differs.any())


def worked_out(claim: Claim, pair: str) -> dict[str, object]:
    """Return effect, interval, p and detectable effect of a claim for a language pair."""
    cells = rows_of(HERE / claim.evidence, pair, claim.metric.key)
    level = cells
    if not isinstance(claim.than, str | float):  # another setting of the same runs
        other = rows_of(HERE / claim.evidence, pair, claim.than.key).set_index("run")["value"]
        level = pd.concat([cells, cells.assign(metric=claim.than.key, value=cells["run"].map(other))])
        cells, claim = cells.assign(value=cells["value"] - cells["run"].map(other)), replace(claim, than=0.0)
    if claim.absolute:
        cells = cells.assign(value=cells["value"].abs())
    names = [name for name in (claim.system, claim.than) if isinstance(name, str)]
    compared = cells[cells["column"].isin(names)]
    seeds = cells.groupby(["column", "seed"], dropna=False)["value"].mean()  # over machines
    values = {name: some.dropna().to_numpy() for name, some in seeds.groupby("column")}
    exact = {name for name, some in cells.groupby("column") if some["seed"].isna().all()}
    seeds = [len(values.get(name, ())) for name in names if name not in exact]
    usable = compared["value"].notna().all() and min(seeds, default=0) >= FEWEST_SEEDS and {*names} <= {*values}
    usable = usable and best_mean(level[level["column"].isin(names)]) >= claim.metric.usable
    compared = compared.dropna(subset="value")
    about = {
        "usable": usable,
        "runs": frozenset(compared["run"]),
        "kept": is_kept(claim, compared),
    }
    if not all(len(values.get(name, ())) for name in names):
        return {**about, **named()}
    if claim.metric.key.startswith("types-in-parent"):  # follows from the text alone
        other = values[claim.than].mean() if isinstance(claim.than, str) else claim.than
        effect = values[claim.system].mean() - other
        return {**about, **named(effect, effect, effect, float(effect == null_of(claim)), 0.0)}
    work = shares_of_runs if claim.metric.key == "converged" else means
    spreads = as_stored(HERE / claim.sentences).exists()
    if claim.metric.kind == "proportion" and not isinstance(claim.than, str) and spreads:
        work = share_of_sentences
    return {**about, **work(claim, pair, values, exact)}


def best_mean(cells: pd.DataFrame) -> float:
    """Return the largest mean over seeds, of systems or of settings."""
    return cells.groupby(["column", "metric"])["value"].mean().max()


def is_kept(claim: Claim, cells: pd.DataFrame) -> bool:
    """Return whether a run of every system and seed is still there."""
    made = [run in machines_of_runs(EVIDENCE) for run in zip(cells["run"], cells["machine"], strict=True)]
    return bool(cells.assign(made=made).groupby(["column", "seed"], dropna=False)["made"].any().all())


@cache
def machines_of_runs(evidence: Path) -> set[tuple[str, str]]:
    """Return the names of all packed runs, with the machine that each is from."""
    found = set()
    for path in evidence.glob("runs/*.tar.xz"):
        with tarfile.open(path) as archive:
            name = path.name.removesuffix(".tar.xz")
            content = archive.extractfile(f"{name}/environment.json").read()
        found.add((name, machine_of(json.loads(content)["machine"])))
    return found


def machine_of(facts: dict[str, object]) -> str:
    return facts.get("gpu") or f"{facts['processor']}, {facts['cores']} cores"


def means(claim: Claim, pair: str, values: dict, exact: set) -> dict[str, float]:
    """Compare two means, or a mean with a number: new seeds, crossed with new sentences."""
    names = [name for name in (claim.system, claim.than) if name in values and name not in exact]
    parts = [
        (values[name].var(ddof=1) / len(values[name]), len(values[name]) - 1) for name in names if len(values[name]) > 1
    ]
    parts = parts if len(parts) == len(names) else [(math.nan, 1)]
    if as_stored(HERE / claim.sentences).exists():
        of_pair = isinstance(claim.than, str)  # else the line of the system alone, which names no other
        names = [claim.system, claim.than if of_pair else ""]
        metric = f"|{claim.metric.key}|" if claim.absolute and of_pair else claim.metric.key
        sentences = rows_of(HERE / claim.sentences, pair, metric).fillna({"than": ""})
        both = sentences["system"].isin(names) & sentences["than"].isin(names)
        parts += list(sentences.loc[both, ["variance", "freedom"]].itertuples(index=False))
    other = values[claim.than].mean() if isinstance(claim.than, str) else claim.than
    effect, variance = values[claim.system].mean() - other, sum(part for part, _ in parts)
    if not 0 < variance < math.inf:  # equal values do not show that seeds never differ
        return named(effect)
    freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts if part)
    p = 2 * stats.t.sf(abs(effect - null_of(claim)) / variance**0.5, freedom)
    bound = stats.t.isf(LEVEL / 2, freedom)
    missed = optimize.brentq(lambda away: stats.nct.sf(bound, freedom, away) - POWER, 0, bound + 10)
    low, high = effect - bound * variance**0.5, effect + bound * variance**0.5
    return {**named(effect, low, high, p, missed * variance**0.5), "error": variance**0.5, "freedom": freedom}


def shares_of_runs(claim: Claim, pair: str, values: dict, exact: set) -> dict[str, float]:
    """Compare two shares of runs (Newcombe 1998, Fisher), or one with a number (Wilson 1927, exact binomial)."""
    one = values[claim.system]
    a, n = int(one.sum()), len(one)
    if isinstance(claim.than, str):
        other = values[claim.than]
        b, m = int(other.sum()), len(other)
        (low, high), (below, above) = wilson(a, n), wilson(b, m)
        effect = a / n - b / m
        ends = effect - math.hypot(a / n - low, above - b / m), effect + math.hypot(high - a / n, b / m - below)
        p = stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue
        rejected = np.array(
            [[stats.fisher_exact([[i, n - i], [j, m - j]]).pvalue <= LEVEL for j in range(m + 1)] for i in range(n + 1)]
        )

        def power(distance: float) -> float:
            both = [stats.binom.pmf(range(k + 1), k, (1 + sign * distance) / 2) for k, sign in ((n, 1), (m, -1))]
            return float(np.outer(*both)[rejected].sum())

        detectable = next((distance for distance in np.linspace(0, 1, 1001) if power(distance) >= POWER), math.inf)
    else:
        effect, ends = a / n - claim.than, [end - claim.than for end in wilson(a, n)]
        p = stats.binomtest(a, n, claim.than).pvalue
        detectable = missed_share(claim.than, n)
    return named(effect, *ends, p, detectable)


def share_of_sentences(claim: Claim, pair: str, values: dict, exact: set) -> dict[str, float]:
    """Compare a percentage of sentences with a number: Wilson's interval with an effective number of sentences."""
    some, than = values[claim.system] / 100, (claim.than + null_of(claim)) / 100
    stored = rows_of(HERE / claim.sentences, pair, claim.metric.key)
    line = stored[(stored["system"] == claim.system) & stored["than"].isna()].iloc[0]
    parts = [(some.var(ddof=1) / len(some), len(some) - 1), (line["variance"] / 1e4, line["freedom"])]
    share, variance, trials = some.mean(), sum(part for part, _ in parts), float(line["sentences"])
    if variance > 0:  # else all seeds say the same, and count as one
        freedom = variance**2 / sum(part**2 / degrees for part, degrees in parts if part)
        shrunk = (stats.norm.isf(LEVEL / 2) / stats.t.isf(LEVEL / 2, freedom)) ** 2
        trials = min(share * (1 - share) / variance, len(some) * trials) * shrunk
    low, high = wilson(share * trials, trials)
    z = abs(share - than) / math.sqrt(than * (1 - than) / trials)
    p, detectable = 2 * stats.norm.sf(z), missed_share(than, int(trials))
    null = null_of(claim)
    return named(*(100 * (end - than) + null for end in (share, low, high)), p, 100 * detectable)


def missed_share(than: float, trials: int) -> float:
    """Return the smallest distance from a share that the exact test of some trials detects."""
    fewest, most = stats.binom.ppf(LEVEL / 2, trials, than), stats.binom.isf(LEVEL / 2, trials, than)

    def power(distance: float) -> float:
        below, above = than - distance, than + distance
        found = stats.binom.cdf(fewest - 1, trials, below) if below >= 0 else 0
        return max(found, stats.binom.sf(most, trials, above) if above <= 1 else 0)

    return next((distance for distance in np.linspace(0, 1, 1001) if power(distance) >= POWER), math.inf)


def named(*numbers: float) -> dict[str, float]:
    """Return numbers by name; those that are not given are unknown."""
    return dict(zip_longest(NUMBERS[:5], numbers, fillvalue=math.nan))


def wilson(successes: float, trials: float) -> tuple[float, float]:
    z, share = stats.norm.isf(LEVEL / 2), successes / trials
    middle = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    return middle - half, middle + half


def false_discoveries(ps: pd.Series, runs: pd.Series) -> pd.Series:
    """Return the smallest level at which each line is a discovery, by bisection.

    At a level, entries (lines of the same runs) are tested by Simes' p with Benjamini and Hochberg's procedure, and the
    lines of those that pass by the same procedure at the level times the share that passed.
    """
    entries = [some for _, some in ps.dropna().groupby(runs)]
    simes = np.array([(np.sort(some) * len(some) / np.arange(1, len(some) + 1)).min() for some in entries])

    @cache
    def discovered(level: float) -> set[int]:
        passed = passing(simes, level)
        own = level * passed.sum() / len(entries)
        return {
            line
            for some, good in zip(entries, passed, strict=True)
            if good
            for line in some.index[passing(some.to_numpy(), own)]
        }

    low, high = (pd.Series(end, index=ps.dropna().index) for end in (0.0, 2.0))
    while (high - low).max() > PRECISION:
        middle = (low + high) / 2
        found = pd.Series({line: line in discovered(level) for line, level in middle.items()}, dtype=bool)
        low, high = low.where(found, middle), high.where(~found, middle)
    return high.reindex(ps.index)


def passing(ps: np.ndarray, level: float) -> np.ndarray:
    """Return which hypotheses Benjamini and Hochberg (1995) reject at a level."""
    ordered = np.sort(ps)
    below = ordered[ordered <= level * np.arange(1, len(ps) + 1) / len(ps)]
    return ps <= below.max(initial=-1.0)


def verdict(claim: Claim, line: object) -> str:
    if not line.kept:
        return "measured earlier, runs not kept"
    null = null_of(claim)
    side = "higher" if line.low > null else "lower" if line.high < null else ""
    if line.usable and side and line.q <= LEVEL:
        return "reproduced here" if side == claim.expects else "contradicted here"
    if line.usable and line.equivalence_q <= LEVEL:
        return "equivalent"
    return "underpowered" if line.usable and line.detectable > aim_of(claim, line.pair) else "inconclusive"


def aim_of(claim: Claim, pair: str) -> float:
    """Return the distance from the tested effect that was to be detected: the published one, or 1 BLEU."""
    if (published := published_of(claim, pair)) == published:
        return published
    if claim.metric.key == "converged":
        return 1.0 if isinstance(claim.than, str) else max(claim.than, 1 - claim.than)
    return 1.0 if "BLEU" in claim.metric.label else math.nan


def bound_of(claim: Claim, pair: str) -> float:
    """Return the bound of equivalence: half a point of BLEU, or a tenth of the published effect or of the gain."""
    if claim.tolerance or claim.metric.key == "converged":
        return math.nan
    bounds = [published_of(claim, pair) / 10, 0.5 if "BLEU" in claim.metric.label else math.nan]
    if claim.table.name == "transferred-parts":  # what a child gains from its parent
        cells = rows_of(HERE / "related-parents.small.csv", pair, claim.metric.key).groupby("column")["value"].mean()
        bounds.append((cells["BPE + transfer"] - cells["BPE"]) / 10)
    return max((bound for bound in bounds if bound == bound), default=math.nan)


def published_of(claim: Claim, pair: str) -> float:
    """Return the distance of the published difference from the tested effect; NaN without one, as of two numbers."""
    if not isinstance(claim.than, str | float):
        return math.nan
    path, names = HERE.parent / f"published/{claim.table.name}.csv", [claim.system, claim.than]
    printed = printed_in(path)
    printed = printed[printed["metric"] == claim.metric.key]
    if len(printed) and {name for name in names if isinstance(name, str)} <= {*printed["column"]}:
        numbers = printed.assign(
            number=[0.0 if one.startswith("fail") else float(one or "nan") for one in printed["value"]]
        )
        table = numbers.pivot(index="row", columns="column", values="number")
        table = table.abs() if claim.absolute else table
        other = table[claim.than] if isinstance(claim.than, str) else claim.than
        distances = (table[claim.system] - other - null_of(claim)).abs().dropna().round(6)
        distances = distances[distances > 0].drop([row.name for row in claim.but], errors="ignore")
        if len(distances):
            return distances.get(pair, distances.min())
    return math.nan


def null_of(claim: Claim) -> float:
    """Return the effect that is tested: 0, or the tolerance of a claim that something is as good."""
    return -claim.tolerance if claim.expects == "higher" else claim.tolerance


@cache
def lines_of(path: Path) -> pd.DataFrame:
    return pd.read_csv(as_stored(path))


@cache
def printed_in(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else pd.DataFrame(columns=["metric"])


def rows_of(path: Path, pair: str, metric: str = "") -> pd.DataFrame:
    lines = lines_of(path)
    return lines[(lines["row"] == pair) & ((lines["metric"] == metric) if metric else True)]


if __name__ == "__main__":
    sys.exit(main())
