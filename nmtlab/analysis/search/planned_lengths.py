"""How well does a system plan the length of a translation, and how many lengths should be tried? (thesis 4.1)"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from plotly.subplots import make_subplots

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.metric import Better, Metric, Scoring
from nmtlab.analysis.access.needs import PLANNED_LENGTH, WEIGHTS, in_direction
from nmtlab.analysis.access.opened import RunOrSystem, opened
from nmtlab.errors import RunError
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.figures.theme import BELOW, COLOURS, FAINT, dressed, styles
from nmtlab.figures.words import listed, number
from nmtlab.models.interface import Memory, Searchable
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.planned import length_candidates, planned_search
from nmtlab.search.searches import OfLengths, Planned
from nmtlab.systems import open_model
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample

LENGTH_COLUMNS = (
    "line", "reference_length", "likeliest", "probability", "expected", "reference_probability", "reference_rank",
)  # fmt: skip

_BATCH_TOKENS = 4096
_NEGLIGIBLE = 0.001  # probability of a length that the axis need not reach


def length_plan(system: RunOrSystem, source: str) -> pd.DataFrame:
    """Return the distribution over lengths that a system plans for the translation of a sentence.

    Args:
        system: a run or translator that plans lengths.

    Returns:
        A row for each length from 0: `length`; `probability`; `tried`, whether it is one of the lengths decoded.

    Raises:
        RunError: the system does not plan lengths, or has no weights.
    """
    translator = opened(system)
    if not translator.model.plans_length:
        raise RunError("this system does not plan lengths", "choose a run of the recipe 'planned'")
    model = translator.model
    ids = torch.tensor([translator.pipeline.source_ids(source)], device=model.device)
    with torch.inference_mode():
        memory = model.encode(ids)
        share = model.length_log_probs(memory)[0].exp()
        log_probs, lengths = length_candidates(model, memory, translator.settings)
    found = pd.DataFrame({"length": range(len(share)), "probability": share.tolist()})
    return found.assign(tried=found["length"].isin(lengths[log_probs > -torch.inf].tolist()))


def lengths_figure(plan: pd.DataFrame, reference: int | None = None) -> go.Figure:
    """Draw the distribution over planned lengths for one sentence.

    Args:
        plan: rows of `length_plan`.
        reference: length of the reference, in tokens.
    """
    figure = go.Figure(
        go.Bar(
            x=plan["length"], y=plan["probability"],
            marker_color=[COLOURS[0] if tried else FAINT for tried in plan["tried"]],
            hovertemplate="%{x} tokens: %{y:.3f}<extra></extra>",
        )
    )  # fmt: skip
    if reference is not None:
        figure.add_vline(x=reference, line={"color": COLOURS[2], "dash": "dash"}, annotation_text="reference")
    likely = plan.loc[plan["probability"] > _NEGLIGIBLE, "length"]
    figure.update_xaxes(title_text="tokens", range=[-0.5, (likely.max() if len(likely) else 10) + 2.5])
    figure.update_yaxes(title_text="p(length | source)", rangemode="tozero")
    return dressed(figure, "Planned length of the translation (blue: lengths decoded)", 380)


def lengths_finding(plan: pd.DataFrame, reference: int | None = None) -> str:
    """Say which length is planned, and how probable those of the reference and of the empty translation are.

    Args:
        plan: rows of `length_plan`.
        reference: length of the reference, in tokens.
    """
    shares = plan.set_index("length")["probability"]
    best = int(shares.idxmax())
    said = f"Most probable length: {best} tokens (p {number(shares[best])})"
    if reference is not None:
        said += f"; that of the reference, {reference}, has p {number(shares.get(reference, 0.0))}"
    return f"{said}. The empty translation has p {shares[0]:.2g}."


def planned_lengths(run: Run, corpus: ParallelCorpus, split: str = "test", sample: int | None = None) -> pd.DataFrame:
    """Compare the planned lengths of a text with those of its references.

    Returns:
        A row for each sentence: `line` in the text, from 1; `reference_length`, in tokens; `likeliest` length and its
        `probability`; `expected`, the mean; `reference_probability`, and `reference_rank` among all lengths, from 1:
        how many lengths must be decoded to include the reference's (missing if it is longer than can be planned).
    """
    translator = opened(in_direction(run, corpus))
    model, pipeline = translator.model, translator.pipeline
    drawn = draw_sample(corpus, split, sample)
    sources = pipeline.encode_source(drawn.sources)
    reference = np.array([len(ids) - 1 for ids in pipeline.encode_target(drawn.targets)])
    share = np.empty((len(sources), 0))
    for batch in sorted_batches([len(ids) for ids in sources], _BATCH_TOKENS):
        source = torch.from_numpy(pad([sources[i] for i in batch])).to(model.device)
        with torch.inference_mode():
            found = model.length_log_probs(model.encode(source)).double().exp().cpu().numpy()
        share = share if share.size else np.empty((len(sources), found.shape[1]))
        share[batch] = found
    return compared_lengths(share, reference, drawn.lines)


def error_metric(
    key: str, label: str, quantity: str, better: Better = "lower", given: Mapping[str, Any] | None = None
) -> Metric:
    """Return a number of `length_errors`."""
    return Metric(
        key, label, better=better, given=given or {}, needs=(PLANNED_LENGTH,),
        read=lambda found: length_errors(found)[quantity],
    )  # fmt: skip


def _said(found: pd.DataFrame) -> str:
    """Say how often the most probable length is the reference's, and how far off it is."""
    parts = []
    for run, rows in found.groupby("run", sort=False) if len(found) else ():
        errors = length_errors(rows)
        parts.append(f"{run} {percent(errors['among 1'])} of {len(rows)}, off by {number(errors['error'], 1)} tokens")
    return f"Sentences whose most probable length is that of the reference: {listed(parts, '; ')}." if parts else ""


PLANNED_LENGTHS = Analysis(
    "How well does a run plan the lengths of its translations?",
    planned_lengths,
    needs=(PLANNED_LENGTH, WEIGHTS),
    version=1,
    stored_as="lengths.planned_lengths",
    columns=tuple(LENGTH_COLUMNS),
    finding=_said,
    metrics=(
        error_metric("length-model-mae", "length-model MAE (tokens)", "error"),
        error_metric("length-model-top-5", "reference length in top 5 (share)", "among 5", "higher"),
        error_metric("length-model-loss", "length-model loss (nats)", "nll"),
    ),
)


def compared_lengths(share: np.ndarray, reference: np.ndarray, lines: Sequence[int]) -> pd.DataFrame:
    """Compare distributions over lengths with the lengths of references.

    Args:
        share: (sentences, N + 1) probabilities of the lengths 0 to N.
        reference: (sentences,) lengths in tokens.

    Returns:
        The rows of `planned_lengths`.
    """
    within = reference < share.shape[1]
    of_reference = share[np.arange(len(reference)), np.minimum(reference, share.shape[1] - 1)]
    rank = 1 + (share > of_reference[:, None]).sum(1)
    return pd.DataFrame(
        {
            "line": lines,
            "reference_length": reference,
            "likeliest": share.argmax(1),
            "probability": share.max(1),
            "expected": share @ np.arange(share.shape[1]),
            "reference_probability": np.where(within, of_reference, 0.0),
            "reference_rank": pd.Series(rank, dtype="Int64").where(within),
        }
    )


def oracle_lengths(
    run: Run, corpus: ParallelCorpus, split: str = "test", beam_size: int = 4, sample: int | None = None
) -> pd.DataFrame:
    """Translate a text with the length of each reference given: an upper bound for better planning.

    Returns:
        A row for each sentence: `line` in the text, from 1; `text`; `length`, in tokens; `log_prob` of the tokens. A
        blank line stays blank and has no probability.
    """
    translator = opened(in_direction(run, corpus))
    drawn = draw_sample(corpus, split, sample)
    lengths = [len(ids) - 1 for ids in translator.pipeline.encode_target(drawn.targets)]
    found = translator.translate(drawn.sources, search=OfLengths(SearchSettings(beam_size=beam_size), lengths))
    rows = [
        (line, one.text, length, one.hypotheses[0].log_prob if one.hypotheses else math.nan)
        for line, length, one in zip(drawn.lines, lengths, found, strict=True)
    ]
    return pd.DataFrame(rows, columns=["line", "text", "length", "log_prob"])


ORACLE_LENGTHS = Analysis(
    "How good are translations whose lengths are those of the references?",
    oracle_lengths,
    needs=(PLANNED_LENGTH, WEIGHTS),
    version=1,
    stored_as="lengths.oracle_lengths",
    columns=("line", "text", "length", "log_prob"),
    metrics=(
        Metric(
            "oracle-length-bleu",
            "BLEU with oracle length, beam 4",
            unit="BLEU",
            needs=(PLANNED_LENGTH,),
            given={"beam_size": 4},
            scoring=Scoring(),
        ),
    ),
)


def length_errors(found: pd.DataFrame, lengths: tuple[int, ...] = (1, 5, 10)) -> pd.Series:
    """Summarise the rows of `planned_lengths`.

    Returns:
        `sentences`; `error`, the mean absolute difference of the likeliest length and the reference's, in tokens;
        `bias`, the mean signed difference; `nll`, the mean negative log-probability of the reference's length, in nats;
        and for each number K of lengths decoded, `among K`, the share of references whose length is among the likeliest
        K.
    """
    distance = found["likeliest"] - found["reference_length"]
    among = {f"among {k}": (found["reference_rank"] <= k).fillna(False).mean() for k in lengths}
    return pd.Series(
        {
            "sentences": len(found),
            "error": distance.abs().mean(),
            "bias": distance.mean(),
            "nll": -np.log(found["reference_probability"].clip(lower=1e-12)).mean(),
            **among,
        }
    )


def length_calibration(found: pd.DataFrame, bins: int = 5) -> pd.DataFrame:
    """Return how often the likeliest length is right, by how sure the system is of it.

    Args:
        found: rows of `planned_lengths`.
        bins: maximum number of bins, of equally many sentences each.

    Returns:
        A row for each bin, the least sure first: `sentences`; `probability`, the mean that the system assigns; `right`,
        the share of right lengths; `low` and `high`, its 95 % interval (Wilson 1927), which has a width even if none is
        right.
    """
    place = pd.qcut(found["probability"].rank(method="first"), min(bins, len(found)), labels=False)
    right = found["likeliest"] == found["reference_length"]
    grouped = found.assign(right=right).groupby(place)
    shares = pd.DataFrame(
        {"sentences": grouped.size(), "probability": grouped["probability"].mean(), "right": grouped["right"].mean()}
    ).reset_index(drop=True)
    intervals = [_wilson(*counts) for counts in zip(grouped["right"].sum(), grouped.size(), strict=True)]
    return shares.assign(low=[low for low, _ in intervals], high=[high for _, high in intervals])


def calibration_figure(bins: pd.DataFrame) -> go.Figure:
    """Draw how often the likeliest length is right, by how sure systems are of it: calibration, ideally the diagonal.

    Args:
        bins: `row`, a panel each; `column`, a line each; `probability`, that the system assigns; `right`, the share of
            right lengths; `low` and `high`, its 95 % interval.
    """
    rows = list(dict.fromkeys(bins["row"]))
    figure = make_subplots(rows=1, cols=len(rows), subplot_titles=[escape(row) for row in rows])
    style = styles(bins["column"])
    end = 1.05 * max(bins["probability"].max(), bins["high"].max())
    for place in range(1, len(rows) + 1):
        figure.add_scatter(
            x=[0, end], y=[0, end], mode="lines", name="perfect calibration", legendgroup="diagonal",
            showlegend=place == 1, line={"color": FAINT, "width": 1}, hoverinfo="skip", row=1, col=place,
        )  # fmt: skip
    for (column, row), curve in bins.groupby(["column", "row"], sort=False):
        figure.add_scatter(
            x=curve["probability"], y=curve["right"], mode="lines+markers", name=escape(column), legendgroup=column,
            showlegend=row == rows[0], line=style[column], customdata=curve[["low", "high"]],
            error_y={
                "type": "data", "symmetric": False, "array": curve["high"] - curve["right"],
                "arrayminus": curve["right"] - curve["low"], "thickness": 1.5, "width": 4,
            },
            hovertemplate="probability %{x:.3f}: right %{y:.3f} (%{customdata[0]:.3f} to %{customdata[1]:.3f})"
            f"<extra>{escape(column)}</extra>",
            row=1, col=rows.index(row) + 1,
        )  # fmt: skip
    figure.update_xaxes(title_text="probability of the likeliest length", range=[0, end])
    figure.update_yaxes(range=[0, end])
    figure.update_yaxes(title_text="share that is right", col=1)
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, "How often the planned length is right, by how sure the system is", 440)


def _wilson(right: int, sentences: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    from scipy.stats import binomtest  # takes a second to load

    return tuple(binomtest(int(right), int(sentences)).proportion_ci(0.95, method="wilson"))


_COLUMNS = ["line", "rank", "length", "length_log_prob", "log_prob", "text"]


def translations_by_length(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "dev",
    search: SearchSettings | None = None,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text, or a sample of its sentences, with each of their most probable lengths.

    Args:
        search: beam size of each length, number of lengths and limit; the recipe's if not given.

    Returns:
        A row for the best translation of each length of each sentence, the most probable length first: `line` in the
        text, from 1; `rank` of the length, from 1; `length`, in tokens; `length_log_prob`; `log_prob` of length and
        tokens; `text`. A blank line has no rows.
    """
    run = in_direction(run, corpus)
    system = open_model(run, search, machine=machine)
    drawn = draw_sample(corpus, split, sample)
    found = system.translate(drawn.sources, on_progress=on_progress, search=EveryLength(system.settings))
    rows = [
        (line, rank, len(one.tokens), one.length_log_prob, one.log_prob, text)
        for line, translation in zip(drawn.lines, found, strict=True)
        for rank, (one, text) in enumerate(zip(translation.hypotheses, translation.texts, strict=False), start=1)
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


TRANSLATIONS_BY_LENGTH = Analysis(
    "How is a sentence translated in each of its most probable lengths?",
    translations_by_length,
    needs=(PLANNED_LENGTH, WEIGHTS),
    version=1,
    stored_as="length_weights.translations_by_length",
    columns=tuple(_COLUMNS),
)


@dataclass(frozen=True)
class EveryLength(Planned):
    """The best translation of each of the most probable lengths."""

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        found = planned_search(model, memory, self.settings, self.width, language=language)
        return [_best_of_each(one) for one in found]


def _best_of_each(result: SearchResult) -> SearchResult:
    """Return the best hypothesis of each length, in the order in which the lengths were chosen."""
    best: dict[int, Hypothesis] = {}
    for hypothesis in result.hypotheses:
        best.setdefault(len(hypothesis.tokens), hypothesis)
    return SearchResult(sorted(best.values(), key=lambda one: (-one.length_log_prob, len(one.tokens))))


def chosen_texts(found: pd.DataFrame, lengths: int, weight: float, lines: int) -> list[str]:
    """Return the translations that a search with fewer lengths and another weight of p(length) would find.

    Args:
        found: rows of `translations_by_length`.
        lengths: how many of each sentence's lengths are tried.
        weight: exponent of p(length) in the score.
        lines: number of lines of the text; one without rows is blank.
    """
    tried = found[found["rank"] <= lengths]
    score = tried["log_prob"] + (weight - 1) * tried["length_log_prob"]
    best = tried.loc[score.groupby(tried["line"]).idxmax()].set_index("line")["text"]
    return best.reindex(range(1, lines + 1), fill_value="").tolist()


def length_sweep(
    run: Run,
    corpus: ParallelCorpus,
    search: SearchSettings,
    lengths: Sequence[int],
    weights: Sequence[float],
    split: str = "dev",
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Return BLEU for several numbers of lengths and weights of p(length), from one translation of a text.

    Args:
        run, corpus, split, on_progress, machine: as for `translations_by_length`, whose answer is stored too.
        search: beam size and limit.

    Returns:
        A row for each number and weight, the numbers in order, and within each the weights: `length_candidates`;
        `length_weight`; `bleu` (sacrebleu, over all references); `length_ratio` to the closest reference, in words.
    """
    most = search.model_copy(update={"length_candidates": max(lengths), "length_weight": 1.0})
    asked = {"corpus": corpus, "split": split, "search": most, "machine": machine}
    found = TRANSLATIONS_BY_LENGTH.of(run, on_progress=on_progress, **asked)
    references, metric = corpus.references(split), bleu_metric(default_tokenizer(corpus.target))
    rows = []
    for count, weight in product(lengths, weights):
        bleu = metric.corpus_score(chosen_texts(found, count, weight, len(references[0])), references)
        rows.append((count, weight, bleu.score, bleu.sys_len / bleu.ref_len))
    return pd.DataFrame(rows, columns=["length_candidates", "length_weight", "bleu", "length_ratio"])


LENGTH_SWEEP = Analysis(
    "How does BLEU depend on the number of lengths and the weight of p(length)?",
    length_sweep,
    needs=(PLANNED_LENGTH,),
    version=1,
    stored_as="length_weights.length_sweep",
    columns=("length_candidates", "length_weight", "bleu", "length_ratio"),
)
