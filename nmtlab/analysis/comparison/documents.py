"""Does a model learn inside a document, from the corrections of the sentences before? (Kothur et al. 2018)"""

from collections.abc import Iterator, Sequence

import pandas as pd
import plotly.graph_objects as go

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import DECODING, in_direction
from nmtlab.analysis.access.translations import translations
from nmtlab.analysis.comparison.document_measures import (
    DICTIONARY_AND_ONLINE,
    DICTIONARY_ONLY,
    ONLINE,
    UNADAPTED,
    adapted_measures,
    documents_of,
    with_dictionary,
)
from nmtlab.analysis.comparison.new_words import SYSTEMS, Entry
from nmtlab.errors import CorpusError
from nmtlab.evaluation.resampling import corpus_score, sentence_statistics
from nmtlab.evaluation.scores import bleu_metric, default_tokenizer
from nmtlab.figures.theme import BELOW, SOLID, dressed, name_in_lines, styles
from nmtlab.figures.words import listed, number
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.answers import Row
from nmtlab.runs.run import Run
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.training.online import NotFiniteError, OnlineSettings, adapted

_FEWEST = 6
"""Sentences of which a BLEU is drawn, at least."""


def document_translations(
    run: Run,
    corpus: ParallelCorpus,
    documents: Sequence[str],
    split: str = "test",
    learning_rate: float = 0.01,
    epochs: int = 5,
    dictionary: Sequence[Entry] = (),
    dictionary_learning_rate: float = 0.1,
    dictionary_epochs: int = 5,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, document by document, a run's translations, and those of a copy that learns from each reference in turn.

    Args:
        run: neural, with weights, which stays as it is.
        corpus: in its languages.
        documents: the id of each line's document; lines with the same id are one document, in the order of the text.
        split: train, dev or test.
        learning_rate, epochs: of SGD on each sentence pair, after it was translated.
        dictionary: that is learned before the first sentence.
        dictionary_learning_rate, dictionary_epochs: of SGD on its entries.
        machine: where to compute; torch's choice if not given.
        start: number of the first document to yield, from 0.

    Yields:
        A row for each sentence: `document`; `place` in it, from 1; `line` in the text, from 1; `source`; `reference`;
        `unadapted` and `adapted`, its translations; `diverged`, whether the loss was not finite: the adapted
        translations of the document are then the unadapted ones; `language`, of the target.

    Raises:
        CorpusError: no such split, other languages, or there is not one id for each line.
        RunError: a phrase-based run, or one without weights.
    """
    run = in_direction(run, corpus)
    settings = OnlineSettings(learning_rate, epochs, dictionary_learning_rate, dictionary_epochs)
    pairs = list(corpus.pairs(split))
    if len(documents) != len(pairs):
        raise CorpusError(f"documents of {len(documents):,} lines, but {split} has {len(pairs):,} pairs", "name each")
    sources = list(corpus.alone.lines(split, corpus.source))
    unadapted = translations(run, corpus, split, machine=machine)
    system = open_model(run, machine=machine)
    by_name: dict[str, list[int]] = {}
    for line, name in enumerate(documents):
        by_name.setdefault(name, []).append(line)
    for name, some in list(by_name.items())[start:]:
        entries = [(word, translation) for document, word, translation in dictionary if document == name]
        try:
            found = adapted(system, run.recipe, name, [pairs[line] for line in some], settings, entries)
            found, diverged = [text.replace("\n", " ") for text in found], False
        except NotFiniteError:
            found, diverged = [unadapted[line] for line in some], True
        yield [
            {
                "document": name, "place": place, "line": line + 1, "source": sources[line],
                "reference": pairs[line][1], "unadapted": unadapted[line], "adapted": text, "diverged": diverged,
                "language": corpus.target,
            }
            for place, (line, text) in enumerate(zip(some, found, strict=True), start=1)
        ]  # fmt: skip


def gain_on_the_rest(found: pd.DataFrame) -> pd.DataFrame:
    """Return how much better the rest of the documents is translated after some sentences, by the first references.

    Args:
        found: rows of `document_translations` of one run.

    Returns:
        A row for each number of `learned` sentences, from 0, as long as half of the documents go on: `documents` and
        `sentences` that are left; `unadapted` and `adapted`, their BLEU; and `gain`, the difference.
    """
    metric = bleu_metric(default_tokenizer(found["language"].iloc[0]))
    systems = [found[name].tolist() for name in SYSTEMS]
    statistics = sentence_statistics(systems, [found["reference"].tolist()], metric)
    score, whole = corpus_score(metric), found["document"].nunique()
    rows: list[tuple[int, int, int, float, float, float]] = []
    for learned in range(int(found["place"].max())):
        rest = (found["place"] > learned).to_numpy()
        documents = found["document"][rest].nunique()
        if rows and (rest.sum() < _FEWEST or 2 * documents < whole):
            break
        before, after = (score(sums) for sums in statistics[:, rest].sum(axis=1))
        rows.append((learned, documents, int(rest.sum()), before, after, after - before))
    return pd.DataFrame(rows, columns=["learned", "documents", "sentences", *SYSTEMS, "gain"])


def adaptation_table(found: pd.DataFrame) -> pd.DataFrame:
    """Return BLEU of each `run` of `document_translations` before and after, and how many documents were adapted to."""
    rows = []
    for run, of_run in found.groupby("run", sort=False):
        whole, diverged = gain_on_the_rest(of_run).iloc[0], of_run["document"][of_run["diverged"]].nunique()
        rows.append({"run": run, **whole.drop("learned"), "diverged": diverged})
    return pd.DataFrame(rows).astype({"documents": int, "sentences": int})


def gain_figure(found: pd.DataFrame) -> go.Figure:
    """Draw the gain in BLEU on the rest of the documents against the number of sentences learned before."""
    figure, style = go.Figure(), styles(found["run"], SOLID)
    for run, of_run in found.groupby("run", sort=False):
        gains = gain_on_the_rest(of_run)
        figure.add_scatter(
            x=gains["learned"], y=gains["gain"], mode="lines+markers", name=name_in_lines(run), meta=run,
            line=style[str(run)], customdata=gains[["unadapted", "adapted", "sentences", "documents"]],
            hovertemplate="after %{x} sentences: %{y:+.1f} BLEU, %{customdata[0]:.1f} to %{customdata[1]:.1f}, on "
            "%{customdata[2]} sentences of %{customdata[3]} documents",
        )  # fmt: skip
    figure.add_hline(0, line_width=1)
    figure.update_xaxes(title_text="sentences of each document learned before", rangemode="tozero")
    figure.update_yaxes(title_text="gain on the rest of the documents (BLEU)")
    figure.update_layout(legend=BELOW, margin_b=110)
    return dressed(figure, "What the first sentences of a document teach for the rest of it")


def _said(found: pd.DataFrame) -> str:
    """Say how much better each run is with adaptation."""
    if found.empty:
        return ""
    table = adaptation_table(found)
    said = [
        f"{row.run} {number(row.unadapted, 1)} unadapted, {number(row.adapted, 1)} adapted"
        for row in table.itertuples()
    ]
    return (
        f"BLEU on {table['sentences'].iloc[0]:,} sentences of {table['documents'].iloc[0]:,} documents: {listed(said)}."
    )


ADAPTATION = Analysis(
    "Does a model learn inside a document, from the corrections of the sentences before?",
    document_translations,
    source="Kothur, Knowles and Koehn 2018",
    needs=DECODING,
    version=1,
    columns=("document", "place", "line", "source", "reference", *SYSTEMS, "diverged", "language"),
    table=adaptation_table,
    figure=gain_figure,
    finding=_said,
    metrics=(
        UNADAPTED,
        *adapted_measures("online", "adapted to each sentence", documents_of, ONLINE),
        *adapted_measures("dictionary", "adapted to a dictionary", with_dictionary, DICTIONARY_ONLY),
        *adapted_measures(
            "dictionary-online", "adapted to a dictionary and each sentence", with_dictionary, DICTIONARY_AND_ONLINE
        ),
    ),
    in_context=True,
)
