"""Which source does each word come from? The mass of one attention to several sources (Jauregi Unanue et al. 2018).

Of a target token i, the mass on a source is Σ_j α_ij over the tokens j of that source. The token is from a source with
a mass above t, and from both if there is none; of two sources with masses α and 1 - α, from the second if α < 1 - t.

The second source of a run that reads sentences in context is the sentence before, with the separator.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import over_seeds, without_seed
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import ATTENDS, NEURAL, WEIGHTS, Need, in_direction
from nmtlab.analysis.access.translations import more_sources
from nmtlab.analysis.attention.strips import strips
from nmtlab.analysis.attention.weights import segments
from nmtlab.errors import NmtlabError
from nmtlab.figures.theme import BELOW, COLOURS, dressed, plain, readable
from nmtlab.figures.words import listed
from nmtlab.runs.run import Run
from nmtlab.search.attention import last_layer
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.vocabulary import EOS

BOTH = "both"
"""Focus of a token without a source above the threshold; of three sources and more, on several of them."""

THRESHOLD = 0.6
"""The t of Jauregi Unanue et al. (2018)."""

PUBLISHED = {"src": 0.23, "mt": 0.45, BOTH: 0.31}
"""Shares of tokens in Jauregi Unanue et al. (2018): post-editing English to German, WMT 2017."""

_COLUMNS = ("line", "position", "piece", "source", "mass")

BEFORE = "sentence before"
"""Name of the context as a source."""

UNTRANSLATED = "no token was translated", "choose a run that has learned to translate"
"""The problem of a run without any, and what to do."""

SEVERAL = Need(
    "one source", "it reads one source", "choose a run with corpus.also_sources or text.context",
    lambda run: bool(run.recipe.corpus.also_sources or run.recipe.text.context),
)  # fmt: skip
_JOINT = Need(
    "an attention to each source", "it has an attention to each source, whose weights add up to 1 in each",
    "choose a run whose model.combine is joint, flat or mixture",
    lambda run: run.recipe.model.joint_attention or run.recipe.text.context > 0,
)  # fmt: skip


def masses(weights: np.ndarray, segments: np.ndarray, sources: int) -> np.ndarray:
    """Return the attention of each target token to each source, (T, M).

    Args:
        weights: (T, S), of one head or the mean of several.
        segments: (S,) the source of each token, from 0.
        sources: their number M.
    """
    return weights @ (segments[:, None] == np.arange(sources))


def focus(run: Run, corpus: ParallelCorpus, split: str = "dev", limit: int | None = None) -> pd.DataFrame:
    """Return how much each token of a run's own translations attends to each source: last layer, mean of the heads.

    Args:
        corpus: with all sources of the run.
        split: train, dev or test.
        limit: number of sentences, from the first; all if not given.

    Returns:
        A row for each token but EOS, and source: `line` and `position`, from 1; `piece` as the system writes it;
        `source`, its language or `BEFORE`; `mass`, 0 to 1, in which those of a token add up to 1. Of a run that reads
        sentences in context, those that have one count.

    Raises:
        CorpusError: no such split, other languages, or a source is missing.
    """
    run, corpus = in_direction(run, corpus), run.as_read(corpus)
    system, pipeline, target = open_model(run), run.pipeline, run.pipeline.target
    sides = [[*corpus.lines(split, corpus.source)], *more_sources(run, corpus, split)]
    sources, *others = (side[:limit] for side in sides)
    found = system.translate(sources, more=others)
    filled, encoded = system.pipeline.encode_filled(sources, *others)
    counted = [not run.recipe.text.context or pipeline.tokens_before(ids) > 0 for ids in encoded[0]]
    kept = [(at, n) for at, n in enumerate(filled) if counted[at] and found[n].hypotheses[0].tokens]
    targets = [[*found[place].hypotheses[0].tokens, EOS] for _, place in kept]
    first, *more = ([side[at] for at, _ in kept] for side in encoded)
    names, rows = sources_of(run), []
    for index, forced in forced_decode_all(system.model, first, targets, more=more):
        order, ids = target.reading_order(targets[index])[:-1], np.array(targets[index])
        of_token = segments(pipeline, forced, first[index])
        mass = masses(last_layer(forced.attention).mean(0)[order], of_token, len(names))
        rows.append(_rows(kept[index][1] + 1, target.pieces(ids[order].tolist()), names, mass))
    frame = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(_COLUMNS))
    return frame.sort_values(["line", "position"], kind="stable", ignore_index=True)


def sentence_focus(weights: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Return the rows of `focus` of one sentence, EOS included.

    Args:
        weights: rows of `weights.attention` of a run of several sources, or one that reads sentences in context.
    """
    last = weights[weights["layer"] == weights["layer"].max()]
    keys = ["target_position", "target_piece", "segment"]
    mass, names = last.groupby(keys)["weight"].sum().unstack() / last["head"].nunique(), sources_of(run)
    pieces = [piece for _, piece in mass.index]
    return _rows(1, pieces, names, mass.reindex(columns=range(len(names)), fill_value=0.0).to_numpy())


def sources_of(run: Run) -> tuple[str, ...]:
    """Return the names of what a run reads together: the languages of its sources, and `BEFORE` for a context."""
    return run.direction[0], *run.recipe.corpus.also_sources, *[BEFORE] * run.recipe.text.context


def _rows(line: int, pieces: Sequence[str], sources: Sequence[str], mass: np.ndarray) -> pd.DataFrame:
    count = len(sources)
    return pd.DataFrame(
        {
            "line": line,
            "position": np.arange(1, len(pieces) + 1).repeat(count),
            "piece": np.array(pieces, dtype=object).repeat(count),
            "source": np.tile(np.array(sources, dtype=object), len(pieces)),
            "mass": mass.ravel().astype(float),
        }
    )


def focus_of_tokens(found: pd.DataFrame, threshold: float = THRESHOLD) -> pd.DataFrame:
    """Return which source each token is from: a row for each, with its `focus`, a source or `BOTH`.

    Args:
        found: rows of `focus`, also with their `run`.
        threshold: t, at least 0.5 and below 1. At 0.5, only ties are from both.

    Raises:
        NmtlabError: the threshold is out of range.
    """
    if not 0.5 <= threshold < 1:
        raise NmtlabError(f"a threshold of {threshold:g}", "give 0.5 or more, and less than 1")
    keys = [*(["run"] if "run" in found else []), "line", "position"]
    wide = found.pivot(index=keys, columns="source", values="mass")
    focused = wide.idxmax(axis=1).where(wide.max(axis=1) > threshold, BOTH)
    return focused.rename("focus").reset_index()


def focus_shares(found: pd.DataFrame, threshold: float = THRESHOLD) -> pd.DataFrame:
    """Return the share of tokens from each source, and from both, of each run; arguments as of `focus_of_tokens`.

    Returns:
        `run`, `focus`, `tokens`, `share` (0 to 1; those of a run add up to 1) and `mass`, the mean on that source.
    """
    if found.empty:
        return pd.DataFrame(columns=["run", "focus", "tokens", "share", "mass"])
    order = [*dict.fromkeys(found["source"]), BOTH]
    counts = focus_of_tokens(found, threshold).groupby(["run", "focus"]).size().unstack(fill_value=0)
    counts = counts.reindex(index=found["run"].unique(), columns=order, fill_value=0)
    tokens = counts.stack().rename("tokens").reset_index()
    mean = found.groupby(["run", "source"])["mass"].mean().rename_axis(["run", "focus"]).reset_index()
    shares = tokens.assign(share=tokens["tokens"] / tokens.groupby("run")["tokens"].transform("sum"))
    return shares.merge(mean, "left", on=["run", "focus"])


def words_by_mass(found: pd.DataFrame, fewest: int = 3, most: int = 20) -> pd.DataFrame:
    """Return the tokens with the highest mean mass on the last source: `piece`, `tokens` and `mass`, highest first.

    Args:
        found: rows of `focus` of one run.
        fewest: occurrences of a piece, to count.
        most: pieces to return.
    """
    last = found[found["source"] == found["source"].iloc[-1]] if len(found) else found
    grouped = last.groupby("piece")["mass"].agg(tokens="size", mass="mean").reset_index()
    return grouped[grouped["tokens"] >= fewest].nlargest(most, "mass").reset_index(drop=True)


def words_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the tokens of `words_by_mass` as bars; arguments as there."""
    words = words_by_mass(found)[::-1]
    figure = go.Figure()
    figure.add_bar(
        x=words["mass"], y=[plain(piece) for piece in readable(words["piece"])], orientation="h",
        marker_color=COLOURS[0], customdata=words["tokens"],
        hovertemplate="%{y}: %{x:.2f}, the mean of %{customdata}<extra></extra>",
    )  # fmt: skip
    last = found["source"].iloc[-1] if len(found) else ""
    figure.update_xaxes(range=[0, 1], title_text=f"share of attention on {plain(last)}")
    return dressed(figure, "Which tokens attend most to the last source?", 140 + 18 * len(words))


def focus_figure(found: pd.DataFrame, threshold: float = THRESHOLD) -> go.Figure:
    """Draw the shares of `focus_shares`, a row for each system, as `strips`."""
    shares = focus_shares(found, threshold).rename(columns={"focus": "place"})
    title = f"Which source do the tokens come from? (% of tokens; mass above {threshold:g})"
    return strips(shares, BOTH, title, "the source with a mass above the threshold")


def sentence_figure(found: pd.DataFrame, threshold: float = THRESHOLD) -> go.Figure:
    """Draw how much each token of a sentence attends to each source, as stacked bars, with the threshold.

    Args:
        found: rows of `focus` of one sentence and run.
        threshold: as of `focus_of_tokens`. Of two sources, tokens that end between the lines are from both.
    """
    sources = list(dict.fromkeys(found["source"]))
    tokens = found[found["source"] == sources[0]]["piece"].tolist()
    figure = go.Figure()
    for colour, source in zip(COLOURS, sources, strict=False):
        rows = found[found["source"] == source]
        figure.add_bar(
            x=rows["position"] - 1, y=rows["mass"], name=plain(source), marker_color=colour,
            customdata=[plain(piece) for piece in readable(tokens)],
            hovertemplate="%{customdata}: %{y:.2f} on " + plain(source) + "<extra></extra>",
        )  # fmt: skip
    if len(sources) == 2:
        for level in {threshold, 1 - threshold}:
            figure.add_hline(level, line={"color": COLOURS[6], "width": 1.5, "dash": "dot"})
    ticks = [plain(piece) for piece in readable(tokens)]
    figure.update_xaxes(tickvals=list(range(len(tokens))), ticktext=ticks, tickangle=-60, title_text="target")
    figure.update_yaxes(range=[0, 1], title_text="share of attention")
    figure.update_layout(barmode="stack", bargap=0.15, legend={**BELOW, "traceorder": "normal"}, margin_b=130)
    return dressed(figure, "Which source does each token come from?", 440)


def focus_finding(found: pd.DataFrame, threshold: float = THRESHOLD) -> str:
    """Say which share of the tokens is from each source, with the range over the seeds of a system."""
    if found.empty:
        return ""
    shares = focus_shares(found, threshold)
    shares["system"] = shares["run"].map(without_seed)
    parts = []
    for system, rows in shares.groupby("system", sort=False):
        by_source = [f"{over_seeds(of['share'])} {name}" for name, of in rows.groupby("focus", sort=False)]
        parts.append(f"{system} {listed(by_source)}")
    return f"Tokens by the source with a mass above {threshold:g}: {listed(parts, '; ')}."


def _share_of(place: int) -> Callable[[pd.DataFrame], float]:
    """Return a function from rows of `focus` to the share (%) of tokens from the source at a place."""
    return lambda found: 100 * focus_shares(found.assign(run=""))["share"].iloc[place] if len(found) else math.nan


_NEEDS = (NEURAL, ATTENDS, SEVERAL, _JOINT, WEIGHTS)

FOCUS = Analysis(
    "Which source does each word come from?",
    focus,
    source="Jauregi Unanue et al. 2018",
    needs=_NEEDS,
    version=1,
    columns=_COLUMNS,
    table=focus_shares,
    figure=focus_figure,
    finding=focus_finding,
    absent=UNTRANSLATED,
    metrics=(
        Metric("from-first", "tokens from the first source (%)", "number", "%", needs=_NEEDS, read=_share_of(0)),
        Metric("from-second", "tokens from the second source (%)", "number", "%", needs=_NEEDS, read=_share_of(1)),
    ),
    several_sources=True,
    in_context=True,
)
