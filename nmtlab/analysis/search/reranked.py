"""How good are the translations that a sum of features chooses from n-best lists? (survey 9)"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring
from nmtlab.analysis.access.needs import DECODING, continued_from
from nmtlab.analysis.search.n_best import Lists, is_language_model, n_best_lists
from nmtlab.recipe.machine import MachineSettings
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus


def reranked(
    run: Run,
    corpus: ParallelCorpus,
    split: str = "test",
    size: int = 20,
    on_progress: Callable[[int], None] = lambda sentences: None,
    machine: MachineSettings | None = None,
) -> pd.DataFrame:
    """Choose from n-best lists by the weights of log p, length and expected chrF that have the best dev BLEU.

    If the run is a language model of the target side, the lists are those of the run that it went on from, and its
    log p(y) is a feature besides.

    Args:
        size: as of `n_best`, whose answers are stored with the run that translates.

    Returns:
        A row for each sentence: `line` in the text, from 1; `text`.

    Raises:
        RunError: the run is a language model that started from no other, or the other one is not here.
    """
    is_model = is_language_model(run, corpus.target)
    translator = continued_from(run) if is_model else run
    asked: dict[str, Any] = {"size": size, "blank": run if is_model else None, "machine": machine}
    lists, chosen = chosen_on_dev(translator, corpus, split, on_progress, **asked)
    return pd.DataFrame({"line": lists.lines[chosen], "text": lists.texts(chosen)})


def chosen_on_dev(
    run: Run, corpus: ParallelCorpus, split: str, on_progress: Callable[[int], None], **asked: Any
) -> tuple[Lists, np.ndarray]:
    """Return the n-best lists of a text, and the places of those chosen by the weights of the best dev BLEU.

    Args:
        run: translates.
        asked: further arguments of `n_best_lists`.
    """
    weights = n_best_lists(run, corpus, "dev", **asked).tuned("bleu")
    lists = n_best_lists(run, corpus, split, on_progress=on_progress, **asked)
    return lists, lists.reranked(weights)


_LABEL = "BLEU of reranked lists"

RERANKED = Analysis(
    "Which translations do tuned weights choose from n-best lists, with a language model if the run is one?",
    reranked,
    source="survey 9",
    needs=DECODING,
    version=1,
    columns=("line", "text"),
    metrics=(
        Metric("reranked-bleu", _LABEL, "score", "BLEU", scoring=Scoring(made_by=_LABEL), usable=USABLE_BLEU,
               if_diverged=0.0),
    ),
)  # fmt: skip
