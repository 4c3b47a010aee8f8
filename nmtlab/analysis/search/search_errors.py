"""Does a beam miss the model's global best, and is that the empty translation? (thesis 4.1, Stahlberg and Byrne 2019)

rows = SEARCH_ERRORS.of(run, corpus=corpus, sample=500)
print(error_rates(rows))
"""

import math
from collections.abc import Iterator, Sequence

import pandas as pd
import torch
from torch import Tensor

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.findings import percent
from nmtlab.analysis.access.metric import Better, Metric
from nmtlab.analysis.access.needs import END, NEURAL, WEIGHTS, in_direction
from nmtlab.analysis.search.search_tree import LOG_PROB, empty_rank
from nmtlab.figures.words import listed
from nmtlab.models.interface import Searchable
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.answers import Row
from nmtlab.runs.run import Run
from nmtlab.search.beam import beam_search
from nmtlab.search.exact import exact_search
from nmtlab.search.forced import forced_decode
from nmtlab.systems import open_model
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample
from nmtlab.text.segmentation.vocabulary import EOS

_ROUNDING = 1e-3
"""Scores of the same translation in different batches differ by less."""


def search_errors(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings = LOG_PROB,
    budget: int = 20_000,
    sample: int | None = None,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, sentence by sentence, the best translations of beam search and of exact search.

    Args:
        search: beam size, score and limits.
        budget: maximum number of hypotheses that exact search expands per sentence.
        start: index of the first of these sentences to yield, from 0.

    Yields:
        A row for each sentence that is not blank: `line` in the text, from 1; `source_length`, `reference_length`, in
        tokens without EOS, like all lengths here; `beam_score`, `beam_log_prob`, `beam_length` of the beam's best;
        `exact_score`, `exact_log_prob`, `exact_length` of the best that exact search found; `empty_log_prob` of the
        empty translation, and `empty_rank`, the rank of EOS among the first tokens, from 1: the size of the smallest
        beam that the empty translation enters; `expansions`; `complete`, whether exact search ended within its budget.

    Raises:
        RecipeError: the score has a coverage penalty.
    """
    run = in_direction(run, corpus)
    system = open_model(run, search, machine=machine)
    model, drawn = system.searched(), draw_sample(corpus, split, sample)
    sources = system.pipeline.encode_source(drawn.sources[start:])
    targets = system.pipeline.encode_target(drawn.targets[start:])
    for line, source, target in zip(drawn.lines[start:], sources, targets, strict=True):
        lengths = {"line": line, "source_length": len(source) - 1, "reference_length": len(target) - 1}
        blank = len(source) == 1  # stays blank, so that nothing is searched
        yield [] if blank else [lengths | _compared(model, torch.tensor([source]), search, budget)]


FEW = 200
"""Number of sentences in a sample for slow searches: the widest beam, and exact search."""

SAMPLED = f"(sample of {FEW})"
"""In the labels of what is measured on a sample; earlier results without it are of the first lines."""


def _rate(key: str, label: str, rate: str, better: Better = "lower") -> Metric:
    """Return a number of `error_rates`."""
    label = f"{label} {SAMPLED}"
    return Metric(key, label, better=better, given={"sample": FEW}, read=lambda found: error_rates(found)[rate])


def _share(key: str, label: str, outcome: str, better: Better = "lower") -> Metric:
    """Return a percentage of the sentences."""
    return Metric(
        key,
        f"{label} {SAMPLED}",
        "proportion",
        "%",
        better,
        given={"sample": FEW},
        hits=lambda found: outcomes(found)[outcome],
    )


def _said(found: pd.DataFrame) -> str:
    """Say how often the global best is empty, and how often the beam misses it."""
    if found.empty:
        return ""
    parts = []
    for run, rows in found.groupby("run", sort=False):
        rates = error_rates(rows)
        parts.append(f"{run} {percent(rates['empty'])} and {percent(rates['errors'])} of {int(rows['complete'].sum())}")
    return f"Sentences whose most probable translation is empty, and those whose beam misses it: {listed(parts, '; ')}."


def empty_bests(found: pd.DataFrame) -> list[int]:
    """Return the lines whose global best is empty, those first in which the beam's translation is least probable.

    Args:
        found: rows of `search_errors`, of one run.
    """
    empty = found[outcomes(found)["empty"] == 1]
    gaps = empty["exact_score"] - empty["beam_score"]
    return empty.loc[gaps.sort_values(ascending=False, kind="stable").index, "line"].tolist()


SEARCH_ERRORS = Analysis(
    "How often does beam search miss the best translation, and how often is that empty?",
    search_errors,
    needs=(NEURAL, END, WEIGHTS),
    version=1,
    columns=tuple(
        "line source_length reference_length beam_score beam_log_prob beam_length exact_score exact_log_prob "
        "exact_length empty_log_prob empty_rank expansions complete".split()
    ),
    finding=_said,
    metrics=(
        _share("searched-exactly", "% searched exactly", "complete", "higher"),
        _share("search-errors", "search errors of beam 4, %", "errors"),
        _share("empty-global-best", "empty global best, %", "empty"),
        _rate("global-best-length", "length of the global best", "length_ratio", "higher"),
        _rate("empty-rank", "smallest beam with the empty one", "empty_rank", "higher"),
    ),
    in_context=True,
)


@torch.inference_mode()
def _compared(model: Searchable, source: Tensor, search: SearchSettings, budget: int) -> Row:
    memory = model.encode(source.to(model.device))
    beam = beam_search(model, memory, search)[0].hypotheses[0]
    exact = exact_search(model, memory, search, beam, budget)
    empty = torch.tensor([[EOS]], device=model.device)
    best = exact.best or beam
    return {
        "beam_score": beam.score,
        "beam_log_prob": beam.log_prob,
        "beam_length": len(beam.tokens),
        "exact_score": best.score,
        "exact_log_prob": best.log_prob,
        "exact_length": len(best.tokens),
        "empty_log_prob": forced_decode(model, memory, empty)[0].log_prob,
        "empty_rank": empty_rank(model, memory),
        "expansions": exact.expansions,
        "complete": exact.complete,
    }


def falls_short(score: pd.Series, best: pd.Series) -> pd.Series:
    """Return whether translations are search errors: less probable than the best, or worse by any other score.

    Another segmentation of the best translation with the same score is none.

    Args:
        best: the global best scores of the same sentences.
    """
    return best - score > _ROUNDING


def error_rates(found: pd.DataFrame) -> pd.Series:
    """Summarise the rows of `search_errors`.

    Returns:
        `sentences`; `complete`, the share whose exact search ended within its budget; over these sentences only,
        `errors`, the share in which the beam missed the best (`falls_short`), `empty`, the share whose best is the
        empty translation, `beam_empty`, the share whose beam result is empty, and `length_ratio` and
        `beam_length_ratio`, the length of the best and of the beam result relative to the reference's; `empty_rank` and
        `expansions`, their medians over all sentences. What has no sentences is NaN.
    """
    done = found[found["complete"]]
    reference = float(done["reference_length"].sum()) or math.nan
    return pd.Series(
        {
            "sentences": len(found),
            **outcomes(found).mean(),
            "length_ratio": done["exact_length"].sum() / reference,
            "beam_length_ratio": done["beam_length"].sum() / reference,
            "empty_rank": found["empty_rank"].median(),
            "expansions": found["expansions"].median(),
        }
    )


def outcomes(found: pd.DataFrame) -> pd.DataFrame:
    """Return what `error_rates` counts, for each row of `search_errors`: 1 if it is so, 0 if not, NaN if unknown.

    Returns:
        `complete`; `errors`, `empty` and `beam_empty`, NaN in sentences whose exact search did not end.
    """
    counted = {
        "errors": falls_short(found["beam_score"], found["exact_score"]),
        "empty": found["exact_length"] == 0,
        "beam_empty": found["beam_length"] == 0,
    }
    known = pd.DataFrame(counted).astype(float).where(found["complete"])
    known.insert(0, "complete", found["complete"].astype(float))
    return known


def by_reference_length(found: pd.DataFrame, edges: Sequence[float] = (0, 6, 11, 16, 21, 31, math.inf)) -> pd.DataFrame:
    """Return the length of the best translation and the share of empty ones by reference length.

    Args:
        found: rows of `search_errors`; those whose exact search did not end are left out.
        edges: of the bins, ascending; a bin includes its lower edge and excludes its upper one.

    Returns:
        A row for each bin that has a sentence: `from`, `to`, its shortest and longest length; `sentences`;
        `reference_length`, `exact_length`, `beam_length`, their means; `empty`, the share whose best is empty.
    """
    done = found[found["complete"]].assign(empty=lambda rows: rows["exact_length"] == 0)
    bins = pd.cut(done["reference_length"], list(edges), right=False)
    grouped = done.groupby(bins, observed=True)
    means = grouped[["reference_length", "exact_length", "beam_length", "empty"]].mean()
    edges_of = pd.DataFrame(
        {"from": [one.left for one in means.index], "to": [one.right - 1 for one in means.index]}, index=means.index
    )
    return edges_of.assign(sentences=grouped.size()).join(means).reset_index(drop=True)
