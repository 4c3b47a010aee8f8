"""Does a post-editor turn to the source where the translation is poor? Edits against attention, sentence by sentence.

TER counts the words that are inserted, left out, replaced or moved as blocks, to each word of the reference (Snover et
al. 2006): of the machine translation that is read, and of what the system makes of it.
"""

from itertools import islice

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import WEIGHTS, Need, unmet
from nmtlab.analysis.access.scoring import has_words
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.attention.focus import FOCUS, UNTRANSLATED
from nmtlab.evaluation import ter_metric
from nmtlab.figures.theme import BELOW, COLOURS, dressed, plain
from nmtlab.figures.words import listed
from nmtlab.languages import machine_code
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus

_COLUMNS = ("line", "words", "before", "after", "mass")
_FEWEST = 3
"""Sentences of which there is a correlation."""

_EDITS = Need(
    "no machine translations to edit", "none of its sources is a machine translation to be edited",
    "choose a run on triplets, as of 'nmtlab corpus triplets'",
    lambda run: machine_code(run.direction[1]) in run.recipe.corpus.also_sources,
)  # fmt: skip


def edits(run: Run, corpus: ParallelCorpus, split: str = "dev", limit: int | None = None) -> pd.DataFrame:
    """Return what there is to edit in each machine translation, what the run leaves, and how it attends.

    Args:
        corpus: triplets, with all sources of the run.
        split, limit: as of `focus.focus`.

    Returns:
        A row for each sentence: `line`, from 1; `words` of the reference; edits of the machine translation, `before`,
        and of what the run makes of it, `after`; `mass`, 0 to 1, the mean attention of its tokens to the first source,
        NaN if it has none, or if the run has an attention to each source.

    Raises:
        CorpusError: as of `focus.focus`.
    """
    mass = _attention_to_first(run, corpus, split, limit)
    references = corpus.references(split)
    scorer = ter_metric(characters=not has_words(references[0], corpus.target))
    machine, edited = list(corpus.lines(split, machine_code(corpus.target))), translations(run, corpus, split)
    sentences, rows = zip(machine, edited, zip(*references, strict=True), strict=True), []
    for line, (*texts, right) in enumerate(islice(sentences, limit), start=1):
        before, after = (scorer.sentence_score(text, right) for text in texts)
        rows.append((line, before.ref_length, before.num_edits, after.num_edits, mass.get(line, np.nan)))
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def _attention_to_first(run: Run, corpus: ParallelCorpus, split: str, limit: int | None) -> dict[int, float]:
    """Return the mean attention to the first source, by line; of none, if each source has an attention."""
    if unmet(run, FOCUS.needs):
        return {}
    found = FOCUS.of(run, corpus=corpus, split=split, limit=limit)
    return found[found["source"] == run.direction[0]].groupby("line")["mass"].mean().to_dict()


def edits_summary(found: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run: `sentences`, `unedited` and `edited` TER (%), and the `correlation`.

    That is Pearson's, of the edit rate of a machine translation and the attention to the source; NaN of fewer than
    three sentences, or if one of the two is the same in all.
    """
    rows = []
    for run, of in found.groupby("run", sort=False):
        words = of["words"].sum()
        rows.append((run, len(of), *(100 * of[side].sum() / words for side in ("before", "after")), _correlation(of)))
    return pd.DataFrame(rows, columns=["run", "sentences", "unedited", "edited", "correlation"])


def _rates(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a reference and a translation, with the edit `rate` of what was to be edited (%)."""
    some = found[(found["words"] > 0) & found["mass"].notna()]
    return some.assign(rate=100 * some["before"] / some["words"])


def _correlation(found: pd.DataFrame) -> float:
    rates = _rates(found)
    if len(rates) < _FEWEST or rates["rate"].nunique() < 2 or rates["mass"].nunique() < 2:
        return np.nan
    return float(np.corrcoef(rates["rate"], rates["mass"])[0, 1])


def edits_figure(found: pd.DataFrame) -> go.Figure:
    """Draw a point for each sentence of each run: its edit rate, and the attention to the source."""
    figure = go.Figure()
    for colour, (run, rows) in zip(COLOURS, _rates(found).groupby("run", sort=False), strict=False):
        figure.add_scatter(
            x=rows["rate"], y=rows["mass"], mode="markers", name=plain(str(run)), customdata=rows["line"],
            marker={"color": colour, "size": 7, "opacity": 0.6},
            hovertemplate="line %{customdata}: TER %{x:.0f} %, %{y:.2f} on the source<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="edits to each word of the machine translation (TER, %)", rangemode="tozero")
    figure.update_yaxes(title_text="share of attention on the source", range=[0, 1])
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Do poor translations turn attention to the source?", 420)


def edits_finding(found: pd.DataFrame) -> str:
    """Say how much is edited, and how the attention to the source goes with what there is to edit."""
    parts = []
    for _, of in edits_summary(found).iterrows():
        known = "no correlation" if np.isnan(of["correlation"]) else f"a correlation of {of['correlation']:.2f}"
        parts.append(
            f"{of['run']} has {known} over {of['sentences']:,} sentences, and a TER of {of['edited']:.1f} after "
            f"{of['unedited']:.1f}"
        )
    return f"Edit rate against the attention to the source: {listed(parts, '; ')}." if parts else ""


_NEEDS = (_EDITS, WEIGHTS)

EDITS = Analysis(
    "Do poor translations turn a post-editor's attention to the source?",
    edits,
    source="Jauregi Unanue et al. 2018",
    needs=_NEEDS,
    version=1,
    columns=_COLUMNS,
    table=edits_summary,
    figure=edits_figure,
    finding=edits_finding,
    absent=UNTRANSLATED,
    metrics=(
        Metric(
            "test-ter", "TER after editing (%)", "ratio", "%", "lower", amount="after", of="words", needs=_NEEDS
        ),
        Metric(
            "edits-saved", "edits saved (TER, %)", "ratio", "%", amount="before", less="after", of="words",
            needs=_NEEDS,
        ),
    ),
    several_sources=True,
)  # fmt: skip
