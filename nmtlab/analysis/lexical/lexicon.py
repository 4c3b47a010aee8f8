"""What has a lexical module learned about single words, and is it right? (thesis 3.2.6.5, Table 3.9)

Word translations have the same form whether they come from a system or an aligner: a row for each source type and rank,
with `source`, `count` (in the training text of the source language), `rank` from 1, `target`, and `probability`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch

from nmtlab.alignment.table import LexicalTable
from nmtlab.analysis.access.opened import RunOrSystem, opened, type_of
from nmtlab.analysis.lexical.gold import gold_forms
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.rare_words import EDGES, bucket_names, bucket_of
from nmtlab.figures.marks import bare, with_tokens
from nmtlab.figures.theme import COLOURS, dressed, plain, readable
from nmtlab.figures.words import listed, number, quoted
from nmtlab.search.topk import stable_topk
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.segmentation.pipeline import Pipeline

LEARNED, ALIGNED, GOLD = "learned", "aligner", "gold"
"""Where translations are from: a lexical module, a word aligner, or the true lexicon of an artificial language."""

_CHUNK = 256  # source types looked up at a time
_OFTEN = 5  # times in training, at least, of a content word
_FUNCTION_WORDS = 50  # of the most frequent types, most are no content words


def system_translations(system: RunOrSystem, words: Sequence[str] | None = None, k: int = 5) -> pd.DataFrame:
    """Return the best translations in a system's lexicon (Table 3.9).

    Args:
        words: source words; if not given, all words of its training text, the most frequent first.
        k: maximum number of translations per word; those of probability 0 are left out.

    Returns:
        Word translations in the form above.

    Raises:
        NmtlabError: the system has no lexicon, or the vocabulary has no such word.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    ids = _source_types(pipeline, words)
    rows: list[tuple[int, Sequence[int], Sequence[float]]] = []
    for chunk in (ids[begin : begin + _CHUNK] for begin in range(0, len(ids), _CHUNK)):
        with torch.inference_mode():
            log_probs = model.lexicon(torch.tensor(chunk, device=model.device))
            if log_probs is None:
                raise NmtlabError(
                    "the system has no lexicon", "choose a run with model.lexicon = 'module' (fixnorm+lex) or 'table'"
                )
            values, columns = stable_topk(log_probs.double(), min(k, log_probs.shape[1]))
        targets = model.output_ids[columns].tolist()
        rows += zip(chunk, targets, values.exp().tolist(), strict=True)
    return _translations(pipeline, rows)


def table_translations(
    pipeline: Pipeline, table: LexicalTable, words: Sequence[str] | None = None, k: int = 5
) -> pd.DataFrame:
    """Return the best translations in an aligner's table, in the same form; ties are ordered by id.

    Args:
        pipeline: whose ids the table uses.
        table: p(target | source).
        words, k: as for `system_translations`.

    Raises:
        NmtlabError: the vocabulary has no such word.
    """
    rows = []
    for type_ in _source_types(pipeline, words):
        best = table.top(type_, k)
        rows.append((type_, [target for target, _ in best], [probability for _, probability in best]))
    return _translations(pipeline, rows)


def gold_translations(corpus: ParallelCorpus, pipeline: Pipeline) -> pd.DataFrame:
    """Return the gold translations of an artificial language's words, as types of a pipeline: `source`, `target`.

    Every pair of words that is linked somewhere in the training text counts.

    Raises:
        CorpusError: the corpus has no gold data in this direction.
    """
    gold = gold_forms(corpus)
    sides = {"source": pipeline.source, "target": pipeline.target}
    return pd.DataFrame({name: gold[name].map(side.tokenizer.whole) for name, side in sides.items()})


def precision(translations: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """Return the precision of word translations by the training frequency of the source types.

    Precision at 1 is the share of types whose best translation is right; precision at k is the share with a right
    translation among all those given. Types without a gold translation do not count.

    Args:
        translations: in the form above.
        gold: gold pairs, `source` and `target`.

    Returns:
        A row for each bucket and one, `all`, for all types: `frequency`; `types`; `tokens`, their occurrences in
        training; `precision_at_1` and `precision_at_k`, over types; `weighted_at_1` and `weighted_at_k`, over tokens.
    """
    pairs = set(zip(gold["source"], gold["target"], strict=True))
    judged = translations[translations["source"].isin(set(gold["source"]))]
    right = [pair in pairs for pair in zip(judged["source"], judged["target"], strict=True)]
    judged = judged.assign(at_k=right, at_1=np.logical_and(right, judged["rank"] == 1))
    types = judged.groupby("source", sort=False).agg(
        count=("count", "first"), at_1=("at_1", "any"), at_k=("at_k", "any")
    )
    buckets = np.array([bucket_of(count, EDGES) for count in types["count"]], dtype=int)
    parts = [(name, types[buckets == place]) for place, name in enumerate(bucket_names(EDGES))]
    return pd.DataFrame([{"frequency": name, **_shares(part)} for name, part in [*parts, ("all", types)]])


def agreement(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare two sets of translations, such as a lexical module's and an aligner's.

    Returns:
        A row for each source type in both sets: `source`; `count`; `first` and `second`, the best translation in each;
        `agree`, whether they are the same; `shared`, the share of translations in common (of the set with fewer), 0 to
        1.
    """
    second_targets = dict(list(second.groupby("source")["target"]))
    rows = []
    for source, group in first.groupby("source", sort=False):
        if source not in second_targets:
            continue
        one, two = group["target"].tolist(), second_targets[source].tolist()
        shared = len(set(one) & set(two)) / min(len(one), len(two))
        count = group["count"].iloc[0]
        rows.append((source, count, one[0], two[0], one[0] == two[0], shared))
    return pd.DataFrame(rows, columns=["source", "count", "first", "second", "agree", "shared"])


def agreement_by_frequency(agreed: pd.DataFrame) -> pd.DataFrame:
    """Summarise agreement by the training frequency of the source types.

    Args:
        agreed: rows of `agreement`.

    Returns:
        A row for each bucket with words and one, `all`, for all words, for display: `frequency`; `words`, source types;
        `same best translation`, their share; `overlap of the lists`, the mean share of translations in common. Shares
        are from 0 to 1.
    """
    buckets = np.array([bucket_of(count, EDGES) for count in agreed["count"]], dtype=int)
    parts = [(name, agreed[buckets == place]) for place, name in enumerate(bucket_names(EDGES))]
    rows = [(name, len(part), part["agree"].mean(), part["shared"].mean()) for name, part in [*parts, ("all", agreed)]]
    table = pd.DataFrame(rows, columns=["frequency", "words", "same best translation", "overlap of the lists"])
    return table[table["words"] > 0].reset_index(drop=True)


def agreement_finding(agreed: pd.DataFrame) -> str:
    """Return how often a lexicon and an aligner agree, from rows of `agreement`."""
    if agreed.empty:
        return ""
    same, shared = 100 * agreed[["agree", "shared"]].mean()
    return (
        f"Lexicon and aligner have the same best translation for {same:.0f} % of {len(agreed):,} words, and "
        f"{shared:.0f} % of their lists in common."
    )


def precision_finding(judged: pd.DataFrame) -> str:
    """Return how often a lexicon is right, for all words and for the rarest, from rows of `precision`."""
    known = judged[judged["types"] > 0]
    if known.empty:
        return ""
    rarest, every = known.iloc[0], known.iloc[-1]
    return (
        f"The best translation is right for {100 * every['precision_at_1']:.0f} % of {every['types']:,} words, and for "
        f"{100 * rarest['precision_at_1']:.0f} % of those seen {rarest['frequency']} times."
    )


def telling_word(learned: pd.DataFrame, aligned: pd.DataFrame | None = None) -> str | None:
    """Return the content word on which a lexicon and an aligner differ most; None if there is no word at all.

    Content words are those of letters alone that were seen at least 5 times and are not among the 50 most frequent
    types. They differ by half the sum of the differences of the probabilities that are listed, 0 to 1; of equal ones
    the most frequent counts. Without an aligner it is the most frequent content word, and without content words the
    most frequent word.

    Args:
        learned: the lexicon's translations in the form above, the most frequent words first.
        aligned: the aligner's.
    """
    words = learned.drop_duplicates("source")
    rest = words.iloc[_FUNCTION_WORDS:]
    content = rest[rest["source"].map(bare).str.isalpha() & (rest["count"] >= _OFTEN)]
    if aligned is not None:
        listed_by = [table.set_index(["source", "target"])["probability"] for table in (learned, aligned)]
        one, other = listed_by[0].align(listed_by[1], fill_value=0.0)
        apart = (one - other).abs().groupby("source").sum() / 2
        known = content[content["source"].isin(aligned["source"])]
        content = known.assign(apart=known["source"].map(apart)).sort_values("apart", ascending=False, kind="stable")
    return next(iter([*content["source"], *words["source"]]), None)


def lexicon_finding(word: str, translations: pd.DataFrame) -> str:
    """Return what a lexicon and an aligner translate a word to, whether they agree, and what is right.

    Args:
        word: of the source side.
        translations: as for `lexicon_figure`, `by` LEARNED, ALIGNED or GOLD.
    """
    by_origin = dict(list(translations.groupby("by", sort=False)))
    gold = by_origin.pop(GOLD, translations[:0])["target"].map(quoted).tolist()
    best = {str(by): rows.loc[rows["probability"].idxmax()] for by, rows in by_origin.items()}
    if not best:
        return ""
    verdict = "agree" if len({row["target"] for row in best.values()}) == 1 else "disagree"
    head = f"{' and '.join(best)} {verdict} on {quoted(word)}" if len(best) > 1 else quoted(word)
    said = ", ".join(f"{by} {quoted(row['target'])} ({number(row['probability'])})" for by, row in best.items())
    right = f"; {GOLD}: {listed(gold)}" if gold else ""
    return f"{head[0].upper()}{head[1:]}: {said}{right}."


def lexicon_figure(word: str, translations: pd.DataFrame) -> go.Figure:
    """Draw the translations of one source word and their probabilities.

    Args:
        word: of the source side.
        translations: `by` (their origin: a system, an aligner or gold data), `target`, `probability`, 0 to 1.
    """
    figure, targets = go.Figure(), list(dict.fromkeys(translations["target"]))
    shown = dict(zip(targets, map(plain, readable(targets)), strict=True))
    for (by, rows), colour in zip(translations.groupby("by", sort=False), COLOURS, strict=False):
        figure.add_bar(
            x=rows["target"].map(shown), y=rows["probability"], name=plain(str(by)),
            marker_color=colour, hovertemplate="%{x}: %{y:.3f}<extra>" + plain(str(by)) + "</extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="translation", type="category")
    figure.update_yaxes(title_text="p(translation | word)", range=[0, 1.02])
    figure.update_layout(
        barmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}, showlegend=True
    )
    with_tokens(figure, {"x": ("target", targets)}, types=True)
    return dressed(figure, f"Translations of {plain(bare(word))}", 380)


def _source_types(pipeline: Pipeline, words: Sequence[str] | None) -> list[int]:
    if words is not None:
        return [type_of(pipeline.source, word) for word in words]
    counts = pipeline.source.counts
    order = np.argsort(-counts, kind="stable")
    is_text = pipeline.source.vocabulary.is_text
    return [number for number in order.tolist() if is_text[number] and counts[number]]


def _translations(pipeline: Pipeline, rows: Sequence[tuple[int, Sequence[int], Sequence[float]]]) -> pd.DataFrame:
    source, target, counts = pipeline.source.vocabulary, pipeline.target.vocabulary, pipeline.source.counts
    found = [
        (source.types[number], counts[number], rank, target.types[type_], probability)
        for number, targets, probabilities in rows
        for rank, (type_, probability) in enumerate(zip(targets, probabilities, strict=True), start=1)
        if probability > 0
    ]
    return pd.DataFrame(found, columns=["source", "count", "rank", "target", "probability"])


def _shares(types: pd.DataFrame) -> dict[str, float]:
    tokens = types["count"].sum()
    weighted = {name: types.loc[types[name], "count"].sum() / tokens if tokens else np.nan for name in ("at_1", "at_k")}
    return {
        "types": len(types),
        "tokens": int(tokens),
        "precision_at_1": types["at_1"].mean(),
        "precision_at_k": types["at_k"].mean(),
        "weighted_at_1": weighted["at_1"],
        "weighted_at_k": weighted["at_k"],
    }
