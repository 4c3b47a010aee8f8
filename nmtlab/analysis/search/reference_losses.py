"""How well does a system predict references: those of unseen lengths, and tokens near the end? (thesis 4.1)"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from nmtlab.analysis.access.checks import in_direction
from nmtlab.analysis.access.measure import versioned
from nmtlab.analysis.access.opened import opened
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.systems import check_has_model
from nmtlab.text.corpus import ParallelCorpus
from nmtlab.text.pipeline import Pipeline
from nmtlab.text.segmentation import usable_pairs

_BATCH_TOKENS = 4096


@versioned(1)
def reference_losses(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return the loss of a run on the references of a text, and whether their lengths were seen in training.

    Args:
        run: neural, with weights.
        corpus: that the run was trained on.
        split: dev or test.

    Returns:
        A row for each sentence with a reference: `line` from 1; `length`, of the reference in tokens; `seen`, whether
        the training text has a target sentence of this length; `loss`, the negative log-probability of the tokens in
        nats, excluding EOS and the length.

    Raises:
        CorpusError: no such split, or other languages.
        RunError: the run is phrase-based, or has no weights.
    """
    lines = list(_losses(run, corpus, split))
    seen = _trained_lengths(run, corpus, opened(run).pipeline)
    rows = [(line, len(losses), len(losses) + 1 in seen, losses.sum()) for line, losses in lines]
    found = pd.DataFrame(rows, columns=["line", "length", "seen", "loss"])
    return found.sort_values("line", ignore_index=True).astype({"loss": float})


@versioned(1)
def losses_by_rest(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return the loss on the tokens of references by how many tokens follow them.

    A system that counts down knows this number; any other has to guess whether the end is near.

    Args:
        run, corpus, split: as for `reference_losses`.

    Returns:
        A row for each number: `rest`, from 0, the last token before EOS; `tokens`, how many there are; `loss`, their
        summed negative log-probability in nats.

    Raises:
        CorpusError, RunError: as for `reference_losses`.
    """
    summed, tokens = Counter(), Counter()
    for _, losses in _losses(run, corpus, split):
        summed.update(dict(enumerate(losses[::-1].tolist())))
        tokens.update(range(len(losses)))
    rests = sorted(tokens)
    return pd.DataFrame(
        {"rest": rests, "tokens": [tokens[rest] for rest in rests], "loss": [summed[rest] for rest in rests]}
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


def _losses(run: Run, corpus: ParallelCorpus, split: str) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the line of each reference that is not blank, and its tokens' losses, (n,), excluding EOS."""
    run = in_direction(run, corpus)
    check_has_model(run)
    translator = opened(run)
    sources, targets = zip(*corpus.pairs(split), strict=True)
    source_ids = translator.pipeline.encode_source(list(sources))
    target_ids = translator.pipeline.encode_target(list(targets))
    for place, forced in forced_decode_all(translator.model, source_ids, target_ids, _BATCH_TOKENS):
        if len(target_ids[place]) > 1:
            yield place + 1, -forced.log_probs[:-1]


def _trained_lengths(run: Run, corpus: ParallelCorpus, pipeline: Pipeline) -> set[int]:
    """Return the lengths of the translations that a run was trained on, in tokens with EOS."""
    trained = usable_pairs(corpus, run.recipe.text.max_words, Counter())
    return {len(ids) for ids in pipeline.encode_target([target for _, target in trained])}
