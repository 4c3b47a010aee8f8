"""What does noise in training text do to translations? (Khayrallah and Koehn 2018)

A system that was trained on copies of the source copies: its output is the source, or nearer to it than to the
reference.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.languages.off_target import classifier_of, off_target_lines
from nmtlab.evaluation.scores import ter_metric
from nmtlab.figures.theme import BELOW, COLOURS, dressed, name_in_lines
from nmtlab.languages import is_without_spaces
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.tokenizers import moses_words

_ALL = 100.0
"""TER of a line of which every word is edited."""

_NAMES = {
    "copied": "copies of the source",
    "nearer": "nearer to the source than to the reference",
    "other": "in the source language",
}


def source_copies(lines: Sequence[str], corpus: ParallelCorpus, of: Literal["dev", "test"] = "test") -> np.ndarray:
    """Return which translations are their source, whatever the white space, and not a reference: (lines,), 1 or 0.

    Args:
        lines: translations of all sentences of a part of the corpus.
        corpus: the text.
        of: the part.
    """
    texts = (lines, corpus.lines(of, corpus.source), *corpus.references(of))
    copied = [
        line == source and source not in references
        for line, source, *references in zip(*(map(_solid, text) for text in texts), strict=True)
    ]
    return np.array(copied, dtype=float)


def nearer_source(lines: Sequence[str], corpus: ParallelCorpus, of: Literal["dev", "test"] = "test") -> np.ndarray:
    """Return which translations have a lower TER against their source than against their references: (lines,), 1 or 0.

    Moses tokens by the rules of the target language are compared, without case; characters if it is written without
    spaces. A translation that has nothing of its source is not nearer to it, however short its reference. Arguments as
    of `source_copies`.
    """
    split = _solid if is_without_spaces(corpus.target) else moses_words(corpus.target).split
    texts, ter = (lines, corpus.lines(of, corpus.source), *corpus.references(of)), ter_metric()
    tokens = [[" ".join(split(line)) for line in text] for text in texts]
    nearer = [
        ter.sentence_score(line, [source]).score < min(_ALL, ter.sentence_score(line, references).score)
        for line, source, *references in zip(*tokens, strict=True)
    ]
    return np.array(nearer, dtype=float)


def _solid(line: str) -> str:
    """Return a line without white space."""
    return "".join(line.split())


def noise_effects(
    run: Run,
    corpus: ParallelCorpus,
    texts: Sequence[ParallelCorpus] = (),
    of: Literal["dev", "test"] = "test",
) -> pd.DataFrame:
    """Return of each translation of a run whether it is like the effect of noise.

    Args:
        run: a trained run, in the corpus' direction.
        corpus: the text that is translated.
        texts: clean texts whose languages a translation may be in; the training text of the corpus if none are given,
            not that of the run, whose noise would pass for the target language. Without a text in a third language, a
            line in it passes for one in the target language or in the source language.
        of: the part of the corpus that is translated.

    Returns:
        A row for each sentence: `line`, from 1; `copied`, as of `source_copies`; `nearer`, as of `nearer_source`;
        `other`, whether it is in another of these languages than the target's, as of `off_target_lines`.

    Raises:
        CorpusError: no such text, or none in the target language.
    """
    found = translations(run, corpus, of)
    other = off_target_lines(found, corpus.target, classifier_of(texts or (corpus,)))
    marks = {"copied": source_copies(found, corpus, of), "nearer": nearer_source(found, corpus, of), "other": other}
    return pd.DataFrame({"line": range(1, len(found) + 1), **marks})


def effect_shares(found: pd.DataFrame) -> pd.DataFrame:
    """Return the shares of a run's translations in percent: `run`, `lines`, `copied`, `nearer` and `other`.

    Args:
        found: rows of `noise_effects`, with their `run`.
    """
    of = found.groupby("run", sort=False)
    shares = 100 * of[[*_NAMES]].mean()
    return shares.assign(lines=of.size())[["lines", *_NAMES]].reset_index()


def effects_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the shares of `effect_shares` as bars, a group for each run.

    Args:
        found: rows of `noise_effects`, with their `run`.
    """
    shares, figure = effect_shares(found), go.Figure()
    for (column, name), colour in zip(_NAMES.items(), COLOURS, strict=False):
        figure.add_bar(
            x=[name_in_lines(run) for run in shares["run"]], y=shares[column], name=name, marker={"color": colour},
            hovertemplate="%{y:.1f} %<extra>" + name + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="run")
    figure.update_yaxes(title_text="share of the translations (%)", rangemode="tozero")
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, "Translations that are the source, or like it", 440)


def effects_finding(found: pd.DataFrame) -> str:
    """Say how many translations are like their source, and which run copies most.

    Args:
        found: rows of `noise_effects`, with their `run`.
    """
    if found.empty:
        return ""
    shares = effect_shares(found)
    most = shares.loc[shares["nearer"].idxmax()]
    said = f"{most['run']}: {percent(most['copied'] / 100)} of the translations are copies of their source, "
    said += f"{percent(most['nearer'] / 100)} are nearer to it than to the reference, and "
    said += f"{percent(most['other'] / 100)} are in the source language."
    return f"{said} No other run here has more that are nearer to the source." if len(shares) > 1 else said


def _share(key: str, label: str, column: str, hits: Callable[..., np.ndarray]) -> Metric:
    return Metric(
        key, label, "proportion", "%", "lower",
        read=lambda found: 100 * found[column].mean(), hits=hits, translations="test-bleu",
    )  # fmt: skip


NOISE_EFFECTS = Analysis(
    "What does noise in the training text do to translations?",
    noise_effects,
    source="Khayrallah and Koehn 2018",
    version=2,
    columns=("line", "copied", "nearer", "other"),
    table=effect_shares,
    figure=effects_figure,
    finding=effects_finding,
    metrics=(
        _share(
            "source-copies", "copies of the source (%)", "copied", lambda lines, corpus: source_copies(lines, corpus)
        ),
        _share(
            "nearer-source", "nearer to the source (%)", "nearer", lambda lines, corpus: nearer_source(lines, corpus)
        ),
    ),
)
