"""Sentences as a phrase-based system reads and writes them.

Its tokens are ids, written `s7` in the source and `t7` in the target: white space, marks of its files' formats and
words such as `<s>` are then nothing special. A source piece without a type of its own is written by its place, as in
`x0`, so that the decoder copies it like everything else that it cannot translate.
"""

from collections.abc import Sequence

from nmtlab.text.pipeline import Pipeline
from nmtlab.text.vocabulary import UNK


def source_tokens(pipeline: Pipeline, line: str) -> list[str]:
    """Return the tokens of a source sentence, one for each of its pieces."""
    ids = pipeline.source_ids(line)[:-1]
    return [f"s{number}" if number != UNK else f"x{place}" for place, number in enumerate(ids)]


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
    """Return the target id of a token that the decoder has written; None if it is a copied source token."""
    return int(token[1:]) if token[0] == "t" else None
