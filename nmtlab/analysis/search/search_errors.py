"""Does a beam miss what the model holds to be best, and is that nothing at all? (thesis 4.1, Stahlberg and Byrne 2019)

rows = measure_by_sentence(run, search_errors, corpus=corpus, limit=500)
print(error_rates(rows))
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import pandas as pd
import torch
from torch import Tensor

from nmtlab.analysis.access.checks import check_has_end, check_languages
from nmtlab.analysis.access.measure import versioned
from nmtlab.analysis.search.search_tree import LOG_PROB, rank_of_nothing
from nmtlab.models.interface import TranslationModel
from nmtlab.recipe import SearchSettings
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.measures import Row
from nmtlab.runs.run import Run
from nmtlab.search.beam import beam_search
from nmtlab.search.exact import exact_search
from nmtlab.search.forced import forced_decode
from nmtlab.systems import check_has_model, open_model
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.vocabulary import EOS


@versioned(1)
def search_errors(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    search: SearchSettings = LOG_PROB,
    budget: int = 20_000,
    limit: int | None = None,
    machine: MachineSettings | None = None,
    start: int = 0,
) -> Iterator[list[Row]]:
    """Yield, sentence by sentence, what a beam finds and what exact search does.

    Args:
        run: neural, with weights.
        corpus: in its languages.
        split: train, dev or test.
        search: beam size, score and limits.
        budget: most hypotheses that exact search continues for a sentence.
        limit: take only so many sentences, the first; all if not given.
        machine: where to compute; the recipe's own settings if not given.
        start: the first of them that is wanted, from 0.

    Yields:
        A row for each sentence: `line` from 1; `source_length`, `reference_length`, in tokens without EOS, as all
        lengths here; of the beam's best `beam_score`, `beam_log_prob`, `beam_length`; the same of the best that exact
        search found, `exact_score`, `exact_log_prob`, `exact_length`; `empty_log_prob` of the empty translation, and
        `empty_rank`, that of EOS among the first tokens, from 1: the smallest beam that it enters; `expansions`;
        `complete`, whether exact search ended within its budget; `error`, whether it found a better one than the beam.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: a phrase-based run, one that plans lengths, or one without weights.
        RecipeError: the score has a coverage penalty.
    """
    check_languages(run, corpus)
    check_has_model(run)
    check_has_end(run)
    system = open_model(run, search, machine=machine)
    pairs = list(islice(corpus.pairs(split), start, limit))
    sources = system.pipeline.encode_source([source for source, _ in pairs])
    targets = system.pipeline.encode_target([target for _, target in pairs])
    for line, (source, target) in enumerate(zip(sources, targets, strict=True), start=start + 1):
        lengths = {"line": line, "source_length": len(source) - 1, "reference_length": len(target) - 1}
        yield [lengths | _compared(system.model, torch.tensor([source]), search, budget)]


@torch.inference_mode()
def _compared(model: TranslationModel, source: Tensor, search: SearchSettings, budget: int) -> Row:
    memory = model.encode(source.to(model.device))
    beam = beam_search(model, memory, search)[0].hypotheses[0]
    exact = exact_search(model, memory, search, beam, budget)
    nothing = torch.tensor([[EOS]], device=model.device)
    best = exact.best or beam
    return {
        "beam_score": beam.score,
        "beam_log_prob": beam.log_prob,
        "beam_length": len(beam.tokens),
        "exact_score": best.score,
        "exact_log_prob": best.log_prob,
        "exact_length": len(best.tokens),
        "empty_log_prob": forced_decode(model, memory, nothing)[0].log_prob,
        "empty_rank": rank_of_nothing(model, memory),
        "expansions": exact.expansions,
        "complete": exact.complete,
        "error": best.tokens != beam.tokens,
    }


def error_rates(found: pd.DataFrame) -> pd.Series:
    """Sum up the rows of `search_errors`.

    Returns:
        `sentences`; `complete`, the share of which exact search ended within its budget; of these alone, `errors`, the
        share in which the beam missed the best, `empty`, the share whose best is the empty translation, and
        `beam_empty`, the share whose beam is; `length_ratio` and `beam_length_ratio`, of the best's and the beam's
        length to the reference's; `empty_rank` and `expansions`, their medians over all. Where there are none of them
        it is NaN.
    """
    done = found[found["complete"]]
    reference = float(done["reference_length"].sum()) or math.nan
    return pd.Series(
        {
            "sentences": len(found),
            "complete": found["complete"].mean(),
            "errors": done["error"].mean(),
            "empty": (done["exact_length"] == 0).mean(),
            "beam_empty": (done["beam_length"] == 0).mean(),
            "length_ratio": done["exact_length"].sum() / reference,
            "beam_length_ratio": done["beam_length"].sum() / reference,
            "empty_rank": found["empty_rank"].median(),
            "expansions": found["expansions"].median(),
        }
    )


def by_reference_length(found: pd.DataFrame, edges: Sequence[float] = (0, 6, 11, 16, 21, 31, math.inf)) -> pd.DataFrame:
    """Return how the best's length and the share of empty ones go with the reference's length.

    Args:
        found: rows of `search_errors`; those whose exact search did not end are left out.
        edges: of the bins, ascending; a bin has the lengths from its lower edge on, below its upper one.

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
