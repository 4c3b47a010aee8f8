"""How do translations change as the beam grows? (thesis 4.1; Koehn and Knowles 2017)"""

import math
from collections.abc import Callable, Sequence

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.access.needs import DECODING, END, NEURAL
from nmtlab.analysis.search.search_errors import SEARCH_ERRORS, falls_short
from nmtlab.analysis.search.search_tree import LOG_PROB
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.answers import StoredAnswer
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis
from nmtlab.systems import open_system
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample


def decoded(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings | None = None,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text, or a sample of its sentences.

    Args:
        run: neural, with weights.
        corpus: in its languages.
        split: train, dev or test.
        search: search settings; the recipe's if not given.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.
        on_progress: called with the number of sentences just done.
        machine: where to compute; the recipe's settings if not given.

    Returns:
        A row for each: `line` in the text, from 1; `text`; `length`, in tokens without EOS; `log_prob`; `score`;
        `finished`, whether it ended before the length limit. A blank line stays blank and has no probability.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: a phrase-based run, or one without weights.
    """
    run = in_direction(run, corpus)
    asked = draw_sample(corpus, split, sample)
    found = open_system(run, search, machine=machine).translate(asked.sources, on_progress=on_progress)
    blank = Hypothesis((), math.nan, math.nan, finished=True)
    hypotheses = ((one.text, one.hypotheses[0] if one.hypotheses else blank) for one in found)
    rows = [
        (line, text, len(best.tokens), best.log_prob, best.score, best.finished)
        for line, (text, best) in zip(asked.lines, hypotheses, strict=True)
    ]
    return pd.DataFrame(rows, columns=["line", "text", "length", "log_prob", "score", "finished"])


DECODED = Analysis(
    "Which translations does a search find?",
    decoded,
    needs=DECODING,
    version=1,
    columns=("line", "text", "length", "log_prob", "score", "finished"),
)


def outcome(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings | None = None,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Summarise the translations of one search setting; arguments as for `decoded`, whose answer is stored too.

    Returns:
        One row: `beam_size`, `score`, `alpha`, `gamma`, `coverage`, as requested (for a run that plans lengths the
        score is `planned`, and its parameters have no effect); `split`, `sentences`; `bleu` (sacrebleu, over all
        references); `length_ratio` to the closest reference, in words; `empty`, the share of empty translations of
        lines that are not blank; `cut_off`, the share that did not end; `log_prob`, the mean.
    """
    search = search or run.recipe.search
    asked = {"corpus": corpus, "split": split, "search": search, "sample": sample, "machine": machine}
    found = DECODED.of(run, on_progress=on_progress, **asked)
    drawn = draw_sample(corpus, split, sample)
    references = [drawn.of(lines) for lines in corpus.references(split)]
    bleu = bleu_metric(default_tokenizer(corpus.target)).corpus_score(found["text"].tolist(), references)
    row = {
        **{name: getattr(search, name) for name in ("beam_size", "score", "alpha", "gamma", "coverage")},
        **({"score": "planned"} if run.recipe.model.plans_length else {}),
        "split": split,
        "sentences": len(found),
        "bleu": bleu.score,
        "length_ratio": bleu.sys_len / bleu.ref_len,
        "empty": (found.loc[found["log_prob"].notna(), "length"] == 0).mean(),
        "cut_off": 1 - found["finished"].mean(),
        "log_prob": found["log_prob"].mean(),
    }
    return pd.DataFrame([row])


OUTCOME = Analysis(
    "How good, how long and how often empty are the translations of a search?",
    outcome,
    needs=(NEURAL,),
    version=1,
    columns=(
        "beam_size",
        "score",
        "alpha",
        "gamma",
        "coverage",
        "split",
        "sentences",
        "bleu",
        "length_ratio",
        "empty",
        "cut_off",
        "log_prob",
    ),
)


def sweep(
    run: Run,
    corpus: ParallelCorpus,
    searches: Sequence[SearchSettings],
    split: str = "test",
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text with several search settings in turn; stored answers are read from the run.

    Args:
        run, corpus, split, sample, machine: as for `decoded`.
        searches: the search settings.
        on_progress: called with the number of sentences just done.

    Returns:
        A row of `outcome` for each.
    """
    asked = {"corpus": corpus, "split": split, "sample": sample, "machine": machine, "on_progress": on_progress}
    return pd.concat([OUTCOME.of(run, search=search, **asked) for search in searches], ignore_index=True)


def missed_by_beams(
    run: Run,
    corpus: ParallelCorpus,
    beams: Sequence[int],
    split: str = "test",
    search: SearchSettings = LOG_PROB,
    budget: int = 20_000,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Return how often beams miss the best translation that exact search finds; stored answers are not recomputed.

    Args:
        run, corpus, split, search, budget, sample, machine: as for `search_errors`.
        beams: their sizes; all other settings are those of `search`.
        on_progress: called with the number of sentences just translated.

    Returns:
        A row for each beam: `beam_size`; `sentences`, those whose exact search was complete; `errors`, the share of
        them whose translation scores below the best.
    """
    asked = {"corpus": corpus, "split": split, "sample": sample, "machine": machine}
    exact = SEARCH_ERRORS.of(run, search=search, budget=budget, **asked)
    best = exact[exact["complete"]].set_index("line")["exact_score"]
    rows = []
    for one in varied(search, "beam_size", beams):
        found = DECODED.of(run, search=one, on_progress=on_progress, **asked).set_index("line")["score"]
        both = pd.DataFrame({"best": best, "found": found}).dropna()
        rows.append((one.beam_size, len(both), falls_short(both["found"], both["best"]).mean()))
    return pd.DataFrame(rows, columns=["beam_size", "sentences", "errors"])


MISSED_BY_BEAMS = Analysis(
    "How often do beams miss the best translation that exact search finds?",
    missed_by_beams,
    needs=(NEURAL, END),
    version=1,
    columns=("beam_size", "sentences", "errors"),
)


def varied(search: SearchSettings, field: str, values: Sequence[float]) -> list[SearchSettings]:
    """Return search settings with several values of one field: `varied(search, "beam_size", [1, 4, 100])`."""
    return [SearchSettings.model_validate({**search.model_dump(), field: value}) for value in values]


def way_of(run: Run, answer: StoredAnswer) -> str:
    """Return how an answer was searched for, except for the beam size: `length-normalised, α 0.6`."""
    asked = answer.question.arguments.get("search")
    return described(run, SearchSettings.model_validate(asked) if asked else run.recipe.search)


def text_of(answer: StoredAnswer) -> str:
    """Return the text that an answer is about: `200 sampled sentences of multi30k-de-en test`.

    Version 0.1 took the first sentences, which are no sample; their answers say so.
    """
    question = answer.question
    part = question.arguments.get("split") or question.arguments["part"]
    text = f"{question.about.get('corpus', '')} {part}"
    text += f", {question.direction}" if question.direction else ""
    size, first = question.arguments.get("sample"), question.arguments.get("limit")
    part = f"{size} sampled sentences of " if size else f"the first {first} of " if first else ""
    return f"{part}{text}"


def described(run: Run, search: SearchSettings) -> str:
    """Return a description of a run's search, except for the beam size.

    Args:
        run: whether it plans lengths decides which settings count.
        search: the settings.
    """
    usual = SearchSettings()
    more = [
        f"up to {search.extra_length} tokens more" if search.extra_length != usual.extra_length else "",
        "" if search.allow_empty else "never empty",
    ]
    if run.recipe.model.plans_length:
        weight = f"w {search.length_weight:g}" if search.length_weight != usual.length_weight else ""
        how = [f"planned, {search.length_candidates} lengths", weight]
    else:
        numbers = {"length-normalised": f"α {search.alpha:g}", "word-reward": f"γ {search.gamma:g}"}
        coverage = f"coverage {search.coverage:g}" if search.coverage else ""
        how = [search.score, numbers.get(search.score, ""), coverage]
    return ", ".join(part for part in (*how, *more) if part)
