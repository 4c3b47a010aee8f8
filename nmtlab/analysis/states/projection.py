"""Vectors in the plane: output vectors of words, and encoder or decoder states, by PCA or UMAP."""

import math
from importlib.util import find_spec
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import COUNTS, DECODING, NEURAL, WEIGHTS, in_direction
from nmtlab.analysis.access.opened import opened, output_vectors
from nmtlab.analysis.lexical.embedding_norms import spearman
from nmtlab.analysis.states.token_states import Where, token_states
from nmtlab.errors import NmtlabError, missing_package
from nmtlab.figures.marks import Side, some_words, with_words
from nmtlab.figures.theme import COLOURS, dressed, plain, readable
from nmtlab.figures.words import listed, number
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import SPECIALS

Method = Literal["pca", "umap"]

_MAX_POINTS = 1500  # per panel

_SCALE = ((0, COLOURS[0]), (1, COLOURS[4]))
"""From rare to frequent; both ends stand out from a white and from a dark page."""


class Projection(NamedTuple):
    """Points in the plane.

    Args:
        points: (n, 2).
        shares: of the variance on each axis, 0 to 1; NaN with UMAP.
    """

    points: NDArray[np.float64]
    shares: tuple[float, float]


def has_umap() -> bool:
    """Return whether UMAP is installed."""
    return find_spec("umap") is not None


def project(vectors: NDArray[np.floating], method: Method = "pca", seed: int = 1) -> Projection:
    """Return vectors in the plane.

    Args:
        vectors: (n, D), n and D at least 2; at least 4 for UMAP.
        method: PCA, the plane with the most variance, or UMAP (McInnes et al. 2018), which keeps neighbours by cosine.
        seed: of UMAP; PCA has no randomness.

    Raises:
        NmtlabError: there are too few vectors, or umap-learn is not installed.
    """
    least = 2 if method == "pca" else 4
    if len(vectors) < least:
        raise NmtlabError(f"{len(vectors)} vectors: too few to project", f"give {least} or more")
    if method == "umap":
        return Projection(_umap(vectors, seed), (np.nan, np.nan))
    from sklearn.decomposition import PCA

    pca = PCA(n_components=2, svd_solver="full")
    points = pca.fit_transform(np.asarray(vectors, dtype=np.float64))
    return Projection(points, tuple(pca.explained_variance_ratio_.tolist()))


def projection_table(points: pd.DataFrame) -> pd.DataFrame:
    """Return the rank correlation of each axis with frequency; the sign of an axis has no meaning.

    Args:
        points: rows of `word_projection` or `state_projection` with a column `run`.

    Returns:
        A row for each `run`: `points`, their number; `share 1` and `share 2`, of the variance; `ρ 1` and `ρ 2`,
        -1 to 1.
    """
    rows = [
        {
            "run": run,
            "points": len(drawn),
            "share 1": drawn["x_share"].iloc[0],
            "share 2": drawn["y_share"].iloc[0],
            "ρ 1": spearman(drawn["count"], drawn["x"]),
            "ρ 2": spearman(drawn["count"], drawn["y"]),
        }
        for run, drawn in points.groupby("run", sort=False)
    ]
    return pd.DataFrame(rows)


def projection_finding(points: pd.DataFrame) -> str:
    """Return how much of the variance two axes have, and whether one of them follows frequency."""
    said = []
    for row in projection_table(points).rename(columns=lambda name: name.replace(" ", "_")).itertuples():
        both = np.nan_to_num(np.abs([row.ρ_1, row.ρ_2]))
        shares = "" if math.isnan(row.share_1) else f"{100 * (row.share_1 + row.share_2):.0f} % of the variance, "
        said.append(f"{row.run}: {shares}axis {1 + both.argmax()} follows frequency with |ρ| {number(both.max())}")
    return f"In the plane, {listed(said, '; ')}." if said else ""


def projection_figure(
    points: pd.DataFrame, title: str = "Output vectors of words", side: Side = "target", also: str = ""
) -> go.Figure:
    """Draw vectors in the plane: a panel for each of several systems, a colour for each frequency.

    Args:
        points: rows of `word_projection` or `state_projection` with a column `run`; of many, every n-th is
            drawn. The `customdata` of a point is the word and its count, the `meta` of a trace its run.
        side: of the words.
        also: a word that is drawn in any case.
    """
    runs = list(dict.fromkeys(points["run"]))
    figure = make_subplots(cols=len(runs), subplot_titles=[plain(run) for run in runs], horizontal_spacing=0.08)
    for column, run in enumerate(runs, start=1):
        of_run = points[points["run"] == run]
        drawn = some_words(of_run, _MAX_POINTS, also)
        figure.add_scatter(
            x=drawn["x"], y=drawn["y"], mode="markers", meta=run, showlegend=False,
            text=[plain(word) for word in readable(drawn["word"])], customdata=drawn[["word", "count"]],
            marker={
                "size": 5, "opacity": 0.7, "coloraxis": "coloraxis", "color": np.log10(drawn["count"].clip(lower=1)),
            },
            hovertemplate="%{text}<br>%{customdata[1]} times in training<extra></extra>", row=1, col=column,
        )  # fmt: skip
        shares = of_run[["x_share", "y_share"]].iloc[0]
        for update, axis, share in zip((figure.update_xaxes, figure.update_yaxes), (1, 2), shares, strict=True):
            update(title_text=_axis(axis, share), zeroline=False, col=column)
    figure.update_layout(coloraxis={"colorscale": _SCALE, "colorbar": _bar(points["count"])})
    return dressed(with_words(figure, side), title, 480)


def state_figure(points: pd.DataFrame, where: Where = "decoder", text: str = "", also: str = "") -> go.Figure:
    """Draw states as in `projection_figure`.

    Args:
        points: rows of `state_projection` with a column `run`.
        where: encoder or decoder.
        also: a word that is drawn in any case.
    """
    sentences = f"{points['line'].nunique()} sentences{' of ' if text else ''}{plain(text)}"
    title = f"States of the {where} at tokens of {sentences}, by frequency in training"
    return projection_figure(points, title, "source" if where == "encoder" else "target", also)


def word_projection(run: Run, method: Method = "pca", seed: int = 1) -> pd.DataFrame:
    """Return the output vectors of a system's words in the plane, as its logits use them.

    Args:
        run: neural, with weights and known counts.
        method, seed: as for `project`.

    Returns:
        A row for each type that can be produced, except special ones, the most frequent first: `word`; `count` in the
        training text of the target language; `x`, `y`; `x_share`, `y_share`, the shares of the variance.

    Raises:
        NmtlabError: umap-learn is not installed.
    """
    translator = opened(run)
    model, pipeline = translator.model, translator.pipeline
    ids = model.output_ids.cpu().numpy()
    words = ids >= len(SPECIALS)
    found = project(output_vectors(model).double().cpu().numpy()[words], method, seed)
    types = ids[words]
    frame = pd.DataFrame(
        {"word": pipeline.target.vocabulary.tokens(types.tolist()), "count": pipeline.target.counts[types]}
    )
    return _placed(frame, found).sort_values("count", ascending=False, kind="stable", ignore_index=True)


WORD_PROJECTION = Analysis(
    "How do the output vectors of words lie in the plane?",
    word_projection,
    needs=(NEURAL, WEIGHTS, COUNTS),
    version=1,
    columns=("word", "count", "x", "y", "x_share", "y_share"),
    table=projection_table,
    figure=projection_figure,
    finding=projection_finding,
)


def state_projection(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "dev",
    where: Where = "decoder",
    sample: int = 100,
    method: Method = "pca",
    seed: int = 1,
) -> pd.DataFrame:
    """Return the states of a sample of sentence pairs in the plane, under their references.

    Args:
        where: encoder or decoder (see `token_states`).
        sample: number of sentences, drawn as in `nmtlab.text.corpora.sample`.
        method, seed: as for `project`.

    Returns:
        A row for each token: `line` in the text, from 1; `position`, from 0; `word`, the token read at an encoder
        state, or generated at a decoder state; `count` in the training text; and the columns of `word_projection`.

    Raises:
        NmtlabError: umap-learn is not installed.
    """
    system = opened(in_direction(run, corpus))
    drawn = draw_sample(corpus, split, sample)
    states = token_states(system, drawn.pairs, where)
    tokens = states.tokens.rename(columns={"piece": "word"})
    tokens.insert(0, "line", [drawn.lines[place] for place in tokens.pop("sentence")])
    return _placed(tokens, project(states.vectors, method, seed))


STATE_PROJECTION = Analysis(
    "How do encoder or decoder states lie in the plane?",
    state_projection,
    needs=DECODING,
    version=1,
    columns=("line", "position", "word", "count", "x", "y", "x_share", "y_share"),
    table=projection_table,
    figure=state_figure,
    finding=projection_finding,
)


def _placed(frame: pd.DataFrame, found: Projection) -> pd.DataFrame:
    x_share, y_share = found.shares
    return frame.assign(x=found.points[:, 0], y=found.points[:, 1], x_share=x_share, y_share=y_share)


def _umap(vectors: NDArray[np.floating], seed: int) -> NDArray[np.float64]:
    if not has_umap():
        raise missing_package("umap-learn")
    from umap import UMAP

    neighbours = min(15, len(vectors) - 1)
    reducer = UMAP(n_components=2, n_neighbors=neighbours, metric="cosine", random_state=seed, n_jobs=1)
    return reducer.fit_transform(np.asarray(vectors, dtype=np.float32)).astype(np.float64)


def _axis(number: int, share: float) -> str:
    """Return the title of an axis; those of UMAP have no share of the variance."""
    return f"UMAP {number}" if math.isnan(share) else f"PC {number} ({share:.1%} of the variance)"


def _bar(counts: pd.Series) -> dict[str, object]:
    """Return a colour bar of frequencies at powers of ten."""
    powers = list(range(math.floor(math.log10(max(counts.max(), 1))) + 1))
    return {"title": "times in training", "tickvals": powers, "ticktext": [f"{10**power:,}" for power in powers]}
