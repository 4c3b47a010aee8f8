"""Are a model's probabilities right: does what it gives p come true with probability p? (Guo et al. 2017)

A model that ends sentences with too high a probability finds empty translations probable (Kumar and Sarawagi 2019).
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import DECODING, END, in_direction
from nmtlab.figures.theme import BELOW, FAINT, dressed, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.models.interface import Searchable, SourceIds, encoded, output_index
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_steps, paired_batches
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import EOS, PAD

BINS = 15

PREDICTED = {"token": "the most probable token", "eos": "EOS"}
"""What is predicted, by its key: the next token, by the most probable one; and whether the sentence ends there."""


def calibration(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    sample: int | None = None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Return the probabilities of a run's predictions, given the reference so far, and how often they come true.

    Args:
        run: neural, with weights.
        corpus: in its languages; pairs with a blank side are left out.
        split: train, dev or test.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.
        machine: where to compute; the recipe's settings if not given.

    Returns:
        The rows of `reliability`.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: a phrase-based run, or one without weights.
    """
    run = in_direction(run, corpus)
    system = open_model(run, machine=machine)
    drawn = draw_sample(corpus, split, sample)
    encoded = system.pipeline.encode_source(drawn.sources), system.pipeline.encode_target(drawn.targets)
    pairs = [(source, target) for source, target in zip(*encoded, strict=True) if min(len(source), len(target)) > 1]
    return reliability(predictions(system.model, [one for one, _ in pairs], [other for _, other in pairs]))


def predictions(
    model: Searchable, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int = 4096
) -> pd.DataFrame:
    """Return what a model predicts at each token of given translations, EOS included.

    Args:
        model, sources, targets, batch_tokens: as of `forced.forced_decode_all`.

    Returns:
        Two rows for each token: `of`, `token` for the most probable one, `eos` for EOS; its `probability`, 0 to 1;
        `right`, whether it is the one given, a type that may not be produced counting as UNK. A model that plans
        lengths predicts no EOS: it has one row for each token but EOS.
    """
    found = [
        rows
        for _, source, target in paired_batches(model.device, sources, targets, batch_tokens)
        for rows in _predicted(model, source, target)
    ]
    columns = ["of", "probability", "right"]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame(columns=columns)


@torch.inference_mode()
def _predicted(model: Searchable, source: SourceIds, target: Tensor) -> Iterator[pd.DataFrame]:
    steps = forced_steps(model, encoded(model, source), target, record=False)
    for token, step in zip(target.T, steps, strict=True):
        log_probs, output_ids = step.log_probs[:, 0], step.state.output_ids
        best = log_probs.max(-1)
        counts = (token != PAD) & ((token != EOS) | (not model.plans_length))
        yield _rows("token", best.values, best.indices == output_index(output_ids, token), counts)
        if not model.plans_length:
            yield _rows("eos", log_probs[:, output_index(output_ids, token.new_tensor(EOS))], token == EOS, counts)


def _rows(of: str, log_probs: Tensor, right: Tensor, counts: Tensor) -> pd.DataFrame:
    probability = log_probs[counts].double().exp().cpu().numpy()
    return pd.DataFrame({"of": of, "probability": probability, "right": right[counts].cpu().numpy()})


def reliability(found: pd.DataFrame) -> pd.DataFrame:
    """Return how often predictions come true, by bins of their probability, equally wide.

    Args:
        found: rows of `predictions`.

    Returns:
        A row for each kind of prediction and each bin: `of`; `low` and `high`, its edges, of which it includes the
        upper one; `tokens` in it; `confidence`, their mean probability, and `accuracy`, the share that is right, both
        NaN in a bin without tokens.
    """
    edges = np.linspace(0, 1, BINS + 1)
    place = np.searchsorted(edges[1:-1], found["probability"])
    every = pd.MultiIndex.from_product([found["of"].unique(), range(BINS)], names=["of", "bin"])
    grouped = found.assign(bin=place, right=found["right"].astype(float)).groupby(["of", "bin"])
    binned = grouped.agg(tokens=("right", "size"), confidence=("probability", "mean"), accuracy=("right", "mean"))
    shown = binned.reindex(every).reset_index().fillna({"tokens": 0}).astype({"tokens": int})
    return shown.assign(low=edges[shown["bin"]], high=edges[shown["bin"] + 1])[list(_COLUMNS)]


_COLUMNS = ("of", "low", "high", "tokens", "confidence", "accuracy")


def expected_error(found: pd.DataFrame, of: str = "token") -> float:
    """Return the expected calibration error in percentage points: Σ_b n_b / n |accuracy_b - confidence_b|.

    Args:
        found: rows of `reliability`.
        of: `token` or `eos`; the error of EOS is that of a class (Nixon et al. 2019), over all positions.

    Returns:
        0 to 100; NaN without such predictions.
    """
    rows = found[(found["of"] == of) & (found["tokens"] > 0)]
    return 100 * _mean((rows["accuracy"] - rows["confidence"]).abs(), rows["tokens"])


def calibration_errors(found: pd.DataFrame) -> pd.DataFrame:
    """Summarise the rows of `reliability`, with their `run`.

    Returns:
        A row for each run and kind of prediction: `run`, `of`, `tokens`; and in per cent `ece`, `expected_error`;
        `confidence`, the mean probability; `accuracy`, the share that is right.
    """
    rows = []
    for (run, of), bins in found[found["tokens"] > 0].groupby(["run", "of"], sort=False):
        means = (100 * _mean(bins[name], bins["tokens"]) for name in ("confidence", "accuracy"))
        rows.append((run, of, bins["tokens"].sum(), expected_error(bins, str(of)), *means))
    return pd.DataFrame(rows, columns=["run", "of", "tokens", "ece", "confidence", "accuracy"])


def _mean(values: pd.Series, tokens: pd.Series) -> float:
    return float(np.average(values, weights=tokens)) if len(values) else math.nan


def reliability_figure(found: pd.DataFrame) -> go.Figure:
    """Draw how often predictions come true, by their probability: overconfident is below the diagonal.

    Args:
        found: rows of `reliability`, with their `run`. The area of a point grows with the number of digits of its
            tokens; a bin without tokens interrupts the line.
    """
    kinds = [of for of in PREDICTED if of in set(found["of"])]
    figure = make_subplots(cols=max(1, len(kinds)), horizontal_spacing=0.12)
    style = styles(found["run"])
    for place, of in enumerate(kinds, start=1):
        figure.add_scatter(
            x=[0, 1], y=[0, 1], mode="lines", name="perfect calibration", legendgroup="diagonal",
            showlegend=place == 1, line={"color": FAINT, "width": 1}, hoverinfo="skip", row=1, col=place,
        )  # fmt: skip
        for run, bins in found[found["of"] == of].groupby("run", sort=False):
            figure.add_scatter(
                x=bins["confidence"], y=bins["accuracy"], mode="lines+markers", name=name_in_lines(run),
                legendgroup=str(run), showlegend=place == 1, line=style[str(run)], customdata=bins[["tokens"]],
                marker={"size": 4 * (1 + np.log10(bins["tokens"].clip(lower=1))), "opacity": 0.8},
                hovertemplate="probability %{x:.3f}: right %{y:.3f} of %{customdata[0]:,} tokens"
                f"<extra>{name_in_lines(run)}</extra>",
                row=1, col=place,
            )  # fmt: skip
        figure.update_xaxes(title_text=f"mean probability of {PREDICTED[of]}", col=place)
    figure.update_xaxes(range=[-0.03, 1.03])
    figure.update_yaxes(range=[-0.03, 1.03])
    figure.update_yaxes(title_text="share that is right", col=1)
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "How often a prediction is right, by its probability", 440)


def _said(found: pd.DataFrame) -> str:
    """Say how far probabilities are from how often they come true, and on which side."""
    if found.empty:
        return ""
    parts = []
    for run, rows in calibration_errors(found).groupby("run", sort=False):
        each = rows.set_index("of")
        of_eos = f", of EOS {number(each['ece']['eos'])}" if "eos" in each.index else ""
        sure, right = (number(each[name]["token"], 0) for name in ("confidence", "accuracy"))
        parts.append(f"{run} {number(each['ece']['token'], 1)}{of_eos} ({sure} % sure of a token, {right} % right)")
    return f"Expected calibration error in percentage points: {listed(parts, '; ')}."


CALIBRATION = Analysis(
    "Are a model's probabilities right, and that of the end of a sentence?",
    calibration,
    source="Guo et al. 2017; Kumar and Sarawagi 2019",
    needs=DECODING,
    version=1,
    columns=_COLUMNS,
    table=calibration_errors,
    figure=reliability_figure,
    finding=_said,
    metrics=(
        Metric("ece", "calibration error (points)", better="lower", read=expected_error),
        Metric(
            "eos-ece",
            "calibration error of EOS (points)",
            better="lower",
            needs=(END,),
            read=lambda found: expected_error(found, "eos"),
        ),
    ),
    in_context=True,
)
