"""How text becomes ids."""

from typing import Literal

from pydantic import Field, model_validator

from nmtlab.recipe.section import Section


class TextSettings(Section):
    """Segmentation and vocabularies (thesis 3.1.2.2, 3.2.5.1, 3.3.3.1)."""

    segmentation: Literal["word", "bpe", "unigram"] = "bpe"
    """Moses words, or SentencePiece subwords learned by byte-pair merges or as a unigram model."""

    vocabulary_size: int = Field(8000, ge=0, le=1_000_000)
    """Number of types, the four special ones included; for words, the most frequent ones (0: all)."""

    min_frequency: int = Field(1, ge=1)
    """Words seen fewer times in training become UNK (5 in thesis 3.2)."""

    joint: bool = True
    """One vocabulary, learned on source and target together; otherwise one for each side."""

    truecase: bool = False
    """Give words at the beginning of a sentence their most frequent case (Moses words only)."""

    max_words: int = Field(250, ge=1)
    """Training pairs with more words than this on either side, before segmentation, are left out and counted."""

    unk_copy_threshold: int = Field(0, ge=0)
    """Train on a second copy of the text whose types seen fewer times than this are UNK (0: no copy)."""

    target_vocabulary_mask: bool = True
    """Forbid types never seen on the training text's target side, in training and in search (thesis 3.3.3.1)."""

    @model_validator(mode="after")
    def _check(self) -> "TextSettings":
        for field, given in (("truecase", self.truecase), ("min_frequency", self.min_frequency > 1)):
            if given and self.segmentation != "word":
                raise ValueError(f"{field} is for words, but segmentation is {self.segmentation!r}; leave it out")
        return self
