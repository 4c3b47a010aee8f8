"""How findings name runs and numbers: one precision a quantity, a real minus sign, at most four runs."""

import re
from collections.abc import Iterable, Sequence

import pandas as pd

MOST = 4
"""Runs that a sentence names; others are counted."""


def number(value: float, digits: int = 2) -> str:
    """Return a number as text, with thousands apart: `1,200`, `−0.32`."""
    return f"{value:,.{digits}f}".replace("-", "−")


def percent(share: float) -> str:
    """Return a share from 0 to 1 in whole per cent: `31 %`."""
    return f"{number(100 * share, 0)} %"


def listed(parts: Sequence[str]) -> str:
    """Return parts of a sentence in a row, at most `MOST`: `a; b; c; d; and 2 more`."""
    more = len(parts) - MOST
    return "; ".join([*parts[:MOST], *([f"and {more} more"] if more > 0 else [])])


def named(labels: Iterable[object]) -> str:
    """Return the labels of runs in a sentence, at most `MOST`: `a, b, c, d and 2 more`."""
    names = [str(label) for label in labels]
    if len(names) > MOST:
        return f"{', '.join(names[:MOST])} and {len(names) - MOST} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def without_seed(label: str) -> str:
    """Return the label of a run without its seed: what all seeds of a system share."""
    return re.sub(r"(^|, )seed \d+$|\.s\d+$", "", label) or "all seeds"


def over_seeds(shares: pd.Series) -> str:
    """Return the mean of shares in whole per cent, with the least and the greatest of several: `31 % (29 to 34)`."""
    ends = [number(100 * end, 0) for end in (shares.min(), shares.max())]
    return percent(shares.mean()) + (f" ({ends[0]} to {ends[1]})" if ends[0] != ends[1] else "")
