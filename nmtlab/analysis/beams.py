"""What becomes of translations as the beam grows? (thesis 4.1; Koehn and Knowles 2017)"""

from collections.abc import Callable, Sequence
from itertools import islice

import pandas as pd

from nmtlab.analysis.checks import check_has_decoder, check_languages
from nmtlab.analysis.measure import measure
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.recipe import SearchSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpus import ParallelCorpus

BEAMS = (1, 2, 4, 8, 12, 16, 32, 64, 100, 200)


def decoded(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings | None = None,
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
) -> pd.DataFrame:
    """Translate the first sentences of a text.

    Args:
        run: neural, with weights.
        corpus: in its languages.
        split: train, dev or test.
        search: how to search; the recipe's own settings if not given.
        limit: so many sentences; all if not given.
        on_progress: told how many more sentences are done.

    Returns:
        A row for each: `line` from 1; `text`; `length`, in tokens without EOS; `log_prob`; `score`; `finished`, whether
        it ended before the limit.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: a phrase-based run, or one without weights.
    """
    check_languages(run, corpus)
    check_has_decoder(run)
    lines = [source for source, _ in islice(corpus.pairs(split), limit)]
    found = open_system(run, search).translate(lines, on_progress=on_progress)
    rows = [
        (line, one.text, len(best.tokens), best.log_prob, best.score, best.finished)
        for line, one in enumerate(found, start=1)
        for best in one.hypotheses[:1]
    ]
    return pd.DataFrame(rows, columns=["line", "text", "length", "log_prob", "score", "finished"])


def beam_sweep(
    run: Run,
    corpus: ParallelCorpus,
    searches: Sequence[SearchSettings],
    split: str = "test",
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
) -> pd.DataFrame:
    """Translate a text with one way of searching after the other; what was asked before is read from the run.

    Args:
        run, corpus, split, limit: as of `decoded`.
        searches: ways of searching.
        on_progress: told how many more sentences are done.

    Returns:
        A row for each: `beam_size`, `score`, `alpha`, `gamma`, `coverage`; `sentences`; `bleu` (sacrebleu);
        `length_ratio` to the reference, in words; `empty`, the share of empty translations; `cut_off`, the share that
        did not end; `log_prob`, the mean.
    """
    references = [[target for _, target in islice(corpus.pairs(split), limit)]]
    rows = []
    for search in searches:
        found = measure(run, decoded, corpus=corpus, split=split, search=search, limit=limit, on_progress=on_progress)
        rows.append(_about(search) | _summed(found, references, corpus.target))
    return pd.DataFrame(rows)


def beam_sizes(search: SearchSettings, sizes: Sequence[int] = BEAMS) -> list[SearchSettings]:
    """Return one way of searching with beams of several sizes."""
    return [search.model_copy(update={"beam_size": size}) for size in sizes]


def _about(search: SearchSettings) -> dict[str, object]:
    return {name: getattr(search, name) for name in ("beam_size", "score", "alpha", "gamma", "coverage")}


def _summed(found: pd.DataFrame, references: list[list[str]], language: str) -> dict[str, object]:
    lines = found["text"].tolist()
    bleu = bleu_metric(default_tokenizer(language)).corpus_score(lines, references)
    return {
        "sentences": len(found),
        "bleu": bleu.score,
        "length_ratio": bleu.sys_len / bleu.ref_len,
        "empty": (found["length"] == 0).mean(),
        "cut_off": 1 - found["finished"].mean(),
        "log_prob": found["log_prob"].mean(),
    }
