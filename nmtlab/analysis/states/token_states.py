"""The encoder and decoder states of sentence pairs, one for each token."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from nmtlab.analysis.access.opened import RunOrSystem, forced_states, opened, scored_ids
from nmtlab.text.batching.batches import pad, sorted_batches
from nmtlab.translation import Translator

Where = Literal["decoder", "encoder"]

_BATCH_TOKENS = 2000  # padded


class TokenStates(NamedTuple):
    """The states of some tokens.

    Args:
        vectors: (tokens, D), the states.
        tokens: a row for each: `sentence`, its place in the list, and `position` in it, both from 0; `piece`, the token
            read at an encoder state, or generated at a decoder state; `count` in the training text of its side.
    """

    vectors: NDArray[np.float32]
    tokens: pd.DataFrame


def token_states(system: RunOrSystem, pairs: Sequence[tuple[str, str]], where: Where = "decoder") -> TokenStates:
    """Return the states of all tokens of some sentence pairs, by sentence; arguments as of `states_in_batches`."""
    return joined([states for _, states in states_in_batches(system, pairs, where)])


def states_in_batches(
    system: RunOrSystem, pairs: Sequence[tuple[str, str]], where: Where = "decoder"
) -> Iterator[tuple[int, TokenStates]]:
    """Yield the number of sentences in a batch and the states of their tokens.

    Args:
        pairs: source sentences and their translations, which are forced; neither is blank.
        where: the encoder's last states, of each source token without EOS; or the decoder's, from which each token of
            the translation is generated, EOS included unless the system plans lengths.
    """
    translator = opened(system)
    source = translator.pipeline.encode_source([one for one, _ in pairs])
    target = [scored_ids(translator.model, translator.pipeline.target_ids(other)) for _, other in pairs]
    for batch in sorted_batches([max(map(len, both)) for both in zip(source, target, strict=True)], _BATCH_TOKENS):
        rows = batch.tolist()
        ids = [list(source[row][:-1]) if where == "encoder" else list(target[row]) for row in rows]
        read = [source[row] for row in rows]
        vectors = _encoded(translator, read) if where == "encoder" else _decoded(translator, read, ids)
        yield len(rows), TokenStates(vectors, _described(translator, where, rows, ids))


def joined(parts: Sequence[TokenStates]) -> TokenStates:
    """Return the states of several batches as one, by sentence and position."""
    tokens = pd.concat([part.tokens for part in parts], ignore_index=True).sort_values(["sentence", "position"])
    vectors = np.concatenate([part.vectors for part in parts])[tokens.index]
    return TokenStates(vectors, tokens.reset_index(drop=True))


@torch.inference_mode()
def _encoded(translator: Translator, source: Sequence[Sequence[int]]) -> NDArray[np.float32]:
    memory = translator.model.encode(torch.from_numpy(pad(source)).to(translator.model.device))
    kept = [memory.states[row, : len(ids) - 1] for row, ids in enumerate(source)]
    return torch.cat(kept).float().cpu().numpy()


def _decoded(
    translator: Translator, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
) -> NDArray[np.float32]:
    return forced_states(translator.model, source, target).float().cpu().numpy()


def _described(
    translator: Translator, where: Where, sentences: Sequence[int], ids: Sequence[Sequence[int]]
) -> pd.DataFrame:
    pipeline = translator.pipeline
    side = pipeline.source if where == "encoder" else pipeline.target
    counts = side.vocabulary.counts if where == "encoder" else pipeline.target.counts
    flat = [number for row in ids for number in row]
    return pd.DataFrame(
        {
            "sentence": np.repeat(sentences, [len(row) for row in ids]),
            "position": [position for row in ids for position in side.reading_order(row)],
            "piece": [side.vocabulary.types[number] for number in flat],
            "count": counts[flat],
        }
    )
