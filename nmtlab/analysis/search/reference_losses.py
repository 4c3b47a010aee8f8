"""How well does a system predict references: those of unseen lengths, and tokens near the end? (thesis 4.1)"""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.access.needs import DECODING
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.search.unseen_lengths import held_out_pairs
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.text.corpora.corpus import ParallelCorpus

_BATCH_TOKENS = 4096


def reference_losses(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return the loss of a run on references, of a text and of training pairs left out as too long.

    Args:
        run: neural, with weights.
        corpus: that the run was trained on.
        part: dev or test.

    Returns:
        A row for each of `held_out_pairs`: `part`, `line`, `length` and `seen`, as there; `loss`, the negative
        log-probability of the tokens in nats, excluding EOS and the length.

    Raises:
        CorpusError: no such part, or other languages.
        RunError: the run is phrase-based, has no weights, or was not trained on this corpus.
    """
    run = in_direction(run, corpus)
    pairs = held_out_pairs(run, corpus, part)
    losses = pd.Series({place: one.sum() for place, one in _losses(run, pairs["source"], pairs["target"])}, dtype=float)
    return pairs[["part", "line", "length", "seen"]].assign(loss=losses)


REFERENCE_LOSSES = Analysis(
    "What is the loss on references, and on pairs that were left out as too long?",
    reference_losses,
    needs=DECODING,
    version=2,
    columns=("part", "line", "length", "seen", "loss"),
)


def losses_by_rest(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return the loss on the tokens of references by how many tokens follow them.

    A system that counts down knows this number; any other has to guess whether the end is near.

    Args:
        run: neural, with weights.
        corpus: in its languages.
        split: dev or test.

    Returns:
        A row for each number: `rest`, from 0, the last token before EOS; `tokens`, how many there are; `loss`, their
        summed negative log-probability in nats.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: the run is phrase-based, or has no weights.
    """
    run = in_direction(run, corpus)
    summed, tokens = Counter(), Counter()
    for _, losses in _losses(run, *zip(*corpus.pairs(split), strict=True)):
        summed.update(dict(enumerate(losses[::-1].tolist())))
        tokens.update(range(len(losses)))
    rests = sorted(tokens)
    return pd.DataFrame(
        {"rest": rests, "tokens": [tokens[rest] for rest in rests], "loss": [summed[rest] for rest in rests]}
    )


LOSSES_BY_REST = Analysis(
    "How does the loss of a token depend on how many tokens follow it?",
    losses_by_rest,
    needs=DECODING,
    version=1,
    columns=("rest", "tokens", "loss"),
)


def losses_by_seen(found: pd.DataFrame) -> dict[str, float]:
    """Return the loss per token, in nats, of rows of `reference_losses`: `seen` and `unseen`, NaN without such rows."""
    summed = found.groupby("seen")[["loss", "length"]].sum()
    losses = (summed["loss"] / summed["length"]).to_dict()
    return {"seen": float(losses.get(True, np.nan)), "unseen": float(losses.get(False, np.nan))}


def loss_of_rests(found: pd.DataFrame, first: int, last: int | None = None) -> float:
    """Return the loss per token, in nats, of rows of `losses_by_rest` with a rest from `first` to `last`, if given."""
    chosen = found[found["rest"].between(first, found["rest"].max() if last is None else last)]
    return float(chosen["loss"].sum() / chosen["tokens"].sum()) if len(chosen) else np.nan


def _losses(run: Run, sources: Iterable[str], targets: Iterable[str]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the place of each target that is not blank, from 0, and its tokens' losses, (n,), excluding EOS."""
    translator = opened(run)
    source_ids = translator.pipeline.encode_source(list(sources))
    target_ids = translator.pipeline.encode_target(list(targets))
    for place, forced in forced_decode_all(translator.model, source_ids, target_ids, _BATCH_TOKENS):
        if len(target_ids[place]) > 1:
            yield place, -forced.log_probs[:-1]
