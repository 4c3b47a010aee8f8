"""Paths through a search tree: to one of its hypotheses, along the reference, and on from a prefix."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch

from nmtlab.analysis.access.opened import RunOrSystem, opened, scored_ids
from nmtlab.analysis.search.search_tree import memory_of
from nmtlab.errors import NmtlabError, RunError
from nmtlab.recipe import SearchSettings
from nmtlab.search.beam import beam_search
from nmtlab.search.constraints import Constraints
from nmtlab.search.forced import forced_decode
from nmtlab.search.scores import hypothesis_score
from nmtlab.text.segmentation.vocabulary import EOS

_SAME = 1e-3
"""Log-probabilities of the same tokens, computed in another batch, differ by less."""

PATH = ["step", "slot", "piece", "text", "log_prob", "score", "scored_length", "ended"]


def path_to(tree: pd.DataFrame, step: int, slot: int) -> pd.DataFrame:
    """Return the hypotheses from the first step to one of the tree, each continued by the next.

    Args:
        tree: rows of `search_tree`.
        step, slot: of the last one.

    Returns:
        The columns `PATH` of these rows, without those in which a finished hypothesis keeps its slot.

    Raises:
        NmtlabError: the tree has no such hypothesis.
    """
    rows = tree.set_index(["step", "slot"], drop=False)
    if (step, slot) not in rows.index:
        raise NmtlabError(f"step {step}, slot {slot}: no hypothesis of the tree", "choose a node of the tree")
    places = [(step, slot)]
    while places[-1][0] > 1:
        places.append((places[-1][0] - 1, int(rows.loc[places[-1], "parent"])))
    path = rows.loc[places[::-1], PATH]
    return path[path["piece"] != ""].reset_index(drop=True)


def reference_path(
    system: RunOrSystem, sentence: str, reference: str, tree: pd.DataFrame, search: SearchSettings | None = None
) -> pd.DataFrame:
    """Return the prefixes of a reference as the system scores them, inside its beam and outside.

    Args:
        system: a run with weights, or a translator.
        sentence: that is translated.
        reference: its translation.
        tree: rows of `search_tree` for the sentence and the reference.
        search: search settings; the system's if not given. A coverage penalty is ignored.

    Returns:
        The columns `PATH`, a row for each token; `slot` is 0 where the beam does not hold the prefix.

    Raises:
        RunError: as for `search_tree`.
    """
    translator = opened(system)
    pipeline, search = translator.pipeline, search or translator.settings
    ids = pipeline.target_ids(reference)
    target = torch.tensor([ids], device=translator.model.device)
    (forced,) = forced_decode(translator.model, memory_of(translator, sentence), target)
    tokens = scored_ids(translator.model, ids)
    length = np.arange(1, len(tokens) + 1)
    log_prob = forced.log_probs[: len(tokens)].astype(float).cumsum()
    if translator.model.plans_length:  # EOS has the log-probability of the length
        planned = float(forced.log_probs[-1])
        log_prob = log_prob + planned
        score = log_prob + (search.length_weight - 1) * planned
    else:
        score = hypothesis_score(search, torch.from_numpy(log_prob), torch.from_numpy(length)).numpy()
    frame = pd.DataFrame(
        {
            "step": length,
            "slot": [_slot(tree, step, value) for step, value in zip(length, log_prob, strict=True)],
            "piece": [pipeline.target.vocabulary.types[token] for token in tokens],
            "text": [pipeline.target.text([one for one in tokens[:end] if one != EOS]) for end in length],
            "log_prob": log_prob,
            "score": score,
            "scored_length": length,
            "ended": length == len(tokens),
        }
    )
    return frame[PATH]


def continue_from(
    system: RunOrSystem, sentence: str, pieces: Sequence[str], search: SearchSettings | None = None
) -> pd.DataFrame:
    """Return the best translation that begins with some tokens, found by beam search.

    Args:
        system: a run with weights, or a translator; it must not plan lengths.
        sentence: to be translated.
        pieces: the first tokens as the vocabulary writes them, without `</s>`.
        search: search settings; the system's if not given.

    Returns:
        One row: `text`, `log_prob`, `score`, `scored_length` in tokens, including the end.

    Raises:
        RunError: as for `search_tree`, or a run that plans lengths.
    """
    translator = opened(system)
    model, pipeline = translator.model, translator.pipeline
    if model.plans_length:
        raise RunError("the system plans lengths", "choose one that does not to continue a translation")
    prefix = torch.tensor([pipeline.target.vocabulary.ids(list(pieces))], dtype=torch.long, device=model.device)
    memory, constraints = memory_of(translator, sentence), Constraints(prefix=prefix)
    best = beam_search(model, memory, search or translator.settings, constraints=constraints)[0].hypotheses[0]
    facts = {
        "text": pipeline.target.text(best.tokens),
        "log_prob": best.log_prob,
        "score": best.score,
        "scored_length": len(best.tokens) + best.finished,
    }
    return pd.DataFrame([facts])


def _slot(tree: pd.DataFrame, step: int, log_prob: float) -> int:
    """Return the slot of the reference's prefix in a step: with planned lengths, that in the beam of its length."""
    held = tree[(tree["step"] == step) & tree["reference"] & np.isclose(tree["log_prob"], log_prob, rtol=0, atol=_SAME)]
    return int(held["slot"].iloc[0]) if len(held) else 0
