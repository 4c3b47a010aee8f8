"""What does each source token contribute to each target token? By erasure and gradients, in the form of attention."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import NEURAL, WEIGHTS
from nmtlab.analysis.access.opened import RunOrSystem, opened, output_type_of
from nmtlab.analysis.access.word_pairs import WordPair, between_words
from nmtlab.analysis.attention.heatmap import Links, Look, heatmaps
from nmtlab.analysis.attention.weights import peaks, peaks_finding, pieces_of, weights_frame
from nmtlab.analysis.attribution.methods import Contrast, erasure, input_x_gradient, integrated_gradients
from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import DIVERGING
from nmtlab.models.interface import TranslationModel
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.translation import Translator

Method = Literal["erasure", "replacement by <unk>", "input × gradient", "integrated gradients"]
METHODS: tuple[Method, ...] = get_args(Method)
SLOW: Method = "integrated gradients"
"""The method that takes many gradients for each target token."""

_Explain = Callable[[TranslationModel, Sequence[int], Sequence[int], Contrast | None], np.ndarray]
_EXPLAIN: Mapping[Method, _Explain] = {
    "erasure": erasure,
    "replacement by <unk>": partial(erasure, replacement=UNK),
    "input × gradient": input_x_gradient,
    "integrated gradients": integrated_gradients,
}


class Instead(NamedTuple):
    """A word that a target token is compared with.

    Args:
        position: of the target token, from 0.
        word: a type of the target vocabulary, as written.
    """

    position: int
    word: str


def contributions(
    system: RunOrSystem,
    source: str,
    target: str | None = None,
    method: Method = "erasure",
    instead: Instead | None = None,
) -> pd.DataFrame:
    """Return the contribution of each source token to each target token of a system.

    A contribution is in nats of the target token's log-probability, and positive where the source token supports it.
    With another word `instead`, that of the chosen target token is to the difference of the two log-probabilities: why
    this token and not the other (Yin and Neubig 2022).

    Args:
        target: a translation to force; the system's own translation if not given.
        method: see `erasure` and `gradients`. Subword systems have hardly seen `<unk>` in training: erase instead.
        instead: the position and the word to compare with.

    Returns:
        Rows of `weights.attention`, with one layer and one head, in which `weight` is the contribution. In
        `target_piece`, a token that is compared has the form `this, not that`.

    Raises:
        CorpusError: the source sentence is blank.
        NmtlabError: no such position, or a word that the system cannot produce.
    """
    translator = opened(system)
    pair = pieces_of(translator, source, target)
    contrast = None if instead is None else _contrast(translator, pair.target_ids, instead)
    weights = _EXPLAIN[method](translator.model, pair.source_ids, pair.target_ids, contrast)
    if instead is not None:
        pair.target_pieces[instead.position] += f", not {instead.word}"
    return weights_frame(translator.pipeline, pair, weights[None, None])


def contribution_figure(contributions: pd.DataFrame, method: Method = "erasure", links: Links = ()) -> go.Figure:
    """Draw a heatmap for each run, of the contributions of source tokens to target tokens.

    Args:
        contributions: rows of `contributions`, with their `run`.
        method: by which they were found.
        links: token pairs to mark with a ring.
    """
    most = contributions["weight"].abs().max() or 1.0
    hover = "%{customdata[0]} contributes %{z:+.2f} nats to %{customdata[1]}"
    look = Look(f"Contribution of each source word, by {method}", "nats", -most, most, DIVERGING, hover)
    return heatmaps(contributions, look, links)


def contributions_finding(contributions: pd.DataFrame, links: Links = ()) -> str:
    """Say how often the largest contribution is an aligned token's; arguments as of `contribution_figure`."""
    return peaks_finding(contributions, links, what="Largest contributions")


CONTRIBUTIONS = Analysis(
    "What does each source word contribute to each target word?",
    contributions,
    source="Li, Monroe and Jurafsky 2016; Denil et al. 2014; Sundararajan et al. 2017",
    needs=(NEURAL, WEIGHTS),
    table=peaks,
    figure=contribution_figure,
    finding=contributions_finding,
)


def word_contributions(system: Translator, pairs: Sequence[WordPair], method: Method) -> list[np.ndarray]:
    """Return the contributions in each pair under its forced target, (target words, source words).

    Args:
        pairs: split into words by the system's pipeline.
        method: as of `contributions`.
    """
    explain = _EXPLAIN[method]
    return [between_words(explain(system.model, pair.source_ids, pair.target_ids, None), pair) for pair in pairs]


def _contrast(system: Translator, ids: Sequence[int], instead: Instead) -> Contrast:
    if not 0 <= instead.position < len(ids):
        last = len(ids) - 1
        raise NmtlabError(f"target position {instead.position}: the last one is {last}", f"choose one from 0 to {last}")
    step = system.pipeline.target.reading_order(ids)[instead.position]
    return Contrast(step, output_type_of(system, instead.word))
