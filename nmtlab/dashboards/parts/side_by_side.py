"""Lines with their translations by several systems, one below the other, with the words marked that differ."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import chain
from typing import NamedTuple

from nmtlab.analysis.access.findings import cited, legible
from nmtlab.analysis.comparison.sentence_scores import Marked, marked
from nmtlab.dashboards.widgets.note import Note
from nmtlab.figures.theme import readable
from nmtlab.figures.words import listed, number
from nmtlab.text.segmentation.tokenizers import Words


class Best(NamedTuple):
    """The best translation of a line by one system, and its log-probability."""

    text: str
    log_prob: float


class Translated(NamedTuple):
    """A line and what systems make of it.

    Args:
        number: of the line, from 1.
        source: the line.
        reference: its translation in a text; empty if it is of none.
        language: code of the target language.
        best: label of a run -> its translation.
    """

    number: int
    source: str
    reference: str
    language: str
    best: Mapping[str, Best]


class SideBySide(Note):
    """Translated lines."""

    def show(self, lines: Sequence[Translated]) -> None:
        """Show lines, all words marked that the reference, or else another system's translation, does not have."""
        rows = "".join(f"<tbody>{''.join(_rows(line))}</tbody>" for line in lines)
        self.value = f"<table class='nmtlab-marked'><caption>{escape(_caption(lines))}</caption>{rows}</table>"
        self.layout.display, self.fresh = "", True


def translations_finding(lines: Sequence[Translated]) -> str:
    """Return what systems make of a line, or on how many of several lines they agree, and where they first do not."""
    several = [line for line in lines if len(line.best) > 1]
    if len(several) < 2:
        return " ".join(map(_said, lines[:_MOST_SAID]))
    names = listed(list(dict.fromkeys(chain.from_iterable(line.best for line in several))), " and ")
    apart = [line for line in several if not _agree(line)]
    first = f" First apart in line {apart[0].number}: {_said(apart[0])}" if apart else ""
    return f"{names} agree on {len(several) - len(apart)} of {len(several)} lines.{first}"


_MOST_SAID = 3


def _agree(line: Translated) -> bool:
    return len({one.text for one in line.best.values()}) == 1


def _said(line: Translated) -> str:
    """Return who says what, and how probable it is to each."""
    chances = f"(log p {' and '.join(number(one.log_prob) for one in line.best.values())})"
    if len(line.best) > 1 and _agree(line):
        return f"{' and '.join(line.best)} agree: {_quoted(next(iter(line.best.values())).text)} {chances}."
    return f"{listed([f'{run}: {_quoted(one.text)}' for run, one in line.best.items()], '; ')} {chances}."


def _quoted(text: str) -> str:
    return cited(text) if text else legible(text)


def _caption(lines: Sequence[Translated]) -> str:
    if any(line.reference for line in lines):
        return "Marked: words that the reference does not have"
    several = any(len(line.best) > 1 for line in lines)
    return "Marked: words that another system does not have" if several else ""


def _rows(line: Translated) -> list[str]:
    """Return the rows of a line as markup: the source, its reference, and each translation."""
    tokenizer = Words(line.language)
    words = {run: tokenizer.split(one.text) for run, one in line.best.items()}
    rows = [(f"{line.number}", f"<b>{escape(line.source)}</b>")]
    rows += [("reference", escape(line.reference))] if line.reference else []
    for run, of_run in words.items():
        others = [tokenizer.split(line.reference)] if line.reference else [words[one] for one in words if one != run]
        rows.append((run, _marked([marked(of_run, other) for other in others], of_run) or legible("")))
    return [f"<tr><th>{escape(name)}</th><td dir='auto'>{shown}</td></tr>" for name, shown in rows]


def _marked(against: Sequence[Sequence[Marked]], words: Sequence[str]) -> str:
    """Return words as markup, those marked that any of the others does not have."""
    wrong = [any(not other[place].shared for other in against) for place in range(len(words))]
    shown = map(escape, readable(words))
    return " ".join(f"<mark>{word}</mark>" if one else word for word, one in zip(shown, wrong, strict=True))
