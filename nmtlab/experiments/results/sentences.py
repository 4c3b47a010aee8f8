"""The part that test sentences have in scores, shares and their differences, from all seeds of a table."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from nmtlab.analysis.access.translations import text_digest
from nmtlab.errors import NmtlabError
from nmtlab.evaluation.resampling import corpus_score, resampled_scores, sentence_statistics
from nmtlab.experiments.claims.declared import Claim, declared_claims
from nmtlab.experiments.measures.quality import OfSentences, ShareOfSentences, ShareOfTranslations, Text
from nmtlab.experiments.results.collected import made_rows
from nmtlab.experiments.results.statistics import Spread, sentence_spread
from nmtlab.experiments.running.cells import Cell
from nmtlab.experiments.tables.declaration import Scale, Table
from nmtlab.runs.run import Run
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

KEYS = ["row", "metric", "system", "than"]
COLUMNS = [*KEYS, "variance", "freedom", "sentences", "signature"]
_NUMBERS = {"variance": float, "freedom": float}

ALONE = ""
"""Stands for the other system where a share is compared with a number."""

_SHARE = "% of sentences"
"""The signature of shares."""


def sentence_spreads(
    table: Table, scale: Scale, workspace: Workspace, translations: pd.DataFrame, claims: Sequence[Claim] | None = None
) -> pd.DataFrame:
    """Return how much scores, shares and differences vary because of the sentences (`statistics.sentence_spread`).

    Args:
        table: its declaration.
        scale: the scale at which it was run.
        workspace: contains the text.
        translations: of all seeds, as of `nmtlab.experiments.results.hypotheses`; those of other text are ignored.
        claims: those about other tables are ignored; all declared ones if not given.

    Returns:
        One line per row, measure of sentences and pair of systems that the table's baseline or a claim compares, if
        both have translations: `row`, `metric`, `system`, `than`; `variance`, in squared points, and its degrees of
        `freedom`; `sentences` in the test set; sacrebleu's `signature` of the score. Likewise of each share, of the
        translations or of runs in the workspace, which has a line for each system alone as well.

    Raises:
        RunError: a run with a cell's name is a different training.
    """
    claims = declared_claims() if claims is None else claims
    there = table.only([row.name for row in table.rows if row.name in set(translations["row"])])
    lines = []
    for cells, corpus, runs in made_rows(there, scale, workspace):
        run = next(iter(runs.values()), None)
        own = translations[translations["row"] == cells[0].row]
        for measure in table.measures:
            pairs = _pairs(table, measure.name, claims)
            if isinstance(measure, OfSentences):
                found = _of_scores(measure, corpus, run, own, pairs)
            elif isinstance(measure, ShareOfTranslations):
                found = _of_shares(_hits_among(measure, corpus, run, own), pairs)
            elif isinstance(measure, ShareOfSentences):
                found = _of_shares(_hits_of_runs(measure, corpus, cells, runs), pairs)
            else:
                continue
            lines += [(cells[0].row, measure.name, *line) for line in found]
    return pd.DataFrame(lines, columns=COLUMNS).astype(_NUMBERS)


def with_kept_sentences(found: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of `sentence_spreads`, and earlier ones of pairs that have none now."""
    return pd.concat([one for one in (found, kept) if len(one)] or [found]).drop_duplicates(KEYS, ignore_index=True)


def read_sentences(path: Path) -> pd.DataFrame:
    """Return the saved lines of `sentence_spreads`; empty if the file does not exist.

    Raises:
        NmtlabError: the file is damaged.
    """
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    try:
        return pd.read_csv(path, dtype={"than": str})[COLUMNS].astype(_NUMBERS).fillna({"than": ALONE})
    except (ValueError, KeyError, OSError) as error:
        raise NmtlabError(
            f"{path}: not a table of variances ({error})", "write it again with 'nmtlab reproduce --save'"
        ) from error


def spread_of(lines: pd.DataFrame, row: str, metric: str, system: str, than: str | float) -> Spread | None:
    """Return the part of the sentences in the difference of two systems; None if it is not known.

    Args:
        lines: of `sentence_spreads`, from a table's only file.
        row: a row of the table.
        metric: name of the measure.
        system: name of a system.
        than: name of another one, or a number, from which all differences vary alike.
    """
    names = [system, than if isinstance(than, str) else ALONE]
    either = lines["system"].isin(names) & lines["than"].isin(names)
    found = lines[either & (lines["row"] == row) & (lines["metric"] == metric)]
    return None if found.empty else Spread(float(found["variance"].iloc[0]), float(found["freedom"].iloc[0]))


def _pairs(table: Table, metric: str, claims: Sequence[Claim]) -> list[tuple[str, str]]:
    """Return the pairs of systems that are compared by a measure, each once."""
    others = [system.name for system in table.systems if table.baseline and system.name != table.baseline]
    pairs = [(name, table.baseline) for name in others]
    pairs += [
        (claim.system, claim.than)
        for claim in claims
        if (claim.table.name, claim.measure.name) == (table.name, metric) and isinstance(claim.than, str)
    ]
    return list({frozenset(pair): pair for pair in reversed(pairs)}.values())[::-1]


def _of_scores(
    measure: OfSentences,
    corpus: ParallelCorpus,
    run: Run | None,
    translations: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
) -> list[tuple[str, str, float, float, int, str]]:
    text, made = _translated(measure, corpus, run, translations)
    texts = {key: measure.scored(lines, corpus.target) for key, lines in made.items()}
    pairs = [pair for pair in pairs if {*pair} <= {column for column, _ in texts}]
    if not pairs:
        return []
    metric = measure.metric(corpus.target)
    references = [measure.scored(lines, corpus.target) for lines in text.references]
    counts = sentence_statistics(list(texts.values()), references, metric)
    scores, sentences = resampled_scores(counts, corpus_score(metric)), counts.shape[1]
    metric.corpus_score(next(iter(texts.values())), references)  # the signature has the number of references
    of = _by_system(scores, texts)
    return [
        (one, other, *sentence_spread(of[one], of[other], sentences), sentences, str(metric.get_signature()))
        for one, other in pairs
    ]


def _translated(
    score: OfSentences, corpus: ParallelCorpus, run: Run | None, translations: pd.DataFrame
) -> tuple[Text, dict[tuple[str, int], list[str]]]:
    """Return the text that a score is of, and its translations by system and seed."""
    own = translations[(translations["split"] == score.split) & (translations["measure"] == score.made_by)]
    text = score.text(corpus, run) if len(own) else None
    if text is None:
        return Text([], []), {}
    there = own[own["text"] == text_digest(text.sources)].sort_values("line").groupby(["column", "seed"])
    return text, {key: some["translation"].tolist() for key, some in there}


def _hits_among(
    share: ShareOfTranslations, corpus: ParallelCorpus, run: Run | None, translations: pd.DataFrame
) -> dict[tuple[str, int], np.ndarray]:
    _, made = _translated(share.of, corpus, run, translations)
    return {key: share.among(lines) for key, lines in made.items()}


def _hits_of_runs(
    share: ShareOfSentences, corpus: ParallelCorpus, cells: Sequence[Cell], runs: Mapping[str, Run]
) -> dict[tuple[str, int], np.ndarray]:
    asked = {(cell.column, cell.seed or 0): runs[cell.run] for cell in cells if cell.run in runs}
    found = {key: share.hits(run, corpus) for key, run in asked.items()}
    return {key: hits for key, hits in found.items() if hits is not None}


def _of_shares(
    hits: Mapping[tuple[str, int], np.ndarray], pairs: Sequence[tuple[str, str]]
) -> list[tuple[str, str, float, float, int, str]]:
    """Return the lines of a share, of each pair and of each system alone.

    Args:
        hits: of `ShareOfSentences`, by system and seed.
        pairs: of systems.
    """
    if not hits:
        return []
    whole = np.array(list(hits.values()))
    counts = np.stack([np.nan_to_num(whole), ~np.isnan(whole)], axis=2)
    of, sentences = _by_system(resampled_scores(counts, _percentage), hits), whole.shape[1]
    compared = [pair for pair in pairs if {*pair} <= {*of}]
    spreads = {(one, other): sentence_spread(of[one], of[other], sentences) for one, other in compared}
    spreads |= {(one, ALONE): sentence_spread(scores, None, sentences) for one, scores in of.items()}
    return [(*names, *spread, sentences, _SHARE) for names, spread in spreads.items()]


def _percentage(sums: Sequence[int]) -> float:
    hits, counted = sums
    return 100 * hits / counted if counted else math.nan


def _by_system(scores: np.ndarray, keys: Iterable[tuple[str, int]]) -> dict[str, np.ndarray]:
    """Return the scores of each system: (draws, seeds)."""
    columns = [column for column, _ in keys]
    return {name: scores[:, [column == name for column in columns]] for name in dict.fromkeys(columns)}
