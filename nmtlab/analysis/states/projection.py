"""Vectors in the plane: output vectors of words, and encoder or decoder states, by PCA or UMAP."""

from importlib.util import find_spec
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import check_counts, in_direction
from nmtlab.analysis.access.opened import RunOrSystem, opened, output_vectors
from nmtlab.analysis.states.token_states import Where, token_states
from nmtlab.errors import NmtlabError, missing_package
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import SPECIALS

Method = Literal["pca", "umap"]


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


def word_projection(system: RunOrSystem, method: Method = "pca", seed: int = 1) -> pd.DataFrame:
    """Return the output vectors of a system's words in the plane, as its logits use them.

    Args:
        system: a run, or a translator.
        method, seed: as for `project`.

    Returns:
        A row for each type that can be produced, except special ones, the most frequent first: `word`; `count` in the
        training text of the target language; `x`, `y`; `x_share`, `y_share`, the shares of the variance.

    Raises:
        NmtlabError: umap-learn is not installed.
        RunError: a phrase-based run, one without weights, or an imported one without counts.
    """
    translator = opened(system)
    check_counts(translator.pipeline)
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
    version=1,
    columns=("word", "count", "x", "y", "x_share", "y_share"),
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
        run: neural, with weights.
        corpus: in its languages.
        split: train, dev or test.
        where: encoder or decoder (see `token_states`).
        sample: number of sentences, drawn as in `nmtlab.text.corpora.sample`.
        method, seed: as for `project`.

    Returns:
        A row for each token: `line` in the text, from 1; `position`, from 0; `word`, the token read at an encoder
        state, or generated at a decoder state; `count` in the training text; and the columns of `word_projection`.

    Raises:
        CorpusError: no such split, or other languages.
        NmtlabError, RunError: as of `word_projection`.
    """
    system = opened(in_direction(run, corpus))
    drawn = draw_sample(corpus, split, sample)
    states = token_states(system, drawn.pairs, where)
    tokens = states.tokens.rename(columns={"piece": "word"})
    tokens.insert(0, "line", [drawn.lines[place] for place in tokens.pop("sentence")])
    return _placed(tokens, project(states.vectors, method, seed))


STATE_PROJECTION = Analysis(
    "How do decoder states lie in the plane?",
    state_projection,
    version=1,
    columns=("line", "position", "word", "count", "x", "y", "x_share", "y_share"),
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
