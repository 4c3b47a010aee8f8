"""What do several languages share inside one model, layer by layer?

How alike their encoder states are, and whether the source language can be read off these (thesis 4.2).
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import combinations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from numpy.typing import NDArray
from plotly.subplots import make_subplots
from torch import Tensor, nn

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import SELF_ATTENTION, SEVERAL_DIRECTIONS, WEIGHTS
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.languages.gradients import GRADIENT_COSINES
from nmtlab.analysis.languages.parameters import by_system
from nmtlab.analysis.languages.similarity import cka_with_null, language_probe, retrieval
from nmtlab.errors import CorpusError
from nmtlab.figures.theme import BELOW, FAINT, dressed, plain, see_through, styles
from nmtlab.figures.words import listed, number
from nmtlab.models.transformer import Transformer
from nmtlab.recipe.transformer import TransformerSettings
from nmtlab.runs.run import Run
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import drawn
from nmtlab.text.segmentation.vocabulary import PAD
from nmtlab.translation import Translator

States = NDArray[np.float64]
"""(layers + 1, sentences, D), the embedded words before the first layer."""

_BATCH_TOKENS = 4000  # padded


def states_by_language(run: Run, corpora: Sequence[ParallelCorpus], split: str, sample: int) -> dict[str, States]:
    """Return the mean encoder states of the sentences of a multi-parallel text, by source language.

    The model translates into the target language of the run's direction. A vector is the mean over the positions of a
    sentence and EOS, without padding and tags; the last layer's are those before the encoder's closing norm.

    Args:
        run: of a Transformer.
        corpora: line n of all means the same; their source languages are the languages compared.
        sample: number of sentences to draw, by their translations into the first corpus' target language
            (`nmtlab.text.corpora.sample`).

    Raises:
        CorpusError: no such split, fewer than two languages, or texts that are not parallel to each other.
        RunError: the run has no weights or does not translate from one of the languages.
    """
    lines = _parallel_lines(corpora, split, sample)
    translator = opened(run)
    target = run.direction[1]
    return {language: mean_states(translator.directed(language, target), lines[language]) for language in lines}


@torch.inference_mode()
def mean_states(translator: Translator, lines: Sequence[str]) -> States:
    """Return the mean encoder states of some source sentences (see `states_by_language`).

    Args:
        translator: of a Transformer, in the direction of the sentences.
        lines: plain text.
    """
    model, pipeline = translator.model, translator.pipeline
    ids = pipeline.encode_source(lines)
    known = pipeline.source.vocabulary
    tags = torch.tensor(known.tag_ids(known.tags), dtype=torch.long, device=model.device)
    means: list[States] = []
    order: list[int] = []
    for batch in sorted_batches([len(one) for one in ids], _BATCH_TOKENS):
        source = torch.from_numpy(pad([ids[number] for number in batch])).to(model.device)
        is_tag = torch.isin(source, tags)
        with encoder_layers(model) as layers:
            model.encode(source)
        means.append(_means(torch.stack(layers).double(), (source != PAD) & ~is_tag))
        order += [int(number) for number in batch]
    return np.concatenate(means, axis=1)[:, np.argsort(order)]


@contextmanager
def encoder_layers(model: Transformer) -> Iterator[list[Tensor]]:
    """Record the input of the first encoder layer and the output of every one within the block: each (B, S, D)."""
    recorded: list[Tensor] = []

    def before(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        recorded.append(inputs[0])

    def after(_: nn.Module, __: object, output: Tensor) -> None:
        recorded.append(output)

    with ExitStack() as hooks:
        hooks.enter_context(model.encoder[0].register_forward_pre_hook(before))
        for layer in model.encoder:
            hooks.enter_context(layer.register_forward_hook(after))
        yield recorded


def _means(states: Tensor, kept: Tensor) -> States:
    """Return the mean states, (layers, B, D), of states (layers, B, S, D) over the positions kept, (B, S) bool."""
    weights = kept.double().unsqueeze(-1)
    return ((states * weights).sum(2) / weights.sum(1)).cpu().numpy()


def _parallel_lines(corpora: Sequence[ParallelCorpus], split: str, sample: int) -> dict[str, list[str]]:
    """Return the lines of each source language."""
    if len({corpus.source for corpus in corpora}) < max(2, len(corpora)):
        known = ", ".join(corpus.source for corpus in corpora) or "none"
        raise CorpusError(f"source languages {known}", "give corpora of two or more different source languages")
    pairs = {corpus.source: list(corpus.pairs(split)) for corpus in corpora}
    first, *others = corpora
    for corpus in others:
        ours, theirs = ([target for _, target in pairs[one.source]] for one in (first, corpus))
        if len(ours) != len(theirs) or (first.target == corpus.target and ours != theirs):
            raise CorpusError(
                f"{first.name!r} ({first.source}) and {corpus.name!r} ({corpus.source}): not the same sentences",
                "join them with 'nmtlab corpus join'",
            )
    places = drawn([target for _, target in pairs[first.source]], sample)
    return {language: [of_it[place][0] for place in places] for language, of_it in pairs.items()}


def similarity_by_layer(
    run: Run, corpora: Sequence[ParallelCorpus], split: str = "test", sample: int = 500, permutations: int = 200
) -> pd.DataFrame:
    """Return how alike two languages' encoder states of the same sentences are, after the embedding and each layer.

    A sentence's vector is the mean of its states (see `states_by_language`), in the model that translates into the
    target language of the run's direction.

    Args:
        run: of a Transformer.
        corpora: of two or more source languages; line n of all means the same, as in a text from `nmtlab corpus join`.
        sample: number of sentences to draw (`states_by_language`), 4 or more.
        permutations: number of shuffles behind the null distribution, 1 or more.

    Returns:
        A row for each layer and pair of languages: `layer`, 0 for the embedding; `language`, `other_language`;
        `sentences`; `cka`, debiased; `null_mean` and `null_95`, its mean and 95th percentile when the sentences of one
        side are shuffled, and `p`, the share of shuffles that reach it; `precision`, the share of sentences whose
        nearest neighbour in the other language is their translation, and `precision_back`, from there; `chance` of it.

    Raises:
        CorpusError: no such split, fewer than two languages, or texts that are not parallel to each other.
        RunError: the run has no weights or does not translate from one of the languages.
        NmtlabError: fewer than 4 sentences.
    """
    states = states_by_language(run, corpora, split, sample)
    rows = []
    for (language, ours), (other, theirs) in combinations(states.items(), 2):
        for layer, (x, y) in enumerate(zip(ours, theirs, strict=True)):
            alike, found = cka_with_null(x, y, permutations), retrieval(x, y)
            rows.append(
                {
                    "layer": layer,
                    "language": language,
                    "other_language": other,
                    "sentences": len(x),
                    "cka": alike.value,
                    "null_mean": alike.null_mean,
                    "null_95": alike.null_95,
                    "p": alike.p,
                    "precision": found.forward,
                    "precision_back": found.backward,
                    "chance": 1 / len(x),
                }
            )
    return pd.DataFrame(rows)


def similarity_figure(similarity: pd.DataFrame) -> go.Figure:
    """Draw how alike languages are after each encoder layer: a line per pair, beside what chance gives.

    Args:
        similarity: rows of `similarity_by_layer`, of one run.
    """
    titles = ["debiased CKA", "a translation is the nearest neighbour"]
    figure = make_subplots(cols=2, subplot_titles=titles, horizontal_spacing=0.12)
    named = similarity.assign(pair=similarity["language"] + " and " + similarity["other_language"])
    style = styles(named["pair"])
    by_layer = similarity.groupby("layer")
    chance = {1: (by_layer["null_mean"].min(), by_layer["null_95"].max()), 2: (by_layer["chance"].max(),)}
    for column, (low, *high) in chance.items():
        _add_chance(figure, low, high[0] if high else low, column)
    for pair, lines in named.groupby("pair", sort=False):
        both = lines[["precision", "precision_back"]].mean(axis=1)
        for column, values in ((1, lines["cka"]), (2, both)):
            figure.add_scatter(
                x=lines["layer"], y=values, mode="lines+markers", name=plain(pair), legendgroup=pair,
                showlegend=column == 1, line=style[pair], row=1, col=column,
                hovertemplate="after layer %{x}: %{y:.3f}<extra>" + plain(pair) + "</extra>",
            )  # fmt: skip
    figure.update_xaxes(title_text="encoder layer (0: embedding)", dtick=1)
    figure.update_yaxes(title_text="similarity of the same sentences", col=1)
    figure.update_yaxes(title_text="share of sentences (both ways)", rangemode="tozero", col=2)
    figure.update_layout(legend=BELOW, margin_b=110)
    sentences = int(similarity["sentences"].iloc[0]) if len(similarity) else 0
    return dressed(figure, f"How alike languages are, layer by layer: {sentences:,} sentences", 460)


def _add_chance(figure: go.Figure, low: pd.Series, high: pd.Series, column: int) -> None:
    figure.add_scatter(
        x=[*low.index, *high.index[::-1]], y=[*low, *high[::-1]], mode="lines", fill="toself", hoverinfo="skip",
        fillcolor=see_through(FAINT, 0.25), line={"color": FAINT, "width": 1}, legendgroup="chance",
        name="shuffled sentences (mean to 95 %), or chance", showlegend=column == 1, row=1, col=column,
    )  # fmt: skip


def similarity_finding(similarity: pd.DataFrame) -> str:
    """Return how alike languages are at the top of the encoder, from rows of `similarity_by_layer`."""
    if similarity.empty:
        return ""
    last = similarity[similarity["layer"] == similarity["layer"].max()]
    nearest = 100 * last[["precision", "precision_back"]].to_numpy().mean()
    return (
        f"After the last encoder layer two languages have a similarity of {number(last['cka'].mean())} (CKA; chance "
        f"{number(last['null_95'].mean())}), and {nearest:.0f} % of sentences are nearest to their translation."
    )


SIMILARITY_BY_LAYER = Analysis(
    "How alike are two languages' encoder states of the same sentences, layer by layer?",
    similarity_by_layer,
    needs=(SELF_ATTENTION, WEIGHTS, SEVERAL_DIRECTIONS),
    version=2,
    columns=tuple(
        "layer language other_language sentences cka null_mean null_95 p precision precision_back chance".split()
    ),
    table=lambda found: found[["layer", "language", "other_language", "cka", "null_95", "precision", "precision_back"]],
    figure=similarity_figure,
    finding=similarity_finding,
)


def language_by_layer(
    run: Run, corpora: Sequence[ParallelCorpus], split: str = "test", sample: int = 500
) -> pd.DataFrame:
    """Return how well a linear probe tells the source language, after the embedding and each encoder layer.

    With shared and private units, the probe also reads either kind alone. Embedding and sublayers add their outputs to
    one stream of d_model units, and the first units of each output, as many as its share, are computed by weights that
    all languages share. A unit of the stream is called shared if this holds for all that was added to it so far, and
    private otherwise. Even a shared unit depends on the language's private units below it, in the embedding through
    FixNorm alone. Adapters write to all units, so that after the first layer none is shared.

    Args:
        run, corpora, split, sample: as of `similarity_by_layer`; 5 sentences or more.

    Returns:
        A row for each layer and kind of units: `layer`, 0 for the embedding; `units`: all, shared or private; `width`,
        their number; `accuracy` of the probe on sentences that it was not trained on, and `chance`, that of always
        guessing the most frequent language, 0 to 1; `languages` and `sentences`, their numbers.

    Raises:
        CorpusError, RunError, NmtlabError: as of `similarity_by_layer`.
    """
    model = run.recipe.model
    assert isinstance(model, TransformerSettings)  # it has self-attention
    states = states_by_language(run, corpora, split, sample)
    count = len(next(iter(states.values()))[0])
    labels = [language for language in states for _ in range(count)]
    numbers = [*range(count)] * len(states)
    rows = []
    for layer, of_layer in enumerate(zip(*states.values(), strict=True)):
        vectors = np.concatenate(of_layer)
        for units, some in _units(model, layer).items():
            accuracy, chance = language_probe(vectors[:, some], labels, numbers)
            sizes = {"width": vectors[:, some].shape[1], "languages": len(states), "sentences": count}
            rows.append({"layer": layer, "units": units, "accuracy": accuracy, "chance": chance, **sizes})
    return pd.DataFrame(rows)[["layer", "units", "width", "accuracy", "chance", "languages", "sentences"]]


def probe_figure(probes: pd.DataFrame) -> go.Figure:
    """Draw how well the source language can be read off encoder states: a line for each kind of units.

    Args:
        probes: rows of `language_by_layer`, of one run.
    """
    figure = go.Figure()
    style = styles(["all", "shared", "private"])
    for units, lines in probes.groupby("units", sort=False):
        figure.add_scatter(
            x=lines["layer"], y=100 * lines["accuracy"], mode="lines+markers", name=f"{units} units",
            line=style[str(units)], customdata=lines["width"],
            hovertemplate="after layer %{x}: %{y:.1f} %<extra>%{customdata} units, " + f"{units}</extra>",
        )  # fmt: skip
    chance = probes.drop_duplicates("layer")
    figure.add_scatter(
        x=chance["layer"], y=100 * chance["chance"], mode="lines", name="always the most frequent language",
        line={"color": FAINT, "dash": "dot"}, hoverinfo="skip",
    )  # fmt: skip
    figure.update_xaxes(title_text="encoder layer (0: embedding)", dtick=1)
    figure.update_yaxes(title_text="accuracy on new sentences (%)", range=[0, 103])
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "Can the source language be read off the encoder's states?", 460)


def probe_finding(probes: pd.DataFrame) -> str:
    """Return how well the language can be read off at the top of the encoder, from rows of `language_by_layer`."""
    if probes.empty:
        return ""
    last = probes[probes["layer"] == probes["layer"].max()]
    read = [f"{100 * row.accuracy:.0f} % from {row.units} units" for row in last.itertuples()]
    chance = f"by chance {100 * last['chance'].iloc[0]:.0f} %"
    return f"After the last encoder layer a probe tells the source language: {listed(read)} ({chance})."


LANGUAGE_BY_LAYER = Analysis(
    "How well can the source language be read off the encoder's states, layer by layer?",
    language_by_layer,
    source="thesis 4.2",
    needs=(SELF_ATTENTION, WEIGHTS, SEVERAL_DIRECTIONS),
    version=2,
    columns=("layer", "units", "width", "accuracy", "chance", "languages", "sentences"),
    table=lambda found: found[["layer", "units", "width", "accuracy", "chance"]],
    figure=probe_figure,
    finding=probe_finding,
    stored_as="probes.language_by_layer",
)


def _units(model: TransformerSettings, layer: int) -> dict[str, slice]:
    """Return the units of the stream after a layer: all, and the shared and the private ones if there are both."""
    added = [model.embedding_share, *([model.attention_share, model.feed_forward_share] if layer else [])]
    shared = 0 if layer and model.adapter_width else round(min(added) * model.d_model)
    kinds = {"shared": slice(shared), "private": slice(shared, None)}
    return {"all": slice(None), **(kinds if 0 < shared < model.d_model else {})}


def insides(run: Run) -> pd.DataFrame:
    """Return how much the languages of a run share inside, as seen by three analyses whose answers are stored with it.

    Returns:
        A row: `similarity`, the mean debiased CKA of two languages after the last encoder layer; `language read (%)`,
        the share of sentences whose language a linear probe tells there; and the mean cosine of gradients over all
        parts of the model, of directions with the `same target`, those with the `same source`, those with `neither`,
        and of `two halves` of one direction's text (what full agreement gives); NaN for what the model does not have.

    Raises:
        RunError: an answer is not stored.
    """
    alike, read, cosines = (one.among([run]) for one in (SIMILARITY_BY_LAYER, LANGUAGE_BY_LAYER, GRADIENT_COSINES))
    last = alike[alike["layer"] == alike["layer"].max()]
    probe = read[(read["layer"] == read["layer"].max()) & (read["units"] == "all")]
    kinds = [_kind(*pair) for pair in zip(cosines["direction"], cosines["other_direction"], strict=True)]
    means = cosines["cosine"].groupby(pd.Series(kinds, index=cosines.index)).mean()
    row = {
        "similarity": last["cka"].mean(),
        "language read (%)": 100 * probe["accuracy"].item(),
        **means.reindex(["same target", "same source", "neither", "two halves"]).to_dict(),
    }
    return pd.DataFrame([row])


INSIDES = Analysis("What do the languages of a run share inside?", insides, table=by_system)


def _kind(direction: str, other: str) -> str:
    (source, target), (other_source, other_target) = direction.split("-"), other.split("-")
    if direction == other:
        return "two halves"
    if target == other_target:
        return "same target"
    return "same source" if source == other_source else "neither"
