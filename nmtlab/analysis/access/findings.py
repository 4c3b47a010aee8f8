"""Shares, systems and translations as findings write them."""

import re

import pandas as pd

from nmtlab.figures.theme import isolated
from nmtlab.figures.words import number
from nmtlab.text.segmentation.vocabulary import SPECIALS, UNK

_LETTERS = 90


def percent(share: float) -> str:
    """Return a share from 0 to 1 in whole per cent: `31 %`."""
    return f"{number(100 * share, 0)} %"


def over_seeds(shares: pd.Series) -> str:
    """Return the mean of shares in whole per cent, and their range: `31 % (29 to 34)`."""
    low, high = (number(100 * end, 0) for end in (shares.min(), shares.max()))
    return percent(shares.mean()) + (f" ({low} to {high})" if low != high else "")


def without_seed(label: str) -> str:
    """Return the label of a run without its seed: what all seeds of a system share."""
    return re.sub(r"(^|, )seed \d+$|\.s\d+$", "", label) or "all seeds"


def legible(text: str) -> str:
    """Return a translation as a reader sees it: `<unk>` in words, and the empty one named."""
    return text.replace(SPECIALS[UNK], "⟨unknown⟩") or "(empty)"


def cited(text: str) -> str:
    """Return a translation in quotation marks, cut if it is long, `<unk>` in words; the empty one by its name."""
    known = legible(text)
    shown = known if len(known) <= _LETTERS else f"{known[: _LETTERS - 1]}…"
    return f"“{isolated(shown)}”" if text else "the empty one"
