"""What becomes of translations as the beam grows? (thesis 4.1; Koehn and Knowles 2017)"""

import math
from collections.abc import Callable, Sequence
from itertools import islice

import pandas as pd

from nmtlab.analysis.checks import check_has_decoder, check_languages, plans_length
from nmtlab.analysis.measure import answers, measure
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.measures import Measure
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis
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
        it ended before the limit. What is blank stays blank, and has no probability.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: a phrase-based run, or one without weights.
    """
    check_languages(run, corpus)
    check_has_decoder(run)
    lines = [source for source, _ in islice(corpus.pairs(split), limit)]
    found = open_system(run, search, machine=machine).translate(lines, on_progress=on_progress)
    blank = Hypothesis((), math.nan, math.nan, finished=True)
    hypotheses = ((one.text, one.hypotheses[0] if one.hypotheses else blank) for one in found)
    rows = [
        (line, text, len(best.tokens), best.log_prob, best.score, best.finished)
        for line, (text, best) in enumerate(hypotheses, start=1)
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
        One row: `beam_size`, `score`, `alpha`, `gamma`, `coverage`, as asked for (of a run that plans lengths the score
        is `planned`, and the rest does not count); `split`, `sentences`; `bleu` (sacrebleu, of all references);
        `length_ratio` to the closest reference, in words; `empty`, the share of empty translations of what is not
        blank; `cut_off`, the share that did not end; `log_prob`, the mean.
    """
    search = search or run.recipe.search
    asked = {"corpus": corpus, "split": split, "search": search, "limit": limit, "machine": machine}
    found = measure(run, decoded, on_progress=on_progress, **asked)
    references = [lines[:limit] for lines in corpus.references(split)]
    bleu = bleu_metric(default_tokenizer(corpus.target)).corpus_score(found["text"].tolist(), references)
    row = {
        **{name: getattr(search, name) for name in ("beam_size", "score", "alpha", "gamma", "coverage")},
        **({"score": "planned"} if plans_length(run) else {}),
        "split": split,
        "sentences": len(found),
        "bleu": bleu.score,
        "length_ratio": bleu.sys_len / bleu.ref_len,
        "empty": (found.loc[found["log_prob"].notna(), "length"] == 0).mean(),
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
        Rows of `outcome`, with `run`; `way`, of searching which text; and `name`, of both: of each two beams or more.
    """
    found = [_named(run, answer) for run in runs for answer in answers(run, outcome)]
    if not found:
        return pd.DataFrame()
    outcomes = pd.concat(found, ignore_index=True)
    return outcomes[outcomes.groupby("name")["beam_size"].transform("nunique") > 1].reset_index(drop=True)


def _named(run: Run, answer: Measure) -> pd.DataFrame:
    way = f"{way_of(run, answer)}, {text_of(answer)}"
    return answer.frame().assign(run=run.name, way=way, name=f"{run.name}, {way}")


def way_of(run: Run, answer: Measure) -> str:
    """Return how an answer was searched for but for the beam's size: `length-normalised, α 0.6`."""
    asked = answer.question.arguments.get("search")
    return described(run, SearchSettings.model_validate(asked) if asked else run.recipe.search)


def text_of(answer: Measure) -> str:
    """Return of what text an answer is: `the first 200 of multi30k-de-en test`."""
    question = answer.question
    text = f"{question.about.get('corpus', '')} {question.arguments['split']}"
    limit = question.arguments.get("limit")
    return f"the first {limit} of {text}" if limit else text


def described(run: Run, search: SearchSettings) -> str:
    """Return how a run is searched, but for the beam's size.

    Args:
        run: which plans lengths, or not.
        search: settings.
    """
    usual = SearchSettings()
    more = [
        f"up to {search.extra_length} tokens more" if search.extra_length != usual.extra_length else "",
        "" if search.allow_empty else "never empty",
    ]
    if plans_length(run):
        how = [f"planned, {search.lengths} lengths"]
    else:
        numbers = {"length-normalised": f"α {search.alpha:g}", "word-reward": f"γ {search.gamma:g}"}
        coverage = f"coverage {search.coverage:g}" if search.coverage else ""
        how = [search.score, numbers.get(search.score, ""), coverage]
    return ", ".join(part for part in (*how, *more) if part)
