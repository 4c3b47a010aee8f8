"""The tokens that a phrase-based system reads and writes.

They are ids, written `s7` in the source and `t7` in the target, so that white space, delimiters of its file formats and
words such as `<s>` need no escaping. An UNK of the source is written by its position, as in `x0`, so that the decoder
copies it like every token that it cannot translate.
"""

from collections.abc import Sequence

from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.vocabulary import UNK


def source_tokens(pipeline: Pipeline, line: str) -> list[str]:
    """Return the tokens of a source sentence, one for each of its pieces."""
    ids = pipeline.source_ids(line)[:-1]
    return [f"s{number}" if number != UNK else f"x{position}" for position, number in enumerate(ids)]


def target_tokens(pipeline: Pipeline, line: str) -> list[str]:
    """Return the tokens of a target sentence."""
    return [f"t{number}" for number in pipeline.target_ids(line)[:-1]]


def training_tokens(pipeline: Pipeline, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[str], list[str]]]:
    """Return the tokens of training pairs, UNK being a type like any other."""
    sources = pipeline.encode_source([source for source, _ in pairs])
    targets = pipeline.encode_target([target for _, target in pairs])
    return [
        ([f"s{number}" for number in source[:-1]], [f"t{number}" for number in target[:-1]])
        for source, target in zip(sources, targets, strict=True)
    ]


def translated(token: str) -> int | None:
    """Return the target id of a token that the decoder has generated; None if it is a copied source token."""
    return int(token[1:]) if token[0] == "t" else None
