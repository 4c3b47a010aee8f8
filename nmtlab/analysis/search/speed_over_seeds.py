"""The seeds of one system as one, and how many times as fast as another it is."""

import math

import pandas as pd
from scipy import stats

from nmtlab.analysis.access.findings import without_seed
from nmtlab.analysis.search.stored_speed import MEASURED, PLACE, SETTING
from nmtlab.evaluation.intervals import LEVEL, interval
from nmtlab.figures.words import number

_SCORES = ("bleu", "chrf")
_MEANS = [name for name in MEASURED if not name.endswith("_margin")] + [
    "milliseconds",
    "processor_milliseconds",
    "dollars",
]


def over_seeds(found: pd.DataFrame) -> pd.DataFrame:
    """Return rows of `medians`, priced or not, those of the seeds of one system as one.

    Returns:
        The same columns, the number of `seeds` and the `first` run. Several seeds have the name of their system, means,
        and margins of 95 % over the seeds; what has one keeps its name, and its margins over sentences.
    """
    groups = _by_system(found)
    means = groups.agg(
        **{name: (name, "mean") for name in _MEANS if name in found},
        rounds=("rounds", "min"),
        signature=("signature", "first"),
        load_average=("load_average", "max"),
        seeds=("run", "size"),
        first=("run", "first"),
    )
    for score in _SCORES:
        over = groups[score].agg(lambda values: interval(values.tolist()).margin)
        means[f"{score}_margin"] = over.where(means["seeds"] > 1, groups[f"{score}_margin"].first())
    found = means.reset_index()
    return found.assign(run=found["run"].where(found["seeds"] > 1, found["first"]))


def against(found: pd.DataFrame, base: pd.Series, cost: str, score: str) -> pd.DataFrame:
    """Return how many times as fast as one of them systems are, and how much better.

    Args:
        found: rows of `medians`, perhaps `priced`, on one text and machine.
        base: a row of `over_seeds` of them.
        cost: column that is better the lower, above 0.
        score: column that is better the higher.

    Returns:
        A row for each row of `over_seeds`, with its setting and `seeds`; `faster`, the base's cost divided by its,
        `faster_low` and `faster_high`; `gain`, its score less the base's, `gain_low` and `gain_high`. The intervals are
        Welch's over the seeds, of the logarithm for `faster`, and NaN where either has a single seed.
    """
    groups = dict(iter(_by_system(found)))
    ours = groups[(*base[PLACE], without_seed(base["run"]), *base[SETTING[1:]])]
    rows = []
    for name, theirs in groups.items():
        faster = _difference(-theirs[cost].map(math.log), -ours[cost].map(math.log))
        gain = _difference(theirs[score], ours[score])
        run = name[len(PLACE)] if len(theirs) > 1 else theirs["run"].iloc[0]
        rows.append((run, *name[len(PLACE) + 1 :], len(theirs), *map(math.exp, faster), *gain))
    ends = ("", "_low", "_high")
    return pd.DataFrame(
        rows, columns=[*SETTING, "seeds", *(f"faster{end}" for end in ends), *(f"gain{end}" for end in ends)]
    )


def fastest_within(systems: pd.DataFrame, losses: tuple[float, ...], name: str) -> str:
    """Return which system is the fastest that loses at most so much, for some losses.

    Args:
        systems: of `against`, with `label`, what each is called.
        losses: points of the score, the smallest first.
        name: of the score.
    """
    return "; ".join(f"at most {loss:g} {name} less, {_fastest(systems, loss, name)}" for loss in losses)


def _fastest(systems: pd.DataFrame, loss: float, name: str) -> str:
    faster = systems[(systems["gain"] >= -loss) & (systems["faster"] > 1)]
    if faster.empty:
        return "none is faster"
    best = faster.loc[faster["faster"].idxmax()]
    speed = f"{number(best['faster'], 1)}{_between(best, 'faster')} times as fast"
    return f"{best['label']}: {speed}, {number(best['gain'], 1, sign=True)}{_between(best, 'gain', sign=True)} {name}"


def _by_system(found: pd.DataFrame) -> "pd.api.typing.DataFrameGroupBy":
    return found.groupby([*PLACE, found["run"].map(without_seed), *SETTING[1:]], sort=False)


def _difference(theirs: pd.Series, ours: pd.Series) -> tuple[float, float, float]:
    """Return the difference of two means and its interval (Welch)."""
    mean = theirs.mean() - ours.mean()
    if min(len(theirs), len(ours)) < 2:
        return mean, math.nan, math.nan
    low, high = stats.ttest_ind(theirs, ours, equal_var=False).confidence_interval(1 - LEVEL)
    return mean, low, high


def spread(row: pd.Series, name: str, digits: int = 1, sign: bool = False) -> str:
    """Return the interval of a column of `against`: `5.1 to 5.6`; empty if there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{number(low, digits, sign)} to {number(high, digits, sign)}" if low == low else ""


def _between(row: pd.Series, name: str, sign: bool = False) -> str:
    found = spread(row, name, sign=sign)
    return f" ({found})" if found else ""
