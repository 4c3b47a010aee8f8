"""What a page is about: each page's module declares it, and all are found by scanning their room."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import NamedTuple

from nmtlab.analysis.access.analysis import Analysis
from nmtlab.analysis.access.needs import Need
from nmtlab.analysis.access.texts import Text
from nmtlab.dashboards.frame.headings import headings
from nmtlab.figures.marks import Side
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Direction


class Sentence(NamedTuple):
    """A sentence and where it is: on a line of a text, or typed; no sentence if `source` is empty.

    Args:
        source: the sentence.
        title: of its text as the pages offer it.
        line: its number there, from 1; None if it is typed.
        text: the text.
        direction: that it is translated in, if a page chooses one.
    """

    source: str = ""
    title: str | None = None
    line: int | None = None
    text: Text | None = None
    direction: Direction | None = None

    @property
    def place(self) -> str:
        """Where it is, for a subtitle."""
        return "one sentence" if self.line is None else f"line {self.line} of {self.title}"


Address = Callable[[Sequence[Run], Sentence], Mapping[str, str] | None]


@dataclass(frozen=True)
class About:
    """A page, declared as `PAGE` in its module: the first four as literals, to be read unimported.

    Args:
        place: among the pages, from 0, the index.
        group: of pages that it is listed in.
        title: in a few words.
        question: that the page answers.
        name: of its module.
        needs: of the runs that it can show; None if it shows no chosen runs.
        most_runs: that a link chooses on it.
        tokens: what it answers about a token of a side, in a sentence (True) or as a word alone.
        token_needs: of the runs of which it can say that; `needs` if not given.
        illustrates: analyses whose metrics it shows on single runs, or keys of single metrics.
        address: where in the page's address a sentence is; None if the page can say nothing of it with these runs.
    """

    place: int
    group: str
    title: str
    question: str
    name: str
    needs: tuple[Need, ...] | None = None
    most_runs: int = 4
    tokens: Mapping[tuple[Side, bool], str] = field(default_factory=dict)
    token_needs: tuple[Need, ...] | None = None
    illustrates: tuple[Analysis | str, ...] = ()
    address: Address | None = None


@cache
def pages() -> tuple[About, ...]:
    """Return all pages in their order, the index first."""
    return tuple(import_module(f"nmtlab.dashboards.pages.{heading.name}").PAGE for heading in headings())
