"""Links to pages that show given runs, or a line of a table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from urllib.parse import urlencode

from nmtlab.dashboards.about import (
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
from nmtlab.dashboards.systems import (
    can_decode,
    has_g,
    has_lexicon,
    has_relatives,
    has_searches,
    has_translations,
    is_neural,
    of_one_pair,
)
from nmtlab.runs.run import Run
from nmtlab.text.corpus import Direction

SHOWS: Mapping[About, Callable[[Run], bool]] = {
    NORMS: is_neural, ATTENTION: can_decode, DEPTH: has_g, DYNAMICS: is_neural, LEXICON: has_lexicon,
    LANGUAGES: has_relatives, SEARCH: has_searches, TRANSLATE: can_decode, COMPARE: has_translations,
}  # fmt: skip
"""Pages that show runs, each with the test whether it can show a run."""

_MAX_RUNS, _SINGLE_RUN = 4, (LEXICON, LANGUAGES)


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
    return f"<a href='{escape(f'{page.name}.ipynb?{urlencode(state)}')}'>{escape(page.title)}</a>"
