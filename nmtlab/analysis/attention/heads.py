"""What does each head of a Transformer attend to? All of them, also in self-attention."""

from typing import Literal, get_args

import numpy as np
import pandas as pd

from nmtlab.analysis.access.opened import RunOrSystem, opened, scored_ids
from nmtlab.analysis.attention.weights import pieces_of
from nmtlab.errors import RunError
from nmtlab.models.interface import on_device
from nmtlab.models.recording import Attentions, recorded_attention
from nmtlab.models.transformer import Transformer
from nmtlab.text.batching.batch import batch_of
from nmtlab.text.segmentation.vocabulary import BOS, SPECIALS
from nmtlab.translation import Translator

AttentionKind = Literal["cross-attention", "encoder self-attention", "decoder self-attention"]
KINDS: tuple[AttentionKind, ...] = get_args(AttentionKind)


def all_heads(system: RunOrSystem, source: str, target: str | None = None) -> pd.DataFrame:
    """Return the weights of all attention heads of a Transformer in one sentence.

    A position of the decoder is that of the token it predicts; in self-attention, it attends to the tokens read so far,
    of which `<s>`, the tag of the target language, or `<s>` and then the tag are the first.

    Args:
        system: a Transformer with weights, or a translator.
        source: a sentence.
        target: a translation to force; the system's own translation if not given.

    Returns:
        A row for each pair of tokens in each head: `kind`, cross-attention or the self-attention of encoder or decoder;
        `layer` and `head`, from 1; `position` and `piece` of the token that attends, and `attended_position` and
        `attended_piece`, positions from 0; `weight`. The weights of a position in a head add up to 1.

    Raises:
        CorpusError: the source sentence is blank.
        RunError: the system is no Transformer, or has no weights.
    """
    translator = opened(system)
    model = translator.model
    if not isinstance(model, Transformer):
        raise RunError("this system has no self-attention and a single head", "choose a Transformer")
    pair = pieces_of(translator, source, target)
    ids = scored_ids(model, pair.target_ids)
    batch = on_device(batch_of(np.array([pair.source_ids]), np.array([ids])), model.device)
    weights = Attentions(*(kind[:, 0].cpu().numpy() for kind in recorded_attention(model, batch)))
    first = int(model.reads_start)  # a decoder that reads one more token predicts nothing at its first position
    predicted, read = pair.target_pieces[: len(ids)], [*_start(translator), *pair.target_pieces[: len(ids) - 1]]
    kinds = {
        "cross-attention": (weights.cross[:, :, first:], predicted, pair.source_pieces),
        "encoder self-attention": (weights.encoder, pair.source_pieces, pair.source_pieces),
        "decoder self-attention": (weights.decoder[:, :, first:], predicted, read),
    }
    return pd.concat([_rows(kind, *drawn) for kind, drawn in kinds.items()], ignore_index=True)


def _start(translator: Translator) -> list[str]:
    """Return what the decoder reads before the first token."""
    pipeline = translator.pipeline
    tag = pipeline.first_tokens.get(translator.languages[1])
    if tag is None:
        return [SPECIALS[BOS]]
    return [*([SPECIALS[BOS]] if pipeline.reads_start else []), pipeline.target.vocabulary.types[tag]]


def _rows(kind: AttentionKind, weights: np.ndarray, pieces: list[str], attended: list[str]) -> pd.DataFrame:
    layer, head, position, place = (axis.ravel() for axis in np.indices(weights.shape))
    return pd.DataFrame(
        {
            "kind": kind,
            "layer": layer + 1,
            "head": head + 1,
            "position": position,
            "piece": np.array(pieces, dtype=object)[position],
            "attended_position": place,
            "attended_piece": np.array(attended, dtype=object)[place],
            "weight": weights.ravel(),
        }
    )


def head_summary(weights: pd.DataFrame) -> pd.DataFrame:
    """Return how spread out the attention of each head is, and how much of it the ends of the sentence have.

    Args:
        weights: rows of `all_heads`, of one kind.

    Returns:
        A row for each head: `layer`, `head`; `entropy` in bits, mean over the positions; `first` and `last`, the mean
        weight of the first and the last token that can be attended to.
    """
    known = weights.assign(entropy=-weights["weight"] * np.log2(weights["weight"].where(weights["weight"] > 0, 1)))
    end = weights["attended_position"].max()
    known = known.assign(
        first=weights["weight"].where(weights["attended_position"] == 0, 0),
        last=weights["weight"].where(weights["attended_position"] == end, 0),
    )
    sums = known.groupby(["layer", "head", "position"])[["entropy", "first", "last"]].sum()
    return sums.groupby(["layer", "head"]).mean().reset_index()
