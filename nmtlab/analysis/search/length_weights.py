"""How many lengths should be tried, and how much should their probability count? (thesis 4.1)

A text is translated once with each of many lengths; fewer lengths and other weights only choose among these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.access.needs import PLANNED_LENGTH, WEIGHTS
from nmtlab.evaluation import bleu_metric, default_tokenizer
from nmtlab.models.interface import Memory, Searchable
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.search.hypothesis import Hypothesis, SearchResult
from nmtlab.search.planned import planned_search
from nmtlab.search.searches import Planned
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample

_COLUMNS = ["line", "rank", "length", "length_log_prob", "log_prob", "text"]


def translations_by_length(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "dev",
    search: SearchSettings | None = None,
    sample: int | None = None,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Translate a text, or a sample of its sentences, with each of their most probable lengths.

    Args:
        run: one that plans lengths, with weights.
        corpus: in its languages.
        split: train, dev or test.
        search: beam size of each length, number of lengths and limit; the recipe's if not given.
        sample: number of sentences to draw (`nmtlab.text.corpora.sample`); all if not given.
        on_progress: called with the number of sentences just done.
        machine: where to compute; the recipe's settings if not given.

    Returns:
        A row for the best translation of each length of each sentence, the most probable length first: `line` in the
        text, from 1; `rank` of the length, from 1; `length`, in tokens; `length_log_prob`; `log_prob` of length and
        tokens; `text`. A blank line has no rows.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: the run does not plan lengths, or has no weights.
    """
    run = in_direction(run, corpus)
    system = open_model(run, search, machine=machine)
    drawn = draw_sample(corpus, split, sample)
    found = system.translate(drawn.sources, on_progress=on_progress, search=EveryLength(system.settings))
    rows = [
        (line, rank, len(one.tokens), one.length_log_prob, one.log_prob, text)
        for line, translation in zip(drawn.lines, found, strict=True)
        for rank, (one, text) in enumerate(zip(translation.hypotheses, translation.texts, strict=False), start=1)
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


TRANSLATIONS_BY_LENGTH = Analysis(
    "How is a sentence translated in each of its most probable lengths?",
    translations_by_length,
    needs=(PLANNED_LENGTH, WEIGHTS),
    version=1,
    columns=tuple(_COLUMNS),
)


@dataclass(frozen=True)
class EveryLength(Planned):
    """The best translation of each of the most probable lengths."""

    def batch(self, model: Searchable, memory: Memory, places: Sequence[int], language: str) -> list[SearchResult]:
        found = planned_search(model, memory, self.settings, self.width, language=language)
        return [_best_of_each(one) for one in found]


def _best_of_each(result: SearchResult) -> SearchResult:
    """Return the best hypothesis of each length, in the order in which the lengths were chosen."""
    best: dict[int, Hypothesis] = {}
    for hypothesis in result.hypotheses:
        best.setdefault(len(hypothesis.tokens), hypothesis)
    return SearchResult(sorted(best.values(), key=lambda one: (-one.length_log_prob, len(one.tokens))))


def chosen_texts(found: pd.DataFrame, lengths: int, weight: float, lines: int) -> list[str]:
    """Return the translations that a search with fewer lengths and another weight of p(length) would find.

    Args:
        found: rows of `translations_by_length`.
        lengths: how many of each sentence's lengths are tried.
        weight: exponent of p(length) in the score.
        lines: number of lines of the text; one without rows is blank.
    """
    tried = found[found["rank"] <= lengths]
    score = tried["log_prob"] + (weight - 1) * tried["length_log_prob"]
    best = tried.loc[score.groupby(tried["line"]).idxmax()].set_index("line")["text"]
    return best.reindex(range(1, lines + 1), fill_value="").tolist()


def length_sweep(
    run: Run,
    corpus: ParallelCorpus,
    search: SearchSettings,
    lengths: Sequence[int],
    weights: Sequence[float],
    split: str = "dev",
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Return BLEU for several numbers of lengths and weights of p(length), from one translation of a text.

    Args:
        run, corpus, split, on_progress, machine: as for `translations_by_length`, whose answer is stored too.
        search: beam size and limit.
        lengths: numbers of lengths to try.
        weights: exponents of p(length) to try.

    Returns:
        A row for each number and weight, the numbers in order, and within each the weights: `length_candidates`;
        `length_weight`; `bleu` (sacrebleu, over all references); `length_ratio` to the closest reference, in words.
    """
    most = search.model_copy(update={"length_candidates": max(lengths), "length_weight": 1.0})
    asked = {"corpus": corpus, "split": split, "search": most, "machine": machine}
    found = TRANSLATIONS_BY_LENGTH.of(run, on_progress=on_progress, **asked)
    references, metric = corpus.references(split), bleu_metric(default_tokenizer(corpus.target))
    rows = []
    for number, weight in product(lengths, weights):
        bleu = metric.corpus_score(chosen_texts(found, number, weight, len(references[0])), references)
        rows.append((number, weight, bleu.score, bleu.sys_len / bleu.ref_len))
    return pd.DataFrame(rows, columns=["length_candidates", "length_weight", "bleu", "length_ratio"])


LENGTH_SWEEP = Analysis(
    "How does BLEU depend on the number of lengths and the weight of p(length)?",
    length_sweep,
    needs=(PLANNED_LENGTH,),
    version=1,
    columns=("length_candidates", "length_weight", "bleu", "length_ratio"),
)
