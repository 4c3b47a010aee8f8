"""How far did the predictions of a run move from those of the run that it went on from?"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import CONTINUED, NEURAL, WEIGHTS, check_same_types, continued_from, in_direction
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import number
from nmtlab.models.interface import Searchable, State, Step, encoded, output_index
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_steps, paired_batches
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import EOS

_BATCH_TOKENS = 4096
_LEAST = 1e-4
"""Divergences below this, in nats, are drawn here: the axis is logarithmic."""


def divergence(
    run: Run, parent: Run, corpus: ParallelCorpus, split: str = "test", sample: int | None = None
) -> pd.DataFrame:
    """Return how far a run's distribution of each token is from that of the run that it went on from.

    Both read the same forced references, in the parent's types. The Kullback-Leibler divergence is what a training
    with a teacher adds to its loss, without the teacher's entropy (Khayrallah et al. 2018, equation 2).

    Args:
        run: one that went on from another.
        parent: that run.
        corpus: in its languages; pairs with a blank side are left out.
        sample: number of pairs, drawn as in `nmtlab.text.corpora.sample`; all if not given.

    Returns:
        A row for each token of the references: `line`, from 1; `token`; `divergence`, the sum over all types v of
        p(v) ln(p(v) / q(v)), with p of the parent and q of the run, in nats; `same`, whether both find the same type
        most probable. The end of a sentence is one, `</s>`, unless the runs plan lengths.

    Raises:
        RunError: the runs have different vocabularies, or one has no weights.
        CorpusError: no such split, or other languages.
    """
    check_same_types(run, parent)
    run = in_direction(run, corpus)
    drawn = draw_sample(corpus, split, sample)
    old, new = (open_model(one) for one in (parent.directed(*run.direction), run))
    sources = [one.pipeline.encode_source(drawn.sources) for one in (new, old)]
    targets = old.pipeline.encode_target(drawn.targets)
    kept = [place for place, row in enumerate(zip(*sources, targets, strict=True)) if min(map(len, row)) > 1]
    sides = [[side[place] for place in kept] for side in (*sources, targets)]
    types, lines = old.pipeline.target.vocabulary.types, [drawn.lines[place] for place in kept]
    rows = [
        (lines[place], types[token], float(apart), bool(same))
        for place, found in sorted(_divergences(old.model, new.model, *sides), key=lambda one: one[0])
        for token, apart, same in zip(sides[2][place], *found, strict=True)
        if token != EOS or not new.model.plans_length
    ]
    return pd.DataFrame(rows, columns=["line", "token", "divergence", "same"])


def mean_divergence(found: pd.DataFrame) -> pd.DataFrame:
    """Return how far predictions are apart on average.

    Args:
        found: rows of `divergence` with a column `run`.

    Returns:
        A row for each run: `run`; `tokens`; `divergence`, the mean, and `median`, in nats a token; `same`, the share of
        tokens, 0 to 1, for which both find the same type most probable.
    """
    return found.groupby("run", sort=False).agg(
        tokens=("token", "size"), divergence=("divergence", "mean"), median=("divergence", "median"),
        same=("same", "mean"),
    ).reset_index()  # fmt: skip


def divergence_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the share of tokens whose distribution moved by at least so much.

    Args:
        found: rows of `divergence` with a column `run`.
    """
    figure, style = go.Figure(), styles(found["run"], SOLID)
    shares = np.linspace(100, 0, 201)
    for run, of_run in found.groupby("run", sort=False):
        figure.add_scatter(
            x=of_run["divergence"].quantile(1 - shares / 100).clip(lower=_LEAST), y=shares, mode="lines",
            name=name_in_lines(run), line=style[str(run)],
            hovertemplate="%{y:.1f} % of the tokens moved by %{x:.3g} nats or more<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="KL divergence from the parent's distribution (nats)", type="log", dtick=1)
    figure.update_yaxes(title_text="tokens that moved by at least this (%)", range=[0, 100])
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "How far the distributions of the references' tokens moved", 440)


def divergence_finding(found: pd.DataFrame) -> str:
    """Return how far the predictions of each run moved, from rows of `divergence` with a column `run`."""
    return " ".join(
        f"{run}: {number(mean, 2)} nats a token from its parent's distributions (KL, mean of {tokens:,}); the most"
        f" probable token is another one at {number(100 * (1 - same), 0)} % of the places."
        for run, tokens, mean, _, same in mean_divergence(found).itertuples(index=False)
    )


DIVERGENCE = Analysis(
    "How far did the distributions of tokens move from those of the run that it went on from?",
    divergence,
    source="Khayrallah et al. 2018, equation 2",
    needs=(NEURAL, WEIGHTS, CONTINUED),
    version=1,
    columns=("line", "token", "divergence", "same"),
    table=mean_divergence,
    figure=divergence_figure,
    finding=divergence_finding,
    digits=3,
    follows=(("parent", continued_from),),
)


@torch.inference_mode()
def _divergences(
    old: Searchable,
    new: Searchable,
    new_sources: Sequence[Sequence[int]],
    old_sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
) -> Iterator[tuple[int, tuple[list[float], list[bool]]]]:
    """Yield the index of each sentence, and of each of its tokens the divergence and whether the best is the same."""
    for batch, sources, target in paired_batches(new.device, new_sources, targets, _BATCH_TOKENS, [old_sources]):
        models = zip((new, old), sources, strict=True)
        steps = [forced_steps(model, encoded(model, source), target, record=False) for model, source in models]
        found = [_apart(there, here) for here, there in zip(*steps, strict=True)]
        apart, same = (torch.stack(part, 1).tolist() for part in zip(*found, strict=True))
        for row, place in enumerate(batch):
            length = len(targets[place])
            yield place, (apart[row][:length], same[row][:length])


def _apart(old: Step[State], new: Step[State]) -> tuple[Tensor, Tensor]:
    """Return the divergence of two steps, (B,), and whether they find the same type most probable, (B,)."""
    before, after = old.log_probs[:, 0].double(), new.log_probs[:, 0].double()
    column = output_index(new.state.output_ids, old.state.output_ids)
    terms = before.exp() * (before - after[:, column])
    best = [step.state.output_ids[log_probs.argmax(1)] for step, log_probs in ((old, before), (new, after))]
    return terms.nansum(1), best[0] == best[1]  # of what neither may produce, the term is NaN
