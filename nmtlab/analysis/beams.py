"""What becomes of translations as the beam grows? (thesis 4.1; Koehn and Knowles 2017)"""

from collections.abc import Callable, Sequence
from itertools import islice

import pandas as pd

from nmtlab.analysis.checks import check_has_decoder, check_languages
from nmtlab.analysis.measure import answers, measure
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.systems import open_system
from nmtlab.text.corpus import ParallelCorpus


def decoded(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings | None = None,
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate the first sentences of a text.

    Args:
        run: neural, with weights.
        corpus: in its languages.
        split: train, dev or test.
        search: how to search; the recipe's own settings if not given.
        limit: so many sentences; all if not given.
        on_progress: told how many more sentences are done.
        machine: where to compute; the recipe's own settings if not given.

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
    found = open_system(run, search, machine=machine).translate(lines, on_progress=on_progress)
    rows = [
        (line, one.text, len(best.tokens), best.log_prob, best.score, best.finished)
        for line, one in enumerate(found, start=1)
        for best in one.hypotheses[:1]
    ]
    return pd.DataFrame(rows, columns=["line", "text", "length", "log_prob", "score", "finished"])


def outcome(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings | None = None,
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Sum up what one way of searching comes to; arguments as of `decoded`, which is asked and kept.

    Returns:
        One row: `beam_size`, `score`, `alpha`, `gamma`, `coverage`, as searched; `split`, `sentences`; `bleu`
        (sacrebleu); `length_ratio` to the reference, in words; `empty`, the share of empty translations; `cut_off`, the
        share that did not end; `log_prob`, the mean.
    """
    search = search or run.recipe.search
    asked = {"corpus": corpus, "split": split, "search": search, "limit": limit, "machine": machine}
    found = measure(run, decoded, on_progress=on_progress, **asked)
    references = [[target for _, target in islice(corpus.pairs(split), limit)]]
    bleu = bleu_metric(default_tokenizer(corpus.target)).corpus_score(found["text"].tolist(), references)
    row = {
        **{name: getattr(search, name) for name in ("beam_size", "score", "alpha", "gamma", "coverage")},
        "split": split,
        "sentences": len(found),
        "bleu": bleu.score,
        "length_ratio": bleu.sys_len / bleu.ref_len,
        "empty": (found["length"] == 0).mean(),
        "cut_off": 1 - found["finished"].mean(),
        "log_prob": found["log_prob"].mean(),
    }
    return pd.DataFrame([row])


def sweep(
    run: Run,
    corpus: ParallelCorpus,
    searches: Sequence[SearchSettings],
    split: str = "test",
    limit: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text with one way of searching after the other; what was asked before is read from the run.

    Args:
        run, corpus, split, limit, machine: as of `decoded`.
        searches: ways of searching.
        on_progress: told how many more sentences are done.

    Returns:
        A row of `outcome` for each.
    """
    asked = {"corpus": corpus, "split": split, "limit": limit, "machine": machine, "on_progress": on_progress}
    return pd.concat([measure(run, outcome, search=search, **asked) for search in searches], ignore_index=True)


def varied(search: SearchSettings, field: str, values: Sequence[float]) -> list[SearchSettings]:
    """Return one way of searching with several values of a field: `varied(search, "beam_size", [1, 4, 100])`."""
    return [SearchSettings.model_validate({**search.model_dump(), field: value}) for value in values]


def stored_sweeps(runs: Sequence[Run]) -> pd.DataFrame:
    """Return what was swept of some runs and is kept with them, whatever the text: its curves over the beam's size.

    Returns:
        Rows of `outcome`, with `name`, of run, score and text: of each name two beams or more.
    """
    found = [_named(run, answer.frame()) for run in runs for answer in answers(run, outcome)]
    if not found:
        return pd.DataFrame()
    outcomes = pd.concat(found, ignore_index=True)
    return outcomes[outcomes.groupby("name")["beam_size"].transform("nunique") > 1].reset_index(drop=True)


def _named(run: Run, outcomes: pd.DataFrame) -> pd.DataFrame:
    row = outcomes.iloc[0]
    numbers = {"length-normalised": f" α {row['alpha']:g}", "word-reward": f" γ {row['gamma']:g}"}
    how = row["score"] + numbers.get(row["score"], "")
    return outcomes.assign(name=f"{run.name}, {how}, {row['sentences']} of {row['split']}")
