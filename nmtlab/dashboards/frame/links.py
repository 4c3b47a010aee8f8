"""Links to pages that show given runs, a line of a table, or a token of a sentence."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import urlencode

from nmtlab.analysis.access.sentences import Text
from nmtlab.analysis.access.translations import stored_translations
from nmtlab.dashboards.frame.about import (
    ATTENTION,
    COMPARE,
    DEPTH,
    DYNAMICS,
    LANGUAGES,
    LEXICON,
    NORMS,
    SEARCH,
    TABLES,
    TRANSLATE,
    About,
)
from nmtlab.dashboards.frame.systems import (
    can_decode,
    has_g,
    has_lexicon,
    has_norms,
    has_parent,
    has_relatives,
    has_searches,
    has_translations,
    is_neural,
    of_one_pair,
)
from nmtlab.figures.marks import Side, Token
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Direction

SHOWS: Mapping[About, Callable[[Run], bool]] = {
    NORMS: has_norms, ATTENTION: can_decode, DEPTH: has_g, DYNAMICS: is_neural, LEXICON: has_lexicon,
    LANGUAGES: has_relatives, SEARCH: has_searches, TRANSLATE: can_decode, COMPARE: has_translations,
}  # fmt: skip
"""Pages that show runs, each with the test whether it can show a run."""

_SHOWS_TOKEN = {**SHOWS, LANGUAGES: has_parent}
"""The same for a selected token: *Related languages* has the words of a parent's children only."""

_MAX_RUNS, _SINGLE_RUN = 4, (LEXICON, LANGUAGES)


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


def links_of_token(here: About, runs: Sequence[Run], sentence: Sentence, token: Token) -> list[dict[str, str]]:
    """Return links to the pages that say something of a token: `page`, the `question` that it answers, and `href`.

    Args:
        here: the page that needs no link.
        runs: the chosen runs; a link holds those that its page can show.
        sentence: with the token.
        token: the selected one.
    """
    found = []
    for page, questions in _QUESTIONS.items():
        able = [run for run in runs if _SHOWS_TOKEN[page](run)]
        question = questions.get((token.side, token.position is not None and bool(sentence.source)))
        if page == here or not question or not able:
            continue
        if page == COMPARE and not _is_translated(able, sentence):
            continue
        state = {"runs": _names(page, able), **_in_address(page, able, sentence), "selected": str(token)}
        found.append({"page": page.title, "question": question, "href": _address(page, state)})
    return found


_QUESTIONS: Mapping[About, Mapping[tuple[Side, bool], str]] = {
    ATTENTION: {
        ("source", True): "Which target words attend to it?", ("target", True): "Which source words does it depend on?",
    },
    NORMS: {
        ("target", True): "Which terms of its logit made it win or lose?",
        ("target", False): "How long is its vector for its frequency?",
        ("source", True): "Where was the encoder in nearly the same state?",
    },
    LEXICON: {
        ("source", True): "Which translations has the lexical module learned?",
        ("source", False): "Which translations has the lexical module learned?",
    },
    LANGUAGES: dict.fromkeys((("source", True), ("source", False)), "How far did its vector move from the parent's?"),
    SEARCH: {("target", True): "Where does the beam keep or drop it?"},
    TRANSLATE: {
        ("target", True): "How sure is each system of it?", ("source", True): "How do the systems translate it?",
    },
    COMPARE: {("target", True): "Which systems get it right?"},
}  # fmt: skip
"""What each page answers about a token of a side, in a sentence or as a word alone."""


def _in_address(page: About, runs: Sequence[Run], sentence: Sentence) -> dict[str, str]:
    """Return the sentence in the address of a page with these runs, typed where they do not have its text."""
    if not sentence.source:
        return {}
    if page == TRANSLATE:
        several = sentence.direction and any(len(run.directions) > 1 for run in runs)
        way = dict(zip(("from", "into"), sentence.direction, strict=True)) if several else {}
        origin = {"origin": f"{sentence.line} {sentence.title}"} if sentence.line else {}
        return way | {"text": sentence.source} | origin
    text = sentence.text
    foreign = text is not None and text.packed and text.corpus.folder.parent.name not in {run.name for run in runs}
    if sentence.line is None or foreign:
        return {"sentence": sentence.source}
    return {"text": str(sentence.title), "line": str(sentence.line)}


def _is_translated(runs: Sequence[Run], sentence: Sentence) -> bool:
    text = sentence.text
    if text is None or sentence.line is None:
        return False
    return any(stored_translations(run, text.corpus, text.split) is not None for run in runs)


def links_to(runs: Sequence[Run], pages: Iterable[About] = tuple(SHOWS)) -> str:
    """Return links, as markup, to the pages that can show some of the runs; a link holds runs of one language pair.

    Args:
        runs: the runs; a link holds at most the first four that its page can show.
        pages: the pages to link to, of `SHOWS`.
    """
    found = {page: of_one_pair([run for run in runs if SHOWS[page](run)]) for page in pages}
    return " · ".join(_link(page, runs=_names(page, able)) for page, able in found.items() if able)


def link_to_line(table: str, measure: str, pair: str, system: str) -> str:
    """Return a link, as markup, to a line on the page Tables.

    Args:
        table: name of the table with its scale, such as `table-3.6.small`.
        measure: a measure of the table.
        pair, system: language pair and system of the line.
    """
    return _link(TABLES, table=table, measure=measure, line=line_key(pair, system))


def link_to_translate(run: Run, direction: Direction, sentence: str) -> str:
    """Return a link, as markup, to a sentence on the page Translate, in one direction of a run."""
    source, target = direction
    return _link(TRANSLATE, **{"runs": run.name, "from": source, "into": target, "text": sentence})


def line_key(pair: str, system: str) -> str:
    """Return the key of a line on the page Tables."""
    return f"{pair} · {system}"


def _names(page: About, runs: Sequence[Run]) -> str:
    return ",".join(run.name for run in runs[: 1 if page in _SINGLE_RUN else _MAX_RUNS])


def _link(page: About, **state: str) -> str:
    return f"<a href='{escape(_address(page, state))}'>{escape(page.title)}</a>"


def _address(page: About, state: Mapping[str, str]) -> str:
    return f"{page.name}.ipynb?{urlencode(state)}"
