"""How large are activations and gradients before each normalisation? Why deep PostNorm fails (thesis 3.3.2.1)."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import SELF_ATTENTION, in_direction
from nmtlab.errors import RunError
from nmtlab.figures.theme import BELOW, SOLID, dressed, log_axis, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.models.build import load_weights, model_for
from nmtlab.models.interface import TranslationModel, on_device
from nmtlab.runs.answers import StoredAnswer
from nmtlab.runs.run import Run
from nmtlab.text.batching.batch import Batch, batch_of
from nmtlab.text.batching.batches import pad
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import PAD
from nmtlab.training.objective import training_objective

ENOUGH = 64
"""Number of sentences whose mean norms are those of a text, within a few percent."""

_LEAST = 0.01  # a smaller ratio would be said to be 0
_COLUMNS = ["run", "update", "side", "kind", "depth", "place", "activation", "gradient"]
_SIDES = ("encoder", "decoder")
_QUANTITIES = {"activation": "norm of the inputs", "gradient": "norm of their gradients"}
_FACTS = "before %{customdata[0]}, layer %{customdata[1]}: %{y:.3g}"


def signals(run: Run, corpus: ParallelCorpus, split: str = "dev", update: int = 0, *, sample: int) -> pd.DataFrame:
    """Return the norms of the inputs of each normalisation and of their gradients, without dropout.

    Args:
        run: of a Transformer.
        update: of the best or the last checkpoint, or 0 for the initial weights.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`), at least 1; `ENOUGH` are enough. Without a
            default it is in every question: earlier answers, which lack it, are about first sentences.

    Returns:
        A row for each normalisation, in forward order: `run`, `update`; `side`, encoder or decoder; `kind`: attention,
        cross-attention, feed-forward or final; `depth`, the layer from 1; `place`, its number on its side, from 1;
        `activation`, the mean norm of the input vectors; `gradient`, the mean norm of the loss's gradient with respect
        to them, including the residual path, the loss being summed over target tokens.

    Raises:
        RunError: the run is not a Transformer, or the weights of that update are not stored.
    """
    run = in_direction(run, corpus)
    model = _model(run, update)
    pairs = _pairs(run, draw_sample(corpus, split, sample).pairs)
    inside = {"encoder": pairs.source != PAD, "decoder": pairs.target != PAD}
    rows, places = [], {"encoder": 0, "decoder": 0}
    with _recorded_inputs(model) as inputs:
        training_objective(model, run.recipe.training.label_smoothing)(pairs).total.backward()
    for sublayer in model.sublayers():
        vectors = inputs[sublayer.name]
        places[sublayer.side] += 1
        assert vectors.grad is not None  # `_recorded_inputs` retains it
        activation, gradient = (_mean_norm(x, inside[sublayer.side]) for x in (vectors, vectors.grad))
        place = (sublayer.side, sublayer.kind, sublayer.depth, places[sublayer.side])
        rows.append((run.name, update, *place, activation, gradient))
    return pd.DataFrame(rows, columns=_COLUMNS)


def _gradient_ratio(side: str, trained: bool) -> Metric:
    """Return how much of the gradient remains after one side: log10 of the first norm's through the last one's."""

    def read(found: pd.DataFrame) -> float:
        gradients = found.loc[found["side"] == side, "gradient"]
        return np.log10(gradients.iloc[0] / gradients.iloc[-1])

    return Metric(
        f"gradient-ratio-{side}" + ("" if trained else "-untrained"),
        f"gradient ratio first/last norm: {side} (log10)" + ("" if trained else ", untrained"),
        split="dev",
        given={"sample": ENOUGH},
        read=read,
        find=lambda run, corpus: {"update": run.checkpoints.last_step if trained else 0},
    )


def _said(found: pd.DataFrame) -> str:
    """Say how the gradient changes on its way down each side, at the last update measured."""
    if found.empty:
        return ""
    latest = found[found["update"] == found.groupby("run")["update"].transform("max")]
    ends = latest.groupby(["run", "side"], sort=False)["gradient"].agg(["first", "last"])
    ratios = (ends["first"] / ends["last"]).unstack()
    parts = [f"{run} {_times(rows['decoder'])} and {_times(rows['encoder'])}" for run, rows in ratios.iterrows()]
    said = "Norm of the gradient, from the last normalisation to the first, in decoder and encoder"
    return f"{said}: {listed(parts, '; ')}."


def _times(ratio: float) -> str:
    return f"× {number(ratio)}" if ratio >= _LEAST else f"under × {_LEAST}"


SIGNALS = Analysis(
    "How large are the inputs of each normalisation, and their gradients?",
    signals,
    source="thesis 3.3.2.1",
    needs=(SELF_ATTENTION,),
    version=1,
    columns=tuple(_COLUMNS),
    finding=_said,
    metrics=tuple(_gradient_ratio(side, trained) for trained in (True, False) for side in ("encoder", "decoder")),
    in_context=True,
)


def stored_signals(run: Run) -> pd.DataFrame:
    """Return the rows of `signals` that are stored with a run, of one text per update."""
    found = [answer.frame() for answer in measured_updates(run).values()]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=_COLUMNS)


def signals_figure(found: pd.DataFrame) -> go.Figure:
    """Draw norms of inputs and gradients: a panel per side and quantity, a colour per run, dotted for initial weights.

    Args:
        found: rows of `stored_signals`, of one run or several, at one update or several.
    """
    found = _by_update(found)
    figure = make_subplots(
        rows=2, cols=2, subplot_titles=["encoder", "decoder"], shared_xaxes=True, horizontal_spacing=0.08,
        vertical_spacing=0.08,
    )  # fmt: skip
    style, named = styles(found["run"], SOLID), set()
    for (run, update), rows in found.groupby(["run", "update"], sort=False):
        when = f"update {update:,}" if update else "at the start"
        name = f"{name_in_lines(run)}, {when}"
        line = {"color": style[run]["color"], "dash": "solid" if update else "dot"}
        for row, quantity in enumerate(_QUANTITIES, start=1):
            for column, side in enumerate(_SIDES, start=1):
                some = rows[rows["side"] == side]
                figure.add_scatter(
                    x=some["place"], y=some[quantity], mode="lines+markers", name=name, legendgroup=name,
                    showlegend=name not in named, line=line,
                    customdata=some[["kind", "depth"]],
                    hovertemplate=_FACTS + "<extra>" + name + "</extra>",
                    row=row, col=column,
                )  # fmt: skip
                named.add(name)
    figure.update_xaxes(title_text="normalisation, from the embeddings up", row=2)
    for row, (quantity, title) in enumerate(_QUANTITIES.items(), start=1):
        figure.update_yaxes(title_text=title, row=row, col=1)
        for column, side in enumerate(_SIDES, start=1):
            sizes = found.loc[found["side"] == side, quantity]
            figure.update_yaxes(**log_axis(sizes), row=row, col=column)
    figure.update_layout(legend=BELOW)
    return dressed(figure, "Inputs of each normalisation and their gradients", 640)


def _ends(found: pd.DataFrame) -> pd.DataFrame:
    """Return the norms at the first and the last normalisation of each side."""
    sizes = _by_update(found).groupby(["run", "update", "side"], sort=False)[["activation", "gradient"]]
    ends = sizes.agg(["first", "last"])
    ends.columns = [f"{when} {what}" for what, when in ends.columns]
    return ends.reset_index()


def _by_update(found: pd.DataFrame) -> pd.DataFrame:
    return found.sort_values("update", kind="stable")


STORED_SIGNALS = Analysis(
    "How do the inputs of each normalisation, and their gradients, change during training?",
    stored_signals,
    source="thesis 3.3.2.1",
    table=_ends,
    figure=signals_figure,
    finding=_said,
    digits=5,
    absent=("no signals are stored with them", "measure them on the page Gradients"),
)


def measured_updates(run: Run) -> dict[int, StoredAnswer]:
    """Return the answers stored with a run by update; of several texts, one, if possible a sample."""
    found = sorted(SIGNALS.answers(run), key=is_of_sample)
    return {answer.question.arguments["update"]: answer for answer in found}


def is_of_sample(answer: StoredAnswer) -> bool:
    """Return whether an answer is about a sample; those of version 0.1 are about the first sentences."""
    return "sample" in answer.question.arguments


def _model(run: Run, update: int) -> TranslationModel:
    torch.manual_seed(run.recipe.training.seed)
    model = model_for(run.recipe, run.pipeline)
    if update:
        load_weights(model, _weights(run, update))
    return model.eval()


def _weights(run: Run, update: int) -> Mapping[str, Tensor]:
    run.origin.check_model()
    if update == run.checkpoints.best_step:
        return run.checkpoints.weights("best")[0]
    if update == run.checkpoints.last_step and run.checkpoints.has_weights("last"):
        return run.checkpoints.weights("last")[0]
    raise RunError(
        f"run {run.name!r}: the weights of update {update} are not stored",
        f"choose update 0 or {run.checkpoints.best_step}",
    )


def _pairs(run: Run, lines: list[tuple[str, str]]) -> Batch:
    pipeline = run.pipeline
    source = pad([pipeline.source_ids(source) for source, _ in lines])
    return on_device(batch_of(source, pad([pipeline.target_ids(target) for _, target in lines])))


@contextmanager
def _recorded_inputs(model: TranslationModel) -> Iterator[dict[str, Tensor]]:
    """Record the input of each normalisation within the block, with its gradient, by the norm's name."""
    recorded: dict[str, Tensor] = {}

    def recorder(name: str) -> Callable[[object, tuple[Tensor, ...]], None]:
        def record(_: object, inputs: tuple[Tensor, ...]) -> None:
            inputs[0].retain_grad()
            recorded[name] = inputs[0]

        return record

    with ExitStack() as hooks:
        for name in (sublayer.name for sublayer in model.sublayers()):
            hooks.enter_context(model.get_submodule(name).register_forward_pre_hook(recorder(name)))
        yield recorded


def _mean_norm(vectors: Tensor, inside: Tensor) -> float:
    """Return the mean norm of vectors, excluding padding.

    Args:
        vectors: (B, L, D), or (tokens, D) without padding.
        inside: (B, L) bool.
    """
    unpadded = vectors[inside] if vectors.dim() == 3 else vectors
    return unpadded.detach().norm(dim=-1).mean().item()
