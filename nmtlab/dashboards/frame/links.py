"""Links to pages that show given runs, a line of a table, or a token of a sentence."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from urllib.parse import urlencode

from nmtlab.analysis.access.metric import Metric
from nmtlab.analysis.access.needs import unmet
from nmtlab.analysis.metrics import analysis_of
from nmtlab.dashboards.frame.about import About, Sentence, pages
from nmtlab.dashboards.frame.systems import of_one_pair
from nmtlab.figures.marks import Token
from nmtlab.runs.run import Run
from nmtlab.text.corpora.corpus import Direction


def links_of_token(here: About, runs: Sequence[Run], sentence: Sentence, token: Token) -> list[dict[str, str]]:
    """Return links to the pages that say something of a token: `page`, the `question` that it answers, and `href`.

    Args:
        here: the page that needs no link.
        runs: the chosen runs; a link holds those that its page can show.
        sentence: with the token.
        token: the selected one.
    """
    found = []
    for page in pages():
        question = page.tokens.get((token.side, token.position is not None and bool(sentence.source)))
        if page == here or not question:
            continue
        needs = page.needs if page.token_needs is None else page.token_needs
        able = [run for run in runs if unmet(run, needs or ()) is None]
        place = (page.address or in_address)(able, sentence) if able else None
        if place is None:
            continue
        state = {"runs": _names(page, able), **place, "selected": str(token)}
        found.append({"page": page.title, "question": question, "href": _address(page, state)})
    return found


def in_address(runs: Sequence[Run], sentence: Sentence) -> dict[str, str]:
    """Return a sentence in the address of a page with some runs, typed where they do not have its text."""
    if not sentence.source:
        return {}
    text = sentence.text
    foreign = text is not None and text.packed and text.corpus.folder.parent.name not in {run.name for run in runs}
    if sentence.line is None or foreign:
        return {"sentence": sentence.source}
    return {"text": str(sentence.title), "line": str(sentence.line)}


def links_to(runs: Sequence[Run], names: Collection[str] | None = None) -> str:
    """Return links, as markup, to the pages that can show some of the runs; a link holds runs of one language pair.

    Args:
        runs: the runs; a link holds at most as many as its page shows.
        names: of the pages to link to; all if not given.
    """
    links = []
    for page in pages():
        wanted = page.needs is not None and (names is None or page.name in names)
        able = of_one_pair([run for run in runs if unmet(run, page.needs or ()) is None]) if wanted else []
        links += [_link(page, runs=_names(page, able))] if able else []
    return " · ".join(links)


def pages_about(metric: Metric) -> list[str]:
    """Return the names of the pages that illustrate a metric."""
    return [page.name for page in pages() if {metric.key, analysis_of(metric)} & {*page.illustrates}]


def link_to_line(table: str, measure: str, pair: str, system: str) -> str:
    """Return a link, as markup, to a line on the page Tables.

    Args:
        table: name of the table with its scale, such as `table-3.6.small`.
        measure: key of a metric of the table.
        pair, system: language pair and system of the line.
    """
    line = line_key(pair, system)
    return _link(_page("tables"), table=table, measure=measure, line=line, open="behind")  # the fold with the lines


def link_to_translate(run: Run, direction: Direction, sentence: str) -> str:
    """Return a link, as markup, to a sentence on the page Translate, in one direction of a run."""
    source, target = direction
    return _link(_page("translate"), **{"runs": run.name, "from": source, "into": target, "text": sentence})


def line_key(pair: str, system: str) -> str:
    """Return the key of a line on the page Tables."""
    return f"{pair} · {system}"


def _names(page: About, runs: Sequence[Run]) -> str:
    return ",".join(run.name for run in runs[: page.most_runs])


def _link(page: About, **state: str) -> str:
    return f"<a href='{escape(_address(page, state))}'>{escape(page.title)}</a>"


def _address(page: About, state: Mapping[str, str]) -> str:
    return f"{page.name}.ipynb?{urlencode(state)}"


def _page(name: str) -> About:
    return next(page for page in pages() if page.name == name)
