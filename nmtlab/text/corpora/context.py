"""Sentences in context: each source after the sentence before it in its document (Tiedemann and Scherrer 2017).

Such a source is written as one line: the sentence before, the separator, the sentence.
"""

from collections.abc import Iterable, Iterator

from nmtlab.text.corpora.lines import is_blank

SEPARATOR = "<sep>"
"""Stands between a sentence and the one before it; where a text has it already, it is written with spaces inside."""


def in_context(lines: Iterable[str], documents: Iterable[str]) -> Iterator[str]:
    """Yield each line after the line before it in its document, if neither is blank; otherwise the line alone.

    Args:
        lines: plain text.
        documents: the id of each line's document; lines with the same id are one document, in the order of the text.
    """
    before: dict[str, str] = {}
    for line, document in zip(lines, documents, strict=True):
        sentence = line.replace(SEPARATOR, "< sep >")
        previous = before.get(document, "")
        yield joined(previous, sentence)
        before[document] = sentence


def joined(before: str, sentence: str) -> str:
    """Return a sentence after the one before it, if neither is blank; otherwise the sentence alone."""
    return sentence if is_blank(before) or is_blank(sentence) else f"{before} {SEPARATOR} {sentence}"


def apart(line: str) -> tuple[str, str]:
    """Return the sentence before the last separator of a line, blank without one, and the sentence itself."""
    before, found, sentence = line.rpartition(SEPARATOR)
    return before.removesuffix(" "), sentence.removeprefix(" ") if found else sentence
