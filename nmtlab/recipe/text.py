"""How text becomes ids."""

from typing import Literal

from pydantic import Field, model_validator

from nmtlab.recipe.section import Section

WordRules = Literal["moses", "unicode"]
"""How text is split into words: as by Moses, or whole where Unicode has one word (`nmtlab.text.segmentation.moses`)."""


class TextSettings(Section):
    """Segmentation and vocabularies (thesis 3.1.2.2, 3.2.5.1, 3.3.3.1)."""

    segmentation: Literal["word", "bpe", "unigram", "byte", "imported"] = "bpe"
    """Moses words; subwords by byte-pair encoding or a unigram model (SentencePiece); bytes; or an imported model's."""

    word_rules: WordRules = "moses"
    """Words of Moses, which are cut at some letters and apostrophes; or whole words as Unicode has them."""

    vocabulary_size: int = Field(8000, ge=0, le=1_000_000)
    """Number of types, including the four special ones; for words, the most frequent ones (0: all); not for bytes."""

    min_frequency: int = Field(1, ge=1)
    """Words seen fewer times than this in training become UNK (5 in thesis 3.2)."""

    joint: bool = True
    """One vocabulary learned on source and target together; otherwise one per side."""

    truecase: bool = False
    """Give sentence-initial words their most frequent case (Moses words only)."""

    transliteration: Literal["none", "uyghur-latin", "uroman"] = "none"
    """Map the source to Latin letters before segmentation (thesis 3.1.2.1): by a table, or any script by uroman."""

    target_tag: Literal["source", "decoder", "own", "none"] = "source"
    """Tag of the target language: before the source, in place of BOS, or none; own: each side has its own (M2M-100)."""

    tag_form: str = Field("<2{}>", pattern=r"^[^{}\s]*\{\}[^{}\s]*$", max_length=50)
    """Form of a language's tag; {} stands for its code."""

    max_words: int = Field(250, ge=1)
    """Training pairs with more words than this on either side, before segmentation, are dropped and counted."""

    max_subwords: int = Field(0, ge=0)
    """Training pairs with more subwords than this on either side are left out and counted (0: no limit)."""

    max_target_tokens: int = Field(0, ge=0)
    """Pairs with more target tokens are left out of training, and of dev as it chooses the checkpoint (0: no limit)."""

    unk_copy_threshold: int = Field(0, ge=0)
    """Also train on a copy of the text in which types seen fewer times than this are UNK (0: no copy)."""

    target_vocabulary_mask: bool = True
    """Mask types never seen on the target side of the training text, in training and search (thesis 3.3.3.1)."""

    reversed_target: bool = False
    """Write the target from its last token to its first: each is predicted from those that follow it."""

    length_bins: int = Field(0, ge=0, le=100)
    """Tokens before the source for so many ratios of target to source length, equally frequent (0: none; 10 usual)."""

    context: int = Field(0, ge=0, le=1)
    """Sentences of its document before each source, which begins with them and <sep> (0: none; 1: the previous one)."""

    annotate: int = Field(0, ge=0, le=1_000_000)
    """Write a suggested translation beside source words seen fewer times than this in training (0: beside none)."""

    annotate_from: str = Field("", max_length=255)
    """A run of words whose lexicon suggests, or a .tsv file of words and translations; empty: the aligned text."""

    @model_validator(mode="after")
    def _check(self) -> "TextSettings":
        for field, given in (("truecase", self.truecase), ("min_frequency", self.min_frequency > 1)):
            if given and self.segmentation != "word":
                raise ValueError(f"{field} needs segmentation 'word', not {self.segmentation!r}; leave it out")
        if self.segmentation == "word" and (self.transliteration != "none" or self.max_subwords):
            field = "max_subwords" if self.max_subwords else "transliteration"
            raise ValueError(f"{field} needs subwords, but segmentation is 'word'; leave it out")
        if self.target_tag in ("decoder", "own") and not self.joint:
            raise ValueError(
                f"target_tag {self.target_tag!r} needs a joint vocabulary; set joint to true, or choose 'source'"
            )
        if self.segmentation == "byte" and (self.transliteration != "none" or self.unk_copy_threshold):
            field = "unk_copy_threshold" if self.unk_copy_threshold else "transliteration"
            raise ValueError(f"{field} is not for segmentation 'byte', which writes any text as it is; leave it out")
        if self.segmentation == "imported" and self.transliteration != "none":
            raise ValueError("an imported model reads text as it is; set transliteration to 'none'")
        if self.segmentation == "imported" and self.reversed_target:
            raise ValueError("an imported model writes from left to right; leave reversed_target out")
        if self.segmentation == "imported" and self.length_bins:
            raise ValueError("an imported model has no length tokens; leave length_bins out")
        if self.segmentation == "imported" and self.context:
            raise ValueError("an imported model has no <sep>; leave context out")
        if self.length_bins == 1:
            raise ValueError("length_bins = 1 tells nothing of length; set it to 2 or more, or to 0")
        for field, given in (("target_tag 'own'", self.target_tag == "own"), ("tag_form", self.tag_form != "<2{}>")):
            if given and self.segmentation != "imported":
                raise ValueError(f"{field} is for imported models; leave it out")
        if self.length_bins and (self.annotate or self.context):
            adding = "annotate" if self.annotate else "context"
            raise ValueError(f"length_bins counts source tokens, to which {adding} adds; leave one of them out")
        if self.context and self.annotate:
            raise ValueError("annotate writes notes in a sentence alone, and context puts one before it; leave one out")
        if problem := self._annotation_problem():
            raise ValueError(problem)
        return self

    def _annotation_problem(self) -> str:
        """Return why source words cannot be annotated as the settings say; empty if they can, or need not be."""
        if not self.annotate:
            return (
                "annotate_from is set, but annotate is 0; set that to 3, or leave it out" if self.annotate_from else ""
            )
        if self.segmentation == "imported":
            return "an imported model has no types for notes; leave annotate out"
        if not self.joint:
            return "annotate writes target types beside source words, which then need ids for them; set joint to true"
        return ""
