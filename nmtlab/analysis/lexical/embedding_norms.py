"""How do the norms of word vectors and the output biases vary with word frequency? (thesis Figure 3.2)"""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import COUNTS, NEURAL, NORMS
from nmtlab.analysis.access.opened import RunOrSystem, forced_states, opened, output_vectors
from nmtlab.figures.marks import some_words, with_words
from nmtlab.figures.theme import SOLID, dressed, log_axis, name_in_lines, plain, readable, see_through, styles
from nmtlab.interchange.folding import FORBIDDEN
from nmtlab.runs.run import Run
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import EOS, SPECIALS, UNK

QUANTITIES = ("norm", "used_norm", "bias")

_NEEDS = (NEURAL, NORMS, COUNTS)
_CONSTANT = 1e-5  # relative spread below which values differ by rounding alone
_MAX_WORDS = 1000  # per run
_ROUNDING = 1e-3  # difference of equal values, as a share of them
_SHOWN = {
    "used_norm": "‖W<sub>e</sub>‖ as used",
    "norm": "‖W<sub>e</sub>‖ as stored",
    "bias": "b<sub>e</sub>",
}


def word_norms(system: RunOrSystem) -> pd.DataFrame:
    """Return the norm of every output word's vector, and its bias, the most frequent word first.

    For a run without weights (packed), the norms are those logged at its best evaluation, else at its last, and
    `used_norm` follows from the recipe.

    Args:
        system: a run with weights or logged norms, or a translator; with known counts.

    Returns:
        A row for each type that can be produced, except special ones and those that the bias of an exported model
        forbids: `id`; `word`; `count` in the training text of the target language; `rank` from 1 by falling count, ties
        by id; `norm`, of the output row as stored; `used_norm`, its norm in the inner product (with fixnorm the same
        for all words); `bias` b_e, with a lexical module b_e + b^l_e, because training determines only their sum.
        Without weights, the bias is missing, and so is the `used_norm` of a Transformer with fixnorm.
    """
    if isinstance(system, Run) and not system.checkpoints.has_weights():
        return _ranked(system.pipeline, _logged(system))
    translator = opened(system)
    model = translator.model
    with torch.inference_mode():
        stored = model.embeddings()["output"].norm(dim=1)
        used, bias = (torch.full_like(stored, torch.nan) for _ in range(2))
        used[model.output_ids] = output_vectors(model).norm(dim=1)
        terms = model.explain(forced_states(model, [[UNK, EOS]], [[UNK]]))  # biases are the same in every state
        bias[model.output_ids] = torch.stack([terms[name][0] for name in terms if name.endswith("bias")]).sum(0)
    values = {
        name: tensor.double().cpu().numpy() for name, tensor in zip(QUANTITIES, (stored, used, bias), strict=True)
    }
    return _ranked(translator.pipeline, values)


WORD_NORMS = Analysis(
    "What is the norm of each word's vector?",
    word_norms,
    needs=_NEEDS,
    version=1,
    stored_as="norms.word_norms",
    columns=("id", "word", "count", "rank", *QUANTITIES),
)


def norm_bins(words: pd.DataFrame, size: int = 256) -> pd.DataFrame:
    """Return median and range of norms and biases in bins of words of similar frequency (thesis Figure 3.2).

    Args:
        words: rows of `word_norms`.
        size: words per bin; the last bin may have fewer.

    Returns:
        A row for each available quantity (`norm`, `used_norm`, `bias`) and bin: `quantity`; `first_rank` and
        `last_rank` of its words; `words`; `median`, `lowest` and `highest` of the quantity; `median_count`.
    """
    bins = (words["rank"] - 1) // size
    tables = []
    for quantity in _present(words):
        grouped = words.groupby(bins)
        table = grouped.agg(
            first_rank=("rank", "min"),
            last_rank=("rank", "max"),
            words=("rank", "size"),
            median=(quantity, "median"),
            lowest=(quantity, "min"),
            highest=(quantity, "max"),
            median_count=("count", "median"),
        )
        table.insert(0, "quantity", quantity)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def norm_correlations(words: pd.DataFrame) -> pd.DataFrame:
    """Return the rank correlations of norms and biases with frequency, from rows of `word_norms`.

    Returns:
        A row for each available quantity: `quantity`; `words`; `spearman`, its rank correlation with the count, -1 to
        1, missing if the quantity is the same for all words.
    """
    rows = [
        {"quantity": quantity, "words": len(words), "spearman": spearman(words["count"], words[quantity])}
        for quantity in _present(words)
    ]
    return pd.DataFrame(rows)


def spearman(x: pd.Series, y: pd.Series) -> float:
    """Return Spearman's rank correlation, with ties at their mean rank; NaN if either side does not vary."""
    if any(values.max() - values.min() <= _CONSTANT * values.abs().max() for values in (x, y)):
        return float("nan")
    return x.rank().corr(y.rank())


def norm_table(words: pd.DataFrame) -> pd.DataFrame:
    """Return `norm_correlations` for each run, named in a column `run`, as in `words`."""
    tables = [norm_correlations(of_run).assign(run=run) for run, of_run in words.groupby("run", sort=False)]
    return pd.concat(tables, ignore_index=True)[["run", "quantity", "words", "spearman"]]


def norm_figure(words: pd.DataFrame, bin_size: int = 256, points: bool = True, also: str = "") -> go.Figure:
    """Draw median and range of bins of words over their frequency rank.

    Args:
        words: rows of `word_norms` with a column `run`.
        bin_size: words per bin.
        points: whether words are drawn as selectable points, of many every n-th; the `customdata` of a point is the
            word and its count, the `meta` of a trace its run.
        also: a word that is drawn in any case.
    """
    binned = [norm_bins(of_run, bin_size).assign(run=run) for run, of_run in words.groupby("run", sort=False)]
    bins = pd.concat(binned)
    quantities = [name for name in ("used_norm", "norm", "bias") if name in set(bins["quantity"])]
    if "used_norm" in quantities and "norm" in quantities:
        quantities.remove("norm")  # the norm as used decides the logit
    figure = make_subplots(cols=len(quantities), horizontal_spacing=0.1)
    style = styles(bins["run"], SOLID)
    for column, quantity in enumerate(quantities, start=1):
        of_quantity = bins[bins["quantity"] == quantity]
        for run, run_bins in of_quantity.groupby("run", sort=False):
            if points:
                drawn = some_words(words[words["run"] == run], _MAX_WORDS, also)
                _add_words(figure, drawn, str(run), quantity, style[run]["color"], column)
            _add_bins(figure, run_bins, str(run), style[run], column, named=column == 1)
        ranks = log_axis([*bins["first_rank"], *bins["last_rank"]])
        figure.update_xaxes(title_text="frequency rank of the word", **ranks, col=column)
        figure.update_yaxes(title_text=_SHOWN[quantity], **_whole_axis(of_quantity), col=column)
    figure.update_layout(legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0})
    with_words(figure, "target")
    return dressed(figure, "Norm of output embeddings, and biases, by frequency: median and range per bin", 460)


def _bias_frequency(words: pd.DataFrame) -> float:
    """Return the rank correlation of the output bias b_e with frequency (Figure 3.2); NaN without biases."""
    return norm_correlations(words).set_index("quantity")["spearman"].get("bias", math.nan)


NORMS_BY_FREQUENCY = Analysis(
    "Does the norm of a word's vector follow its frequency?",
    word_norms,
    source="thesis Figure 3.2",
    needs=_NEEDS,
    table=norm_table,
    figure=norm_figure,
    metrics=(
        Metric("bias-frequency", "bias-frequency", better="lower", split=None, needs=(NEURAL,), read=_bias_frequency),
    ),
)


def _logged(run: Run) -> dict[str, np.ndarray]:
    logged = run.log.embedding_norms()
    step = run.checkpoints.best_step if run.checkpoints.best_step in logged else max(logged)
    norm = logged[step]["output"].astype(np.float64)
    model = run.recipe.model
    return {"norm": norm, "used_norm": np.full_like(norm, model.fixed_norm) if model.fixnorm else norm}


def _ranked(pipeline: Pipeline, values: dict[str, np.ndarray]) -> pd.DataFrame:
    kept = pipeline.target_allowed.copy()
    kept[: len(SPECIALS)] = False
    kept &= ~(values.get("bias", np.zeros(len(kept))) <= FORBIDDEN / 2)  # a missing one forbids nothing
    frame = pd.DataFrame(
        {"id": np.arange(len(kept)), "word": pipeline.target.vocabulary.types, "count": pipeline.target.counts}
    )
    frame = frame.assign(**{name: values.get(name, np.nan) for name in QUANTITIES})[kept]
    frame = frame.sort_values("count", ascending=False, kind="stable", ignore_index=True)
    frame.insert(3, "rank", np.arange(1, len(frame) + 1))
    return frame


def _present(words: pd.DataFrame) -> list[str]:
    return [name for name in QUANTITIES if words[name].notna().any()]


def _whole_axis(bins: pd.DataFrame) -> dict[str, list[float]]:
    """Return a range around values that differ by rounding alone, as fixed norms do; none for others."""
    low, high = float(bins["lowest"].min()), float(bins["highest"].max())
    middle, margin = (low + high) / 2, abs(low + high) / 20
    return {"range": [middle - margin, middle + margin]} if high - low < _ROUNDING * abs(middle) else {}


def _add_bins(figure: go.Figure, bins: pd.DataFrame, run: str, style: dict[str, str], column: int, named: bool) -> None:
    middle = (bins["first_rank"] * bins["last_rank"]) ** 0.5
    shared = {"legendgroup": name_in_lines(run), "x": middle}
    figure.add_scatter(
        y=bins["highest"], mode="lines", line_width=0, showlegend=False, hoverinfo="skip", **shared, row=1, col=column
    )
    figure.add_scatter(
        y=bins["lowest"], mode="lines", line_width=0, fill="tonexty", fillcolor=see_through(style["color"], 0.15),
        showlegend=False, hoverinfo="skip", **shared, row=1, col=column,
    )  # fmt: skip
    figure.add_scatter(
        y=bins["median"], mode="lines+markers", name=name_in_lines(run), line=style, showlegend=named,
        customdata=bins[["first_rank", "last_rank", "lowest", "highest"]],
        hovertemplate="ranks %{customdata[0]}–%{customdata[1]}<br>median %{y:.3f}, %{customdata[2]:.3f} to "
        "%{customdata[3]:.3f}<extra>" + name_in_lines(run) + "</extra>", **shared, row=1, col=column,
    )  # fmt: skip


def _add_words(figure: go.Figure, words: pd.DataFrame, run: str, quantity: str, colour: str, column: int) -> None:
    figure.add_scatter(
        x=words["rank"], y=words[quantity], mode="markers", legendgroup=name_in_lines(run), meta=run, showlegend=False,
        marker={"size": 4, "color": see_through(colour, 0.35)}, text=[plain(word) for word in readable(words["word"])],
        customdata=words[["word", "count"]],
        hovertemplate="%{text}<br>%{customdata[1]} times in training<br>%{y:.3f}<extra></extra>", row=1, col=column,
    )  # fmt: skip
