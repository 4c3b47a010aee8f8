"""A pipeline with more types: letters that it lacks, or the tag of a new language. All other ids stay as they are.

Letters become pieces of the SentencePiece models behind all others, so that other text is cut as before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from nmtlab.languages import is_variety
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.lines import SPACE
from nmtlab.text.segmentation.byte_pieces import Bytes
from nmtlab.text.segmentation.learning import usable_pairs
from nmtlab.text.segmentation.pipeline import Pipeline
from nmtlab.text.segmentation.side import Side
from nmtlab.text.segmentation.tags import language_tag, leading_tag, tagged_language
from nmtlab.text.segmentation.tokenizers import ImportedSubwords, Subwords
from nmtlab.text.segmentation.vocabulary import UNK


def unknown_pieces(side: Side, line: str) -> Iterator[tuple[int, str]]:
    """Yield the place, and the text, of each piece of a line that becomes UNK."""
    pieces = side.tokenizer.split(line)
    for place, (piece, number) in enumerate(zip(pieces, side.vocabulary.ids(pieces), strict=True)):
        if number == UNK:
            yield place, piece


def unknown_letters(side: Side, line: str) -> Iterator[str]:
    """Yield the letters that lack a type, and for which a piece of a line becomes UNK; none on a side of words."""
    if not isinstance(side.tokenizer, (Subwords, ImportedSubwords)):
        return
    for _, piece in unknown_pieces(side, line):
        yield from (letter for letter in piece if letter != SPACE and side.vocabulary.ids([letter]) == [UNK])


def with_letters(pipeline: Pipeline, corpora: Sequence[ParallelCorpus]) -> Pipeline:
    """Return a pipeline with a type for each letter of the training text of corpora that becomes UNK.

    A joint pipeline has the letters of both sides on either. Those of the target text may be generated.

    Args:
        pipeline: of subwords; those with a piece for each byte have no unknown letter.
        corpora: in its languages, or in others that it is to learn.
    """
    pipeline = pipeline.learned or pipeline
    sides = pipeline.source, pipeline.target
    found: tuple[set[str], set[str]] = set(), set()
    allowed = np.any([*pipeline.allowed_by_language.values()], axis=0)
    read_only: set[int] = set()  # letters of the target text that only the source had
    for corpus in corpora:
        for pair in usable_pairs(corpus, pipeline.settings.max_words):
            closed = (number for number in pipeline.target.encode([pair[1]])[0] if not allowed[number])
            read_only.update(number for number in closed if len(pipeline.target.vocabulary.types[number]) == 1)
            for letters, side, line in zip(found, sides, pair, strict=True):
                letters.update(unknown_letters(side, line))
    each = (found[0] | found[1],) * 2 if pipeline.joint else found
    source, target = (_with_letters(side, letters) for side, letters in zip(sides, each, strict=True))
    generated = [*target.vocabulary.ids(sorted(found[1])), *sorted(read_only)]
    return replace(pipeline, source=source, target=target, inherited_targets=(*pipeline.inherited_targets, *generated))


def with_language(pipeline: Pipeline, language: str, sides: tuple[bool, bool]) -> Pipeline:
    """Return a pipeline with the tag of a new language, which is read, written or both.

    Args:
        pipeline: with tags of languages.
        language: its code.
        sides: whether it is a source language, and a target language.
    """
    pipeline = pipeline.learned or pipeline
    tag = language_tag(language, pipeline.settings.tag_form)
    source, target = _with_tag(pipeline.source, tag), pipeline.target
    target = _with_tag(target, tag) if pipeline.joint else target
    return replace(
        pipeline,
        source=_in_language(source, language) if sides[0] else source,
        target=_in_language(target, language) if sides[1] else target,
    )


def known_languages(pipeline: Pipeline) -> tuple[str, ...]:
    """Return the codes of the languages that a pipeline has tags of."""
    form = pipeline.settings.tag_form
    tags = (tag for tag in pipeline.source.vocabulary.tags if leading_tag(tag, form) == tag)
    return tuple(tagged_language(tag, form) for tag in tags)


def other_code(pipeline: Pipeline, language: str) -> str:
    """Return the code by which a pipeline's tags name a language that is given by another: eng_Latn for en; or none."""
    known = known_languages(pipeline)
    same = (code for code in known if is_variety(code, language))
    return "" if language in known else next(same, "")


def tagged_sides(pipeline: Pipeline) -> set[str]:
    """Return the sides, `source` and `target`, whose languages a pipeline's tags name."""
    return {"own": {"source", "target"}, "none": set()}.get(pipeline.settings.target_tag, {"target"})


def _with_letters(side: Side, letters: set[str]) -> Side:
    if not isinstance(side.tokenizer, (Subwords, ImportedSubwords)):
        return side
    new = sorted(letter for letter in letters if side.vocabulary.ids([letter]) == [UNK])
    return _longer(replace(side, tokenizer=side.tokenizer.with_letters(letters)), new)


def _with_tag(side: Side, tag: str) -> Side:
    # The pieces of an imported model and its types are apart.
    tokenizer = side.tokenizer.with_tag(tag) if isinstance(side.tokenizer, Subwords) else side.tokenizer
    return _longer(replace(side, tokenizer=tokenizer), tags=(tag,))


def _longer(side: Side, types: Sequence[str] = (), tags: Sequence[str] = ()) -> Side:
    """Return a side with more types and control tokens, none of which has been counted."""
    vocabulary, more = side.vocabulary.extended(types, tags), len(types) + len(tags)
    counts = {language: np.pad(of_one, (0, more)) for language, of_one in side.language_counts.items()}
    return replace(side, vocabulary=vocabulary, language_counts=counts)


def _in_language(side: Side, language: str) -> Side:
    """Return a side with another language, in which any type can occur that occurs in one of the others."""
    counts = {**side.language_counts, language: side.vocabulary.counts} if side.language_counts else {}
    return replace(side, languages=(*side.languages, language), language_counts=counts)


def has_bytes(side: Side) -> bool:
    """Return whether a side writes letters that lack a type as bytes, so that none is UNK."""
    return isinstance(side.tokenizer, (Subwords, ImportedSubwords, Bytes)) and side.tokenizer.has_bytes
