"""How are sentences longer than any in training predicted and translated, and tokens near the end? (thesis 4.1)"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import pandas as pd

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.metric import USABLE_BLEU, Metric, Scoring, Text
from nmtlab.analysis.access.needs import DECODING, PLANNED_LENGTH, check_needs, in_direction
from nmtlab.analysis.access.opened import opened
from nmtlab.analysis.search.length_baselines import encoded_pairs, trained_lengths
from nmtlab.recipe.text import TextSettings
from nmtlab.runs.run import Run
from nmtlab.search.forced import forced_decode_all
from nmtlab.search.searches import OfLengths
from nmtlab.systems import open_model
from nmtlab.text.corpora.cleaning import digest, normalise
from nmtlab.text.corpora.corpus import ParallelCorpus

ENOUGH = 100
"""Sentences of unseen lengths from which something can be concluded."""

MOST = 500
"""Sentences of unseen lengths that are used."""

_MAX_WORDS = TextSettings().max_words
_COLUMNS = ["part", "line", "source", "target", "length", "seen"]


def held_out_pairs(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return the sentences of a text, and the training pairs that were left out because their target is too long.

    A length counts as seen in training up to that of the longest target there. Of unseen lengths, each target comes
    once, and no more than `MOST` in all, drawn by their digests.

    Args:
        run: any but a phrase-based one.
        corpus: that it was trained on.

    Returns:
        A row for each sentence with a reference: `part`, the split or train; `line` in it, from 1,
        missing for train; `source`; `target`; `length` of the target in tokens; `seen`, whether it was.

    Raises:
        RunError: the run was not trained on this corpus.
    """
    run = in_direction(run, corpus)
    longest = int(trained_lengths(run, corpus).target.max())
    sources, targets = zip(*corpus.pairs(split), strict=True)
    lengths = [len(ids) - 1 for ids in run.pipeline.encode_target(targets)]
    own = zip(range(1, len(sources) + 1), sources, targets, lengths, strict=True)
    left_out = ((pair, len(target) - 1) for pair, _, target in encoded_pairs(run, corpus, _MAX_WORDS))
    rows = chain(
        ((split, line, source, target, length, length <= longest) for line, source, target, length in own if length),
        (("train", None, *pair, length, False) for pair, length in left_out if length > longest),
    )
    found = pd.DataFrame(rows, columns=_COLUMNS).astype({"line": "Int64"})
    return pd.concat([found[found["seen"]], _drawn(found[~found["seen"]])], ignore_index=True)


def _drawn(unseen: pd.DataFrame) -> pd.DataFrame:
    """Return at most `MOST` rows with distinct targets."""
    digests = unseen["target"].map(lambda target: digest(normalise(target)))
    return unseen.loc[digests.drop_duplicates().sort_values().index[:MOST]].sort_index()


def unseen_pairs(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return the rows of `held_out_pairs` whose length was not seen in training."""
    found = held_out_pairs(run, corpus, split)
    return found[~found["seen"]].reset_index(drop=True)


def unseen_translations(run: Run, corpus: ParallelCorpus, told: bool = False, part: str = "test") -> pd.DataFrame:
    """Translate the sentences of unseen lengths among `held_out_pairs`, with the recipe's search settings.

    Args:
        corpus: that it was trained on.
        told: whether the length of each reference is given, to a run that plans lengths; otherwise it is predicted.

    Returns:
        A row for each sentence: `part`, `line` and `length`, as of `held_out_pairs`; `text`, the translation. The
        references are not among the answers that a run is packed with, as they may be training text.

    Raises:
        CorpusError: as for `held_out_pairs`.
        RunError: likewise; the run has no weights; or it is told lengths, but plans none.
    """
    run = in_direction(run, corpus)
    if told:
        check_needs(run, (PLANNED_LENGTH,))
    pairs = unseen_pairs(run, corpus, part)
    system = open_model(run)
    search = OfLengths(system.settings, pairs["length"].tolist()) if told else None
    found = system.translate(pairs["source"].tolist(), search=search)
    return pairs[["part", "line", "length"]].assign(text=[one.text for one in found])


def _unseen_text(corpus: ParallelCorpus, run: Run | None) -> Text | None:
    """Return the sentences of lengths that a run has not seen in training; None without a run."""
    if run is None:
        return None
    pairs = unseen_pairs(run, corpus)
    return Text(pairs["source"].tolist(), [pairs["target"].tolist()])


def _unseen_bleu(key: str, label: str, told: bool) -> Metric:
    return Metric(
        key,
        label,
        "score",
        "BLEU",
        given={"told": told},
        needs=(PLANNED_LENGTH,) if told else (),
        scoring=Scoring(made_by=label, text=_unseen_text, enough=ENOUGH),
        usable=USABLE_BLEU,
        if_diverged=0.0,
    )


UNSEEN_TRANSLATIONS = Analysis(
    "How are sentences of lengths translated that training never saw?",
    unseen_translations,
    needs=DECODING,
    version=1,
    columns=("part", "line", "length", "text"),
    metrics=(
        _unseen_bleu("bleu-unseen-lengths", "BLEU, lengths unseen", told=False),
        _unseen_bleu("bleu-unseen-lengths-oracle", "BLEU, lengths unseen, oracle length", told=True),
    ),
)


_BATCH_TOKENS = 4096


def reference_losses(run: Run, corpus: ParallelCorpus, part: str = "test") -> pd.DataFrame:
    """Return the loss of a run on references, of a text and of training pairs left out as too long.

    Args:
        corpus: that the run was trained on.

    Returns:
        A row for each of `held_out_pairs`: `part`, `line`, `length` and `seen`, as there; `loss`, the negative
        log-probability of the tokens in nats, excluding EOS and the length.

    Raises:
        RunError: the run is phrase-based, has no weights, or was not trained on this corpus.
    """
    run = in_direction(run, corpus)
    pairs = held_out_pairs(run, corpus, part)
    losses = pd.Series({place: one.sum() for place, one in _losses(run, pairs["source"], pairs["target"])}, dtype=float)
    return pairs[["part", "line", "length", "seen"]].assign(loss=losses)


def _seen_losses(found: pd.DataFrame) -> dict[str, float]:
    """Return `losses_by_seen`, NaN for fewer than `ENOUGH` unseen ones, and the `rise` from seen to unseen."""
    losses = losses_by_seen(found)
    unseen = losses["unseen"] if (~found["seen"]).sum() >= ENOUGH else math.nan
    return {"seen": losses["seen"], "unseen": unseen, "rise": unseen - losses["seen"]}


REFERENCE_LOSSES = Analysis(
    "What is the loss on references, and on pairs that were left out as too long?",
    reference_losses,
    needs=DECODING,
    version=2,
    stored_as="reference_losses.reference_losses",
    columns=("part", "line", "length", "seen", "loss"),
    metrics=(
        Metric(
            "loss-seen-lengths", "loss, lengths seen", better="lower", read=lambda found: _seen_losses(found)["seen"]
        ),
        Metric(
            "loss-unseen-lengths",
            "loss, lengths unseen",
            better="lower",
            read=lambda found: _seen_losses(found)["unseen"],
        ),
        Metric("loss-rise", "rise of the loss", better="lower", read=lambda found: _seen_losses(found)["rise"]),
        Metric("unseen-sentences", "sentences, lengths unseen", read=lambda found: (~found["seen"]).sum()),
    ),
)


def losses_by_rest(run: Run, corpus: ParallelCorpus, split: str = "test") -> pd.DataFrame:
    """Return the loss on the tokens of references by how many tokens follow them.

    A system that counts down knows this number; any other has to guess whether the end is near.

    Returns:
        A row for each number: `rest`, from 0, the last token before EOS; `tokens`, how many there are; `loss`, their
        summed negative log-probability in nats.
    """
    run = in_direction(run, corpus)
    summed, tokens = Counter[int](), Counter[int]()
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
    stored_as="reference_losses.losses_by_rest",
    columns=("rest", "tokens", "loss"),
    metrics=tuple(
        Metric(key, label, better="lower", read=lambda found, ends=ends: loss_of_rests(found, *ends))
        for key, label, ends in (
            ("loss-last-token", "loss of the last token", (0, 0)),
            ("loss-two-before-last", "loss of the two tokens before it", (1, 2)),
            ("loss-other-tokens", "loss of all other tokens", (3,)),
        )
    ),
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
