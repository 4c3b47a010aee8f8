"""The part that test sentences have in scores, ratios and their differences, from all seeds of a table."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from nmtlab.analysis.access.metric import Metric, Text
from nmtlab.analysis.access.translations import text_digest
from nmtlab.analysis.metrics import as_scored, find_metric, scored_text, scorer_of, sums_among, sums_of
from nmtlab.evaluation.resampling import corpus_score, resampled_scores, sentence_statistics
from nmtlab.grids.declared.declaration import Scale, Table
from nmtlab.grids.results.collected import made_rows
from nmtlab.grids.results.judgement import Question
from nmtlab.grids.results.measures import given_sums, measures_of
from nmtlab.grids.results.schemas import SENTENCES
from nmtlab.grids.results.statistics import Spread, sentence_spread
from nmtlab.grids.running.cells import Cell, cells_of
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.workspace import Workspace

ALONE = ""
"""Stands for the other system where a ratio is compared with a number."""

_RATIO = "ratio of sums"
"""The signature of ratios, shares among them."""

_OF_SPREAD = (*SENTENCES.key, "variance", "freedom")

_Pair = tuple[tuple[str, str], bool]
_Line = tuple[bool, str, str, float, float, int, str]


def sentence_spreads(
    table: Table, scale: Scale, workspace: Workspace, translations: pd.DataFrame, asked: Sequence[Question]
) -> pd.DataFrame:
    """Return how much scores, shares and differences vary because of the sentences (`statistics.sentence_spread`).

    Args:
        table: its declaration.
        scale: the scale at which it was run.
        workspace: contains the text.
        translations: of all seeds, as of `hypotheses`; those of other text are ignored.
        asked: what is asked of the table besides the differences to its baseline, such as by claims.

    Returns:
        One line per row, measure of sentences and pair of systems that the table's baseline or a question compares, if
        both have translations: `row`, `metric`, `system`, `than`; `variance`, in squared points, and its degrees of
        `freedom`; `sentences` in the test set; sacrebleu's `signature` of the score. Likewise of each ratio, of the
        translations or of runs in the workspace, which has a line for each system alone as well. The metric of systems
        that are compared by absolute values is between bars.

    Raises:
        RunError: a run with a cell's name is a different training.
    """
    known = {*translations["row"], *_rows_with_runs(table, scale, workspace)}
    there = table.only([row.name for row in table.rows if row.name in known])
    lines, given = [], {one.name: one for one in table.given}
    for cells, corpus, runs in made_rows(there, scale, workspace):
        run = next(iter(runs.values()), None)
        own = translations[translations["row"] == cells[0].row]
        for measure in measures_of(table).values():
            pairs = _pairs(table, measure, asked)
            if measure.key in given:
                sums, by_key = given_sums(given[measure.key], cells[0].row, corpus, runs), _by_key(cells, runs)
                found = _of_ratios({key: sums[of.name] for key, of in by_key.items() if of.name in sums}, pairs)
            elif measure.kind == "score":
                found = _of_scores(measure, corpus, run, own, [pair for pair, _ in pairs])
            elif measure.translations:
                found = _of_ratios(_sums_among(measure, corpus, run, own, _by_key(cells, runs)), pairs)
            elif measure.kind in ("ratio", "proportion"):
                found = _of_ratios(_sums_of_runs(measure, corpus, _by_key(cells, runs)), pairs)
            else:
                continue
            lines += [(cells[0].row, _compared(measure, absolute), *line) for absolute, *line in found]
    return SENTENCES.frame(lines)


def with_kept_sentences(found: pd.DataFrame, kept: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of `sentence_spreads`, and earlier ones of pairs that have none now."""
    return pd.concat([one for one in (found, kept) if len(one)] or [found]).drop_duplicates(
        SENTENCES.key, ignore_index=True
    )


def spread_of(
    lines: pd.DataFrame, row: str, measure: Metric, system: str, than: str | float, absolute: bool = False
) -> Spread | None:
    """Return the part of the sentences in the difference of two systems; None if it is not known.

    Args:
        lines: of `sentence_spreads`, from a table's only file.
        row: a row of the table.
        measure: one of the table's measures.
        system: name of a system.
        than: name of another one, or a number, from which all differences vary alike.
        absolute: whether two systems are compared by absolute values.
    """
    other, name = (than, _compared(measure, absolute)) if isinstance(than, str) else (ALONE, measure.key)
    for *keys, variance, freedom in zip(*(lines[column].tolist() for column in _OF_SPREAD), strict=True):
        if keys[:2] == [row, name] and {*keys[2:]} <= {system, other}:
            return Spread(variance, freedom)
    return None


def _compared(measure: Metric, absolute: bool) -> str:
    """Return the key of a metric in the lines, given whether systems are compared by absolute values."""
    return f"|{measure.key}|" if absolute else measure.key


def _pairs(table: Table, measure: Metric, asked: Sequence[Question]) -> list[_Pair]:
    """Return the pairs of systems that are compared by a measure, each once, and whether by absolute values."""
    others = [system.name for system in table.columns if table.baseline and system.name != table.baseline]
    pairs = [((name, table.baseline), measure.better == "zero") for name in others]
    pairs += [
        ((one.system, one.than), one.absolute)
        for one in asked
        if one.measure.key == measure.key and isinstance(one.than, str)
    ]
    return list({(frozenset(pair), absolute): (pair, absolute) for pair, absolute in reversed(pairs)}.values())[::-1]


def _of_scores(
    measure: Metric,
    corpus: ParallelCorpus,
    run: Run | None,
    translations: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
) -> list[_Line]:
    text, made = _translated(measure, corpus, run, translations)
    texts = {key: as_scored(measure, lines, corpus.target) for key, lines in made.items()}
    pairs = [pair for pair in pairs if {*pair} <= {column for column, _ in texts}]
    if not pairs:
        return []
    metric = scorer_of(measure, corpus.target)
    references = [as_scored(measure, lines, corpus.target) for lines in text.references]
    counts = sentence_statistics(list(texts.values()), references, metric)
    scores, sentences = resampled_scores(counts, corpus_score(metric)), counts.shape[1]
    metric.corpus_score(next(iter(texts.values())), references)  # the signature has the number of references
    of = _by_system(scores, texts)
    return [
        (False, one, other, *sentence_spread(of[one], of[other], sentences), sentences, str(metric.get_signature()))
        for one, other in pairs
    ]


def _translated(
    score: Metric, corpus: ParallelCorpus, run: Run | None, translations: pd.DataFrame
) -> tuple[Text, dict[tuple[str, int], list[str]]]:
    """Return the text that a score is of, and its translations by system and seed."""
    own = translations[(translations["split"] == score.split) & (translations["measure"] == score.scored.made_by)]
    text = scored_text(score, corpus, run) if len(own) else None
    if text is None:
        return Text([], []), {}
    there = own[own["text"] == text_digest(text.sources)].sort_values("line").groupby(["column", "seed"])
    return text, {key: some["translation"].tolist() for key, some in there}


def _sums_among(
    share: Metric,
    corpus: ParallelCorpus,
    run: Run | None,
    translations: pd.DataFrame,
    runs: Mapping[tuple[str, int], Run],
) -> dict[tuple[str, int], np.ndarray]:
    _, made = _translated(find_metric(share.translations), corpus, run, translations)
    found = {key: sums_among(share, lines, runs.get(key), corpus) for key, lines in made.items()}
    return {key: sums for key, sums in found.items() if sums is not None}


def _rows_with_runs(table: Table, scale: Scale, workspace: Workspace) -> set[str]:
    return {cell.row for cell in cells_of(table, scale) if workspace.run_folder(cell.run).exists()}


def _by_key(cells: Sequence[Cell], runs: Mapping[str, Run]) -> dict[tuple[str, int], Run]:
    """Return the runs of cells by system and seed."""
    return {(cell.column, cell.seed or 0): runs[cell.run] for cell in cells if cell.run in runs}


def _sums_of_runs(
    ratio: Metric, corpus: ParallelCorpus, runs: Mapping[tuple[str, int], Run]
) -> dict[tuple[str, int], np.ndarray]:
    found = {key: sums_of(ratio, run, corpus) for key, run in runs.items()}
    return {key: sums for key, sums in found.items() if sums is not None}


def _of_ratios(sums: Mapping[tuple[str, int], np.ndarray], pairs: Sequence[_Pair]) -> list[_Line]:
    """Return the lines of a ratio, of each pair and of each system alone.

    Args:
        sums: of `nmtlab.analysis.metrics.sums_of`, by system and seed.
        pairs: of systems, and whether they are compared by absolute values.
    """
    if not sums:
        return []
    counts = np.array(list(sums.values()))
    of, sentences = _by_system(resampled_scores(counts, _ratio), sums), counts.shape[1]
    spreads = {}
    for (one, other), absolute in pairs:
        if {one, other} <= {*of}:
            ours, theirs = (np.abs(of[name]) if absolute else of[name] for name in (one, other))
            spreads[absolute, one, other] = sentence_spread(ours, theirs, sentences)
    spreads |= {(False, name, ALONE): sentence_spread(scores, None, sentences) for name, scores in of.items()}
    return [(*names, *spread, sentences, _RATIO) for names, spread in spreads.items()]


def _ratio(sums: Sequence[float]) -> float:
    amount, of = sums
    return amount / of if of else math.nan


def _by_system(scores: np.ndarray, keys: Iterable[tuple[str, int]]) -> dict[str, np.ndarray]:
    """Return the scores of each system: (draws, seeds)."""
    columns = [column for column, _ in keys]
    return {name: scores[:, [column == name for column in columns]] for name in dict.fromkeys(columns)}
