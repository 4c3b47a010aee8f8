"""The part of a model that a parameter belongs to, by the parameter's name."""

import re
from typing import Literal

from torch import nn

Part = Literal["source_embedding", "encoder", "decoder", "target_embedding", "output", "adapters"]
"""Parts of a model that a child takes over from its parent one by one."""

VocabularySide = Literal["source", "target"]

_WORDS: dict[str, tuple[Part, VocabularySide | None]] = {
    "source_embedding.": ("source_embedding", "source"),
    "encoder.embedding.": ("source_embedding", "source"),
    "target_embedding.": ("target_embedding", "target"),
    "output_weight": ("output", "target"),
    "output_bias": ("output", "target"),
    "output_layer.bias": ("output", "target"),
    "output_layer.g": ("output", None),
    "lexical.inner.": ("output", None),
    "lexical.": ("output", "target"),
}
"""How the names of parameters outside encoder and decoder begin, their part, and the side whose types their rows are;
the first that fits counts."""


def part(name: str) -> Part:
    """Return the part of a parameter. A table that both sides share is the source embedding."""
    name = of_expert(name)
    if ".adapters." in name:
        return "adapters"
    return _of_words(name)[0] or ("encoder" if name.startswith(("encoder", "more_encoder")) else "decoder")


def vocabulary_side(name: str) -> VocabularySide | None:
    """Return the side whose types the rows of a parameter are; None if it has no row for each type."""
    return _of_words(name)[1]


def has_one_table(model: nn.Module) -> bool:
    """Return whether the words of source and target have one table in a model."""
    return not any(part(name) == "target_embedding" for name, _ in model.named_parameters())


def _of_words(name: str) -> tuple[Part | None, VocabularySide | None]:
    return next((found for begin, found in _WORDS.items() if of_expert(name).startswith(begin)), (None, None))


def of_expert(name: str) -> str:
    """Return the name that a parameter has in the model of one source that is an expert of a mixture."""
    return re.sub(r"^models\.\d+\.", "", name)
