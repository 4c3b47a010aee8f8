"""What has a lexical module learned of single words, and is it right? (thesis 3.2.6.5, Table 3.9)

Translations of words stand in one form, whether a system's or an aligner's: a row for each
source type and rank, with `source`, `count` (in the training text's source side), `rank` from 1, `target`, and
`probability`.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from nmtlab.alignment.table import LexicalTable
from nmtlab.analysis.access.opened import RunOrSystem, opened, type_of
from nmtlab.analysis.lexical.gold import gold_forms
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.rare_words import EDGES, bucket_names, bucket_of
from nmtlab.search.top import stable_topk
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.vocabulary import SPECIALS

_CHUNK = 256  # source types looked up at a time


def system_translations(system: RunOrSystem, words: Sequence[str] | None = None, k: int = 5) -> pd.DataFrame:
    """Return the best translations in a system's lexicon (Table 3.9).

    Args:
        system: a run, or a translator.
        words: source words; all that training has seen, the most frequent first, if not given.
        k: translations of each, at most; those of probability 0 are left out.

    Returns:
        As above.

    Raises:
        NmtlabError: the system has no lexicon, or no such word.
        RunError: a phrase-based run, or one without weights.
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
    """Return the best translations in an aligner's table, in the same form; equally probable ones by id.

    Args:
        pipeline: whose ids the table is of.
        table: p(target | source).
        words, k: as of `system_translations`.

    Raises:
        NmtlabError: no such word.
    """
    rows = []
    for number in _source_types(pipeline, words):
        entries = slice(table.offsets[number], table.offsets[number + 1])
        targets, probabilities = table.targets[entries], table.probabilities[entries]
        best = np.lexsort((targets, -probabilities))[:k]
        rows.append((number, targets[best].tolist(), probabilities[best].tolist()))
    return _translations(pipeline, rows)


def gold_translations(corpus: ParallelCorpus, pipeline: Pipeline) -> pd.DataFrame:
    """Return the true translations of a controlled language's words, as types of a pipeline: `source`, `target`.

    True is every pair of words that is linked somewhere in the training text.

    Raises:
        CorpusError: the corpus has no such gold.
    """
    gold = gold_forms(corpus)
    sides = {"source": pipeline.source, "target": pipeline.target}
    return pd.DataFrame({name: gold[name].map(side.tokenizer.whole) for name, side in sides.items()})


def precision(translations: pd.DataFrame, gold: pd.DataFrame, edges: Sequence[int] = EDGES) -> pd.DataFrame:
    """Return how many source types have a right translation, by their training frequency.

    Precision at 1 is the share of types whose best translation is right, precision at k the share that have a right one
    among all those given. Types without a gold translation do not count.

    Args:
        translations: as above.
        gold: true pairs, `source` and `target`.
        edges: where buckets of frequency begin.

    Returns:
        A row for each bucket and one, `all`, for all types: `frequency`; `types`; `tokens`, their occurrences in
        training; `precision_at_1` and `precision_at_k`, of types; `weighted_at_1` and `weighted_at_k`, of tokens.
    """
    pairs = set(zip(gold["source"], gold["target"], strict=True))
    judged = translations[translations["source"].isin(set(gold["source"]))]
    right = [pair in pairs for pair in zip(judged["source"], judged["target"], strict=True)]
    judged = judged.assign(at_k=right, at_1=np.logical_and(right, judged["rank"] == 1))
    types = judged.groupby("source", sort=False).agg(
        count=("count", "first"), at_1=("at_1", "any"), at_k=("at_k", "any")
    )
    buckets = np.array([bucket_of(count, edges) for count in types["count"]], dtype=int)
    names = bucket_names(edges)
    parts = [(name, types[buckets == place]) for place, name in enumerate(names)]
    return pd.DataFrame([{"frequency": name, **_shares(part)} for name, part in [*parts, ("all", types)]])


def agreement(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """Compare two sets of translations, such as a lexical module's and an aligner's.

    Returns:
        A row for each source type that both have: `source`; `count`; `first` and `second`, the best translation of
        each; `agree`, whether they are the same; `shared`, the share of translations in common (of the one that has
        fewer), 0 to 1.
    """
    others = dict(list(second.groupby("source")["target"]))
    rows = []
    for source, own in first.groupby("source", sort=False):
        if source not in others:
            continue
        mine, theirs = own["target"].tolist(), others[source].tolist()
        shared = len(set(mine) & set(theirs)) / min(len(mine), len(theirs))
        count = own["count"].iloc[0]
        rows.append((source, count, mine[0], theirs[0], mine[0] == theirs[0], shared))
    return pd.DataFrame(rows, columns=["source", "count", "first", "second", "agree", "shared"])


def _source_types(pipeline: Pipeline, words: Sequence[str] | None) -> list[int]:
    if words is not None:
        return [type_of(pipeline.source, word) for word in words]
    counts = pipeline.source_counts
    order = np.argsort(-counts, kind="stable")
    return [number for number in order.tolist() if number >= len(SPECIALS) and counts[number]]


def _translations(pipeline: Pipeline, rows: Sequence[tuple[int, Sequence[int], Sequence[float]]]) -> pd.DataFrame:
    source, target = pipeline.source.vocabulary, pipeline.target.vocabulary
    found = [
        (source.types[number], source.counts[number], rank, target.types[type_], probability)
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
