"""Where are attention peaks, counted from the aligned word, and how many are a sink on the first one?"""

import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import over_seeds, percent, without_seed
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, WEIGHTS, Need, in_direction
from nmtlab.analysis.access.reference_links import kept_links
from nmtlab.analysis.attention.shift import attention_shift
from nmtlab.analysis.attention.strips import strips
from nmtlab.errors import CorpusError
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

SINK, _ALIGNED = "first word", "aligned word"
_FAR = 3
"""Shifts from here on count together."""

PLACES = (SINK, *(f"{n}{'+' * (n == _FAR)} left" for n in range(_FAR, 0, -1)), _ALIGNED,
          *(f"{n}{'+' * (n == _FAR)} right" for n in range(1, _FAR + 1)))  # fmt: skip
"""Where a peak can be, from left to right in the source; the first word is apart."""

_MIDDLE = PLACES.index(_ALIGNED)


def linked_sentences(run: Run) -> ParallelCorpus | None:
    """Return the sentences packed with a run, if they are in its direction and have word links."""
    text = run.sentences
    try:
        return text if text and text.direction == run.direction and kept_links(text, "dev")[0] else None
    except CorpusError:
        return None


_LINKED = Need(
    "no aligned sentences", "it has no sentences with word links", "choose a packed run with sentences",
    lambda run: linked_sentences(run) is not None, packed_text=True,
)  # fmt: skip


def peak_places(run: Run, corpus: ParallelCorpus, part: str = "dev") -> pd.DataFrame:
    """Return how far attention peaks are from the aligned words, of target words with a single link.

    Args:
        corpus: with word links for the part.

    Returns:
        A row for each sentence and shift: `line`, from 1; `shift`, how many words left of the aligned word the peak is,
        negative to the right; `sink`, whether it is on the first word while the link is not; `words`, how many.

    Raises:
        CorpusError: no such split, no links, or other languages.
    """
    run = in_direction(run, corpus)
    return counted_places(attention_shift(run, corpus, part, kept_links(corpus, part)[0]))


def counted_places(shifts: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `peak_places`, given those of `attention_shift` of one run."""
    single = shifts[shifts["links"] == 1]
    sink = (single["source_position"] == 0) & (single["linked_position"] != 0)
    grouped = single.assign(sink=sink).groupby(["line", "shift", "sink"]).size().rename("words").reset_index()
    return grouped.astype({"shift": int, "sink": bool})


def place_shares(found: pd.DataFrame) -> pd.DataFrame:
    """Return the share of peaks at each of `PLACES`, of each run.

    Args:
        found: rows of `peak_places`, with their `run`.

    Returns:
        `run`, `place`, `words`, `share` (0 to 1; those of a run add up to 1).
    """
    nearest = _MIDDLE - found["shift"].clip(-_FAR, _FAR)
    place = [PLACES[0 if sink else at] for sink, at in zip(found["sink"], nearest, strict=True)]
    counts = found.assign(place=place).pivot_table("words", "run", "place", "sum", fill_value=0, sort=False)
    counts = counts.reindex(columns=list(PLACES), fill_value=0).rename_axis(columns="place")
    words = counts.stack().rename("words").reset_index()
    return words.assign(share=words["words"] / words.groupby("run")["words"].transform("sum"))


def places_figure(found: pd.DataFrame) -> go.Figure:
    """Draw where peaks are, as `strips`: those on the first word, if that is not the aligned one, are apart.

    Args:
        found: rows of `peak_places`, with their `run`.
    """
    title = "Where are the attention peaks? (% of target words; on the first word if that is not the aligned one)"
    return strips(place_shares(found), SINK, title, "most attended source word, counted from the aligned one")


def _said(found: pd.DataFrame) -> str:
    """Say how many peaks are on the aligned word and on the first, and whether those left of it are a shift by one."""
    if found.empty:
        return ""
    wide = place_shares(found).pivot_table("share", "run", "place", sort=False)
    systems = wide.groupby([without_seed(run) for run in wide.index], sort=False)
    parts = [f"{system} {over_seeds(seeds[_ALIGNED])} and {over_seeds(seeds[SINK])}" for system, seeds in systems]
    means = systems.mean()
    most = means[SINK].idxmax()
    sunk, near = means.loc[most, SINK], means.loc[most, "1 left"]
    kind = "a sink more than a shift" if sunk > near else "a shift more than a sink"
    return (
        f"Peaks on the aligned word, and on the first one instead: {listed(parts, '; ')}. "
        f"In {most} {percent(near)} are one word to the left, which makes it {kind}."
    )


def farthest_off(found: pd.DataFrame) -> list[int]:
    """Return lines, those first in which the fewest peaks are on the aligned word; of equals, the longest first.

    Args:
        found: rows of `peak_places`, of one run.
    """
    on = found["words"].where(found["shift"] == 0, 0)
    lines = found.assign(on=on).groupby("line")[["words", "on"]].sum()
    ordered = lines.assign(share=lines["on"] / lines["words"]).sort_values(
        ["share", "words"], ascending=[True, False], kind="stable"
    )
    return ordered.index.tolist()


PEAK_PLACES = Analysis(
    "How far from the aligned word are attention peaks, and how many are a sink on the first word?",
    peak_places,
    source="thesis 3.2.6.3, Figure 3.3",
    needs=(NEURAL, ATTENDS, WEIGHTS, _LINKED),
    version=1,
    columns=("line", "shift", "sink", "words"),
    table=place_shares,
    figure=places_figure,
    finding=_said,
    follows=(("corpus", linked_sentences),),
)
