"""What `nmtlab translate` prints of a translation besides its text."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from nmtlab.cli.answer import Answer, Part
from nmtlab.text.corpora.corpus import ParallelCorpus
from nmtlab.text.corpora.links import format_alignment

if TYPE_CHECKING:
    from nmtlab.interchange.engine import Engine
    from nmtlab.search.token_scores import TokenScores
    from nmtlab.translation import System, Translation, Translator

AlignedBy = Literal["attention", "aligner"]
Fields = Sequence[Sequence[dict[str, Any]]]
"""Fields of `TranslationFound`, of each translation of each line."""


class TranslationTokens(Answer):
    """The tokens of a translation, in `TranslationFound`: lists with an entry for each."""

    pieces: list[str]
    """The tokens as written, with `</s>` if the translation has ended."""
    log_probs: list[float]
    """Log-probabilities, whose sum is that of the translation. `</s>` has that of the length if the run plans it."""
    entropies: list[float]
    """Entropy, in nats, of the distribution of which the token is one outcome."""
    alternatives: list[dict[str, float]] | None
    """The most probable tokens in its place, with log-probabilities, most probable first; none to a planned end."""


class TranslationLinks(Part):
    """Word links of a translation, in `TranslationFound`."""

    by: AlignedBy
    """What they are from: the source word with the highest attention for each word, or a word aligner."""
    source_words: list[str]
    """The words of the line, counted from 0 in the links."""
    words: list[str]
    """The words of the translation, counted from 0 in the links."""
    alignment: str
    """The links, source first: `0-0 1-2`."""


class TranslationFound(Answer):
    """A translation of a line, in `TranslatedLine`."""

    text: str
    """Plain text."""
    score: float | None
    """What the search maximised."""
    log_prob: float | None
    """Natural logarithm of p(translation | line), the end included."""
    finished: bool | None
    """Whether it ended before the limit of its length."""
    tokens: TranslationTokens | None
    """With `--token-scores` or `--top`."""
    links: TranslationLinks | None
    """With `--alignments`."""


class TranslatedLine(Answer):
    """What `nmtlab translate --json` prints for each line of the text, as a line."""

    line: int
    """Its number, from 1."""
    source: str
    """The line."""
    engine: Literal["nmtlab", "ctranslate2"]
    """What translated it."""
    translations: list[TranslationFound]
    """Best first, samples in the order of drawing; the single one of a blank line is blank."""


def translated_lines(
    lines: Sequence[str], found: Sequence["Translation"], engine: "Engine", *more: Fields
) -> Iterator[TranslatedLine]:
    """Yield what is known of each line.

    Args:
        lines: plain text.
        found: the translations of each.
        engine: what translated them.
        more: of `token_fields` and `link_fields`.
    """
    for place, (line, translation) in enumerate(zip(lines, found, strict=True)):
        rows = zip(translation.texts, _scores(translation), *(fields[place] for fields in more), strict=True)
        translations = [_found(text, *known) for text, *known in rows]
        yield TranslatedLine(line=place + 1, source=line, engine=engine, translations=translations)


def token_fields(
    system: "System",
    lines: Sequence[str],
    found: Sequence["Translation"],
    top: int,
    more: Sequence[Sequence[str]] = (),
) -> Fields:
    """Return the field `tokens`, with so many alternatives to each token if any; nothing for a blank line.

    `more` are the lines of the other sources, if the system reads several.
    """
    translator, side = cast("Translator", system), system.pipeline.target
    types = side.vocabulary.types

    def tokens(scores: "TokenScores") -> TranslationTokens | None:
        if not math.isfinite(scores.log_probs.sum()):
            return None
        order = side.reading_order(scores.tokens)
        others = [{types[number]: value for number, value in scores.alternatives[place].items()} for place in order]
        return TranslationTokens.of(
            {"alternatives": "without --top"},
            pieces=[types[scores.tokens[place]] for place in order],
            log_probs=scores.log_probs[order].tolist(),
            entropies=scores.entropies[order].tolist(),
            alternatives=others if top else None,
        )

    scored = translator.token_scores(lines, found, top, more)
    return [[{"tokens": tokens(one)} for one in of_line] or [{}] for of_line in scored]


def link_fields(
    system: "System", lines: Sequence[str], found: Sequence["Translation"], text: ParallelCorpus | None
) -> Fields:
    """Return the field `links`: by an aligner if there is a training text for it, otherwise by attention."""
    from nmtlab.analysis.access.reference_links import aligner_links
    from nmtlab.analysis.access.word_pairs import attention_links, pair_of_words

    pairs = [(line, one) for line, translation in zip(lines, found, strict=True) for one in translation.texts]
    words = [pair_of_words(system.pipeline, *pair, ()) for pair in pairs]
    if text is None:
        by: AlignedBy = "attention"
        links = attention_links(cast("Translator", system), words)
    else:
        by, links = "aligner", aligner_links(system.pipeline, text, pairs)
    fields = (
        TranslationLinks(
            by=by, source_words=one.source_words, words=one.target_words, alignment=format_alignment(linked)
        )
        for one, linked in zip(words, links, strict=True)
    )
    return [[{"links": next(fields)} for _ in translation.texts] for translation in found]


def _scores(translation: "Translation") -> list[dict[str, Any]]:
    if not translation.hypotheses:
        return [{}]
    return [{"score": one.score, "log_prob": one.log_prob, "finished": one.finished} for one in translation.hypotheses]


def _found(text: str, scores: dict[str, Any], *more: dict[str, Any]) -> TranslationFound:
    """Return a translation with its fields, as far as they are known."""
    known = {name: value for fields in (scores, *more) for name, value in fields.items()}
    reasons = {"tokens": "without --token-scores and --top", "links": "without --alignments"}
    if not scores:
        reasons |= dict.fromkeys(("score", "log_prob", "finished", "tokens"), "the line is blank")
    reasons |= dict.fromkeys(known, "not finite")
    return TranslationFound.of(reasons, text=text, **dict.fromkeys(reasons) | known)
