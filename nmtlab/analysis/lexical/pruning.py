"""What does a model lose with its smallest weights, or at a lower rank, and which words go first?

If norms of word vectors grow with frequency (thesis 3.2.1), pruning by magnitude takes the vectors of rare words first,
unless their norm is fixed.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.needs import COUNTS, DECODING, in_direction
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.evaluation.rare_words import bucket_names, bucket_of
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.models.build import use_weights
from nmtlab.models.interface import TranslationModel
from nmtlab.models.parts import vocabulary_side
from nmtlab.nn.low_rank import merged
from nmtlab.nn.pruning import pruned, share_of_zeros, share_stored, truncated
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.answers import Row
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import Pair, ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import UNK
from nmtlab.translation import Translator

SHARES = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Shares of the values of each matrix that are set to 0, or of its singular values."""

PRUNED = {"all": "all matrices", "words": "word vectors", "network": "the network between them"}
"""What is made lighter, by its key; word vectors are every table with a row for each type."""

EDGES = (0, 5, 20, 100)
"""Lower bounds of the training frequency of tokens, wide enough for tokens of each in a small sample."""

EVERY = "all"
"""The `frequency` of the row of all tokens."""

_NO_BUCKET = -1

SHOWN = 0.8
"""The share at which words are compared by their frequency, unless another is asked for."""

PUBLISHED = 0.4
"""The share that See, Luong and Manning (2016) prune at hardly any loss, from a model of 216 M weights."""


def pruning_losses(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    sample: int | None = 200,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, for each part of a run's weights and each of `SHARES`, what the model loses by pruning.

    Each matrix loses the same share of its values (class-uniform); low-rank changes are merged before.

    Args:
        run: neural, with weights and with counts of its types.
        corpus: in its languages; pairs with a blank side are left out.
        split: train, dev or test.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.
        machine: where to compute; the recipe's settings if not given.
        start: index of the first of these settings to yield, from 0.

    Yields:
        A row for all tokens and one for each bucket of `EDGES` that has some, UNKs being in none: `pruned`, a key of
        `PRUNED`; `share` of their values; `saved`, the share of the numbers of all matrices that need not be stored
        then; `frequency` of the tokens in the training text, `all` for all; `tokens` of the references, without EOS;
        `log_prob`, their mean, in nats; and `bleu` (sacrebleu) with the run's search, in the row for all tokens where
        all matrices are pruned, else NaN.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: a phrase-based run, or one without weights or counts.
    """
    yield from _losses(_pruned, run, corpus, split, sample, machine, start)


def cut_losses(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    sample: int | None = 200,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, for each part of a run's weights and each of `SHARES`, what the model loses at a lower rank.

    Each matrix loses the same share of its singular values, the smallest ones; it is stored as two factors, or whole
    where that takes less.

    Args:
        run, corpus, split, sample, machine, start: as of `pruning_losses`.

    Yields:
        Rows of `pruning_losses`; `share` is one of singular values.
    """
    yield from _losses(_cut, run, corpus, split, sample, machine, start)


Lighter = tuple[dict[str, Tensor], float]
"""Weights, and the share of the numbers of their matrices that need not be stored."""


def _pruned(weights: Mapping[str, Tensor], share: float, names: Collection[str]) -> Lighter:
    found = pruned(weights, share, among=names)
    return found, share_of_zeros(found)


def _cut(weights: Mapping[str, Tensor], share: float, names: Collection[str]) -> Lighter:
    return truncated(weights, 1 - share, names), 1 - share_stored(weights, 1 - share, names)


def _losses(
    lighten: Callable[[Mapping[str, Tensor], float, Collection[str]], Lighter],
    run: Run,
    corpus: ParallelCorpus,
    split: str,
    sample: int | None,
    machine: MachineSettings | None,
    start: int,
) -> Iterator[list[Row]]:
    run = in_direction(run, corpus)
    system, weights = open_model(run, machine=machine), merged(run.checkpoints.weights()[0])
    drawn = draw_sample(corpus, split, sample)
    references = [drawn.of(lines) for lines in corpus.references(split)]
    scored = bleu_metric(default_tokenizer(corpus.target))
    for part, share in list(product(PRUNED, SHARES))[start:]:
        lighter, saved = lighten(weights, share, _names(weights, part))
        use_weights(system.model, {name: one.to(system.model.device) for name, one in lighter.items()})
        setting = {"pruned": part, "share": share, "saved": saved}
        score = math.nan
        if part == "all":
            score = scored.corpus_score([one.text for one in system.translate(drawn.sources)], references).score
        every, *buckets = _log_probs(system, drawn.pairs)
        yield [{**setting, **every, "bleu": score}, *({**setting, **row, "bleu": math.nan} for row in buckets)]


def _names(weights: Mapping[str, Tensor], part: str) -> list[str]:
    return [name for name in weights if part == "all" or (part == "words") == (vocabulary_side(name) is not None)]


def _log_probs(system: Translator[TranslationModel], pairs: Sequence[Pair]) -> list[Row]:
    """Return `frequency`, `tokens` and `log_prob` of all tokens, and of those of each bucket that has some."""
    source = system.pipeline.encode_source([one for one, _ in pairs])
    target = system.pipeline.encode_target([other for _, other in pairs])
    both = [one for one in zip(source, target, strict=True) if min(map(len, one)) > 1]
    values, buckets = [np.empty(0)], [np.empty(0)]
    for place, forced in forced_decode_all(system.model, [one for one, _ in both], [other for _, other in both]):
        values.append(forced.log_probs[:-1])
        counts, ids = system.pipeline.target.counts, both[place][1][:-1]
        buckets.append(np.array([_NO_BUCKET if one == UNK else bucket_of(counts[one], EDGES) for one in ids]))
    found, bucket = np.concatenate(values), np.concatenate(buckets)
    each = {name: bucket == of for of, name in enumerate(bucket_names(EDGES))}
    groups = {EVERY: np.ones(len(found), bool), **{name: some for name, some in each.items() if some.any()}}
    return [
        {
            "frequency": name,
            "tokens": int(some.sum()),
            "log_prob": float(found[some].mean()) if some.any() else math.nan,
        }
        for name, some in groups.items()
    ]


def lost(found: pd.DataFrame) -> pd.DataFrame:
    """Return losses, with their `run`, and the `loss` of a token, in nats, against the whole model.

    Args:
        found: rows of `pruning_losses` or `cut_losses`, with their `run`.
    """
    keys = ["run", "pruned", "frequency"]
    whole = found[found["share"] == 0].set_index(keys)["log_prob"].rename("whole")
    return found.join(whole, on=keys).assign(loss=lambda rows: rows["whole"] - rows["log_prob"]).drop(columns="whole")


def at_share(found: pd.DataFrame, share: float = SHOWN) -> pd.DataFrame:
    """Return what each run loses, by what is pruned and by the frequency of tokens, at one of `SHARES`.

    Args:
        found: as of `lost`.

    Returns:
        A row for each run and part: `run`, `pruned`, `share`, `saved`, `bleu`, and for each frequency the `loss` of a
        token in nats.
    """
    rows = lost(found)[lambda rows: rows["share"] == share]
    keys = ["run", "pruned", "share", "saved"]
    scores = rows.groupby(keys, sort=False)["bleu"].max()
    wide = rows.pivot_table("loss", keys, "frequency", sort=False, dropna=False).reindex(
        columns=[EVERY, *bucket_names(EDGES)]
    )
    return scores.to_frame().join(wide.dropna(axis="columns", how="all")).reset_index()


def pruning_figure(found: pd.DataFrame, share: float = SHOWN) -> go.Figure:
    """Draw BLEU against the share of pruned values, and what tokens lose by their frequency where so many are pruned.

    Args:
        found: rows of `pruning_losses`, with their `run`.
        share: one of `SHARES`.
    """
    return _figure(found, share, "values pruned from", "pruned", "What is lost with the smallest weights")


def cut_figure(found: pd.DataFrame, share: float = SHOWN) -> go.Figure:
    """Draw rows of `cut_losses` as `pruning_figure` draws those of pruning."""
    return _figure(found, share, "singular values cut from", "cut", "What is lost at a lower rank")


def _figure(found: pd.DataFrame, share: float, taken: str, done: str, title: str) -> go.Figure:
    """Draw rows of either kind: what is `taken` from every matrix, and how it is then `done`."""
    figure = make_subplots(cols=2, horizontal_spacing=0.12)
    style, rows = styles(found["run"], SOLID), lost(found)
    scores = rows[(rows["pruned"] == "all") & (rows["frequency"] == EVERY)]
    for run, of_run in scores.groupby("run", sort=False):
        figure.add_scatter(
            x=100 * of_run["share"], y=of_run["bleu"], mode="lines+markers", name=name_in_lines(run),
            legendgroup=str(run), line=style[str(run)],
            hovertemplate=f"%{{x:.0f}} % {done}: %{{y:.1f}} BLEU<extra>{name_in_lines(run)}</extra>", row=1, col=1,
        )  # fmt: skip
    some = rows[(rows["share"] == share) & (rows["pruned"] != "all") & (rows["frequency"] != EVERY)]
    for (run, part), of_run in some.groupby(["run", "pruned"], sort=False):
        line = {**style[str(run)], "dash": "solid" if part == "words" else "dot"}
        figure.add_scatter(
            x=of_run["frequency"], y=of_run["loss"], mode="lines+markers", legendgroup=str(run), line=line,
            name=name_in_lines(f"{run}: {PRUNED[str(part)]}"), customdata=of_run[["tokens"]],
            hovertemplate="%{x} times in training: %{y:.2f} nats a token, of %{customdata[0]:,}<extra>"
            f"{name_in_lines(f'{run}: {PRUNED[str(part)]}')}</extra>",
            row=1, col=2,
        )  # fmt: skip
    figure.update_xaxes(title_text=f"{taken} every matrix (%)", col=1)
    figure.update_yaxes(title_text="BLEU", rangemode="tozero", col=1)
    figure.update_xaxes(
        title_text="frequency of the token in training", type="category", categoryorder="array",
        categoryarray=bucket_names(EDGES), col=2,
    )  # fmt: skip
    figure.update_yaxes(title_text=f"loss of a token with {percent(share)} {done} (nats)", col=2)
    figure.update_layout(legend=BELOW, margin_b=130)
    return dressed(figure, f"{title}, and by which words", 480)


def _said(found: pd.DataFrame, what: str) -> str:
    """Say what 40 % of all values are worth in BLEU, and whether rare or frequent words lose more."""
    if found.empty:
        return ""
    scores, words = [], []
    for run, rows in lost(found).groupby("run", sort=False):
        bleu = rows[rows["pruned"] == "all"].groupby("share")["bleu"].max()
        scores.append(f"{run} from {number(bleu[0.0], 1)} to {number(bleu[PUBLISHED], 1)}")
        some = rows[(rows["share"] == SHOWN) & (rows["pruned"] == "words") & (rows["frequency"] != EVERY)]
        each = [
            f"{number(one.loss)} if seen {one.frequency} times"
            for one in (*some[:1].itertuples(), *some[-1:].itertuples())
        ]
        words += [f"{run} {' and '.join(each)}"] if each else []
    said = f"Without the smallest {percent(PUBLISHED)} of all {what} BLEU changes: {listed(scores)}."
    lost_by = f" Without {percent(SHOWN)} of those of word vectors, a token loses, in nats: {listed(words, '; ')}."
    return said + lost_by if words else said


PRUNING = Analysis(
    "What does a model lose with its smallest weights, and which words go first?",
    pruning_losses,
    source="See, Luong and Manning 2016",
    needs=(*DECODING, COUNTS),
    version=2,
    columns=("pruned", "share", "saved", "frequency", "tokens", "log_prob", "bleu"),
    table=at_share,
    figure=pruning_figure,
    finding=partial(_said, what="values"),
)

CUT = Analysis(
    "What does a model lose at a lower rank, and which words go first?",
    cut_losses,
    source="Eckart and Young 1936; survey 16",
    needs=PRUNING.needs,
    version=1,
    columns=PRUNING.columns,
    table=at_share,
    figure=cut_figure,
    finding=partial(_said, what="singular values"),
)
