"""Where in the training text was a system in nearly the same state? Nearest encoder or decoder states, by cosine."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.states.token_states import TokenStates, Where, token_states
from nmtlab.errors import NmtlabError
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.sample import draw_sample

SAMPLE = 500
"""Sentences of the training text that are compared, if no other number is given."""

_AROUND = 6  # tokens before and after the one in question


def state_neighbours(
    run: Run,
    corpus: ParallelCorpus,
    source: str,
    target: str,
    position: int,
    where: Where = "decoder",
    k: int = 10,
    sample: int = SAMPLE,
) -> pd.DataFrame:
    """Return the states of a sample of the training text that are nearest to the state at a position of a sentence.

    Args:
        run: neural, with weights.
        corpus: that it was trained on, or any other in its languages with a training text.
        source: a sentence.
        target: its translation, the system's or any other.
        position: of the token, from 0: of the target at the decoder, of the source at the encoder.
        where: whose states are compared.
        k: number of neighbours, from 1.
        sample: number of training sentences, drawn as in `nmtlab.text.corpora.sample`.

    Returns:
        As `nearest_states`, with `line`, the number of the sentence in the training text, from 1.

    Raises:
        CorpusError: no training text, or other languages.
        NmtlabError: no such position.
    """
    system = opened(in_direction(run, corpus))
    drawn = draw_sample(corpus, "train", sample)
    asked = token_states(system, [(source, target)], where)
    states = token_states(system, drawn.pairs, where)
    found = nearest_states(states, drawn.pairs, asked, position, k, (source, target))
    found.insert(0, "line", [drawn.lines[place] for place in found.pop("sentence")])
    return found


STATE_NEIGHBOURS = Analysis(
    "Which training sentences have a state nearest to this one?",
    state_neighbours,
    needs=DECODING,
    version=1,
    columns=("line", "position", "piece", "cos", "context", "source", "target"),
)


def nearest_states(
    states: TokenStates,
    pairs: Sequence[tuple[str, str]],
    asked: TokenStates,
    position: int,
    k: int = 10,
    left_out: tuple[str, str] = ("", ""),
) -> pd.DataFrame:
    """Return the states nearest to one of another sentence, by cosine.

    Args:
        states: of the sentences compared.
        pairs: these sentences and their translations.
        asked: the states of the sentence in question.
        position: of its state, from 0.
        k: number of neighbours, from 1; fewer if there are no more.
        left_out: a pair whose states do not count, such as the one asked about.

    Returns:
        A row for each, nearest first: `sentence`, the index of its pair; `position` from 0; `piece`; `cos`, -1 to 1;
        `context`, the token in ⟦ ⟧ with those around it; `source` and `target`, the pair.

    Raises:
        NmtlabError: no such position.
    """
    if not 0 <= position < len(asked.vectors):
        last = len(asked.vectors) - 1
        raise NmtlabError(
            f"position {position}: the sentence has {last + 1} states", f"choose a number from 0 to {last}"
        )
    cosines = _units(states.vectors) @ _units(asked.vectors[position : position + 1])[0]
    itself = [index for index, pair in enumerate(pairs) if tuple(pair) == left_out]
    cosines[states.tokens["sentence"].isin(itself).to_numpy()] = -np.inf
    order = np.argsort(-cosines, kind="stable")[:k]
    order = order[np.isfinite(cosines[order])]
    found = states.tokens.iloc[order].reset_index(drop=True)
    places = zip(found["sentence"], found["position"], strict=True)
    pieces = {sentence: rows["piece"].tolist() for sentence, rows in states.tokens.groupby("sentence")}
    return pd.DataFrame(
        {
            "sentence": found["sentence"],
            "position": found["position"],
            "piece": found["piece"],
            "cos": cosines[order].astype(float),
            "context": [_marked(pieces[sentence], place) for sentence, place in places],
            "source": [pairs[index][0] for index in found["sentence"]],
            "target": [pairs[index][1] for index in found["sentence"]],
        }
    )


def _units(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)


def _marked(pieces: Sequence[str], position: int) -> str:
    """Return a token in brackets, with those around it."""
    before, after = pieces[:position], pieces[position + 1 :]
    words = [*before[-_AROUND:], f"⟦{pieces[position]}⟧", *after[:_AROUND]]
    begun, goes_on = len(before) > _AROUND, len(after) > _AROUND
    return f"{'… ' if begun else ''}{' '.join(words)}{' …' if goes_on else ''}"
