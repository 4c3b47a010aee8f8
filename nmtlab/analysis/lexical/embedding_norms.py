"""How do the norms of word vectors and the output biases vary with word frequency? (thesis Figure 3.2)"""

import math
from typing import TypedDict

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import COUNTS, NEURAL, NORMS
from nmtlab.analysis.access.opened import RunOrSystem, any_state, opened, output_vectors
from nmtlab.figures.marks import some_words, with_words
from nmtlab.figures.theme import SOLID, dressed, log_axis, name_in_lines, plain, readable, see_through, styles
from nmtlab.figures.words import listed, number
from nmtlab.interchange.folding import FORBIDDEN
from nmtlab.runs.run import Run
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import SPECIALS

QUANTITIES = ("norm", "used_norm", "bias")

NEVER = 0.5
"""Where a word that was never seen is on a logarithmic axis."""

_NEEDS = (NEURAL, NORMS, COUNTS)
_CONSTANT = 1e-5  # relative spread below which values differ by rounding alone
_MAX_WORDS = 1000  # per run
_MOST_FREQUENT = 10  # words of the last bin, at least
_NO_COURSE = 0.1  # a smaller rank correlation says that norms hardly depend on frequency
_OF_BIN = ["first_count", "last_count", "words"]
_NAMES = {"norm": "norm as stored", "used_norm": "norm as used", "bias": "bias"}
_SHOWN = {
    "used_norm": "‖W<sub>e</sub>‖ as used",
    "norm": "‖W<sub>e</sub>‖ as stored",
    "bias": "b<sub>e</sub>",
}


class _About(TypedDict):
    """The run and the panel of a trace."""

    legendgroup: str
    row: int
    col: int


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
        terms = model.explain(any_state(model))
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


def norm_bins(words: pd.DataFrame) -> pd.DataFrame:
    """Return median and quartiles of norms and biases in bins of words of similar frequency.

    Each bin reaches to twice the count where it begins: 1, 2-3, 4-7 and so on; the last has the 10 most frequent words
    at least, and words that were never seen have their own.

    Args:
        words: rows of `word_norms`.

    Returns:
        A row for each available quantity (`norm`, `used_norm`, `bias`) and bin, the rarest words first: `quantity`;
        `first_count` and `last_count` of its words, and `median_count`; `words`; `low`, `median` and `high`, the
        quartiles of the quantity.
    """
    powers = np.floor(np.log2(words["count"].clip(lower=NEVER)))
    bins = powers.clip(upper=powers.nlargest(_MOST_FREQUENT).min())
    tables = []
    for quantity in _present(words):
        grouped = words.groupby(bins)
        table = grouped.agg(
            first_count=("count", "min"), last_count=("count", "max"), median_count=("count", "median"),
            words=("count", "size"),
        )  # fmt: skip
        quartiles = grouped[quantity].quantile([0.25, 0.5, 0.75]).unstack()
        tables.append(table.assign(**dict(zip(("low", "median", "high"), quartiles.to_numpy().T, strict=True))))
        tables[-1].insert(0, "quantity", quantity)
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
    if _is_constant(x) or _is_constant(y):
        return float("nan")
    return x.rank().corr(y.rank())


def norm_table(words: pd.DataFrame) -> pd.DataFrame:
    """Return `norm_correlations` for each run, named in a column `run`, as in `words`, for display."""
    tables = [norm_correlations(of_run).assign(run=run) for run, of_run in words.groupby("run", sort=False)]
    table = pd.concat(tables, ignore_index=True)[["run", "quantity", "words", "spearman"]]
    return table.replace({"quantity": _NAMES}).rename(columns={"spearman": "ρ"})


def norm_finding(words: pd.DataFrame) -> str:
    """Return whether norms and biases follow frequency, from rows of `word_norms` with a column `run`."""
    norms, biases = [], []
    for run, of_run in words.groupby("run", sort=False):
        quantity = next((name for name in ("used_norm", "norm") if of_run[name].notna().any()), "norm")
        norms.append(f"{run}: {_course(spearman(of_run['count'], of_run[quantity]))}")
        if of_run["bias"].notna().any():
            biases.append(f"{run} ρ {number(spearman(of_run['count'], of_run['bias']))}")
    found = [listed(norms, "; "), f"Output biases: {listed(biases)}" if biases else ""]
    return " ".join(f"{part}." for part in found if part)


def norm_figure(words: pd.DataFrame, points: bool = True, also: str = "") -> go.Figure:
    """Draw median and quartiles of bins of words over their frequency; a norm that all words have is a dashed line.

    Such a line does not change the scale: if it is beyond the other norms, it is drawn at the edge.

    Args:
        words: rows of `word_norms` with a column `run`.
        points: whether words are drawn as selectable points, of many every n-th; the `customdata` of a point is the
            word and its count, the `meta` of a trace its run.
        also: a word that is drawn in any case.
    """
    present = _present(words)
    quantities = [name for name in ("used_norm" if "used_norm" in present else "norm", "bias") if name in present]
    figure = make_subplots(cols=len(quantities), horizontal_spacing=0.1)
    style, names = styles(words["run"], SOLID), _legend(words, quantities[0])
    for column, quantity in enumerate(quantities, start=1):
        runs = {str(run): some for run, some in words.groupby("run", sort=False) if some[quantity].notna().any()}
        constant = {run: float(some[quantity].iloc[0]) for run, some in runs.items() if _is_constant(some[quantity])}
        varying = words[words["run"].isin(runs.keys() - constant.keys())]
        low, high = _scale(varying[quantity] if len(varying) else pd.Series(constant))
        for run, some in runs.items():
            about = _About(legendgroup=name_in_lines(run), row=1, col=column)
            if run in constant:
                edge = (high - low) / 50
                y = min(max(constant[run], low + edge), high - edge)
                _add_constant(figure, some["count"], y, constant[run], style[run]["color"], about)
                continue
            if points:
                _add_words(figure, some_words(some, _MAX_WORDS, also), quantity, style[run]["color"], about)
            _add_bins(figure, norm_bins(some).query("quantity == @quantity"), style[run], about)
        figure.update_xaxes(title_text="times in training", **frequency_axis(words["count"]), col=column)
        figure.update_yaxes(title_text=_SHOWN[quantity], range=[low, high], col=column)
    for run, name in names.items():
        figure.add_scatter(x=[None], y=[None], mode="lines", line=style[run], name=name, legendgroup=name_in_lines(run))
    figure.update_layout(legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0})
    with_words(figure, "target")
    return dressed(figure, "Norm of output embeddings, and biases, by frequency: median and quartiles", 460)


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
    finding=norm_finding,
    metrics=(
        Metric("bias-frequency", "bias-frequency", better="lower", split="", needs=(NEURAL,), read=_bias_frequency),
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


def _is_constant(values: pd.Series) -> bool:
    """Return whether values differ by rounding alone, as fixed norms do."""
    return bool(values.max() - values.min() <= _CONSTANT * values.abs().max())


def _course(found: float) -> str:
    """Return how norms go with frequency, from their rank correlation, NaN if they are constant."""
    if math.isnan(found):
        return "constant by construction"
    course = "hardly depends on" if abs(found) < _NO_COURSE else "grows with" if found > 0 else "falls with"
    return f"the norm {course} frequency (ρ {number(found)})"


def _legend(words: pd.DataFrame, norm: str) -> dict[str, str]:
    """Return each run's name with the rank correlations of its norms and biases."""
    names = {}
    for run, of_run in words.groupby("run", sort=False):
        found = {quantity: spearman(of_run["count"], of_run[quantity]) for quantity in _present(of_run)}
        course = {name: "constant" if math.isnan(found[name]) else f"ρ {number(found[name])}" for name in found}
        shown = [course[norm]] if norm in course else []
        shown += [f"bias {course['bias']}"] if "bias" in course else []
        names[str(run)] = f"{name_in_lines(run)}<br>{', '.join(shown)}"
    return names


def _scale(values: pd.Series) -> tuple[float, float]:
    """Return the ends of an axis with some values."""
    low, high = float(values.min()), float(values.max())
    margin = 0.1 * abs(high) if _is_constant(values) else 0.05 * (high - low)
    return low - (margin or 1.0), high + (margin or 1.0)


def frequency_axis(counts: pd.Series) -> dict[str, object]:
    """Return a logarithmic axis of counts with a place for 0."""
    axis = log_axis(counts.clip(lower=NEVER))
    return axis | {"ticktext": ["0" if text == str(NEVER) else text for text in axis["ticktext"]]}


def _add_constant(figure: go.Figure, counts: pd.Series, y: float, value: float, colour: str, about: _About) -> None:
    """Draw the norm that all words have, at `y`."""
    figure.add_scatter(
        x=[max(counts.min(), NEVER), counts.max()], y=[y, y], mode="lines", line={"color": colour, "dash": "dash"},
        showlegend=False, hovertemplate=f"{number(value)} for all words<extra>{about['legendgroup']}</extra>", **about,
    )  # fmt: skip
    beyond = f"{number(value)}, off the scale" if not math.isclose(y, value, rel_tol=_CONSTANT) else number(value)
    figure.add_annotation(
        x=math.log10(counts.max()), y=y, text=f"all words: {beyond}", font={"color": colour}, showarrow=False,
        xanchor="right", yanchor="top" if y < value else "bottom", row=about["row"], col=about["col"],
    )  # fmt: skip


def _add_bins(figure: go.Figure, bins: pd.DataFrame, style: dict[str, str], about: _About) -> None:
    shared = {"x": bins["median_count"].clip(lower=NEVER), "showlegend": False, **about}
    figure.add_scatter(y=bins["high"], mode="lines", line_width=0, hoverinfo="skip", **shared)
    figure.add_scatter(
        y=bins["low"], mode="lines", line_width=0, fill="tonexty", fillcolor=see_through(style["color"], 0.25),
        hoverinfo="skip", **shared,
    )  # fmt: skip
    figure.add_scatter(
        y=bins["median"], mode="lines+markers", line={**style, "width": 3},
        text=[f"{words} words, {first:.0f}–{last:.0f} times" for first, last, words in bins[_OF_BIN].to_numpy()],
        customdata=bins[["low", "high"]],
        hovertemplate="%{text}<br>median %{y:.3f}, quartiles %{customdata[0]:.3f} and %{customdata[1]:.3f}<extra>"
        + about["legendgroup"] + "</extra>", **shared,
    )  # fmt: skip


def _add_words(figure: go.Figure, words: pd.DataFrame, quantity: str, colour: str, about: _About) -> None:
    figure.add_scatter(
        x=words["count"].clip(lower=NEVER), y=words[quantity], mode="markers", meta=str(words["run"].iloc[0]),
        marker={"size": 4, "color": see_through(colour, 0.2)},
        text=[plain(word) for word in readable(words["word"])],
        customdata=words[["word", "count"]], showlegend=False,
        hovertemplate="%{text}<br>%{customdata[1]} times in training<br>%{y:.3f}<extra></extra>", **about,
    )  # fmt: skip
